"""Where a task starts in the directions that it trusts: at the shared weights, or at the latest task's."""

import pytest
import torch
from dense_layers import CLOSE, D, by_inputs, by_weights, layer, random
from toys import Images, data, images, perceptron, settings, trained_learner

from ebbing.learn import Threshold, TrgpFree
from ebbing.learn.projection._grouped_parametrization import GroupedRotatedWeight
from ebbing.learn.projection._parametrization import RotatedWeight
from ebbing.learn.projection._task_updates import TaskUpdate

pytestmark = pytest.mark.usefixtures("quietly")


def free(**more):
    return TrgpFree(**settings(**more), trust_threshold=0.0)


def task_update(columns, out, seed=5):
    return TaskUpdate(torch.tensor(columns), random(len(columns), out, seed=seed))


@pytest.mark.parametrize("apply", [by_inputs, by_weights])
def test_trusted_columns_start_from_the_old_task(apply):
    """Of the old task's update, only the part in trusted columns is added; training continues from there."""
    weight, basis, trusted, _ = layer(2)
    union = sorted({int(column) for task in trusted for column in task.subspace.columns})
    outside = next(column for column in range(basis.shape[1]) if column not in union)
    update = task_update([union[1], outside, union[0]], len(weight))
    parametrization = RotatedWeight(weight, basis, trusted, scaled=False)
    parametrization.start_from(update)
    inside = basis[:, union] @ basis[:, union].T
    dense = weight + (update.apply(weight, basis) - weight) @ inside
    torch.testing.assert_close(parametrization.effective_weight().detach(), dense, rtol=0, atol=CLOSE)
    assert (dense - weight).abs().max() > 0.1
    assert not parametrization.changed  # starting elsewhere is no training

    inputs = random(20, D, seed=9)
    (apply(parametrization, inputs) ** 2).sum().backward()
    torch.optim.SGD(parametrization.parameters(), 0.01).step()
    allowed = inside + torch.eye(D, dtype=torch.float64) - basis @ basis.T
    dense = dense - 0.01 * 2 * (dense @ inputs.T @ inputs) @ allowed
    torch.testing.assert_close(parametrization.effective_weight().detach(), dense, rtol=0, atol=CLOSE)
    assert parametrization.changed

    shared, new_update = parametrization.finish()
    torch.testing.assert_close(new_update.apply(shared, basis), dense, rtol=0, atol=CLOSE)
    torch.testing.assert_close(
        shared @ basis, weight @ basis, rtol=0, atol=CLOSE
    )  # the shared weights do not change there


def test_groups_start_as_each_would_alone():
    parts = [layer(tasks, m) for tasks, m in ((2, 6), (0, 4), (1, 5))]
    weights, bases, trusted = [p[0] for p in parts], [p[1] for p in parts], [p[2] for p in parts]
    updates = [task_update([0, 2, 1], len(weights[0])), None, task_update([3, 0], len(weights[0]), seed=6)]
    together = GroupedRotatedWeight(weights, bases, trusted, scaled=False)
    together.start_from(updates)
    alone = [RotatedWeight(*group, scaled=False) for group in zip(weights, bases, trusted, strict=True)]
    for one, update in zip(alone, updates, strict=True):
        one.start_from(update)
    expected = torch.cat([one.effective_weight() for one in alone])
    torch.testing.assert_close(together.effective_weight(), expected, rtol=0, atol=CLOSE)
    assert (expected - torch.cat(weights)).abs().max() > 0.1
    assert not together.changed
    for (weight, update), one, basis in zip(together.finish_groups(), alone, bases, strict=True):
        shared, expected_update = one.finish()
        torch.testing.assert_close(weight, shared, rtol=0, atol=CLOSE)
        torch.testing.assert_close(
            update.apply(weight, basis), expected_update.apply(shared, basis), rtol=0, atol=CLOSE
        )


@pytest.mark.filterwarnings("ignore:nothing was trained")
def test_task_that_trusts_all_continues_the_latest():
    """With everything protected and trusted, a new task starts as the one before."""
    learner = trained_learner(free(threshold=Threshold(1.0)), perceptron(dtype=torch.float64), 2, dtype=torch.float64)
    inputs, labels = data(1, dtype=torch.float64)
    expected = learner.outputs("task 1", inputs)
    with learner.task("third", (inputs, labels)):
        initial = learner.network.eval()(inputs).detach()
        learner.network.train()
    assert learner.trusted[-1] == {name: ["task 0", "task 1"] for name in learner.trusted[-1]}
    torch.testing.assert_close(initial, expected, rtol=0, atol=1e-10)
    assert (learner.outputs("task 0", inputs) - expected).abs().max() > 0.1  # the other trusted task differs


@pytest.mark.parametrize("network", [perceptron, Images])
def test_trgp_free_keeps_old_outputs(network):
    """Also with a grouped convolution."""
    torch.manual_seed(0)
    make_data = data if network is perceptron else images
    per_task = () if network is perceptron else ("heads.*",)
    learner = free(threshold=Threshold(1.0), num_examples=100, per_task=per_task).start(network())
    outputs = []
    for task in range(3):
        learner.learn(str(task), make_data(task))
        assert learner.accuracy(str(task), make_data(task)) > 0.9
        outputs.append(learner.outputs(str(task), make_data(task)[0]))
    for task, before in enumerate(outputs):
        torch.testing.assert_close(learner.outputs(str(task), make_data(task)[0]), before, rtol=0, atol=1e-4)


def test_start_from_is_checked_and_stored_if_latest():
    """Results from before the setting existed keep their key."""
    with pytest.raises(ValueError, match="start_from='first': give one of shared, latest"):
        TrgpFree(start_from="first")  # type: ignore[arg-type]
    assert "begins" not in TrgpFree(start_from="shared").settings()
    assert TrgpFree().settings()["begins"] == "latest"
