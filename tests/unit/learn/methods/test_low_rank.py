"""Low-rank updates per task: a plain reference, memory, exact retention, and what is saved."""

from dataclasses import replace
from functools import partial

import pytest
import torch
from safetensors.torch import load, save
from torch import nn
from torch.nn import functional
from toys import CLASSES, SCHEDULE, SIZE, Images, assert_same, data, images, perceptron, trained_learner

from ebbing.learn.methods import Copies, LowRank

pytestmark = pytest.mark.usefixtures("quietly")

METHOD = LowRank(SCHEDULE, rank=3)


def train(parameters, forward, inputs, labels, seed):
    generator = torch.Generator().manual_seed(seed)
    for _ in range(SCHEDULE.epochs):
        for rows in torch.randperm(len(inputs), generator=generator).split(SCHEDULE.batch_size):
            gradients = torch.autograd.grad(functional.cross_entropy(forward(inputs[rows]), labels[rows]), parameters)
            with torch.no_grad():
                for parameter, gradient in zip(parameters, gradients, strict=True):
                    parameter.sub_(SCHEDULE.learning_rate * gradient)


def two_layers(W, V, trained, x):
    b, B1, B2, A1, A2 = trained
    return (x @ (W + B1 @ A1).T + b).relu() @ (V + B2 @ A2).T


def test_updates_agree_with_a_plain_reference():
    """The same steps on W + B A, written out for a network of two layers."""

    def network():
        torch.manual_seed(0)
        return nn.Sequential(nn.Linear(SIZE, 16), nn.ReLU(), nn.Linear(16, CLASSES, bias=False)).double()

    learner = LowRank(SCHEDULE, rank=2).start(network())
    tasks = [data(task, dtype=torch.float64) for task in range(3)]
    for task, pair in enumerate(tasks):
        torch.manual_seed(task)
        learner.learn(str(task), pair, generator=torch.Generator().manual_seed(task))

    plain, outputs = network(), []
    train(list(plain.parameters()), plain, *tasks[0], seed=0)
    outputs.append(plain(tasks[0][0]))
    W, b, V = (parameter.detach() for parameter in plain.parameters())
    torch.manual_seed(1)
    down = [torch.linalg.qr(torch.randn(w.shape[1], 2, dtype=torch.float64)).Q.T.clone() for w in (W, V)]
    up = [torch.zeros(len(w), 2, dtype=torch.float64) for w in (W, V)]
    trained = [b.clone(), *up, *down]
    for task in (1, 2):
        trained = [value.detach().requires_grad_() for value in trained]
        forward = partial(two_layers, W, V, trained)
        train(trained, forward, *tasks[task], seed=task)
        outputs.append(forward(tasks[task][0]))
    for task, expected in enumerate(outputs):
        torch.testing.assert_close(learner.outputs(str(task), tasks[task][0]), expected.detach(), rtol=0, atol=1e-10)
    assert (outputs[2] - plain(tasks[2][0])).abs().max() > 0.1  # the updates matter


@pytest.mark.parametrize("make", ["perceptron", "images"])
def test_old_tasks_keep_their_outputs_exactly(make, tmp_path):
    """Also with convolutions, a grouped one, a norm with running statistics, and heads."""
    make_data = data if make == "perceptron" else images
    per_task = () if make == "perceptron" else ("heads",)
    method = LowRank(replace(SCHEDULE, epochs=20), per_task, rank=3)

    def network(seed=0):
        torch.manual_seed(seed)
        return perceptron(seed, norm=nn.BatchNorm1d(16)) if make == "perceptron" else Images()

    learner, outputs = method.start(network()), []
    for task in range(3):
        learner.learn(str(task), make_data(task))
        assert learner.accuracy(str(task), make_data(task)) > 0.9
        outputs.append(learner.outputs(str(task), make_data(task)[0]))
    for task, before in enumerate(outputs):
        assert torch.equal(learner.outputs(str(task), make_data(task)[0]), before)

    learner.save(tmp_path / "learner.safetensors")
    other = method.start(network(1))
    other.load(tmp_path / "learner.safetensors")
    for one in (learner, other):
        one.learn("3", make_data(3))
        assert torch.equal(one.outputs("0", make_data(0)[0]), outputs[0])
    assert_same(learner.state(), other.state())


def test_each_task_adds_its_factors_only():
    """30 -> 16 and 16 -> 12 have updates of rank 3; 12 -> 3 is smaller than its factors, and is copied."""
    learner = trained_learner(METHOD, perceptron(), 3)
    assert [layer.name for layer in learner.layers] == ["0", "4"]
    state = learner.state()
    shapes = {name: tuple(value.shape) for name, value in state.items() if name.startswith("copy.2.")}
    assert shapes == {
        "copy.2.0.bias": (16,),
        "copy.2.6.bias": (CLASSES,),
        "copy.2.6.weight": (CLASSES, 12),
        "copy.2.0.weight.up": (16, 3),
        "copy.2.0.weight.down": (3, SIZE),
        "copy.2.4.weight.up": (12, 3),
        "copy.2.4.weight.down": (3, 16),
    }
    assert not [name for name in state if name.startswith("copy.0.") and name.endswith(("up", "down"))]
    sizes = [sum(len(save(one.state())) for one in (trained_learner(m, perceptron(), 3),)) for m in (METHOD, Copies())]
    assert sizes[0] < sizes[1]


def test_unchanged_heads_are_not_stored():
    torch.manual_seed(0)
    learner = trained_learner(LowRank(SCHEDULE, per_task=("heads",), rank=2), Images(), 2, images)
    heads = [name for name in learner.state() if name.startswith("copy.") and "heads" in name]
    assert heads == ["copy.0.heads.0.weight", "copy.0.heads.0.bias", "copy.1.heads.1.weight", "copy.1.heads.1.bias"]


def test_a_task_starts_as_the_one_before():
    learner = trained_learner(METHOD, perceptron(), 2)
    expected = learner.outputs("task 1", data(5)[0])
    with learner.task("more"):
        torch.testing.assert_close(learner.network(data(5)[0]).detach(), expected)


def test_any_optimizer_leaves_the_frozen_weights_alone():
    learner = METHOD.start(perceptron())
    learner.learn("a", data(0))
    names, before = list(learner.network.state_dict()), learner.outputs("a", data(0)[0])
    inputs, labels = data(1)
    with learner.task("b") as parameters:
        optimizer = torch.optim.AdamW(learner.network.parameters(), 0.01, weight_decay=0.1)
        for _ in range(20):
            optimizer.zero_grad()
            functional.cross_entropy(learner.network(inputs), labels).backward()
            optimizer.step()
        assert sorted(parameters.named) == [
            "0.bias",
            "0.low_rank_weight.down",
            "0.low_rank_weight.up",
            "4.low_rank_weight.down",
            "4.low_rank_weight.up",
            "6.bias",
            "6.weight",
        ]
    assert learner.accuracy("b", (inputs, labels)) > 0.9
    assert torch.equal(learner.outputs("a", data(0)[0]), before)
    assert list(learner.network.state_dict()) == names
    assert all(parameter.requires_grad for parameter in learner.network.parameters())


def _break(parameters):
    with torch.no_grad():
        for parameter in parameters:
            parameter.add_(1)
    raise RuntimeError("stop")


@pytest.mark.parametrize("tasks", [0, 1, 2])
def test_interruption_changes_nothing(tasks):
    learner = trained_learner(METHOD, perceptron(), tasks)
    before, names = learner.state(), list(learner.network.state_dict())
    with pytest.raises(RuntimeError, match="stop"), learner.task("more") as parameters:
        _break(parameters)
    assert_same(learner.state(), before)
    assert list(learner.network.state_dict()) == names
    learner.learn("more", data(4))
    assert len(learner.tasks) == tasks + 1


def test_weights_changed_from_outside_give_a_warning():
    learner = trained_learner(METHOD, perceptron(), 2)
    first = learner.network.get_submodule("0")
    with torch.no_grad():
        first.weight += 0.1  # type: ignore[operator]
    with pytest.warns(UserWarning, match="weight of layer '0' was changed since the latest task"):
        learner.outputs("task 0", data(0)[0])
    with torch.no_grad(), learner.task("more"):
        first.weight += 0.1  # type: ignore[union-attr, operator]
    with pytest.warns(UserWarning, match="weight of layer '0' was changed since the latest task"):
        learner.outputs("task 0", data(0)[0])


def test_states_that_do_not_fit_raise_an_error():
    learner = trained_learner(METHOD, perceptron(), 2)
    state = learner.state()
    METHOD.start(perceptron(1)).restore(load(save(state)))
    other = METHOD.start(perceptron(1))
    with pytest.raises(ValueError, match=r"task 1 has no task-specific '0\.weight\.up'"):
        other.restore({name: value for name, value in state.items() if name != "copy.1.0.weight.up"})
    with pytest.raises(ValueError, match=r"4\.weight\.down of shape \(3, 15\) is not task-specific"):
        other.restore(state | {"copy.1.4.weight.down": torch.zeros(3, 15)})
    for method in (LowRank(SCHEDULE, rank=2), Copies(SCHEDULE)):
        with pytest.raises(ValueError, match="it is a state of"):
            method.start(perceptron()).restore(state)
    assert other.tasks == []


def test_rank_is_checked():
    with pytest.raises(ValueError, match="rank=0"):
        LowRank(rank=0)
    assert LowRank(rank=5).settings()["rank"] == 5
