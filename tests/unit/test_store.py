"""The store: whole entries or none, the same bytes for the same content, and no damage goes unnoticed."""

import json
import multiprocessing
import os
import shutil
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path

import pytest
import torch

from ebbing.runs import Entry, Store
from ebbing.runs import store as store_module

KEY, OTHER = "ab" * 32, "cd" * 32
ERRORS = {"b#0": 0.1 + 0.2, "a#0": 1e-17}
ABOUT = {"seed": 3, "path": ["a#0"], "method": {"kind": "Sgd", "batch_size": None}}
WEIGHTS = bytes(range(256)) * 40


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "runs")


def put(store, key=KEY, weights: bytes | None = WEIGHTS):
    return store.put(key, ERRORS, 0.25, ABOUT, weights)


def files(folder):
    """Every file with its bytes."""
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def json_file(store, key=KEY):
    return store.folder / key[:2] / f"{key}.json"


def weights_file(store, key=KEY):
    return store.folder / key[:2] / f"{key}.safetensors"


# Round trips


def test_what_was_put_is_there(store):
    written = put(store)
    read = Store(str(store.folder)).get(KEY)
    assert read == written
    assert read is not None
    assert (read.key, read.errors, read.fit, read.about) == (KEY, ERRORS, 0.25, ABOUT)  # floats to the bit
    assert store.weights(read) == WEIGHTS
    assert set(files(store.folder)) == {f"ab/{KEY}.json", f"ab/{KEY}.safetensors"}


def test_what_was_not_put_is_not_there(store):
    assert store.get(KEY) is None
    assert list(store.entries()) == []
    assert store.size() == 0
    assert store.clean() == 0
    put(store)
    assert store.get(OTHER) is None


def test_an_entry_without_weights(store):
    entry = put(store, weights=None)
    assert entry.weights_checksum is None
    assert store.weights(entry) is None
    assert store.get(KEY) == entry
    assert set(files(store.folder)) == {f"ab/{KEY}.json"}


def test_an_initial_network_has_no_fit(store):
    store.put(KEY, {}, None, {}, None)
    entry = store.get(KEY)
    assert entry is not None
    assert entry.fit is None
    assert entry.errors == {}


def test_errors_that_are_no_numbers_come_back(store):
    """A training that diverged is a result like any other."""
    store.put(KEY, {"a#0": float("nan"), "b#0": float("inf")}, float("nan"), {}, None)
    entry = store.get(KEY)
    assert entry is not None
    assert str(entry.errors) == "{'a#0': nan, 'b#0': inf}"


def test_putting_again_replaces(store):
    put(store)
    store.put(KEY, {"a#0": 0.5}, 0.5, ABOUT, b"other weights")
    entry = store.get(KEY)
    assert entry is not None
    assert entry.errors == {"a#0": 0.5}
    assert store.weights(entry) == b"other weights"
    assert len(files(store.folder)) == 2


def test_the_same_content_leaves_the_same_bytes(tmp_path):
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


def test_an_entry_can_be_read_by_people_and_programs(store):
    put(store)
    content = json.loads(json_file(store).read_text())
    assert content["about"] == ABOUT
    assert content["errors"] == ERRORS
    assert list(content["errors"]) == sorted(ERRORS)
    assert set(content) == {"about", "checksum", "errors", "fit", "key", "weights_checksum"}  # no times, no machine


def test_entries_come_by_key(store):
    keys = ["f" * 64, "0" * 64, "0" * 63 + "1"]
    for key in keys:
        put(store, key)
    (store.folder / "notes.json").write_text("not an entry")
    (store.folder / "ff" / "notes.json").write_text("not an entry")
    assert [entry.key for entry in store.entries()] == sorted(keys)


# Atomic


@pytest.mark.parametrize("step", ["replace", "fsync"])
@pytest.mark.parametrize("fault", [OSError(28, "No space left on device"), KeyboardInterrupt()], ids=["full", "ctrl-c"])
def test_an_interrupted_write_leaves_nothing(store, monkeypatch, step, fault):
    def fail(*_arguments):
        raise fault

    with monkeypatch.context() as patch:
        patch.setattr(os, step, fail)
        with pytest.raises(type(fault)):
            put(store)
    assert files(store.folder) == {}
    assert store.get(KEY) is None
    assert store.weights(put(store)) == WEIGHTS


@pytest.mark.parametrize("step", ["replace", "fsync"])
def test_weights_without_an_entry_do_not_count(store, monkeypatch, step):
    """Interrupted between the two files."""
    real, calls = getattr(os, step), []

    def fail_at_the_second(*arguments):
        calls.append(arguments)
        if len(calls) == 2:
            raise OSError(28, "No space left on device")
        return real(*arguments)

    with monkeypatch.context() as patch:
        patch.setattr(os, step, fail_at_the_second)
        with pytest.raises(OSError, match="No space left"):
            put(store)
    assert set(files(store.folder)) == {f"ab/{KEY}.safetensors"}
    assert store.get(KEY) is None
    assert list(store.entries()) == []
    assert store.weights(put(store)) == WEIGHTS


def test_an_interrupted_replacement_leaves_what_was_there(store, monkeypatch):
    entry = put(store)
    before = files(store.folder)
    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", lambda *_: (_ for _ in ()).throw(OSError("interrupted")))
        with pytest.raises(OSError, match="interrupted"):
            store.put(KEY, {}, None, {}, b"new")
    assert files(store.folder) == before
    assert store.get(KEY) == entry


def test_the_entry_is_written_after_the_weights_and_both_reach_the_disk(store, monkeypatch):
    events, fsync, replace = [], os.fsync, os.replace

    def noting_fsync(descriptor):
        events.append("fsync")
        fsync(descriptor)

    def noting_replace(source, target):
        events.append(Path(target).suffix)
        replace(source, target)

    monkeypatch.setattr(os, "fsync", noting_fsync)
    monkeypatch.setattr(os, "replace", noting_replace)
    put(store)
    assert events == ["fsync", ".safetensors", "fsync", ".json"]


def test_leftovers_of_a_killed_writer_do_no_harm(store):
    put(store)
    json_file(store).with_name(f"{OTHER}.json.123.unfinished").write_bytes(b'{"half')
    assert store.get(OTHER) is None
    assert [entry.key for entry in store.entries()] == [KEY]


@pytest.mark.parametrize("clean", [Store.clean, lambda store: store.clean(weights_only=True)], ids=["all", "weights"])
def test_cleaning_while_a_file_is_written_only_makes_the_writer_write_again(store, monkeypatch, clean):
    fsync = os.fsync

    def cleaning(descriptor):
        fsync(descriptor)
        monkeypatch.setattr(os, "fsync", fsync)
        assert clean(store) == len(WEIGHTS)  # the unfinished file

    monkeypatch.setattr(os, "fsync", cleaning)
    entry = put(store)
    assert set(files(store.folder)) == {f"ab/{KEY}.json", f"ab/{KEY}.safetensors"}
    assert store.weights(entry) == WEIGHTS


def test_a_folder_that_is_removed_while_it_is_written_to_is_made_again(store, monkeypatch):
    fsync = os.fsync

    def removing(descriptor):
        fsync(descriptor)
        monkeypatch.setattr(os, "fsync", fsync)
        shutil.rmtree(store.folder)

    monkeypatch.setattr(os, "fsync", removing)
    assert store.weights(put(store)) == WEIGHTS


def test_a_writer_whose_files_always_vanish_says_so(store, monkeypatch):
    fsync, calls = os.fsync, []

    def cleaning(descriptor):
        fsync(descriptor)
        calls.append(store.clean())

    monkeypatch.setattr(os, "fsync", cleaning)
    with pytest.raises(FileNotFoundError, match=KEY):
        put(store)
    assert len(calls) == 5
    assert files(store.folder) == {}


def test_sweeping_removes_what_was_left_unfinished_a_day_ago_and_nothing_else(store):
    put(store)
    day, now = 24 * 3600, time.time()
    old, young = (json_file(store).with_name(f"{KEY}.json.{name}.unfinished") for name in ("old", "young"))
    for path, age in ((old, day + 60), (young, day - 60), (json_file(store), 9 * day), (weights_file(store), 9 * day)):
        path.touch()
        os.utime(path, (now - age, now - age))
    others = json_file(store).with_name("download.unfinished")
    others.touch()
    os.utime(others, (0, 0))
    store.sweep()
    assert set(files(store.folder)) == {
        *(f"ab/{KEY}.json", f"ab/{KEY}.safetensors"),
        *(f"ab/{young.name}", "ab/download.unfinished"),
    }
    assert not old.exists()


def test_sweeping_does_not_mind_files_that_go_or_stay(store, locked, monkeypatch):
    """Another process sweeps as well; or the folder is someone else's."""
    leftover = locked / "ab" / f"{KEY}.json.1.unfinished"
    (locked / "ab").chmod(0o755)
    leftover.touch()
    (locked / "ab").chmod(0o555)
    os.utime(leftover, (0, 0))
    with ordinary_user():
        Store(locked).sweep()
    assert leftover.exists()
    put(store)
    gone = json_file(store).with_name(f"{OTHER}.json.77.unfinished")
    glob = Path.glob
    monkeypatch.setattr(Path, "glob", lambda self, pattern: iter([*glob(self, pattern), gone]))
    store.sweep()


# Damage


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
    "another fit": lambda path: change(path, fit=0.0),
    "another checksum": lambda path: change(path, checksum="0" * 64),
    "another checksum of weights": lambda path: change(path, weights_checksum="0" * 64),
    "something more": lambda path: change(path, more=1),
}


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=list(DAMAGE))
def test_a_damaged_entry_is_reported_and_counts_as_none(store, damage):
    put(store)
    put(store, OTHER)
    damage(json_file(store))
    with pytest.warns(UserWarning, match="is damaged .* and will be computed again") as caught:
        assert store.get(KEY) is None
    assert str(json_file(store)) in str(caught[0].message)
    with pytest.warns(UserWarning, match="is damaged"):
        assert [entry.key for entry in store.entries()] == [OTHER]
    assert put(store) == store.get(KEY)


def test_an_entry_with_a_valid_checksum_but_of_another_key(store):
    """As after renaming files by hand."""
    put(store)
    json_file(store, OTHER).parent.mkdir()
    shutil.copy(json_file(store), json_file(store, OTHER))
    with pytest.warns(UserWarning, match="is damaged"):
        assert store.get(OTHER) is None


def test_an_entry_of_another_layout_with_a_valid_checksum(store):
    """As written by another version of this package."""
    content = {"key": KEY, "rows": [1, 2]}
    checksum = store_module._digest(store_module._canonical(content))
    put(store)
    json_file(store).write_bytes(store_module._canonical(content | {"checksum": checksum}))
    with pytest.warns(UserWarning, match="is damaged"):
        assert store.get(KEY) is None


@pytest.mark.parametrize("damage", [truncate, empty, flip, lambda path: path.write_bytes(path.read_bytes() + b"\0")])
def test_damaged_weights_are_reported_and_count_as_none(store, damage):
    entry = put(store)
    damage(weights_file(store))
    with pytest.warns(UserWarning, match="safetensors is damaged and will be computed again"):
        assert store.weights(entry) is None
    assert store.get(KEY) == entry  # the errors are still good


def test_swapped_weights_are_noticed(store):
    first, second = put(store), store.put(OTHER, {}, None, {}, b"the weights of another node")
    one, two = weights_file(store), weights_file(store, OTHER)
    content = one.read_bytes()
    one.write_bytes(two.read_bytes())
    two.write_bytes(content)
    for entry in (first, second):
        with pytest.warns(UserWarning, match="is damaged"):
            assert store.weights(entry) is None


def test_missing_weights_are_no_damage(store):
    entry = put(store)
    weights_file(store).unlink()
    assert store.weights(entry) is None


# Keys


@pytest.mark.parametrize("key", ["", "ab", "AB" * 32, "g" * 64, "ab" * 33, f"../{'ab' * 31}", "ab" * 32 + "\n"])
def test_what_is_no_key_is_refused(store, key):
    with pytest.raises(ValueError, match="64 hexadecimal digits"):
        store.get(key)
    with pytest.raises(ValueError, match="64 hexadecimal digits"):
        put(store, key)
    with pytest.raises(ValueError, match="64 hexadecimal digits"):
        store.weights(Entry(key, {}, None, {}, "0" * 64))
    assert not store.folder.exists()


# Sizes and cleaning


OF_OTHERS = ("notes.txt", "notes.json", "download.unfinished", KEY, f"{KEY}.bin", f"{KEY}.json.old")
"""Stores of other programs have folders and names like ours: a backup's must survive a mistaken `clean`."""

LEFT = {"README", *(f"ab/{name}" for name in OF_OTHERS)}


def crowd(store):
    """Two entries, one with weights; a leftover; and files of others. Bytes of (entries, weights, leftover)."""
    put(store)
    put(store, OTHER, weights=None)
    leftover = json_file(store).with_name(f"{KEY}.safetensors.77.unfinished")
    leftover.write_bytes(b"half")
    (store.folder / "README").write_text("mine")
    for name in OF_OTHERS:
        (store.folder / "ab" / name).write_text("mine too")
    entries = sum(json_file(store, key).stat().st_size for key in (KEY, OTHER))
    return entries, len(WEIGHTS), 4


def test_size_is_what_is_on_disk(store):
    put(store)
    put(store, OTHER, weights=None)
    assert store.size() == sum(map(len, files(store.folder).values()))
    before = store.size()
    json_file(store).with_name(f"{KEY}.json.77.unfinished").write_bytes(b"half")
    json_file(store).with_name("film.mp4").write_bytes(b"of another")
    assert store.size() == before + 4


def test_cleaning_everything(store):
    freed = sum(crowd(store))
    assert store.clean() == freed
    assert set(files(store.folder)) == LEFT  # what others put there stays
    assert list(store.entries()) == []
    assert store.clean() == 0


def test_cleaning_weights(store):
    _, weights, leftover = crowd(store)
    kept = [store.get(KEY), store.get(OTHER)]
    assert store.clean(weights_only=True) == weights + leftover
    assert set(files(store.folder)) == {*LEFT, f"ab/{KEY}.json", f"cd/{OTHER}.json"}
    assert [store.get(KEY), store.get(OTHER)] == kept
    assert store.weights(kept[0]) is None
    assert store.clean(weights_only=True) == 0


@pytest.mark.parametrize("weights_only", [True, False])
def test_unfinished_training_counts_and_goes_with_the_weights(store, weights_only):
    put(store, weights=None)
    before, checkpoint = store.size(), store.checkpoint(OTHER)
    checkpoint.save({"weight": torch.ones(1000)})
    kept = store.size() - before
    assert kept > 4000
    store.sweep()
    assert checkpoint.load() is not None
    assert [entry.key for entry in store.entries()] == [KEY]
    assert store.clean(weights_only=weights_only) == (kept if weights_only else before + kept)
    assert checkpoint.load() is None


def test_nothing_is_made_by_looking(store):
    store.get(KEY)
    list(store.entries())
    store.size()
    store.clean()
    assert not store.folder.exists()


# Many writers


def write_many(folder, start, rounds):
    """Entries whose content follows from their key, as that of trained nodes does."""
    store = Store(folder)
    start.wait(60)
    for i in range(rounds):
        key = f"{i % 5:064x}"
        store.put(key, {"a#0": i % 5 / 7}, 0.5, {"i": i % 5}, bytes([i % 5]) * 50_000)


def read_many(folder, start, stop, result):
    store = Store(folder)
    start.wait(60)
    seen = 0
    while not stop.is_set():
        for entry in store.entries():  # a warning would be an error
            weights = store.weights(entry)
            assert entry.errors == {"a#0": entry.about["i"] / 7}
            assert weights == bytes([entry.about["i"]]) * 50_000
            seen += 1
    result.put(seen)


def test_processes_may_write_and_read_at_once(tmp_path, monkeypatch):
    """No mixture of two writers, no half-written file is ever seen."""
    monkeypatch.setattr(sys, "path", [str(Path(__file__).parent), *sys.path])
    monkeypatch.setitem(sys.modules, "test_store", sys.modules[__name__])
    for function in (write_many, read_many):
        monkeypatch.setattr(function, "__module__", "test_store")
    monkeypatch.setenv("PYTHONWARNINGS", "error::UserWarning")
    context = multiprocessing.get_context("spawn")
    start, stop, result = context.Barrier(3), context.Event(), context.Queue()
    writers = [context.Process(target=write_many, args=(tmp_path, start, 60)) for _ in range(2)]
    reader = context.Process(target=read_many, args=(tmp_path, start, stop, result))
    try:
        for process in (*writers, reader):
            process.start()
        for process in writers:
            process.join(120)
        stop.set()
        assert result.get(timeout=60) > 0
        reader.join(60)
        assert [process.exitcode for process in (*writers, reader)] == [0] * 3
    finally:
        for process in (*writers, reader):
            process.kill()
    alone = Store(tmp_path / "alone")
    for i in range(5):
        alone.put(f"{i:064x}", {"a#0": i / 7}, 0.5, {"i": i}, bytes([i]) * 50_000)
    assert files(tmp_path / "00") == files(tmp_path / "alone" / "00")


def test_two_machines_may_write_the_same_entry_with_the_same_process_id(store, monkeypatch):
    """In containers the process id is often the same small number; here the other writer comes in between."""
    fsync = os.fsync

    def other_machine(descriptor):
        fsync(descriptor)
        monkeypatch.setattr(os, "fsync", fsync)
        put(store)

    monkeypatch.setattr(os, "fsync", other_machine)
    put(store)
    assert store.get(KEY) is not None


@pytest.mark.parametrize("method", ["size", "clean"])
def test_files_that_go_while_one_looks(store, monkeypatch, method):
    """A writer that finishes renames its unfinished file at any moment."""
    put(store)
    gone = json_file(store).with_name(f"{OTHER}.json.77.unfinished")
    glob, is_file = Path.glob, Path.is_file
    monkeypatch.setattr(Path, "glob", lambda self, pattern: iter([*glob(self, pattern), gone]))
    monkeypatch.setattr(Path, "is_file", lambda self: self == gone or is_file(self))
    assert getattr(store, method)() > 0


# Folders that cannot be used


@contextmanager
def ordinary_user():
    """Permissions do not bind root; become nobody for a moment."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)


@pytest.fixture
def locked():
    """A folder that everyone may read and nobody may write to."""
    folder = Path(tempfile.mkdtemp())
    store = Store(folder)
    put(store)
    for path in (folder / "ab", folder):
        path.chmod(0o555)
    yield folder
    for path in (folder, folder / "ab"):
        path.chmod(0o755)
    shutil.rmtree(folder)


@pytest.mark.skipif(os.name == "nt", reason="permissions of POSIX")
@pytest.mark.parametrize("key", [KEY, OTHER], ids=["file", "folder"])
def test_a_read_only_store_can_be_read_and_says_so_when_written_to(locked, key):
    store, before = Store(locked), files(locked)
    with ordinary_user():
        entry = store.get(KEY)
        assert entry is not None
        assert store.weights(entry) == WEIGHTS
        with pytest.raises(PermissionError) as caught:
            put(store, key)
    assert str(locked) in str(caught.value)
    assert files(locked) == before


@pytest.mark.parametrize("action", [put, lambda store: store.get(KEY)], ids=["put", "get"])
def test_a_file_in_place_of_the_folder(tmp_path, action):
    (tmp_path / "runs").write_text("I am a file")
    with pytest.raises(OSError, match="runs"):
        action(Store(tmp_path / "runs"))
    assert (tmp_path / "runs").read_text() == "I am a file"
