"""Common mistakes with learners: they raise an error or give a warning that helps."""

import re
import warnings

import pytest
import torch
from torch import nn
from torch.nn import functional
from torch.utils.data import DataLoader, TensorDataset
from toys import METHODS, SCHEDULE, SETTINGS, assert_same, data, perceptron, trained_learner

from ebbing.learn.methods import Copies, FineTuning, Gpm, Sgd, Trgp
from ebbing.learn.projection.threshold import Threshold
from ebbing.learn.training.schedule import Schedule

pytestmark = pytest.mark.usefixtures("quietly")

UNPROTECTED = [FineTuning(SCHEDULE), Copies(SCHEDULE)]


def without_biases():
    return nn.Sequential(nn.Linear(30, 16, bias=False), nn.ReLU(), nn.Linear(16, 3, bias=False))


def test_task_without_training_warns():
    learner = trained_learner(METHODS[0], without_biases(), 1)
    with pytest.warns(UserWarning, match="nothing was trained; in a custom loop"), learner.task("b", data(1)):
        pass
    assert learner.tasks == ["task 0", "b"]  # a warning, no error: the task may need no training


def test_network_trained_between_tasks_warns_once():
    learner = trained_learner(METHODS[1], perceptron(), 1)
    with torch.no_grad():
        learner.network[4].weight.add_(0.1)
    with pytest.warns(UserWarning, match="layer '4' was changed since the latest task, and not by the learner"):
        learner.learn("b", data(1))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        learner.learn("c", data(2))  # no second warning
        learner.outputs("b", data(1)[0])
        other = METHODS[1].start(perceptron(1))
        other.restore(learner.state())
        other.learn("d", data(3))
    assert other.tasks == ["task 0", "b", "c", "d"]


def evaluate(learner):
    with learner.evaluating("task 0"):
        pass


@pytest.mark.parametrize(
    "call",
    [
        lambda learner: learner.outputs("task 0", data(0)[0]),
        lambda learner: learner.accuracy("task 0", data(0)),
        evaluate,
        lambda learner: learner.state(),
    ],
    ids=["outputs", "accuracy", "answering", "state"],
)
def test_evaluating_a_changed_network_warns_once(call):
    learner = trained_learner(METHODS[1], perceptron(), 1)
    with torch.no_grad():
        learner.network[4].weight.copy_(learner.network[4].weight.flip(1).clone())  # the same values in other positions
    with pytest.warns(
        UserWarning, match="layer '4' was changed since the latest task, and not by the learner"
    ) as caught:
        call(learner)
    assert len(caught) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        call(learner)  # no second warning


@pytest.mark.parametrize("method", [Gpm, FineTuning, Copies])
def test_weights_loaded_before_the_first_task_are_used(method):
    options = {"schedule": SCHEDULE, "per_task": ("6",)}
    pretrained, network = perceptron(1), perceptron(0)
    learner, other = method(**options).start(network), method(**options).start(pretrained)
    network.load_state_dict(pretrained.state_dict())
    for one in (learner, other):
        one.learn("a", data(0))
        one.learn("b", data(1))
    assert_same(learner.state(), other.state())


def test_changes_before_the_first_task_do_not_warn():
    learner = METHODS[1].start(perceptron())
    learner.network.load_state_dict(perceptron(1).state_dict())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        learner.learn("a", data(0))
    assert learner.tasks == ["a"]


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_half_precision_weights_raise(dtype):
    with pytest.raises(
        ValueError, match=f"weight of layer '0' is {dtype}, whose precision is too low .* torch.autocast"
    ):
        Gpm(**SETTINGS).start(perceptron(dtype=dtype))


def test_network_of_another_type_raises():
    for method in (Gpm(), *UNPROTECTED):
        with pytest.raises(ValueError, match="a network of type str: give a torch"):
            method.start("resnet18")  # type: ignore[arg-type]


@pytest.mark.parametrize("method", [METHODS[0], *UNPROTECTED], ids=["gpm", "plain", "copies"])
@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda x, y: None, "a NoneType: give inputs and labels"),
        (lambda x, y: 7, "a int: give inputs and labels"),
        (
            lambda x, y: (x, y + 1),
            "label 3, but the network has 3 outputs: give classes from 0 to 2, or a network with 4 outputs",
        ),
        (
            lambda x, y: (x, y[:, None]),
            r"labels of shape \(\d, 1\) for outputs \(\d, 3\): give one class",
        ),
        (lambda x, y: (x, y.float() / 2), "labels .* of torch.float32 for outputs .*: give classes as torch.int64"),
    ],
)
def test_unusable_data_raise_and_change_nothing(method, wrong, message):
    learner = method.start(perceptron())
    before = learner.state()
    with pytest.raises(ValueError, match=message):
        learner.learn("a", wrong(*data(0)))
    assert_same(learner.state(), before)


def test_loader_batch_of_one_example_with_norm_raises():
    inputs, labels = data(0)
    learner = Gpm(**SETTINGS).start(perceptron(norm=nn.BatchNorm1d(16)))
    with pytest.raises(ValueError, match=r"a batch of one example, .*: create the DataLoader with drop_last=True"):
        learner.learn("a", DataLoader(TensorDataset(inputs[:19], labels[:19]), batch_size=6))
    learner.learn("a", DataLoader(TensorDataset(inputs[:19], labels[:19]), batch_size=6, drop_last=True))


@pytest.mark.parametrize("method", UNPROTECTED, ids=["plain", "copies"])
def test_unprotected_learners_check_results_and_modes(method):
    learner = trained_learner(method, perceptron(), 1)
    before = learner.state()

    def diverge():
        with learner.task("b", data(1), loss=functional.mse_loss) as parameters, torch.no_grad():
            parameters[0].mul_(float("nan"))

    with pytest.raises(FloatingPointError, match="after task 'b' are not all finite, so the task is discarded"):
        diverge()
    assert_same(learner.state(), before)
    with pytest.raises(RuntimeError, match="training is impossible in inference mode"), torch.inference_mode():
        learner.learn("b", data(1))
    assert learner.tasks == ["task 0"]


@pytest.mark.parametrize("method", [METHODS[0], *UNPROTECTED], ids=["gpm", "plain", "copies"])
def test_in_place_networks_leave_inputs_unchanged(method):
    network = nn.Sequential(nn.ReLU(inplace=True), nn.Linear(30, 3))
    learner = method.start(network)
    inputs, labels = data(0)
    then = inputs.clone()
    learner.learn("a", (inputs, labels))
    learner.outputs("a", inputs)
    learner.accuracy("a", (inputs, labels))
    learner.accuracy("a", [(inputs, labels)])
    assert torch.equal(inputs, then)


# Names in per_task=


def test_per_task_may_name_a_parameter_of_a_norm():
    learner = trained_learner(
        Gpm(**SETTINGS, per_task=("1.weight",), norms="shared"), perceptron(norm=nn.BatchNorm1d(16)), 2
    )
    values = []
    for task in ("task 0", "task 1"):
        with learner.evaluating(task) as network:
            values.append([network.get_parameter(f"1.{name}").detach().clone() for name in ("weight", "bias")])
    (one, shared), (other, same) = values
    assert not torch.equal(one, other)
    assert torch.equal(shared, same)


class Twice(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(30, 16)
        self.head = nn.Linear(16, 3)
        self.also = self.head

    def forward(self, x):
        return self.also(torch.relu(self.body(x)))


def test_per_task_accepts_either_name_of_a_module():
    for name in ("head", "also"):
        learner = Gpm(**SETTINGS, per_task=(name,)).start(Twice())
        assert [layer.name for layer in learner.layers] == ["body"]


class Scaled(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(1))
        self.inner = nn.Linear(30, 30)

    def forward(self, x):
        return self.scale * self.inner(x)


def test_error_names_the_parameter_of_a_block():
    network = nn.Sequential(Scaled(), nn.Linear(30, 3))
    with pytest.raises(
        ValueError, match=r"module '0' has a parameter 'scale' outside of its layers\. .* per_task=\('0.scale',\)"
    ):
        Trgp(**SETTINGS).start(network)
    learner = Trgp(**SETTINGS, per_task=("0.scale",)).start(network)
    assert [layer.name for layer in learner.layers] == ["0.inner", "1"]


def test_patience_without_validation_data_raises():
    learner = Gpm(Schedule(patience=1), num_examples=20).start(perceptron())
    with pytest.raises(ValueError, match="patience=1: give validation data, or set patience to None"):
        learner.learn("a", data(0))


@pytest.mark.parametrize("method", [Gpm, Trgp, FineTuning, Copies])
def test_network_in_place_of_the_schedule_gets_a_short_error(method):
    with pytest.raises(ValueError, match="schedule is a Sequential: did you mean") as raised:
        method(perceptron())
    assert f"{method.__name__}().start(network)?" in str(raised.value)
    assert len(str(raised.value)) < 150


@pytest.mark.parametrize("make", [Schedule, Threshold, Sgd, lambda network: Gpm(threshold=network)])
def test_network_in_place_of_a_number_gets_a_short_error(make):
    with pytest.raises(ValueError, match="Sequential") as raised:
        make(nn.Sequential(*(nn.Linear(3, 3) for _ in range(20))))
    assert len(str(raised.value)) < 150


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda one, x, y: one.learn(x, y), "task is a Tensor: .* name first, as in learn('first', (inputs, labels))"),
        (lambda one, x, y: one.accuracy((x, y), "a"), "task is a tuple: .*, as in accuracy('first', (inputs, labels))"),
        (lambda one, x, y: one.outputs(x, "a"), "task is a Tensor: .*, as in outputs('first', inputs)"),
        (lambda one, x, y: one.evaluating({"x": x}).__enter__(), "task is a dict: .*, as in evaluating('first')"),
        (lambda one, x, y: one.task(x, (x, y)).__enter__(), "task is a Tensor: .*, as in task('first', "),
        (lambda one, x, y: one.accuracy(0, (x, y)), "task 0: give a name, a string, as in accuracy("),
    ],
    ids=["learn", "accuracy", "outputs", "evaluating", "task", "number"],
)
@pytest.mark.parametrize("method", [METHODS[1], UNPROTECTED[0]], ids=["trgp", "fine-tuning"])
def test_missing_name_of_the_task_gets_a_short_error(call, message, method):
    learner = trained_learner(method, perceptron(), 1)
    pattern = ".*".join(re.escape(part) for part in message.split(".*"))
    with pytest.raises(ValueError, match=pattern) as raised:
        call(learner, *data(1))
    assert len(str(raised.value)) < 120
    assert learner.tasks == ["task 0"]
