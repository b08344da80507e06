"""Learners in own loops: any optimizer, mixed precision, and nothing else can be asked meanwhile."""

import pytest
import torch
from torch.nn import functional

from ebbing.learn.batches import examples_of
from ebbing.learn.methods import Trgp
from ebbing.learn.protection.projection import Threshold
from toys import METHODS, assert_same, data, perceptron, settings, taught

pytestmark = pytest.mark.usefixtures("quietly")


@pytest.mark.parametrize("optimizer", [torch.optim.Adam, torch.optim.SGD, torch.optim.AdamW])
def test_an_own_loop_with_any_optimizer(optimizer):
    method = Trgp(**settings(threshold=Threshold(1.0)), nearness=0.1)
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


def test_the_loop_of_learn_is_a_plain_loop_over_the_parameters():
    batches = list(zip(*(part.split(6) for part in data(1)), strict=True))
    learners = [taught(METHODS[1], perceptron(), 1) for _ in range(2)]
    learners[0].learn("b", batches)
    with learners[1].task("b", examples_of(batches, 20, torch.Generator().manual_seed(0))) as of:
        steps = torch.optim.SGD(of, lr=0.3)
        for _ in range(4):
            for inputs, labels in batches:
                steps.zero_grad()
                functional.cross_entropy(learners[1].network(inputs), labels).backward()
                steps.step()
    assert_same(learners[0].state(), learners[1].state())


def test_while_a_task_is_learnt_nothing_else_can_be_asked():
    """The network answers for the new task then: of the others it would say something wrong."""
    learner = taught(METHODS[1], perceptron(), 1)
    inputs, labels = data(1)
    before = learner.state()
    with learner.task("b", (inputs, labels)) as parameters:
        with torch.no_grad():
            parameters[0].add_(0.01)
        for question in (
            lambda: learner.accuracy("task 0", data(0)),
            lambda: learner.outputs("task 0", inputs),
            lambda: learner.outputs(None, inputs),
            lambda: learner.answering("task 0").__enter__(),
            lambda: learner.learn("c", data(2)),
            learner.state,
            lambda: learner.restore(before),
        ):
            with pytest.raises(RuntimeError, match="a task is being learnt"):
                question()
    assert learner.tasks == ["task 0", "b"]
    learner.learn("c", data(2))


def test_weights_that_are_not_finite_are_not_remembered():
    learner = taught(METHODS[1], perceptron(), 1)
    before = learner.state()
    with (
        pytest.raises(FloatingPointError, match="weights after task 'b' are not all finite"),
        learner.task("b", data(1)) as parameters,
        torch.no_grad(),
    ):
        parameters[0][0, 0] = torch.nan
    assert_same(learner.state(), before)


@pytest.mark.parametrize("method", [METHODS[1], METHODS[3], METHODS[4]], ids=["trgp", "leaking", "free"])
def test_an_own_loop_in_mixed_precision(method):
    """Of the first task all is protected, also where the strongest directions of later ones are not."""
    learner = taught(type(method)(**vars(method) | {"threshold": Threshold(1.0)}), perceptron(), 2, rows=5)
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
