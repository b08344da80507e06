"""Execution in worker processes: the same bits, data sent once, and errors that keep finished results."""

import multiprocessing
import os
import secrets
import sys
import time
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import pytest
import toy_runs
from toy_runs import NODES, TRAINING, Toy, files

from ebbing.learn import Sgd, occurrences, prefix_tree
from ebbing.runs import Execution, _pools, execute

store, trained, whole = toy_runs.store, toy_runs.trained, toy_runs.whole  # fixtures

LOCAL = Path(__file__).parent


@pytest.fixture(autouse=True)
def _importable(monkeypatch):
    """Other processes import this file by its plain name."""
    monkeypatch.setattr(sys, "path", [str(LOCAL), *sys.path])
    monkeypatch.setitem(sys.modules, "test_execution_processes", sys.modules[__name__])


@dataclass(frozen=True)
class Packed(Toy):
    """Counts how often it is pickled and unpickled; unpickling may fail."""

    arrives: bool = True
    sent: ClassVar[list[int]] = []

    def __reduce__(self) -> tuple[Any, ...]:
        self.sent.append(1)
        return unpack, (self.arrives,)


def unpack(arrives: bool) -> Packed:
    if folder := os.environ.get("NOTE_ARRIVALS_IN"):
        Path(folder, secrets.token_hex(8)).touch()
    if not arrives:
        raise ValueError("this machine lacks the data")
    return Packed()


def test_experiment_is_pickled_once_and_unpickled_once_each(store, tmp_path, monkeypatch):
    monkeypatch.setattr(unpack, "__module__", "test_execution_processes")
    monkeypatch.setenv("NOTE_ARRIVALS_IN", str(tmp_path))
    Packed.sent.clear()
    nodes = prefix_tree([("a", "b", "c")], 0)
    execute(replace(TRAINING, tasks=Packed()), nodes, store, workers=2)
    assert Packed.sent == [1]
    arrivals = sum(path.is_file() for path in tmp_path.iterdir())
    assert 1 <= arrivals <= 2 < len(nodes)


def test_experiment_that_cannot_be_unpickled_raises(store, monkeypatch):
    monkeypatch.setattr(unpack, "__module__", "test_execution_processes")
    with pytest.raises(ValueError, match="this machine lacks the data"):
        execute(replace(TRAINING, tasks=Packed(arrives=False)), NODES, store, workers=2)


def test_experiment_that_cannot_be_pickled_raises(store):
    class Local(Toy):
        pass

    with pytest.raises(ValueError, match=r"cannot be sent to other processes \(.*Local.*\).*workers=1"):
        execute(replace(TRAINING, tasks=Local()), NODES, store, workers=2)
    assert len(execute(replace(TRAINING, tasks=Local()), NODES, store)[0]) == len(NODES)


def test_weights_that_no_node_needs_are_released(whole, store):
    execution = Execution(TRAINING, NODES, store)
    assert execution.run() == whole[1:]
    assert execution.weights == {}


def test_two_processes_give_the_same_errors_and_bytes(whole, store, monkeypatch):
    monkeypatch.setattr(Sgd, "learn", None)  # here; other processes have their own
    seen = []
    assert execute(TRAINING, NODES, store, workers=2, progress=seen.append) == whole[1:]
    assert files(store) == files(whole[0])
    assert seen == pytest.approx([i / len(NODES) for i in range(len(NODES) + 1)])


def test_killed_worker_ends_the_run_but_keeps_results(store, request, monkeypatch):
    """The kernel kills processes that need too much memory."""
    nodes = [replace(node, test_occurrences=occurrences(["a"])) for node in prefix_tree([("a", "deadly")], 0)]
    with monkeypatch.context() as patch:
        patch.setenv("DEADLY", "1")
        with pytest.raises(ChildProcessError, match="a worker process was killed"):
            execute(TRAINING, nodes, store, workers=2)
    trained = request.getfixturevalue("trained")
    execute(TRAINING, nodes, store)
    assert trained == [(0, "a#0", "deadly#0")]


def test_error_does_not_wait_for_other_workers(store):
    nodes = [replace(node, test_occurrences=occurrences(["a"])) for node in prefix_tree([("endless",), ("wrong",)], 0)]
    with pytest.raises(ValueError, match="no such data"):
        execute(TRAINING, nodes, store, workers=2)
    for child in multiprocessing.active_children():
        child.join(60)
        deadline = time.monotonic() + 10  # another thread may be about to collect its status
        while child.is_alive() and time.monotonic() < deadline:
            time.sleep(0.01)
        assert not child.is_alive()


def test_results_finished_beside_an_error_are_stored(store, monkeypatch):
    class Together:
        """Trains all nodes before it reports any; tasks named b raise an error."""

        def submit(self, node, parent, checkpoint):
            return node, parent

        def wait(self, futures):
            return futures

        def result(self, future):
            node, parent = future
            if node.path and node.path[-1].task == "b":
                raise RuntimeError("something broke")
            return _pools.train_node(TRAINING, node, parent)

    @contextmanager
    def pool(*_):
        yield Together()

    monkeypatch.setattr(sys.modules["ebbing.runs.execution"], "open_pool", pool)
    with pytest.raises(RuntimeError, match="something broke"):
        execute(TRAINING, prefix_tree([("b", "a"), ("a",), ("c",)], 0), store)
    assert sorted(entry.about["path"] for entry in store.entries()) == [[], ["a#0"], ["c#0"]]
