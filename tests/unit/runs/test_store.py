"""The store: entries are read as they were written, equal content gives equal bytes, and bad keys raise."""

import hashlib
import json

import pytest
import toy_store
from toy_store import ABOUT, ERRORS, KEY, OTHER, WEIGHTS, files, json_file, put

from ebbing.runs import Entry, Store

store = toy_store.store  # a fixture


def test_put_stores_an_entry(store):
    written = put(store)
    read = Store(str(store.folder)).get(KEY)
    assert read == written
    assert read is not None
    assert (read.key, read.errors, read.training_error, read.about) == (KEY, ERRORS, 0.25, ABOUT)  # floats to the bit
    assert store.weights(read) == WEIGHTS
    assert set(files(store.folder)) == {f"ab/{KEY}.json", f"ab/{KEY}.safetensors"}


def test_get_of_a_missing_key_returns_none(store):
    assert store.get(KEY) is None
    assert list(store.entries()) == []
    assert store.size() == 0
    assert store.clean() == 0
    put(store)
    assert store.get(OTHER) is None


def test_entry_without_weights(store):
    entry = put(store, weights=None)
    assert entry.weights_checksum is None
    assert store.weights(entry) is None
    assert store.get(KEY) == entry
    assert set(files(store.folder)) == {f"ab/{KEY}.json"}


def test_initial_network_has_no_training_error(store):
    store.put(KEY, {}, None, {}, None)
    entry = store.get(KEY)
    assert entry is not None
    assert entry.training_error is None
    assert entry.errors == {}


def test_nan_and_infinite_errors_are_stored(store):
    """Training that diverged is a result as well."""
    store.put(KEY, {"a#0": float("nan"), "b#0": float("inf")}, float("nan"), {}, None)
    entry = store.get(KEY)
    assert entry is not None
    assert str(entry.errors) == "{'a#0': nan, 'b#0': inf}"


def test_put_replaces_an_entry(store):
    put(store)
    store.put(KEY, {"a#0": 0.5}, 0.5, ABOUT, b"other weights")
    entry = store.get(KEY)
    assert entry is not None
    assert entry.errors == {"a#0": 0.5}
    assert store.weights(entry) == b"other weights"
    assert len(files(store.folder)) == 2


def test_same_content_gives_the_same_bytes(tmp_path):
    first, second = Store(tmp_path / "first"), Store(tmp_path / "second")
    first.put(KEY, ERRORS, 0.25, ABOUT, WEIGHTS)
    second.put(OTHER, {}, None, {}, None)
    second.put(
        KEY, dict(reversed(ERRORS.items())), 0.25, dict(reversed(ABOUT.items())), WEIGHTS
    )  # order does not matter
    json_file(second, OTHER).unlink()
    assert files(first.folder) == files(second.folder)
    before = files(first.folder)
    put(first)
    assert files(first.folder) == before


def test_entry_file_is_readable_json(store):
    put(store)
    content = json.loads(json_file(store).read_text())
    assert content["about"] == ABOUT
    assert content["errors"] == ERRORS
    assert list(content["errors"]) == sorted(ERRORS)
    fields = {"about", "accuracies", "checksum", "errors", "key", "training_error", "weights_checksum"}
    assert set(content) == fields  # no times


def test_entries_of_early_versions_have_no_accuracies(store):
    put(store)
    content = json.loads(json_file(store).read_text())
    del content["accuracies"], content["checksum"]
    digest = hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
    json_file(store).write_text(json.dumps(content | {"checksum": digest}))
    entry = store.get(KEY)
    assert entry is not None
    assert (entry.errors, entry.accuracies) == (ERRORS, {})


def test_entries_are_ordered_by_key(store):
    keys = ["f" * 64, "0" * 64, "0" * 63 + "1"]
    for key in keys:
        put(store, key)
    (store.folder / "notes.json").write_text("not an entry")
    (store.folder / "ff" / "notes.json").write_text("not an entry")
    assert [entry.key for entry in store.entries()] == sorted(keys)


@pytest.mark.parametrize("key", ["", "ab", "AB" * 32, "g" * 64, "ab" * 33, f"../{'ab' * 31}", "ab" * 32 + "\n"])
def test_bad_key_raises(store, key):
    with pytest.raises(ValueError, match="64 hexadecimal digits"):
        store.get(key)
    with pytest.raises(ValueError, match="64 hexadecimal digits"):
        put(store, key)
    with pytest.raises(ValueError, match="64 hexadecimal digits"):
        store.weights(Entry(key, {}, None, {}, "0" * 64))
    assert not store.folder.exists()
