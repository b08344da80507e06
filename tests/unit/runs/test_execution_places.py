"""Execution where something about the place is wrong: each ends with one error that says what to do."""

import errno
import os
import tempfile
import time
import warnings
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
import torch
import toy_runs
from toy_runs import NODES, TRAINING, Toy, copied, files

from ebbing import _workers
from ebbing._files import write_atomic
from ebbing.learn import prefix_tree
from ebbing.runs import Resources, Store, execute
from ebbing.runs.store import StoreError

store, trained, whole = toy_runs.store, toy_runs.trained, toy_runs.whole  # fixtures

FULL, READ_ONLY = OSError(errno.ENOSPC, "No space left on device"), OSError(errno.EROFS, "Read-only file system")


def raising(error):
    def fail(*_arguments, **_settings):
        raise error

    return fail


# The disk


@pytest.mark.parametrize("fault", [FULL, READ_ONLY], ids=["full", "read-only"])
def test_store_that_cannot_be_written_raises_before_training(store, trained, monkeypatch, fault):
    monkeypatch.setattr(Path, "write_bytes", raising(fault))
    with pytest.raises(
        StoreError, match=rf"cannot write results into .*runs: {fault.strerror}; .*, and the same command"
    ):
        execute(TRAINING, NODES, store)
    assert trained == []


def test_store_that_is_a_file_raises_before_training(tmp_path, trained):
    (tmp_path / "file").write_text("not a folder")
    with pytest.raises(StoreError, match=r"cannot write results into .*file: .*; name a folder that can be written"):
        execute(TRAINING, NODES, Store(tmp_path / "file"))
    assert trained == []


def test_disk_that_fills_up_keeps_what_is_stored(whole, store, monkeypatch):
    real, count = os.replace, 0

    def filling(*arguments):
        nonlocal count
        count += 1
        if count > 6:
            raise FULL
        return real(*arguments)

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", filling)
        with pytest.raises(StoreError, match="No space left on device; free some space") as caught:
            execute(TRAINING, NODES, store)
    assert caught.value.errno == errno.ENOSPC  # by which the command chooses its status
    assert 0 < len(list(store.entries())) < len(NODES)
    assert execute(TRAINING, NODES, store) == whole[1:]
    assert files(store) == files(whole[0])


def test_checkpoint_that_cannot_be_written_or_read_only_warns(store, monkeypatch):
    checkpoint = store.checkpoint("a" * 64)
    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", raising(FULL))
        with pytest.warns(UserWarning, match="cannot be written .*No space left.*; training goes on"):
            checkpoint.save({"x": torch.ones(2)})
    checkpoint.save({"x": torch.ones(2)})
    with monkeypatch.context() as patch:
        patch.setattr(Path, "read_bytes", raising(OSError(errno.EIO, "Input/output error")))
        with pytest.warns(UserWarning, match="cannot be read .*Input/output error.*; training of its task starts"):
            assert checkpoint.load() is None
    assert torch.equal((checkpoint.load() or {})["x"], torch.ones(2))


def test_no_room_for_the_experiment_names_the_folder(store, monkeypatch):
    monkeypatch.setattr(tempfile, "mkstemp", raising(FULL))
    with pytest.raises(OSError, match=r"cannot write the .* MB of the experiment .*; set TMPDIR to a folder") as caught:
        execute(TRAINING, NODES, store, workers=2)
    assert caught.value.errno == errno.ENOSPC


# Network file systems, and clocks


def test_stale_file_handle_is_read_and_written_again(whole, store, monkeypatch):
    """Another machine has just replaced the file."""
    copied(whole, store)
    real_read, real_replace, calls = Path.read_bytes, os.replace, []

    def stale(real):
        def sometimes(*arguments):
            calls.append(arguments)
            if len(calls) % 2:
                raise OSError(errno.ESTALE, "Stale file handle")
            return real(*arguments)

        return sometimes

    monkeypatch.setattr(Path, "read_bytes", stale(real_read))
    assert execute(TRAINING, NODES, store) == whole[1:]
    monkeypatch.setattr(Path, "read_bytes", real_read)
    monkeypatch.setattr(os, "replace", stale(real_replace))
    store.put("a" * 64, {}, None, {}, b"weights")
    assert store.get("a" * 64) is not None


def test_file_system_without_fsync_is_written_all_the_same(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "fsync", raising(OSError(errno.EINVAL, "Invalid argument")))
    write_atomic(tmp_path / "file", "content")
    assert (tmp_path / "file").read_text() == "content"
    monkeypatch.setattr(os, "fsync", raising(OSError(errno.EIO, "Input/output error")))
    with pytest.raises(OSError, match="Input/output error"):
        write_atomic(tmp_path / "file", "other")
    assert (tmp_path / "file").read_text() == "content"


@pytest.mark.parametrize("jump", [-10 * 365 * 86400, 10 * 365 * 86400], ids=["back", "forward"])
def test_clock_that_jumps_changes_nothing(whole, store, monkeypatch, jump):
    """Another process is just writing a file, by the clock of the file system."""
    writing = store.folder / "ab" / f"{'ab' * 32}.json.1.unfinished"
    writing.parent.mkdir(parents=True)
    writing.touch()
    now = time.time()
    monkeypatch.setattr("time.time", lambda: now + jump)
    assert execute(TRAINING, NODES, store) == whole[1:]
    assert writing.exists()
    assert files(store) == files(whole[0])


# Experiments that cannot travel


@dataclass(frozen=True)
class Holding(Toy):
    """Tasks that hold an open file."""

    def __post_init__(self):
        object.__setattr__(self, "file", Path(os.devnull).open())  # noqa: SIM115


class OddError(Exception):
    """An error that pickle cannot restore."""

    def __init__(self, code, text):
        super().__init__(f"{code}: {text}")


def test_experiment_with_an_open_file_cannot_be_sent(store):
    holding = Holding()
    with pytest.raises(
        ValueError, match=r"cannot be sent to other processes \(TypeError: .*\); .*open files.*workers=1"
    ):
        execute(replace(TRAINING, tasks=holding), NODES, store, workers=2)
    vars(holding)["file"].close()


def test_error_that_cannot_be_pickled_is_sent_as_text():
    assert str(_workers._sendable(OddError(7, "no such file"))) == "OddError: 7: no such file"
    plain = ValueError("as it is")
    assert _workers._sendable(plain) is plain


@pytest.mark.parametrize(
    ("status", "kind", "said"),
    [
        (_workers.UNGUARDED_STATUS, ValueError, "if __name__ =="),
        (-9, ChildProcessError, "perhaps because memory ran out"),
        (-11, ChildProcessError, "ended by SIGSEGV"),
        (-15, ChildProcessError, "ended by SIGTERM"),
        (3, ChildProcessError, "ended with status 3, and its message stands above"),
        (None, ChildProcessError, "the worker processes are lost"),
    ],
)
def test_exit_status_of_a_worker_is_explained(status, kind, said, monkeypatch):
    monkeypatch.setattr(_workers, "EXIT_SECONDS", 0.1)
    pool = _workers.Workers(None)  # type: ignore[arg-type]
    pool._processes = {1: type("Ended", (), {"exitcode": status}), 2: type("Ended", (), {"exitcode": -15})}
    if status in (None, -15):
        pool._processes.pop(2)
    error = pool._explain(_workers.BrokenProcessPool("broken"))
    assert type(error) is kind
    assert said in str(error)


@pytest.mark.parametrize("cluster", [8786, ("localhost", 8786)])
def test_cluster_that_is_no_address_raises(cluster):
    with pytest.raises(ValueError, match=r"cluster=.*: give the address of a Dask scheduler, a string"):
        Resources(cluster=cluster)


# The order of results, and what is shown


def test_results_have_the_same_order_from_the_store(whole, store):
    first = execute(TRAINING, NODES, store)
    again = execute(TRAINING, NODES, store)
    for one, other in zip(first, again, strict=True):
        assert list(one) == list(other)
    assert [list(row) for row in first[0].values()] == [list(row) for row in again[0].values()]
    assert [len(path) for seed, path in first[0] if seed == 0] == sorted(
        len(path) for seed, path in first[0] if seed == 0
    )


def test_store_shows_its_folder(store):
    assert repr(store) == f"Store({str(store.folder)!r})"
    with pytest.raises(ValueError, match=r"folder=None: give the path of a folder"):
        Store(None)  # type: ignore[arg-type]


def test_damage_warns_at_the_users_line(whole, store):
    next(copied(whole, store).folder.rglob("*.json")).write_text("{")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        execute(TRAINING, prefix_tree([("a", "b", "a"), ("a", "b", "c"), ("a", "c"), ("b", "a")], 0) + NODES, store)
    assert [warning.filename for warning in caught] == [__file__]
