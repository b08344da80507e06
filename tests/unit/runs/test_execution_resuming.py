"""Resuming: only missing or damaged nodes are trained, with the ancestors that they need."""

from dataclasses import replace

import numpy as np
import pytest
import toy_runs
from toy_runs import NODES, SEQUENCES, TRAINING, Toy, copied, entry_file, files

from ebbing.learn import Sgd, error_matrix, occurrences, prefix_tree, train_reference
from ebbing.learn.training._machine import single_thread
from ebbing.runs import Execution, Store, execute

store, trained, whole = toy_runs.store, toy_runs.trained, toy_runs.whole  # fixtures


@pytest.mark.parametrize(
    ("lost", "again"),
    [
        ([("a", "b", "c")], [("a", "b", "c")]),  # a leaf: its parent's weights are stored
        ([("a", "b")], [("a", "b")]),  # its children are stored
        ([("a",), ("a", "c")], [("a",), ("a", "c")]),
        ([()], [()]),
    ],
)
def test_only_missing_nodes_are_trained(whole, store, trained, lost, again):
    copied(whole, store)
    for tasks in lost:
        entry_file(store, 1, *tasks).unlink()
        entry_file(store, 1, *tasks, suffix="safetensors").unlink(missing_ok=True)
    assert execute(TRAINING, NODES, store) == whole[1:]
    assert sorted(trained) == sorted((1, *map(str, occurrences(tasks))) for tasks in again)
    assert files(store) == files(whole[0])


@pytest.mark.parametrize("damage", [b"", b'{"errors": {', b"[]"])
def test_damaged_entry_is_computed_again(whole, store, trained, damage):
    entry_file(copied(whole, store), 0, "a", "b").write_bytes(damage)
    with pytest.warns(UserWarning, match="is damaged .* and will be computed again"):
        assert execute(TRAINING, NODES, store) == whole[1:]
    assert trained == [(0, "a#0", "b#0")]
    assert files(store) == files(whole[0])


def test_damaged_entry_retrains_the_ancestors_it_needs(whole, store, trained):
    """The leaf and its parent's weights are damaged; the grandparent's weights are not."""
    entry_file(copied(whole, store), 0, "a", "b", "c").write_bytes(b"broken")
    entry_file(store, 0, "a", "b", suffix="safetensors").write_bytes(b"broken too")
    with pytest.warns(UserWarning, match="is damaged") as caught:
        assert execute(TRAINING, NODES, store) == whole[1:]
    assert len(caught) == 2
    assert trained == [(0, "a#0", "b#0"), (0, "a#0", "b#0", "c#0")]
    assert files(store) == files(whole[0])


def test_damaged_weights_that_are_not_needed_stay(whole, store, trained):
    entry_file(copied(whole, store), 0, "a", suffix="safetensors").write_bytes(b"broken")
    assert execute(TRAINING, NODES, store) == whole[1:]
    assert trained == []


def test_new_child_without_weights_retrains_its_ancestors(whole, store, trained):
    copied(whole, store).clean(weights_only=True)
    assert execute(TRAINING, NODES, store) == whole[1:]
    assert trained == []  # all entries are complete
    more = [*SEQUENCES, ("a", "b", "b")]
    errors, _ = execute(TRAINING, prefix_tree(more, 0) + prefix_tree(more, 1), store)
    paths = [(), ("a#0",), ("a#0", "b#0"), ("a#0", "b#0", "b#1")]
    # Entries that now need an error on b#1 are computed again in any case: the initial network, a#0 and so on.
    assert {node for node in trained if node[1:] in paths} == {(seed, *path) for seed in (0, 1) for path in paths}
    with single_thread():
        expected, _ = train_reference(TRAINING, ("a", "b", "b"), 0)
    rows = {path: row for (seed, path), row in errors.items() if seed == 0}
    np.testing.assert_array_equal(error_matrix(("a", "b", "b"), rows), expected)


def test_lost_leaf_without_weights_retrains_its_ancestors(whole, store, trained):
    copied(whole, store).clean(weights_only=True)
    entry_file(store, 0, "a", "b", "c").unlink()
    assert execute(TRAINING, NODES, store) == whole[1:]
    assert trained == [(0,), (0, "a#0"), (0, "a#0", "b#0"), (0, "a#0", "b#0", "c#0")]


def test_entry_that_lacks_a_test_is_computed_again(store, trained):
    execute(TRAINING, prefix_tree([("a", "b")], 0), store)
    trained.clear()
    errors, _ = execute(TRAINING, prefix_tree([("a", "b"), ("a", "c")], 0), store)
    assert trained == [(0,), (0, "a#0"), (0, "a#0", "c#0")]  # not a#0 b#0, which is only tested on a#0 and b#0
    assert set(errors[0, ()]) == set(errors[0, occurrences("a")]) == {"a#0", "b#0", "c#0"}
    fresh = Store(store.folder / "fresh")
    assert execute(TRAINING, prefix_tree([("a", "b"), ("a", "c")], 0), fresh)[0] == errors


def test_entry_with_more_tests_than_needed_is_used(whole, trained):
    errors, _ = execute(TRAINING, prefix_tree([("a", "c")], 0), whole[0])
    assert trained == []
    assert errors[0, ()] == whole[1][0, ()]


def test_alternating_requests_keep_each_others_results(store, trained):
    first, second = prefix_tree([("a", "b", "b")], 0), prefix_tree([("a", "c"), ("a", "b", "d"), ("a", "b")], 0)
    execute(TRAINING, first, store)
    execute(TRAINING, second, store)
    trained.clear()
    execute(TRAINING, first, store)
    execute(TRAINING, second, store)
    assert trained == []


def test_other_settings_do_not_share_entries(whole, store, trained):
    copied(whole, store)
    execute(replace(TRAINING, method=Sgd(epochs=1)), prefix_tree([("a",)], 0), store)
    execute(replace(TRAINING, tasks=Toy("other data")), prefix_tree([("a",)], 0), store)
    assert trained == [(0,), (0, "a#0")] * 2
    assert files(whole[0]).items() <= files(store).items()


def test_pending_nodes_are_known_before_training(whole, store):
    entry_file(copied(whole, store), 1, "a", "c").unlink()
    execution = Execution(TRAINING, NODES, store)
    assert (execution.num_stored, list(execution.pending)) == (len(NODES) - 1, [(1, occurrences("ac"))])
    assert execution.run() == whole[1:]
    assert (execution.num_stored, execution.pending) == (len(NODES) - 1, {})
