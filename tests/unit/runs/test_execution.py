"""Execution in this process: results equal the reference, every node is trained once, finished nodes are kept."""

from pathlib import Path

import numpy as np
import pytest
import toy_runs
from toy_runs import NODES, SEQUENCES, TRAINING, copied, entry_file, files

from ebbing.learn import error_matrix, occurrences, prefix_tree, train_reference
from ebbing.learn.training._machine import single_thread
from ebbing.runs import _pools, execute

store, trained, whole = toy_runs.store, toy_runs.trained, toy_runs.whole  # fixtures

PER_SEED = len(NODES) // 2


def test_errors_are_those_of_the_reference(whole):
    _, errors, fits = whole
    assert set(errors) == set(fits) == {(node.seed, node.path) for node in NODES}
    for seed in (0, 1):
        for sequence in SEQUENCES:
            with single_thread():
                matrix, fitted = train_reference(TRAINING, sequence, seed)
            rows = {path: row for (of_seed, path), row in errors.items() if of_seed == seed}
            np.testing.assert_array_equal(error_matrix(sequence, rows), matrix)
            assert [fits[seed, occurrences(sequence)[:t]] for t in range(1, len(sequence) + 1)] == fitted
    assert fits[0, ()] is None
    assert errors[0, ()] != errors[1, ()]


def test_only_nodes_with_children_keep_weights(whole):
    names = set(files(whole[0]))
    assert len(NODES) == 2 * 8
    expected = {f"{node.key(TRAINING.describe())}.json" for node in NODES}
    expected |= {f"{node.key(TRAINING.describe())}.safetensors" for node in NODES if node.has_children}
    assert {Path(name).name for name in names} == expected
    assert sum(node.has_children for node in NODES) == 2 * 4


def test_every_node_is_trained_once_after_its_parent(store, trained):
    execute(TRAINING, NODES, store)
    assert len(trained) == len(set(trained)) == len(NODES)
    for i, path in enumerate(trained):
        assert len(path) == 1 or path[:-1] in trained[:i]


def test_second_run_trains_nothing_and_changes_nothing(whole, trained):
    store, errors, fits = whole
    before, times = files(store), {path: path.stat().st_mtime_ns for path in store.folder.rglob("*")}
    assert execute(TRAINING, NODES, store, workers=2) == (errors, fits)
    assert execute(TRAINING, NODES, store, cluster="nothing.to.connect.to:1") == (errors, fits)
    assert trained == []
    assert files(store) == before
    assert {path: path.stat().st_mtime_ns for path in store.folder.rglob("*")} == times


def test_progress_goes_from_the_stored_share_to_1(store, trained):
    seen = []
    execute(TRAINING, NODES[:PER_SEED], store, progress=seen.append)
    assert seen == pytest.approx([i / PER_SEED for i in range(PER_SEED + 1)])
    seen.clear()
    execute(TRAINING, NODES, store, progress=seen.append)
    assert seen == pytest.approx([i / (2 * PER_SEED) for i in range(PER_SEED, 2 * PER_SEED + 1)])
    seen.clear()
    execute(TRAINING, NODES, store, progress=seen.append)
    assert seen == [1]


def test_error_in_training_keeps_finished_results(whole, store, trained, monkeypatch):
    noting = _pools.train_node

    def failing(*arguments, **settings):
        if len(trained) == 5:
            raise RuntimeError("something broke")
        return noting(*arguments, **settings)

    with monkeypatch.context() as patch:
        patch.setattr(_pools, "train_node", failing)
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


def test_no_nodes_give_no_results(store):
    assert execute(TRAINING, [], store) == ({}, {})
    assert execute(TRAINING, [], store, progress=lambda _: None) == ({}, {})


def test_trees_of_the_same_seed_are_merged(store):
    """With worker processes this would not end at all."""
    errors, _ = execute(TRAINING, prefix_tree([("a", "b")], 0) + prefix_tree([("c",), ("a",)], 0), store)
    assert set(errors[0, ()]) == {"a#0", "b#0", "c#0"}
    assert set(errors[0, occurrences("ab")]) == {"a#0", "b#0"}


def test_nodes_may_have_any_order(whole, store):
    entry_file(copied(whole, store), 0, "a", "c").unlink()
    assert execute(TRAINING, NODES[::-1], store) == whole[1:]


def test_node_without_its_parent_raises(store):
    with pytest.raises(ValueError, match="parent"):
        execute(TRAINING, [node for node in NODES if len(node.path) != 1], store)
