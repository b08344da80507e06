"""The store: atomic writes under interruptions."""

import os
import shutil
from pathlib import Path

import pytest
import toy_store
from toy_store import KEY, OTHER, WEIGHTS, files, json_file, put

from ebbing.runs import Store, StoreError

store = toy_store.store  # a fixture


@pytest.mark.parametrize("step", ["replace", "fsync"])
@pytest.mark.parametrize("fault", [OSError(28, "No space left on device"), KeyboardInterrupt()], ids=["full", "ctrl-c"])
def test_interrupted_write_leaves_nothing(store, monkeypatch, step, fault):
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


def test_interrupted_replacement_keeps_the_old_entry(store, monkeypatch):
    entry = put(store)
    before = files(store.folder)
    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", lambda *_: (_ for _ in ()).throw(OSError("interrupted")))
        with pytest.raises(OSError, match="interrupted"):
            store.put(KEY, {}, None, {}, b"new")
    assert files(store.folder) == before
    assert store.get(KEY) == entry


def test_entry_is_written_after_the_weights_with_fsync(store, monkeypatch):
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


def test_unfinished_files_of_a_killed_writer_are_harmless(store):
    put(store)
    json_file(store).with_name(f"{OTHER}.json.123.unfinished").write_bytes(b'{"half')
    assert store.get(OTHER) is None
    assert [entry.key for entry in store.entries()] == [KEY]


@pytest.mark.parametrize("clean", [Store.clean, lambda store: store.clean(weights_only=True)], ids=["all", "weights"])
def test_write_is_repeated_if_the_store_is_cleaned(store, monkeypatch, clean):
    fsync = os.fsync

    def cleaning(descriptor):
        fsync(descriptor)
        monkeypatch.setattr(os, "fsync", fsync)
        assert clean(store) == len(WEIGHTS)  # the unfinished file

    monkeypatch.setattr(os, "fsync", cleaning)
    entry = put(store)
    assert set(files(store.folder)) == {f"ab/{KEY}.json", f"ab/{KEY}.safetensors"}
    assert store.weights(entry) == WEIGHTS


def test_write_recreates_a_removed_folder(store, monkeypatch):
    fsync = os.fsync

    def removing(descriptor):
        fsync(descriptor)
        monkeypatch.setattr(os, "fsync", fsync)
        shutil.rmtree(store.folder)

    monkeypatch.setattr(os, "fsync", removing)
    assert store.weights(put(store)) == WEIGHTS


def test_write_raises_if_its_file_always_vanishes(store, monkeypatch):
    fsync, calls = os.fsync, []

    def cleaning(descriptor):
        fsync(descriptor)
        calls.append(store.clean())

    monkeypatch.setattr(os, "fsync", cleaning)
    with pytest.raises(StoreError, match=r"cannot write results into .*: No such file"):
        put(store)
    assert len(calls) == 5
    assert files(store.folder) == {}
