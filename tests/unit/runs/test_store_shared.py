"""The store: concurrent writers and readers, and folders that cannot be used."""

import errno
import multiprocessing
import os
import sys
from pathlib import Path

import pytest
import toy_store
from toy_store import KEY, OTHER, WEIGHTS, files, ordinary_user, put

from ebbing.runs import Store
from ebbing.runs.store import StoreError

locked, store = toy_store.locked, toy_store.store  # fixtures


# Many writers


def write_many(folder, start, rounds):
    """Entries whose content is determined by their key, as that of trained nodes is."""
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


def test_processes_may_write_and_read_concurrently(tmp_path, monkeypatch):
    """No mixture of two writers and no partial file is ever read."""
    monkeypatch.setattr(sys, "path", [str(Path(__file__).parent), *sys.path])
    monkeypatch.setitem(sys.modules, "test_store_shared", sys.modules[__name__])
    for function in (write_many, read_many):
        monkeypatch.setattr(function, "__module__", "test_store_shared")
    monkeypatch.setenv("PYTHONWARNINGS", "error::UserWarning")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["ebbing.runs"])  # loads PyTorch once for all three
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


def test_equal_process_ids_on_two_machines_do_not_collide(store, monkeypatch):
    """In containers the process id is often the same small number; here the other writer interrupts."""
    fsync = os.fsync

    def other_machine(descriptor):
        fsync(descriptor)
        monkeypatch.setattr(os, "fsync", fsync)
        put(store)

    monkeypatch.setattr(os, "fsync", other_machine)
    put(store)
    assert store.get(KEY) is not None


# Folders that cannot be used


@pytest.mark.skipif(os.name == "nt", reason="permissions of POSIX")
@pytest.mark.parametrize("key", [KEY, OTHER], ids=["file", "folder"])
def test_read_only_store_can_be_read_but_not_written(locked, key):
    store, before = Store(locked), files(locked)
    with ordinary_user():
        entry = store.get(KEY)
        assert entry is not None
        assert store.weights(entry) == WEIGHTS
        with pytest.raises(StoreError, match="Permission denied; name a folder that can be written") as caught:
            put(store, key)
    assert (caught.value.errno, str(locked) in str(caught.value)) == (errno.EACCES, True)
    assert files(locked) == before


@pytest.mark.parametrize("action", [put, lambda store: store.get(KEY)], ids=["put", "get"])
def test_file_in_place_of_the_folder_raises(tmp_path, action):
    (tmp_path / "runs").write_text("I am a file")
    with pytest.raises(OSError, match="runs"):
        action(Store(tmp_path / "runs"))
    assert (tmp_path / "runs").read_text() == "I am a file"
