"""Where a task begins in the directions that it trusts: at the weights that all share, or at the latest task's."""

import pytest
import torch
from dense_layers import CLOSE, D, by_inputs, by_weights, layer, random
from toys import Images, data, images, perceptron, settings, taught

from ebbing.learn import Threshold, TrgpFree
from ebbing.learn.projection._grouped_parametrization import GroupedRotatedWeight
from ebbing.learn.projection._parametrization import RotatedWeight, TaskUpdate

pytestmark = pytest.mark.usefixtures("quietly")


def free(**more):
    return TrgpFree(**settings(**more), trust_threshold=0.0)


def kept(columns, out, seed=5):
    return TaskUpdate(torch.tensor(columns), random(len(columns), out, seed=seed))


@pytest.mark.parametrize("apply", [by_inputs, by_weights])
def test_trusted_columns_begin_where_the_task_has_them_and_others_do_not(apply):
    """SPANS[:2] are trusted: of what the old task keeps, the part within them is added, and moves on from there."""
    weight, basis, trusted, _ = layer(2)
    union = sorted({int(column) for one in trusted for column in one.subspace.columns})
    outside = next(column for column in range(basis.shape[1]) if column not in union)
    change = kept([union[1], outside, union[0]], len(weight))
    moving = RotatedWeight(weight, basis, trusted, scaled=False)
    moving.start_at(change)
    inside = basis[:, union] @ basis[:, union].T
    dense = weight + (change.apply(weight, basis) - weight) @ inside
    torch.testing.assert_close(moving.effective().detach(), dense, rtol=0, atol=CLOSE)
    assert (dense - weight).abs().max() > 0.1
    assert not moving.moved  # to begin is not to have learned

    inputs = random(20, D, seed=9)
    (apply(moving, inputs) ** 2).sum().backward()
    torch.optim.SGD(moving.parameters(), 0.01).step()
    allowed = inside + torch.eye(D, dtype=torch.float64) - basis @ basis.T
    dense = dense - 0.01 * 2 * (dense @ inputs.T @ inputs) @ allowed
    torch.testing.assert_close(moving.effective().detach(), dense, rtol=0, atol=CLOSE)
    assert moving.moved

    shared, own = moving.finish()
    torch.testing.assert_close(own.apply(shared, basis), dense, rtol=0, atol=CLOSE)
    torch.testing.assert_close(shared @ basis, weight @ basis, rtol=0, atol=CLOSE)  # what was begun with stays private


def test_groups_begin_as_each_of_them_would_alone():
    parts = [layer(tasks, m) for tasks, m in ((2, 6), (0, 4), (1, 5))]
    weights, bases, trusted = [p[0] for p in parts], [p[1] for p in parts], [p[2] for p in parts]
    changes = [kept([0, 2, 1], len(weights[0])), None, kept([3, 0], len(weights[0]), seed=6)]
    together = GroupedRotatedWeight(weights, bases, trusted, scaled=False)
    together.start_at(changes)
    alone = [RotatedWeight(*one, scaled=False) for one in zip(weights, bases, trusted, strict=True)]
    for moving, change in zip(alone, changes, strict=True):
        moving.start_at(change)
    expected = torch.cat([moving.effective() for moving in alone])
    torch.testing.assert_close(together.effective(), expected, rtol=0, atol=CLOSE)
    assert (expected - torch.cat(weights)).abs().max() > 0.1
    assert not together.moved
    for (weight, change), moving, basis in zip(together.finish_each(), alone, bases, strict=True):
        shared, own = moving.finish()
        torch.testing.assert_close(weight, shared, rtol=0, atol=CLOSE)
        torch.testing.assert_close(change.apply(weight, basis), own.apply(shared, basis), rtol=0, atol=CLOSE)


@pytest.mark.filterwarnings("ignore:nothing has been trained")
def test_a_task_that_trusts_all_goes_on_exactly_where_the_latest_ended():
    """With everything protected and trusted, a new task is at first the one before."""
    learner = taught(free(threshold=Threshold(1.0)), perceptron(dtype=torch.float64), 2, dtype=torch.float64)
    inputs, labels = data(1, dtype=torch.float64)
    expected = learner.outputs("task 1", inputs)
    with learner.task("third", (inputs, labels)):
        began = learner.network.eval()(inputs).detach()
        learner.network.train()
    assert learner.trusted[-1] == {name: ["task 0", "task 1"] for name in learner.trusted[-1]}
    torch.testing.assert_close(began, expected, rtol=0, atol=1e-10)
    assert (learner.outputs("task 0", inputs) - expected).abs().max() > 0.1  # the other trusted task is elsewhere


@pytest.mark.parametrize("network", [perceptron, Images])
def test_old_tasks_stay(network):
    """Also where groups of a convolution begin."""
    torch.manual_seed(0)
    given = data if network is perceptron else images
    own = () if network is perceptron else ("heads.*",)
    learner = free(threshold=Threshold(1.0), num_examples=100, per_task=own).start(network())
    outputs = []
    for task in range(3):
        learner.learn(str(task), given(task))
        assert learner.accuracy(str(task), given(task)) > 0.9
        outputs.append(learner.outputs(str(task), given(task)[0]))
    for task, before in enumerate(outputs):
        torch.testing.assert_close(learner.outputs(str(task), given(task)[0]), before, rtol=0, atol=1e-4)


def test_the_setting_is_checked_and_stored_only_where_it_matters():
    """So that what was measured before there was a choice is found again."""
    with pytest.raises(ValueError, match="start_from='first': give one of shared, latest"):
        TrgpFree(start_from="first")  # type: ignore[arg-type]
    assert "begins" not in TrgpFree(start_from="shared").settings()
    assert TrgpFree().settings()["begins"] == "latest"
