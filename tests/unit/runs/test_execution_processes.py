"""Execution in other processes: the same bits, data sent once, and errors that cost no more than they must."""

import multiprocessing
import os
import secrets
import sys
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
    """Other processes know this file by its plain name."""
    monkeypatch.setattr(sys, "path", [str(LOCAL), *sys.path])
    monkeypatch.setitem(sys.modules, "test_execution_processes", sys.modules[__name__])


@dataclass(frozen=True)
class Packed(Toy):
    """Notes whenever it is sent, and may refuse to arrive."""

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


def test_data_is_packed_once_and_unpacked_once_per_process(store, tmp_path, monkeypatch):
    monkeypatch.setattr(unpack, "__module__", "test_execution_processes")
    monkeypatch.setenv("NOTE_ARRIVALS_IN", str(tmp_path))
    Packed.sent.clear()
    nodes = prefix_tree([("a", "b", "c")], 0)
    execute(replace(TRAINING, tasks=Packed()), nodes, store, workers=2)
    assert Packed.sent == [1]
    arrivals = sum(path.is_file() for path in tmp_path.iterdir())
    assert 1 <= arrivals <= 2 < len(nodes)


def test_a_training_that_does_not_arrive_says_why(store, monkeypatch):
    monkeypatch.setattr(unpack, "__module__", "test_execution_processes")
    with pytest.raises(ValueError, match="this machine lacks the data"):
        execute(replace(TRAINING, tasks=Packed(arrives=False)), NODES, store, workers=2)


def test_a_training_that_cannot_be_sent_is_refused(store):
    class Local(Toy):
        pass

    with pytest.raises(ValueError, match=r"cannot be sent to other processes \(.*Local.*\).*workers=1"):
        execute(replace(TRAINING, tasks=Local()), NODES, store, workers=2)
    assert len(execute(replace(TRAINING, tasks=Local()), NODES, store)[0]) == len(NODES)


def test_weights_that_nobody_waits_for_are_let_go(whole, store):
    execution = Execution(TRAINING, NODES, store)
    assert execution.run() == whole[1:]
    assert execution.weights == {}


def test_two_processes_give_the_same_matrices_and_bytes(whole, store, monkeypatch):
    monkeypatch.setattr(Sgd, "learn", None)  # here; other processes have their own
    seen = []
    assert execute(TRAINING, NODES, store, workers=2, progress=seen.append) == whole[1:]
    assert files(store) == files(whole[0])
    assert seen == pytest.approx([i / len(NODES) for i in range(len(NODES) + 1)])


def test_a_lost_process_ends_the_run_but_costs_no_more(store, request, monkeypatch):
    """The kernel kills what needs too much memory."""
    nodes = [replace(node, tested=occurrences(["a"])) for node in prefix_tree([("a", "deadly")], 0)]
    with monkeypatch.context() as patch:
        patch.setenv("DEADLY", "1")
        with pytest.raises(ChildProcessError, match="a worker process was killed"):
            execute(TRAINING, nodes, store, workers=2)
    trained = request.getfixturevalue("trained")
    execute(TRAINING, nodes, store)
    assert trained == [(0, "a#0", "deadly#0")]


def test_an_error_does_not_wait_for_the_other_workers(store):
    nodes = [replace(node, tested=occurrences(["a"])) for node in prefix_tree([("endless",), ("wrong",)], 0)]
    with pytest.raises(ValueError, match="no such data"):
        execute(TRAINING, nodes, store, workers=2)
    for child in multiprocessing.active_children():
        child.join(60)
        assert not child.is_alive()


def test_what_finished_beside_an_error_is_stored(store, monkeypatch):
    class Together:
        """Trains all it is given before it says so; of tasks called b nothing comes."""

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

    monkeypatch.setattr(sys.modules["ebbing.runs.execution"], "pool", pool)
    with pytest.raises(RuntimeError, match="something broke"):
        execute(TRAINING, prefix_tree([("b", "a"), ("a",), ("c",)], 0), store)
    assert sorted(entry.about["path"] for entry in store.entries()) == [[], ["a#0"], ["c#0"]]
