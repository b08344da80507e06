"""The store: its size, and which files cleaning removes."""

import os
import time
from pathlib import Path

import pytest
import torch
import toy_store
from toy_store import KEY, OTHER, WEIGHTS, files, json_file, ordinary_user, put, weights_file

from ebbing.runs import Store

locked, store = toy_store.locked, toy_store.store  # fixtures


# Sizes and cleaning


OF_OTHERS = ("notes.txt", "notes.json", "download.unfinished", KEY, f"{KEY}.bin", f"{KEY}.json.old")
"""Foreign files with similar names, such as those of a backup, must survive a mistaken `clean`."""

LEFT = {"README", *(f"ab/{name}" for name in OF_OTHERS)}


def crowd(store):
    """Two entries, one with weights; an unfinished file; and foreign files. Bytes of (entries, weights, unfinished)."""
    put(store)
    put(store, OTHER, weights=None)
    leftover = json_file(store).with_name(f"{KEY}.safetensors.77.unfinished")
    leftover.write_bytes(b"half")
    (store.folder / "README").write_text("mine")
    for name in OF_OTHERS:
        (store.folder / "ab" / name).write_text("mine too")
    entries = sum(json_file(store, key).stat().st_size for key in (KEY, OTHER))
    return entries, len(WEIGHTS), 4


def test_size_is_that_on_disk(store):
    put(store)
    put(store, OTHER, weights=None)
    assert store.size() == sum(map(len, files(store.folder).values()))
    before = store.size()
    json_file(store).with_name(f"{KEY}.json.77.unfinished").write_bytes(b"half")
    json_file(store).with_name("film.mp4").write_bytes(b"of another")
    assert store.size() == before + 4


def test_clean_removes_everything(store):
    freed = sum(crowd(store))
    assert store.clean() == freed
    assert set(files(store.folder)) == LEFT  # foreign files stay
    assert list(store.entries()) == []
    assert store.clean() == 0


def test_clean_removes_weights_only(store):
    _, weights, leftover = crowd(store)
    kept = [store.get(KEY), store.get(OTHER)]
    assert store.clean(weights_only=True) == weights + leftover
    assert set(files(store.folder)) == {*LEFT, f"ab/{KEY}.json", f"cd/{OTHER}.json"}
    assert [store.get(KEY), store.get(OTHER)] == kept
    assert store.weights(kept[0]) is None
    assert store.clean(weights_only=True) == 0


@pytest.mark.parametrize("weights_only", [True, False])
def test_checkpoints_count_and_are_cleaned_with_weights(store, weights_only):
    put(store, weights=None)
    before, checkpoint = store.size(), store.checkpoint(OTHER)
    checkpoint.save({"weight": torch.ones(1000)})
    kept = store.size() - before
    assert kept > 4000
    store.remove_stale_files(time.time())
    assert checkpoint.load() is not None
    assert [entry.key for entry in store.entries()] == [KEY]
    assert store.clean(weights_only=weights_only) == (kept if weights_only else before + kept)
    assert checkpoint.load() is None


def test_reading_creates_nothing(store):
    store.get(KEY)
    list(store.entries())
    store.size()
    store.clean()
    assert not store.folder.exists()


@pytest.mark.parametrize("method", ["size", "clean"])
def test_files_may_vanish_while_they_are_read(store, monkeypatch, method):
    """A writer that finishes renames its unfinished file at any moment."""
    put(store)
    gone = json_file(store).with_name(f"{OTHER}.json.77.unfinished")
    glob, is_file = Path.glob, Path.is_file
    monkeypatch.setattr(Path, "glob", lambda self, pattern: iter([*glob(self, pattern), gone]))
    monkeypatch.setattr(Path, "is_file", lambda self: self == gone or is_file(self))
    assert getattr(store, method)() > 0


# Stale files


def test_only_stale_unfinished_files_are_removed(store):
    put(store)
    day, now = 24 * 3600, time.time()
    old, young = (json_file(store).with_name(f"{KEY}.json.{name}.unfinished") for name in ("old", "young"))
    for path, age in ((old, day + 60), (young, day - 60), (json_file(store), 9 * day), (weights_file(store), 9 * day)):
        path.touch()
        os.utime(path, (now - age, now - age))
    others = json_file(store).with_name("download.unfinished")
    others.touch()
    os.utime(others, (0, 0))
    store.remove_stale_files(time.time())
    assert set(files(store.folder)) == {
        *(f"ab/{KEY}.json", f"ab/{KEY}.safetensors"),
        *(f"ab/{young.name}", "ab/download.unfinished"),
    }
    assert not old.exists()


def test_stale_files_that_vanish_or_stay_are_ignored(store, locked, monkeypatch):
    """Another process removes them at the same time; or the folder is read-only."""
    leftover = locked / "ab" / f"{KEY}.json.1.unfinished"
    (locked / "ab").chmod(0o755)
    leftover.touch()
    (locked / "ab").chmod(0o555)
    os.utime(leftover, (0, 0))
    with ordinary_user():
        Store(locked).remove_stale_files(time.time())
    assert leftover.exists()
    put(store)
    gone = json_file(store).with_name(f"{OTHER}.json.77.unfinished")
    glob = Path.glob
    monkeypatch.setattr(Path, "glob", lambda self, pattern: iter([*glob(self, pattern), gone]))
    store.remove_stale_files(time.time())
