"""Custom training loops: any optimizer, mixed precision, and checks against common mistakes."""

import copy
from typing import Any

import pytest
import torch
from torch import nn
from torch.nn import functional
from torch.utils.data import DataLoader, TensorDataset
from toys import METHODS, SCHEDULE, assert_same, data, perceptron, settings, trained_learner

from ebbing.learn.methods import FineTuning, Trgp
from ebbing.learn.projection import Threshold
from ebbing.learn.projection._layers import PARAMETER_PREFIX
from ebbing.learn.training.batches import draw_examples

pytestmark = pytest.mark.usefixtures("quietly")


@pytest.mark.parametrize("optimizer", [torch.optim.Adam, torch.optim.SGD, torch.optim.AdamW])
def test_custom_loop_works_with_any_optimizer(optimizer):
    method = Trgp(**settings(threshold=Threshold(1.0)), trust_threshold=0.1)
    learner = method.start(perceptron(dtype=torch.float64))
    outputs = {}
    for task in range(3):
        inputs, labels = data(task, rows=6, dtype=torch.float64)
        with learner.task(str(task), (inputs, labels)) as parameters:
            assert learner.network.training
            steps = optimizer(parameters, lr=0.02 if optimizer is not torch.optim.SGD else 0.3)
            for _ in range(30):
                steps.zero_grad()
                functional.cross_entropy(learner.network(inputs), labels).backward()
                steps.step()
        assert learner.accuracy(str(task), (inputs, labels)) == 1
        outputs[task] = learner.outputs(str(task), inputs)
    for task in range(3):
        inputs, _ = data(task, rows=6, dtype=torch.float64)
        torch.testing.assert_close(learner.outputs(str(task), inputs), outputs[task], rtol=0, atol=1e-10)


def test_learn_equals_a_plain_custom_loop():
    batches = list(zip(*(part.split(6) for part in data(1)), strict=True))
    learners = [trained_learner(METHODS[1], perceptron(), 1) for _ in range(2)]
    learners[0].learn("b", batches)
    with learners[1].task("b", draw_examples(batches, 20, torch.Generator().manual_seed(0))) as parameters:
        steps = torch.optim.SGD(parameters, lr=0.3)
        for _ in range(4):
            for inputs, labels in batches:
                steps.zero_grad()
                functional.cross_entropy(learners[1].network(inputs), labels).backward()
                steps.step()
    assert_same(learners[0].state(), learners[1].state())


def test_other_calls_raise_while_a_task_is_learned():
    """The network has the weights of the new task then: outputs for the others would be wrong."""
    learner = trained_learner(METHODS[1], perceptron(), 1)
    inputs, labels = data(1)
    before = learner.state()
    with learner.task("b", (inputs, labels)) as parameters:
        with torch.no_grad():
            parameters[0].add_(0.01)
        for call in (
            lambda: learner.accuracy("task 0", data(0)),
            lambda: learner.outputs("task 0", inputs),
            lambda: learner.outputs(None, inputs),
            lambda: learner.evaluating("task 0").__enter__(),
            lambda: learner.learn("c", data(2)),
            learner.state,
            lambda: learner.restore(before),
        ):
            with pytest.raises(RuntimeError, match="a task is being learned"):
                call()
    assert learner.tasks == ["task 0", "b"]
    learner.learn("c", data(2))


def test_task_with_nonfinite_weights_is_not_stored():
    learner = trained_learner(METHODS[1], perceptron(), 1)
    before = learner.state()
    with (
        pytest.raises(FloatingPointError, match="weights after task 'b' are not all finite"),
        learner.task("b", data(1)) as parameters,
        torch.no_grad(),
    ):
        parameters[0][0, 0] = torch.nan
    assert_same(learner.state(), before)


@pytest.mark.parametrize("method", [METHODS[1], METHODS[3], METHODS[4]], ids=["trgp", "authors", "free"])
def test_custom_loop_in_mixed_precision_protects(method):
    """All directions of the first task are protected, even in the authors' variant."""
    learner = trained_learner(type(method)(**vars(method) | {"threshold": Threshold(1.0)}), perceptron(), 2, rows=5)
    before = learner.outputs("task 0", data(0, 5)[0])
    inputs, labels = data(2, 5)
    with learner.task("b", (inputs, labels)) as parameters:
        optimizer = torch.optim.SGD(parameters, 0.1)
        for _ in range(3):
            optimizer.zero_grad()
            with torch.autocast("cpu", torch.bfloat16):
                loss = functional.cross_entropy(learner.network(inputs).float(), labels)
            loss.backward()
            optimizer.step()
    assert (learner.outputs("task 0", data(0, 5)[0]) - before).abs().max() < 1e-4


# Common lines of training loops


def train(network, parameters, inputs, labels, penalty=lambda: 0.0):
    optimizer = torch.optim.SGD(parameters, 0.1)
    for _ in range(3):
        optimizer.zero_grad()
        (functional.cross_entropy(network(inputs), labels) + penalty()).backward()
        optimizer.step()


@pytest.mark.parametrize("number", range(len(METHODS)))
def test_zero_grad_and_clipping_of_the_network_work(number):
    """`network.zero_grad()`, clipping of and optimizers on `network.parameters()` include the new parameters."""
    inputs, labels = data(1)
    learners = [trained_learner(METHODS[number], perceptron(), 1) for _ in range(2)]
    for learner, plain_torch in zip(learners, (True, False), strict=True):
        network = learner.network
        with learner.task("b", (inputs, labels)) as parameters:
            trained = list(network.parameters()) if plain_torch else parameters
            optimizer = torch.optim.SGD(trained, 0.3)
            for _ in range(4):
                (network if plain_torch else optimizer).zero_grad()
                (100 * functional.cross_entropy(network(inputs), labels)).backward()
                nn.utils.clip_grad_norm_(network.parameters() if plain_torch else parameters, 0.5)
                optimizer.step()
            gradients = torch.cat([p.grad.flatten() for p in parameters if p.grad is not None])
            assert gradients.norm() < 0.5001
    states = [learner.state() for learner in learners]
    assert states[0].keys() == states[1].keys()
    for name, value in states[0].items():
        torch.testing.assert_close(value, states[1][name], msg=name)
    assert not any(PARAMETER_PREFIX in name for name in learners[0].network.state_dict())


def test_frozen_norms_ignore_the_optimizer():
    network: Any = perceptron(norm=nn.BatchNorm1d(16))
    learner = trained_learner(Trgp(**settings(), norms="frozen"), network, 1)
    before = copy.deepcopy(network[1].state_dict())
    with learner.task("b", data(1)):
        train(network, network.parameters(), *data(1))
    assert_same(network[1].state_dict(), before)
    assert network[1].weight.requires_grad
    learner.learn("c", data(2))


@pytest.mark.parametrize("kind", [torch.optim.SGD, torch.optim.Adam])
def test_optimizer_created_before_the_task_raises(kind):
    learner = trained_learner(METHODS[1], perceptron(), 1)
    early, before = kind(learner.network.parameters(), lr=0.1), learner.state()
    other, weight = perceptron(), nn.Parameter(torch.ones(2))

    def loop():
        with learner.task("b", data(1)):
            weight.sum().backward()
            kind([weight], lr=0.1).step()  # of something else
            kind(other.parameters(), lr=0.1).step()
            kind(learner.network.parameters(), lr=0.0).step()  # created inside, with all parameters
            functional.cross_entropy(learner.network(data(1)[0]), data(1)[1]).backward()
            early.step()

    message = rf"this {kind.__name__} was created before task\(\): it has the weight of layer '0'"
    with pytest.raises(ValueError, match=message):
        loop()
    assert_same(learner.state(), before)
    early.step()  # no hook stays


def test_loop_that_trains_no_layer_warns_at_the_users_line():
    """An optimizer that PyTorch does not know."""
    learner = trained_learner(METHODS[1], perceptron(), 1)
    message = "were trained, but no layer; in a custom loop, give the optimizer the parameters that task"
    with pytest.warns(UserWarning, match=message) as caught, learner.task("b", data(1)), torch.no_grad():
        learner.network[6].bias.add_(1.0)  # type: ignore[union-attr]
    assert learner.tasks == ["task 0", "b"]
    assert [warning.filename for warning in caught] == [__file__]


@pytest.mark.parametrize(
    "loader",
    [lambda x, y: DataLoader(TensorDataset(x, y), 6), lambda x, y: (x.numpy(), y.numpy()), TensorDataset],
)
def test_examples_may_be_a_loader_arrays_or_a_dataset(loader):
    learner = trained_learner(METHODS[1], perceptron(), 1)
    with learner.task("b", loader(*data(1))) as parameters:
        train(learner.network, parameters, *data(1))
    assert learner.tasks == ["task 0", "b"]


def test_penalty_on_a_parametrized_weight_warns():
    network: Any = perceptron()
    learner = trained_learner(METHODS[1], network, 1)
    with (
        pytest.warns(UserWarning, match="weight of layer '0' has a gradient, which has no effect"),
        learner.task("b", data(1)) as parameters,
    ):
        train(network, parameters, *data(1), penalty=lambda: network[0].weight.square().sum())
    assert learner.tasks == ["task 0", "b"]  # the task is stored: old tasks are not affected


def test_load_state_dict_inside_a_task_raises():
    learner = trained_learner(METHODS[1], perceptron(), 1)
    before = learner.state()
    error = pytest.raises(RuntimeError, match="keep copies of the parameters that task")
    with error, learner.task("b", data(1)):
        learner.network.load_state_dict(copy.deepcopy(learner.network.state_dict()))
    assert_same(learner.state(), before)
    learner.network.load_state_dict(copy.deepcopy(learner.network.state_dict()))  # allowed between tasks


@pytest.mark.parametrize("method", [METHODS[0], METHODS[3], FineTuning(SCHEDULE)], ids=["gpm", "published", "plain"])
def test_task_yields_parameters_by_name(method):
    learner = trained_learner(method, perceptron(), 2)
    with learner.task("b", data(1)) as parameters:
        with torch.no_grad():
            parameters[0].add_(0.01)
        assert list(parameters) == list(parameters.named.values())
        assert {"0.bias", "6.bias"} <= parameters.named.keys()
        assert {name.partition(".weight")[0] for name in parameters.named if "weight" in name} == {"0", "4", "6"}
