"""Execution: the same bits here and in other processes, and after every kind of interruption.

Runs that are to be killed are real processes: this file, called as a program, trains a small tree into a folder and
stops where it is told to, so that the signal comes at that very moment.
"""

import json
import multiprocessing
import os
import re
import secrets
import signal
import subprocess
import sys
import time
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
import torch

from ebbing.learn import (
    DigitTasks,
    FiveLayers,
    Lesson,
    Sample,
    Sgd,
    Training,
    error_matrix,
    lessons,
    train_plainly,
    tree,
)
from ebbing.learn.sequences import one_thread
from ebbing.runs import Execution, Store, execute, pools

HERE = Path(__file__).parent


@dataclass(frozen=True)
class Toy:
    """Twenty random images with random labels per lesson; one task ends the process that learns it."""

    identity: str = "toy"

    def sample(self, lesson: Lesson, seed: int) -> Sample:
        if lesson.task == "deadly" and os.environ.get("DEADLY"):
            os.kill(os.getpid(), signal.SIGKILL)
        if lesson.task == "endless":
            time.sleep(600)
        if lesson.task == "wrong":
            raise ValueError("no such data")
        random = np.random.default_rng([seed, *lesson.task.encode(), lesson.occurrence])
        images = torch.from_numpy(random.random((2, 20, 1, 28, 28), np.float32))
        labels = torch.from_numpy(random.integers(0, 2, (2, 20, 1)).astype(np.float32))
        return Sample(images[0], labels[0], images[1], labels[1])


@pytest.fixture(autouse=True)
def _importable(monkeypatch):
    """Other processes know this file by its plain name."""
    monkeypatch.setattr(sys, "path", [str(HERE), *sys.path])
    monkeypatch.setitem(sys.modules, "test_execute", sys.modules[__name__])
    monkeypatch.setattr(Toy, "__module__", "test_execute")


TRAINING = Training(Toy(), FiveLayers(widths=(2, 3, 4, 5)), Sgd(epochs=2, batch_size=8))
SEQUENCES = [("a", "b", "a"), ("a", "b", "c"), ("a", "c"), ("b", "a")]
NODES = tree(SEQUENCES, seed=0) + tree(SEQUENCES, seed=1)
PER_SEED = len(NODES) // 2


def files(store):
    """Every finished file with its bytes."""
    paths = (path for path in store.folder.rglob("*") if path.is_file() and path.suffix != ".unfinished")
    return {path.relative_to(store.folder).as_posix(): path.read_bytes() for path in paths}


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """An uninterrupted run in this process: its store, errors and fits."""
    store = Store(tmp_path_factory.mktemp("whole"))
    errors, fits = execute(TRAINING, NODES, store)
    return store, errors, fits


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "runs")


@pytest.fixture
def trained(monkeypatch):
    """The nodes that are trained in this process, as they come: (seed, lessons)."""
    done, train = [], pools.train

    def noting(training, node, *more, **settings):
        done.append((node.seed, *map(str, node.path)))
        return train(training, node, *more, **settings)

    monkeypatch.setattr(pools, "train", noting)
    return done


def entry_file(store, seed, *tasks, suffix="json"):
    node = next(node for node in NODES if node.seed == seed and node.path == lessons(tasks))
    key = node.key(TRAINING.describe())
    return store.folder / key[:2] / f"{key}.{suffix}"


def copied(whole, store):
    """The finished run, to be damaged."""
    for name, content in files(whole[0]).items():
        (store.folder / name).parent.mkdir(parents=True, exist_ok=True)
        (store.folder / name).write_bytes(content)
    return store


# In this process


def test_matrices_and_fits_are_those_of_the_plain_loop(whole):
    _, errors, fits = whole
    assert set(errors) == set(fits) == {(node.seed, node.path) for node in NODES}
    for seed in (0, 1):
        for sequence in SEQUENCES:
            with one_thread():
                matrix, fitted = train_plainly(TRAINING, sequence, seed)
            rows = {path: row for (of_seed, path), row in errors.items() if of_seed == seed}
            np.testing.assert_array_equal(error_matrix(sequence, rows), matrix)
            assert [fits[seed, lessons(sequence)[:t]] for t in range(1, len(sequence) + 1)] == fitted
    assert fits[0, ()] is None
    assert errors[0, ()] != errors[1, ()]


def test_only_what_has_children_keeps_weights(whole):
    names = set(files(whole[0]))
    assert len(NODES) == 2 * 8
    expected = {f"{node.key(TRAINING.describe())}.json" for node in NODES}
    expected |= {f"{node.key(TRAINING.describe())}.safetensors" for node in NODES if node.has_children}
    assert {Path(name).name for name in names} == expected
    assert sum(node.has_children for node in NODES) == 2 * 4


def test_every_node_is_trained_once_and_after_its_parent(store, trained):
    execute(TRAINING, NODES, store)
    assert len(trained) == len(set(trained)) == len(NODES)
    for i, path in enumerate(trained):
        assert len(path) == 1 or path[:-1] in trained[:i]


def test_a_second_run_trains_nothing_and_changes_nothing(whole, trained):
    store, errors, fits = whole
    before, times = files(store), {path: path.stat().st_mtime_ns for path in store.folder.rglob("*")}
    assert execute(TRAINING, NODES, store, workers=2) == (errors, fits)
    assert execute(TRAINING, NODES, store, cluster="nothing.to.connect.to:1") == (errors, fits)
    assert trained == []
    assert files(store) == before
    assert {path: path.stat().st_mtime_ns for path in store.folder.rglob("*")} == times


def test_progress_goes_from_what_is_there_to_1(store, trained):
    seen = []
    execute(TRAINING, NODES[:PER_SEED], store, progress=seen.append)
    assert seen == pytest.approx([i / PER_SEED for i in range(PER_SEED + 1)])
    seen.clear()
    execute(TRAINING, NODES, store, progress=seen.append)
    assert seen == pytest.approx([i / (2 * PER_SEED) for i in range(PER_SEED, 2 * PER_SEED + 1)])
    seen.clear()
    execute(TRAINING, NODES, store, progress=seen.append)
    assert seen == [1]


def test_an_error_in_training_keeps_what_was_done(whole, store, trained, monkeypatch):
    noting = pools.train

    def failing(*arguments, **settings):
        if len(trained) == 5:
            raise RuntimeError("something broke")
        return noting(*arguments, **settings)

    with monkeypatch.context() as patch:
        patch.setattr(pools, "train", failing)
        with pytest.raises(RuntimeError, match="something broke"):
            execute(TRAINING, NODES, store)
    assert len(list(store.entries())) == 5
    assert execute(TRAINING, NODES, store) == whole[1:]
    assert len(trained) == len(set(trained)) == len(NODES)
    assert files(store) == files(whole[0])


def test_workers_must_be_at_least_one(store):
    for workers in (0, -1):
        with pytest.raises(ValueError, match=r"workers"):
            execute(TRAINING, NODES, store, workers=workers)


def test_nothing_to_do(store):
    assert execute(TRAINING, [], store) == ({}, {})
    assert execute(TRAINING, [], store, progress=lambda _: None) == ({}, {})


def test_trees_of_the_same_seed_may_be_joined(store):
    """With worker processes this does not end at all."""
    errors, _ = execute(TRAINING, tree([("a", "b")], 0) + tree([("c",), ("a",)], 0), store)
    assert set(errors[0, ()]) == {"a#0", "b#0", "c#0"}
    assert set(errors[0, lessons("ab")]) == {"a#0", "b#0"}


def test_nodes_in_any_order(whole, store):
    entry_file(copied(whole, store), 0, "a", "c").unlink()
    assert execute(TRAINING, NODES[::-1], store) == whole[1:]


def test_a_node_without_its_parent_is_refused(store):
    with pytest.raises(ValueError, match="parent"):
        execute(TRAINING, [node for node in NODES if len(node.path) != 1], store)


# Resuming


@pytest.mark.parametrize(
    ("lost", "again"),
    [
        ([("a", "b", "c")], [("a", "b", "c")]),  # a leaf: the parent's weights are there
        ([("a", "b")], [("a", "b")]),  # its children are there
        ([("a",), ("a", "c")], [("a",), ("a", "c")]),
        ([()], [()]),
    ],
)
def test_only_what_is_missing_is_trained(whole, store, trained, lost, again):
    copied(whole, store)
    for tasks in lost:
        entry_file(store, 1, *tasks).unlink()
        entry_file(store, 1, *tasks, suffix="safetensors").unlink(missing_ok=True)
    assert execute(TRAINING, NODES, store) == whole[1:]
    assert sorted(trained) == sorted((1, *map(str, lessons(tasks))) for tasks in again)
    assert files(store) == files(whole[0])


@pytest.mark.parametrize("damage", [b"", b'{"errors": {', b"[]"])
def test_a_damaged_entry_is_computed_again(whole, store, trained, damage):
    entry_file(copied(whole, store), 0, "a", "b").write_bytes(damage)
    with pytest.warns(UserWarning, match="is damaged .* and will be computed again"):
        assert execute(TRAINING, NODES, store) == whole[1:]
    assert trained == [(0, "a#0", "b#0")]
    assert files(store) == files(whole[0])


def test_a_damaged_entry_is_computed_again_with_the_ancestors_it_needs(whole, store, trained):
    """The leaf is damaged and so are its parent's weights; the grandparent's are whole."""
    entry_file(copied(whole, store), 0, "a", "b", "c").write_bytes(b"broken")
    entry_file(store, 0, "a", "b", suffix="safetensors").write_bytes(b"broken too")
    with pytest.warns(UserWarning, match="is damaged") as caught:
        assert execute(TRAINING, NODES, store) == whole[1:]
    assert len(caught) == 2
    assert trained == [(0, "a#0", "b#0"), (0, "a#0", "b#0", "c#0")]
    assert files(store) == files(whole[0])


def test_damaged_weights_that_nobody_needs_are_left_alone(whole, store, trained):
    entry_file(copied(whole, store), 0, "a", suffix="safetensors").write_bytes(b"broken")
    assert execute(TRAINING, NODES, store) == whole[1:]
    assert trained == []


def test_without_weights_a_new_child_has_its_ancestors_trained_again(whole, store, trained):
    copied(whole, store).clean(weights_only=True)
    assert execute(TRAINING, NODES, store) == whole[1:]
    assert trained == []  # all rows are there
    more = [*SEQUENCES, ("a", "b", "b")]
    errors, _ = execute(TRAINING, tree(more, 0) + tree(more, 1), store)
    paths = [(), ("a#0",), ("a#0", "b#0"), ("a#0", "b#0", "b#1")]
    # Rows that now must tell of b#1 as well are computed again in any case: the initial network's, a#0's and so on.
    assert {node for node in trained if node[1:] in paths} == {(seed, *path) for seed in (0, 1) for path in paths}
    with one_thread():
        expected, _ = train_plainly(TRAINING, ("a", "b", "b"), 0)
    rows = {path: row for (seed, path), row in errors.items() if seed == 0}
    np.testing.assert_array_equal(error_matrix(("a", "b", "b"), rows), expected)


def test_without_weights_a_lost_leaf_has_its_ancestors_trained_again(whole, store, trained):
    copied(whole, store).clean(weights_only=True)
    entry_file(store, 0, "a", "b", "c").unlink()
    assert execute(TRAINING, NODES, store) == whole[1:]
    assert trained == [(0,), (0, "a#0"), (0, "a#0", "b#0"), (0, "a#0", "b#0", "c#0")]


def test_a_row_that_lacks_a_lesson_is_computed_again(store, trained):
    execute(TRAINING, tree([("a", "b")], 0), store)
    trained.clear()
    errors, _ = execute(TRAINING, tree([("a", "b"), ("a", "c")], 0), store)
    assert trained == [(0,), (0, "a#0"), (0, "a#0", "c#0")]  # not a#0 b#0, which is only tested on a#0 and b#0
    assert set(errors[0, ()]) == set(errors[0, lessons("a")]) == {"a#0", "b#0", "c#0"}
    fresh = Store(store.folder / "fresh")
    assert execute(TRAINING, tree([("a", "b"), ("a", "c")], 0), fresh)[0] == errors


def test_a_row_that_has_more_than_asked_for_serves(whole, trained):
    errors, _ = execute(TRAINING, tree([("a", "c")], 0), whole[0])
    assert trained == []
    assert errors[0, ()] == whole[1][0, ()]


def test_two_requests_in_turn_do_not_undo_each_other(store, trained):
    first, second = tree([("a", "b", "b")], 0), tree([("a", "c"), ("a", "b", "d"), ("a", "b")], 0)
    execute(TRAINING, first, store)
    execute(TRAINING, second, store)
    trained.clear()
    execute(TRAINING, first, store)
    execute(TRAINING, second, store)
    assert trained == []


def test_other_settings_do_not_share_entries(whole, store, trained):
    copied(whole, store)
    execute(replace(TRAINING, method=Sgd(epochs=1)), tree([("a",)], 0), store)
    execute(replace(TRAINING, tasks=Toy("other data")), tree([("a",)], 0), store)
    assert trained == [(0,), (0, "a#0")] * 2
    assert files(whole[0]).items() <= files(store).items()


# What is refused before anything is trained


@dataclass(frozen=True)
class Choosy(Toy):
    """Knows its tasks by name."""

    def check(self, task: str) -> None:
        if task not in ("a", "b"):
            raise ValueError(f"task {task!r}: there are a and b")


@pytest.mark.parametrize("sequence", [("a", "x"), ("a", "b", "x")])
def test_an_unknown_task_is_refused_before_training(store, trained, sequence):
    choosy = replace(TRAINING, tasks=Choosy())
    with pytest.raises(ValueError, match="task 'x': there are a and b"):
        execute(choosy, tree([("a", "b"), sequence], 0), store)
    with pytest.raises(ValueError, match="task 'x': there are a and b"):
        execute(choosy, [replace(node, tested=lessons("x")) for node in tree([("a",)], 0)], store)
    assert trained == []
    assert not store.folder.exists()
    assert len(execute(choosy, tree([("a", "b")], 0), store)[0]) == 3


@pytest.mark.parametrize("task", ["0-1-x", "", "10"])
def test_what_is_no_set_of_digits_is_refused_before_mnist_is_read(store, trained, monkeypatch, task):
    monkeypatch.setattr("ebbing.learn.tasks._mnist", None)
    training, sequence = replace(TRAINING, tasks=DigitTasks()), ["0-1", task]
    with pytest.raises(ValueError, match=rf"task {task!r}: write a set of digits as 0-1-2"):
        execute(training, [*tree([["0-1"]], 0), *tree([["2-3", task]], 1)], store)
    with pytest.raises(ValueError, match=rf"task {task!r}: write a set of digits as 0-1-2"):
        train_plainly(training, sequence, seed=0)
    assert trained == []


@pytest.mark.parametrize("task", [7, None, ("a", "b")])
def test_a_task_is_known_by_a_string(task):
    for attempt in (tree, lambda sequences, seed: train_plainly(TRAINING, sequences[0], seed)):
        with pytest.raises(ValueError, match=re.escape(f"task {task!r}: give the name of a task, a string")):
            attempt([["a", task]], 0)


@pytest.mark.parametrize("seed", [-1, np.int64(-1), 0.0, 1.5, "0", None, True, np.True_])
def test_seeds_are_whole_numbers_from_0(seed):
    for attempt in (lambda: tree([("a",)], seed), lambda: train_plainly(TRAINING, ("a",), seed)):
        with pytest.raises(ValueError, match=r"^seed=.*: give a whole number >= 0") as caught:
            attempt()
        assert repr(seed) in str(caught.value)


@pytest.mark.parametrize("kind", [np.int64, np.uint8])
def test_seeds_of_numpy_are_the_same_seeds(store, trained, kind):
    [plain], [same] = ([node for node in tree([("a",)], seed) if node.path] for seed in (1, kind(1)))
    assert type(same.seed) is int
    assert same.key(TRAINING.describe()) == plain.key(TRAINING.describe())
    errors, fits = execute(TRAINING, tree([("a",)], kind(1)), store)
    trained.clear()
    assert execute(TRAINING, tree([("a",)], 1), store) == (errors, fits)
    assert trained == []
    np.testing.assert_array_equal(train_plainly(TRAINING, ("a",), kind(1))[0], train_plainly(TRAINING, ("a",), 1)[0])


@pytest.mark.parametrize("rate", ["0.1", None, True, [0.1], 1j, 0.0])
def test_a_learning_rate_is_a_positive_number(rate):
    with pytest.raises(ValueError, match=r"^learning_rate=.*: give a positive number") as caught:
        Sgd(learning_rate=rate)
    assert repr(rate) in str(caught.value)


def test_learning_rates_of_numpy_are_the_same_rates():
    for rate in (np.float64(0.5), np.float32(0.5), Fraction(1, 2)):
        settings = replace(TRAINING, method=Sgd(learning_rate=rate)).describe()  # type: ignore[arg-type]
        assert settings == replace(TRAINING, method=Sgd(learning_rate=0.5)).describe()
        assert type(settings["method"]["learning_rate"]) is float
    assert json.dumps(replace(TRAINING, method=Sgd(learning_rate=1)).describe()["method"]["learning_rate"]) == "1.0"


class Plain:
    """Tasks, a network or a method that is no dataclass."""

    identity, version = "plain", 1


@pytest.mark.parametrize("part", ["tasks", "architecture", "method"])
@pytest.mark.parametrize("value", [Plain(), Plain, Toy, None])
def test_a_part_that_has_no_settings_is_refused(store, part, value):
    with pytest.raises(ValueError, match=rf"^{part}=.*; give a dataclass of settings, or .* settings\(\)"):
        execute(replace(TRAINING, **{part: value}), NODES, store)


def test_a_part_may_describe_itself():
    class Described(Plain):
        def settings(self) -> dict[str, int]:
            return {"size": 3}

    described = Training(Described(), TRAINING.architecture, TRAINING.method).describe()  # type: ignore[arg-type]
    assert described["tasks"] == {"kind": "Described", "size": 3, "identity": "plain"}
    assert described["method"] == TRAINING.describe()["method"]


@dataclass(frozen=True)
class Holding(Toy):
    held: object = None


@pytest.mark.parametrize("value", [torch.zeros(3), np.int64(3), {"a": np.zeros(2)}, len, 1j])
def test_a_setting_that_json_cannot_hold_is_refused(store, value):
    with pytest.raises(ValueError, match=r"^held=.* of tasks: .* JSON can hold .* give Holding a method settings\(\)"):
        execute(replace(TRAINING, tasks=Holding(held=value)), NODES, store)


# Cleaning while a run goes on


@pytest.mark.parametrize("weights_only", [False, True])
@pytest.mark.parametrize("workers", [1, 2])
def test_a_run_goes_on_while_its_store_is_cleaned(whole, store, workers, weights_only):
    """Children have the weights of their parents from memory."""
    freed = []
    errors, fits = execute(
        TRAINING,
        NODES,
        store,
        workers=workers,
        progress=lambda _: freed.append(store.clean(weights_only=weights_only)),
    )
    assert (errors, fits) == whole[1:]
    assert len(freed) == len(NODES) + 1
    assert sum(freed) > 0
    assert len(list(store.entries())) == (len(NODES) if weights_only else 0)


def test_leftovers_of_writers_that_died_go_when_the_next_run_trains(whole, store):
    copied(whole, store)
    leftover = entry_file(store, 0, "a").with_name(f"{'0' * 64}.json.1.unfinished")
    leftover.touch()
    os.utime(leftover, (0, 0))
    execute(TRAINING, NODES, store)
    assert leftover.exists()  # a run that only reads changes nothing
    entry_file(store, 0, "a", "c").unlink()
    execute(TRAINING, NODES, store)
    assert not leftover.exists()


def test_what_is_to_do_is_known_before_it_is_done(whole, store):
    entry_file(copied(whole, store), 1, "a", "c").unlink()
    execution = Execution(TRAINING, NODES, store)
    assert (execution.found, list(execution.todo)) == (len(NODES) - 1, [(1, lessons("ac"))])
    assert execution.run() == whole[1:]
    assert (execution.found, execution.todo) == (len(NODES) - 1, {})


# In other processes


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
    monkeypatch.setattr(unpack, "__module__", "test_execute")
    monkeypatch.setenv("NOTE_ARRIVALS_IN", str(tmp_path))
    Packed.sent.clear()
    nodes = tree([("a", "b", "c")], 0)
    execute(replace(TRAINING, tasks=Packed()), nodes, store, workers=2)
    assert Packed.sent == [1]
    arrivals = sum(path.is_file() for path in tmp_path.iterdir())
    assert 1 <= arrivals <= 2 < len(nodes)


def test_a_training_that_does_not_arrive_says_why(store, monkeypatch):
    monkeypatch.setattr(unpack, "__module__", "test_execute")
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
    nodes = [replace(node, tested=lessons(["a"])) for node in tree([("a", "deadly")], 0)]
    with monkeypatch.context() as patch:
        patch.setenv("DEADLY", "1")
        with pytest.raises(ChildProcessError, match="a worker process was killed"):
            execute(TRAINING, nodes, store, workers=2)
    trained = request.getfixturevalue("trained")
    execute(TRAINING, nodes, store)
    assert trained == [(0, "a#0", "deadly#0")]


def test_an_error_does_not_wait_for_the_other_workers(store):
    nodes = [replace(node, tested=lessons(["a"])) for node in tree([("endless",), ("wrong",)], 0)]
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
            return pools.train(TRAINING, node, parent)

    @contextmanager
    def pool(*_):
        yield Together()

    monkeypatch.setattr(sys.modules["ebbing.runs.execute"], "pool", pool)
    with pytest.raises(RuntimeError, match="something broke"):
        execute(TRAINING, tree([("b", "a"), ("a",), ("c",)], 0), store)
    assert sorted(entry.about["path"] for entry in store.entries()) == [[], ["a#0"], ["c#0"]]


# Killed


def main(folder: str, workers: str, stop: str, count: str) -> None:
    """Train; at the given call of a function of this process (0: none) leave a sign and wait for the signal."""
    calls = 0
    where = {"train": (pools, "train"), "fsync": (os, "fsync"), "replace": (os, "replace")}[stop]
    real = getattr(*where)

    def stopping(*arguments, **settings):
        nonlocal calls
        calls += 1
        if calls == int(count):
            Path(folder, "here").touch()
            time.sleep(300)
        return real(*arguments, **settings)

    if int(count):
        setattr(*where, stopping)
    execute(TRAINING, NODES, Store(Path(folder, "runs")), workers=int(workers))
    print(json.dumps("finished"))


def start(folder, workers=1, stop="train", count=0):
    program = "import sys, test_execute; test_execute.main(*sys.argv[1:])"
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(HERE), *sys.path])}
    command = [sys.executable, "-c", program, str(folder), str(workers), stop, str(count)]
    return subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )


def wait_for(condition, process):
    deadline = time.monotonic() + 120
    while not condition():
        assert process.poll() is None, process.communicate()[1]
        assert time.monotonic() < deadline
        time.sleep(0.02)


def interrupted(folder, how, **arguments):
    """Run until the sign, send the signal; what the process said on its way out."""
    process = start(folder, **arguments)
    try:
        wait_for((folder / "here").exists, process)
        process.send_signal(how)
        said = process.communicate(timeout=60)[1]
        assert process.returncode != 0
        return said
    finally:
        kill_all(process)


def kill_all(process):
    """The process and its children, which form a group of their own."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.communicate()


@pytest.mark.parametrize(
    ("stop", "count", "entries"),
    [
        ("train", 6, 5),
        ("fsync", 1, 0),  # in the middle of the first weights
        ("replace", 2, 0),  # in the middle of the first entry
    ],
)
def test_killed_at_any_moment_the_same_command_goes_on_and_ends_alike(whole, tmp_path, stop, count, entries):
    interrupted(tmp_path, signal.SIGKILL, stop=stop, count=count)
    store = Store(tmp_path / "runs")
    assert len(list(store.entries())) == entries
    there = {path: path.stat().st_mtime_ns for path in store.folder.rglob("*.json")}
    process = start(tmp_path)
    assert process.communicate(timeout=120)[0] == '"finished"\n'
    assert {path: path.stat().st_mtime_ns for path in there} == there  # not computed again
    assert files(store) == files(whole[0])


def test_ctrl_c_keeps_what_was_finished(whole, tmp_path, trained):
    said = interrupted(tmp_path, signal.SIGINT, stop="train", count=6)
    assert "KeyboardInterrupt" in said
    store = Store(tmp_path / "runs")
    assert len(list(store.entries())) == 5
    assert not list(store.folder.rglob("*.unfinished"))
    assert execute(TRAINING, NODES, store) == whole[1:]
    assert len(trained) == len(NODES) - 5
    assert files(store) == files(whole[0])


def test_ctrl_c_ends_worker_processes_as_well(whole, tmp_path, trained):
    """The sign is left by the caller's process, before it stores its sixth entry."""
    process = start(tmp_path, workers=2, stop="replace", count=6)
    try:
        wait_for((tmp_path / "here").exists, process)
        os.killpg(process.pid, signal.SIGINT)  # as a terminal does
        process.communicate(timeout=60)  # reads to the end, which comes when the last of them has gone
        assert process.returncode != 0
    finally:
        kill_all(process)
    store = Store(tmp_path / "runs")
    entries = len(list(store.entries()))
    assert 0 < entries < len(NODES)
    assert execute(TRAINING, NODES, store) == whole[1:]
    assert len(trained) == len(NODES) - entries
    assert files(store) == files(whole[0])


def test_worker_processes_end_with_a_killed_caller(tmp_path):
    process = start(tmp_path, workers=2, stop="replace", count=6)
    try:
        wait_for((tmp_path / "here").exists, process)
        process.kill()
        process.communicate(timeout=10)  # reads to the end, which comes when the last of them has gone
        assert process.returncode == -signal.SIGKILL
    finally:
        kill_all(process)


@pytest.mark.parametrize("name", ["potato", "cuda:99"])
def test_a_device_that_is_not_there_is_refused_before_training(store, trained, name):
    with pytest.raises(ValueError, match=f"device='{name}': not usable here"):
        execute(TRAINING, NODES, store, device=name)
    assert trained == []
