"""The store: all damage to an entry or its weights is detected, and counts as missing."""

import json
import shutil

import pytest
import toy_store
from toy_store import ERRORS, KEY, OTHER, json_file, put, weights_file

from ebbing.runs import store as store_module

store = toy_store.store  # a fixture


def truncate(path):
    path.write_bytes(path.read_bytes()[:-20])


def empty(path):
    path.write_bytes(b"")


def flip(path):
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


def change(path, **changes):
    path.write_text(json.dumps(json.loads(path.read_text()) | changes, sort_keys=True) + "\n")


DAMAGE = {
    "truncated": truncate,
    "empty": empty,
    "flipped bit": flip,
    "not json": lambda path: path.write_text("{'errors': 1}"),
    "not utf-8": lambda path: path.write_bytes(b"\xff\xfe\x00"),
    "a list": lambda path: path.write_text("[]"),
    "a number": lambda path: path.write_text("3"),
    "null": lambda path: path.write_text("null"),
    "no checksum": lambda path: path.write_text("{}"),
    "another error": lambda path: change(path, errors=ERRORS | {"a#0": 0.0}),
    "another training error": lambda path: change(path, training_error=0.0),
    "another checksum": lambda path: change(path, checksum="0" * 64),
    "another checksum of weights": lambda path: change(path, weights_checksum="0" * 64),
    "something more": lambda path: change(path, more=1),
}


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=list(DAMAGE))
def test_damaged_entry_warns_and_counts_as_missing(store, damage):
    put(store)
    put(store, OTHER)
    damage(json_file(store))
    with pytest.warns(UserWarning, match="is damaged .* and will be computed again") as caught:
        assert store.get(KEY) is None
    assert str(json_file(store)) in str(caught[0].message)
    with pytest.warns(UserWarning, match="is damaged"):
        assert [entry.key for entry in store.entries()] == [OTHER]
    assert put(store) == store.get(KEY)


def test_valid_entry_of_another_key_counts_as_damaged(store):
    """Files were renamed by hand."""
    put(store)
    json_file(store, OTHER).parent.mkdir()
    shutil.copy(json_file(store), json_file(store, OTHER))
    with pytest.warns(UserWarning, match="is damaged"):
        assert store.get(OTHER) is None


def test_valid_entry_of_another_layout_counts_as_damaged(store):
    """Another version of this package wrote it."""
    content = {"key": KEY, "rows": [1, 2]}
    checksum = store_module._digest(store_module._canonical_json(content))
    put(store)
    json_file(store).write_bytes(store_module._canonical_json(content | {"checksum": checksum}))
    with pytest.warns(UserWarning, match="is damaged"):
        assert store.get(KEY) is None


@pytest.mark.parametrize("damage", [truncate, empty, flip, lambda path: path.write_bytes(path.read_bytes() + b"\0")])
def test_damaged_weights_warn_and_count_as_missing(store, damage):
    entry = put(store)
    damage(weights_file(store))
    with pytest.warns(UserWarning, match="safetensors is damaged and will be computed again"):
        assert store.weights(entry) is None
    assert store.get(KEY) == entry  # the errors are still valid


def test_swapped_weights_are_detected(store):
    first, second = put(store), store.put(OTHER, {}, None, {}, b"the weights of another node")
    one, two = weights_file(store), weights_file(store, OTHER)
    content = one.read_bytes()
    one.write_bytes(two.read_bytes())
    two.write_bytes(content)
    for entry in (first, second):
        with pytest.warns(UserWarning, match="is damaged"):
            assert store.weights(entry) is None


def test_missing_weights_are_not_damaged(store):
    entry = put(store)
    weights_file(store).unlink()
    assert store.weights(entry) is None
