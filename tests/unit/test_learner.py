"""Learners: what they learn, what stays, what is refused, and that nothing happens by halves."""

import copy
import json
import re
from dataclasses import replace
from typing import Any

import pytest
import torch
from safetensors.torch import load, save
from torch import nn
from torch.nn import functional
from torch.utils.data import DataLoader, TensorDataset

from ebbing.learn.layers import Block, Layer
from ebbing.learn.learner import Learner
from ebbing.learn.methods import Copies, FineTuning, Gpm, Trgp, TrgpFree, TrgpPlus
from ebbing.learn.projection import Threshold
from ebbing.learn.schedule import Schedule
from ebbing.learn.sequences import one_thread
from ebbing.learn.tasks import Sample
from ebbing.runs.store import Checkpoint

SIZE, CLASSES = 30, 3
SCHEDULE = Schedule(0.3, epochs=4, batch_size=6)
SETTINGS: dict[str, Any] = {"schedule": SCHEDULE, "threshold": Threshold(0.9), "samples": 20}


def settings(**changes: Any) -> dict[str, Any]:
    return SETTINGS | changes


METHODS = [
    Gpm(**SETTINGS),
    Trgp(**SETTINGS, nearness=0.1),
    TrgpPlus(**SETTINGS, nearness=0.1),
    Trgp(**SETTINGS, nearness=0.1, as_published=True),
    TrgpFree(**SETTINGS, nearness=0.1),
]
IDS = ["gpm", "trgp", "trgp+", "as published", "free"]


@pytest.fixture(autouse=True)
def _quietly():
    """On one thread: inside operations as small as these, several only wait for each other on a busy machine."""
    with one_thread():
        yield


def data(seed, rows=24, size=SIZE, dtype=torch.float32):
    """Inputs around one centre for each class."""
    generator = torch.Generator().manual_seed(seed)
    labels = torch.randint(0, CLASSES, (rows,), generator=generator)
    centres = torch.randn(CLASSES, size, generator=generator)
    return (centres[labels] + 0.3 * torch.randn(rows, size, generator=generator)).to(dtype), labels


def perceptron(seed=0, dtype=torch.float32, norm=None, drop=0.0) -> nn.Sequential:
    torch.manual_seed(seed)
    norm = nn.Identity() if norm is None else norm
    hidden = [nn.Linear(SIZE, 16), norm, nn.ReLU(), nn.Dropout(drop)]
    return nn.Sequential(*hidden, nn.Linear(16, 12, bias=False), nn.ReLU(), nn.Linear(12, CLASSES)).to(dtype)


class Images(nn.Module):
    """A convolution, a grouped one, a norm, and a head for each task."""

    def __init__(self, tasks=4):
        super().__init__()
        self.conv, self.norm = nn.Conv2d(2, 4, 3, padding=1), nn.BatchNorm2d(4)
        self.grouped = nn.Conv2d(4, 6, 2, groups=2, bias=False)
        self.heads = nn.ModuleList(nn.Linear(6 * 9, CLASSES) for _ in range(tasks))

    def forward(self, images, task):
        return self.heads[task](self.grouped(self.norm(self.conv(images)).relu()).relu().flatten(1))


def images(seed):
    inputs, labels = data(seed, size=2 * 4 * 4)
    return inputs.view(-1, 2, 4, 4), labels


def assert_same(state, other):
    assert state.keys() == other.keys()
    for name, value in state.items():
        assert torch.equal(value, other[name]), name


def taught(method, network, tasks=3, make=data, **options):
    learner = method.start(network)
    for task in range(tasks):
        learner.learn(f"task {task}", make(task, **options))
    return learner


# Learning


@pytest.mark.parametrize("method", METHODS, ids=IDS)
def test_tasks_are_learnt_and_old_ones_are_not_forgotten(method):
    learner = taught(method, perceptron())
    assert [learner.accuracy(f"task {task}", data(task)) for task in range(3)] == [1, 1, 1]
    assert learner.tasks == ["task 0", "task 1", "task 2"]
    plain = taught(FineTuning(SCHEDULE), perceptron())
    outputs = plain.outputs("task 0", data(0)[0])
    assert float((outputs.argmax(1) == data(0)[1]).double().mean()) < 0.9  # these tasks can be forgotten


@pytest.mark.parametrize(
    "method",
    [*METHODS[:3], METHODS[4], Trgp(**SETTINGS, nearness=0.0, trusted=3)],
    ids=[*IDS[:3], "free", "three"],
)
@pytest.mark.parametrize(("dtype", "close"), [(torch.float64, 1e-12), (torch.float32, 1e-5)])
@pytest.mark.parametrize("norm", [None, "batch", "layer"])
def test_what_was_measured_stays_to_the_bit_of_rounding(method, dtype, close, norm):
    """With everything protected that the examples show, outputs for these examples never change again."""
    kind = {None: nn.Identity(), "batch": nn.BatchNorm1d(16), "layer": nn.LayerNorm(16)}[norm]
    method = type(method)(**vars(method) | {"threshold": Threshold(1.0)})
    learner = method.start(perceptron(dtype=dtype, norm=kind))
    first = {}
    for task in range(4):
        inputs, labels = data(task, rows=5, dtype=dtype)
        before = {name: value.clone() for name, value in learner.network.state_dict().items()}
        learner.learn(str(task), (inputs, labels))
        moved = max((value - before[name]).abs().max() for name, value in learner.network.state_dict().items())
        assert moved > 0.01  # it is still learning
        first[task] = learner.outputs(str(task), inputs)
        for old in range(task):
            now = learner.outputs(str(old), data(old, rows=5, dtype=dtype)[0])
            assert (now - first[old]).abs().max() < close * first[old].abs().max()


@pytest.mark.parametrize("departure", [True, ("strongest unprotected",)])
def test_as_published_changes_what_was_measured(departure):
    """The strongest new direction of the second task is not protected, so its outputs move with the third task."""
    method = Trgp(**settings(threshold=Threshold(1.0)), nearness=0.0, as_published=departure)
    learner = taught(method, perceptron(dtype=torch.float64), 2, rows=5, dtype=torch.float64)
    before = learner.outputs("task 1", data(1, 5)[0].double())
    learner.learn("more", data(2, 5, dtype=torch.float64))
    assert (learner.outputs("task 1", data(1, 5)[0].double()) - before).abs().max() > 1e-2


def test_convolutions_groups_norms_and_heads_stay_as_well():
    chosen = settings(threshold=Threshold(1.0), own=("heads.*",))
    for method in (Gpm(**chosen), Trgp(**chosen, nearness=0.1)):
        torch.manual_seed(0)
        learner = method.start(Images())
        outputs = {}
        for task in range(3):
            learner.learn(str(task), images(task))
            assert learner.accuracy(str(task), images(task)) > 0.9
            outputs[task] = learner.outputs(str(task), images(task)[0])
        for task in range(3):
            torch.testing.assert_close(learner.outputs(str(task), images(task)[0]), outputs[task], rtol=0, atol=1e-4)


def test_a_layer_that_a_task_does_without_is_not_protected():
    """Heads that are not own: a task sees nothing of the others, and their directions stay free."""
    torch.manual_seed(0)
    learner = Trgp(**SETTINGS).start(Images())
    learner.learn("a", images(0))
    bases = {layer.name: layer.blocks[0].basis.shape[1] for layer in learner.layers}
    assert bases["heads.0"] > 0
    assert [bases[f"heads.{number}"] for number in (1, 2, 3)] == [0, 0, 0]
    learner.learn("b", images(1))
    bases = {layer.name: layer.blocks[0].basis.shape[1] for layer in learner.layers}
    assert bases["heads.1"] > 0
    assert bases["heads.2"] == 0


def test_a_departure_by_name():
    """Each of the three is its own switch; True is all of them."""
    names = ("strongest unprotected", "shared weights measured", "first layer decides")
    assert [Trgp(as_published=True).departs(name) for name in names] == [True] * 3
    assert [Trgp().departs(name) for name in names] == [False] * 3
    for name in names:
        assert [Trgp(as_published=(name,)).departs(other) for other in names] == [name == other for other in names]
        assert not Gpm().departs(name)
    with pytest.raises(ValueError, match="as_published="):
        Trgp(as_published=("something else",))  # type: ignore[arg-type]


# Own loops


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
    with learners[1].task(
        "b", (torch.cat([b[0] for b in batches])[:20], torch.cat([b[1] for b in batches])[:20])
    ) as of:
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
    with learner.task("b", (inputs, labels)):
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


# Interruptions


def fails_at(monkeypatch, owner, name, call):
    """The method, but for its call of that number, which is interrupted."""
    original, calls = getattr(owner, name), []

    def failing(*arguments, **named):
        calls.append(1)
        if len(calls) == call:
            raise KeyboardInterrupt
        return original(*arguments, **named)

    monkeypatch.setattr(owner, name, failing)


@pytest.mark.parametrize(
    ("owner", "name", "call"),
    [
        (Learner, "_trusted", 1),
        (Layer, "start", 2),
        (Layer, "finish", 2),
        (Layer, "set_weights", 1),
        (Learner, "_remember", 1),
        (Layer, "inputs", 1),
        (Block, "protect", 1),
        (Block, "protect", 3),
        (functional, "cross_entropy", 4),
    ],
)
@pytest.mark.parametrize("method", [METHODS[1], METHODS[3]], ids=["fast", "leaking"])
def test_an_interruption_changes_nothing(monkeypatch, method, owner, name, call):
    learner = taught(method, perceptron(norm=nn.BatchNorm1d(16)), 2)
    never = taught(method, perceptron(norm=nn.BatchNorm1d(16)), 3)
    learner.network.eval()
    learner.network[3].train()  # some modules are not as the others
    before = learner.state()
    modes = [module.training for module in learner.network.modules()]
    with monkeypatch.context() as patch:
        fails_at(patch, owner, name, call)
        with pytest.raises(KeyboardInterrupt):
            learner.learn("task 2", data(2))
    assert_same(learner.state(), before)
    assert [module.training for module in learner.network.modules()] == modes
    assert not any("forward" in vars(module) for module in learner.network.modules())
    assert learner.tasks == ["task 0", "task 1"]
    learner.learn("task 2", data(2))
    assert_same(learner.state(), never.state())


def test_an_exception_in_an_own_loop_changes_nothing():
    learner = taught(METHODS[1], perceptron(norm=nn.BatchNorm1d(16)), 1)
    before = learner.state()

    def loop():
        with learner.task("b", data(1)) as parameters, torch.no_grad():
            learner.network(data(1)[0])  # running statistics move
            for parameter in parameters:
                parameter.add_(1.0)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        loop()
    assert_same(learner.state(), before)
    learner.learn("b", data(1))
    assert learner.accuracy("b", data(1)) == 1


def test_divergence_is_an_error_and_changes_nothing():
    method = Gpm(**settings(schedule=Schedule(1e30, epochs=2, batch_size=6)))
    learner = method.start(perceptron())
    before = learner.state()
    with pytest.raises(FloatingPointError, match=r"training diverged: .* at learning rate 1e\+30; lower it"):
        learner.learn("a", data(0))
    assert_same(learner.state(), before)
    assert learner.tasks == []


# Data


def test_data_in_every_form():
    inputs, labels = data(0)
    sample = Sample(inputs, labels, inputs[:2], labels[:2], inputs[:3], labels[:3])
    pair, same = taught(METHODS[1], perceptron(), 0), taught(METHODS[1], perceptron(), 0)
    pair.learn("a", (inputs, labels))
    same.learn("a", sample)
    assert_same(pair.state(), same.state())
    batches = list(zip(inputs.split(6), labels.split(6), strict=True))
    of_list, of_loader = taught(METHODS[1], perceptron(), 0), taught(METHODS[1], perceptron(), 0)
    of_list.learn("a", batches)
    of_loader.learn("a", DataLoader(TensorDataset(inputs, labels), batch_size=6))
    assert_same(of_list.state(), of_loader.state())
    assert any(not torch.equal(value, pair.state()[name]) for name, value in of_list.state().items())  # not shuffled
    right = [learner.accuracy("a", form) for learner in (pair, of_list) for form in (batches, (inputs, labels))]
    assert right == [1, 1, 1, 1]


def test_shuffling_is_determined_by_the_generator():
    def learnt(seed):
        learner = METHODS[1].start(perceptron())
        learner.learn("a", data(0), random=torch.Generator().manual_seed(seed))
        return learner.state()

    assert_same(learnt(1), learnt(1))
    assert any(not torch.equal(value, learnt(2)[name]) for name, value in learnt(1).items())


def test_yes_or_no():
    torch.manual_seed(0)
    learner = METHODS[1].start(nn.Sequential(nn.Linear(SIZE, 8), nn.ReLU(), nn.Linear(8, 1)))
    inputs, labels = data(0)
    answers = (labels == 1).float()[:, None]
    learner.learn("a", (inputs, answers))
    learner.learn("b", (-inputs, 1 - answers))
    assert learner.accuracy("a", (inputs, answers)) > 0.9
    assert learner.accuracy("a", (inputs, 1 - answers)) < 0.1
    with pytest.raises(ValueError, match=r"labels of shape \(24,\), guesses \(24, 1\)"):
        learner.accuracy("a", (inputs, answers[:, 0]))


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda x, y: (x, y[:-1]), "24 inputs and 23 labels: give as many of both"),
        (lambda x, y: (x[:0], y[:0]), "0 inputs and 0 labels: give as many of both, at least one"),
        (lambda x, y: [], "the data yields no batches"),
        (lambda x, y: ((x, y) for _ in range(9)), "can be read only once"),
        (lambda x, y: (x.index_fill(0, torch.tensor(3), torch.nan), y), "inputs of task 'a' are not all finite"),
        (lambda x, y: (x, y.int()), "labels of type torch.int32: give classes as torch.int64"),
        (lambda x, y: (x, y.to(torch.uint8)), "labels of type torch.uint8"),
    ],
)
def test_data_that_cannot_be_learnt_from(wrong, message):
    learner = Gpm(**settings(samples=24)).start(perceptron())
    before = learner.state()
    with pytest.raises(ValueError, match=re.escape(message)):
        learner.learn("a", wrong(*data(0)))
    assert_same(learner.state(), before)


def test_patience_needs_validation_data():
    method = Gpm(**settings(schedule=Schedule(patience=2)))
    learner = method.start(perceptron())
    with pytest.raises(ValueError, match="patience=2: give validation data"):
        learner.learn("a", data(0))
    learner.learn("a", data(0), validation=data(5))
    assert learner.tasks == ["a"]


def test_no_examples_to_be_judged_by():
    with pytest.raises(ValueError, match="no examples: give at least one"):
        taught(METHODS[0], perceptron(), 1).accuracy("task 0", [])


def test_tasks_have_names():
    learner = taught(METHODS[0], perceptron(), 1)
    for question in (learner.accuracy, learner.outputs):
        with pytest.raises(ValueError, match=r"task 'x' is unknown: learnt are 'task 0'\. To answer, the network must"):
            question("x", data(0)[0])
    with pytest.raises(ValueError, match="task 'x' is unknown: learnt are none yet"):
        METHODS[0].start(perceptron()).outputs("x", data(0)[0])
    with pytest.raises(ValueError, match="task 'task 0' has been learnt already; give it another name"):
        learner.learn("task 0", data(1))


def test_settings_by_layer_must_be_as_many_as_layers():
    layers = "the layers 0, 4, 6"
    with pytest.raises(ValueError, match=rf"samples=\(3, 4\): give one number, or one for each of {layers}"):
        Gpm(samples=(3, 4)).start(perceptron())
    with pytest.raises(ValueError, match=rf"threshold=\(0.9,\): give one number, or one for each of {layers}"):
        Gpm(threshold=Threshold((0.9,))).start(perceptron())


def test_every_layer_is_measured_on_its_own_number_of_samples():
    learner = Gpm(**settings(threshold=Threshold(1.0), samples=(4, 9, 2))).start(perceptron())
    learner.learn("a", data(0))
    assert [layer.blocks[0].basis.shape[1] for layer in learner.layers] == [4, 9, 2]


# Answering


def test_answering_leaves_no_trace():
    learner = taught(METHODS[1], perceptron(norm=nn.BatchNorm1d(16), drop=0.5))
    before, inputs = learner.state(), data(0)[0]
    expected = learner.outputs("task 0", inputs)
    learner.network.train()
    learner.network[3].eval()
    modes = [module.training for module in learner.network.modules()]
    with learner.answering("task 0") as network:
        assert not network.training
        torch.testing.assert_close(network(inputs), expected)
    with pytest.raises(KeyError), learner.answering("task 1"):
        raise KeyError
    learner.accuracy("task 0", data(0))
    assert [module.training for module in learner.network.modules()] == modes
    assert_same(learner.state(), before)


def test_a_task_not_learnt_yet_is_answered_by_the_network_as_it_stands():
    learner = taught(METHODS[1], perceptron())
    learner.network.eval()
    assert torch.equal(learner.outputs(None, data(3)[0]), learner.network(data(3)[0]).detach())


def test_outputs_come_in_batches_of_the_test_size():
    """Which matters for batch normalization by the statistics of the batch."""
    schedule = Schedule(0.1, epochs=1, batch_size=6, test_batch_size=7)
    network = perceptron(norm=nn.BatchNorm1d(16, track_running_stats=False))
    learner = Gpm(**settings(schedule=schedule)).start(network)
    learner.learn("a", data(0))
    inputs = data(0)[0]
    network.eval()
    with learner.answering("a"), torch.no_grad():
        expected = torch.cat([network(part) for part in inputs.split(7)])
    assert torch.equal(learner.outputs("a", inputs), expected)


# What each task has for itself


def test_own_modules_begin_fresh_for_every_task_and_biases_go_on():
    network = perceptron()
    fresh = {name: value.clone() for name, value in network.state_dict().items()}
    learner = Trgp(**SETTINGS, own=("6",)).start(network)
    learner.learn("a", data(0))
    after = {name: value.clone() for name, value in network.state_dict().items()}
    assert not torch.equal(after["6.bias"], fresh["6.bias"])
    with learner.task("b", data(1)):
        for name in ("6.weight", "6.bias"):
            assert torch.equal(network.state_dict()[name], fresh[name])
        assert torch.equal(network.state_dict()["0.bias"], after["0.bias"])
    with learner.answering("a"):
        for name in ("6.weight", "6.bias", "0.bias"):
            assert torch.equal(network.state_dict()[name], after[name])


def test_of_many_heads_only_the_one_of_the_task_is_kept():
    torch.manual_seed(0)
    learner = taught(Gpm(**SETTINGS, own=("heads.*",)), Images(), make=images)
    for task in range(3):
        kept = {name for name in learner.state() if name.startswith(f"own.{task}.heads")}
        assert kept == {f"own.{task}.heads.{task}.weight", f"own.{task}.heads.{task}.bias"}


def test_norms_own_frozen_and_shared():
    values = {}
    for norms in ("own", "frozen", "shared"):
        network = perceptron(norm=nn.BatchNorm1d(16))
        learner = Trgp(**SETTINGS, norms=norms).start(network)
        for task in range(3):
            learner.learn(str(task), data(task))
            values[norms, task] = {name: value.clone() for name, value in network[1].state_dict().items()}
        for task in range(3):
            with learner.answering(str(task)):
                now = {name: value.clone() for name, value in network[1].state_dict().items()}
            seen = {"own": task, "frozen": 0, "shared": 2}[norms]
            assert_same(now, values[norms, seen])
    for norms, task in (("own", 1), ("shared", 1), ("own", 2), ("shared", 2)):
        for name in ("weight", "running_mean"):
            assert not torch.equal(values[norms, task][name], values[norms, task - 1][name])


# Saving


@pytest.mark.parametrize("method", METHODS, ids=IDS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_a_saved_learner_goes_on_as_if_nothing_had_been(method, dtype, tmp_path):
    learner = taught(method, perceptron(dtype=dtype, norm=nn.BatchNorm1d(16)), dtype=dtype)
    learner.save(tmp_path / "learner.safetensors")
    other = method.start(perceptron(1, dtype=dtype, norm=nn.BatchNorm1d(16)))
    other.load(tmp_path / "learner.safetensors")
    assert [path.name for path in tmp_path.iterdir()] == ["learner.safetensors"]
    assert_same(other.state(), learner.state())
    for task in range(3):
        inputs = data(task, dtype=dtype)[0]
        assert torch.equal(other.outputs(f"task {task}", inputs), learner.outputs(f"task {task}", inputs))
    for one in (learner, other):
        one.learn("task 3", data(3, dtype=dtype))
    assert_same(other.state(), learner.state())


def test_a_saved_learner_with_heads(tmp_path):
    method = TrgpPlus(**SETTINGS, nearness=0.1, own=("heads.*",))
    torch.manual_seed(0)
    learner = taught(method, Images(), make=images)
    learner.save(tmp_path / "learner")
    other = method.start(Images())  # of another beginning
    other.load(tmp_path / "learner")
    for one in (learner, other):
        one.learn("task 3", images(3))
    assert_same(other.state(), learner.state())
    assert torch.equal(other.outputs("task 1", images(1)[0]), learner.outputs("task 1", images(1)[0]))


def test_a_state_stays_what_it_was():
    learner = taught(METHODS[1], perceptron(), 1)
    state = learner.state()
    then = {name: value.clone() for name, value in state.items()}
    outputs = learner.outputs("task 0", data(0)[0])
    learner.learn("b", data(1))
    assert_same(state, then)
    learner.restore(state)
    assert learner.tasks == ["task 0"]
    assert torch.equal(learner.outputs("task 0", data(0)[0]), outputs)
    learner.learn("b", data(1))
    assert_same(state, then)


def test_own_modules_that_share_a_weight_can_be_saved():
    torch.manual_seed(0)
    network = nn.Sequential(nn.Linear(SIZE, 12), nn.Linear(12, 12), nn.Linear(12, 12))
    network[2].weight = network[1].weight
    learner = Gpm(**SETTINGS, own=("1", "2")).start(network)
    learner.learn("a", data(0))
    assert load(save(learner.state())).keys() == learner.state().keys()


@pytest.mark.parametrize(
    "other",
    [
        lambda: perceptron(dtype=torch.float64),
        lambda: nn.Sequential(nn.Linear(SIZE, 16), nn.Identity(), nn.ReLU(), nn.ReLU(), nn.Linear(16, 12)),
        lambda: nn.Sequential(*list(perceptron())[:-1], nn.Linear(12, CLASSES + 1)),
        lambda: nn.Sequential(nn.Linear(SIZE + 1, 16), *list(perceptron())[1:]),
    ],
)
def test_a_state_of_another_network_is_refused_and_changes_nothing(other):
    state = taught(METHODS[1], perceptron(), 1).state()
    learner = METHODS[1].start(other())
    before = learner.state()
    with pytest.raises(ValueError, match="not the state of a learner with this network and method"):
        learner.restore(state)
    assert_same(learner.state(), before)


def test_damaged_files_are_refused(tmp_path):
    learner = taught(METHODS[0], perceptron(), 1)
    path = tmp_path / "learner"
    learner.save(path)
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(ValueError, match="learner is damaged or no safetensors file"):
        learner.load(path)
    path.write_bytes(save({"tasks": torch.tensor(list(json.dumps(["a"]).encode()), dtype=torch.uint8)}))
    with pytest.raises(ValueError, match="not the state of a learner"):
        learner.load(path)
    assert learner.tasks == ["task 0"]


# The shortcut for inputs


class Skipping(nn.Module):
    """A way past the first layer; at first it may have no effect."""

    def __init__(self, zero):
        super().__init__()
        self.first, self.last, self.skip = nn.Linear(SIZE, 16), nn.Linear(16, CLASSES), nn.Linear(SIZE, CLASSES)
        if zero:
            nn.init.zeros_(self.skip.weight)
            nn.init.zeros_(self.skip.bias)

    def forward(self, x):
        return self.last(self.first(x).relu()) + self.skip(x)


def with_and_without(monkeypatch, method, make, *, dtype=torch.float64):
    """Learners after two tasks with the shortcut and without it, and whether it was taken in the second task."""
    learners, taken = [], []
    for shortcut in (True, False):
        torch.manual_seed(0)
        learner = method.start(make().to(dtype))
        with monkeypatch.context() as patch:
            if not shortcut:
                patch.setattr(Learner, "_turned", lambda self, data, examples: data)
            for task in range(2):
                torch.manual_seed(task)
                note = lambda *_, of=learner: taken.append(of.layers[0].moving[0].turned)  # noqa: E731
                learner.learn(str(task), data(task, dtype=dtype), watch=note)
        learners.append(learner)
    return *learners, taken[SCHEDULE.epochs : 2 * SCHEDULE.epochs]


@pytest.mark.parametrize("method", METHODS, ids=IDS)
@pytest.mark.parametrize("norm", [nn.Identity, lambda: nn.BatchNorm1d(16)])
def test_turning_all_inputs_at_once_gives_the_same(monkeypatch, method, norm):
    one, other, taken = with_and_without(monkeypatch, method, lambda: perceptron(norm=norm(), drop=0.2))
    assert taken == [True] * SCHEDULE.epochs
    for name, value in one.network.state_dict().items():
        torch.testing.assert_close(value, other.network.state_dict()[name], rtol=0, atol=1e-9, msg=name)
    for task in range(2):
        inputs = data(task, dtype=torch.float64)[0]
        torch.testing.assert_close(one.outputs(str(task), inputs), other.outputs(str(task), inputs), rtol=0, atol=1e-9)


@pytest.mark.parametrize(
    ("make", "own"),
    [
        (lambda: Skipping(zero=False), ()),
        (lambda: Skipping(zero=True), ("skip",)),  # zeros again for every task
        (lambda: nn.Sequential(nn.Dropout(0.5), *perceptron()), ()),
        (lambda: nn.Sequential(nn.BatchNorm1d(SIZE), *perceptron()), ()),
        (lambda: nn.Sequential(nn.ReLU(), *perceptron()), ()),
    ],
    ids=["skip", "skip of zeros", "dropout", "norm", "relu"],
)
def test_inputs_are_not_turned_if_more_happens_to_them(monkeypatch, make, own):
    method = Trgp(**settings(own=own), nearness=0.1)
    one, other, taken = with_and_without(monkeypatch, method, make)
    assert taken == [False] * SCHEDULE.epochs
    assert_same(one.state(), other.state())


class Tied(nn.Module):
    """Uses a layer's weight a second time, without the layer."""

    def __init__(self) -> None:
        super().__init__()
        self.layer, self.head = nn.Linear(SIZE, SIZE, bias=False), nn.Linear(SIZE, 3)

    def forward(self, inputs):
        return self.head(functional.relu(self.layer(inputs)) @ self.layer.weight)


def test_a_weight_used_outside_of_its_layer_is_refused():
    network = Tied()
    learner, before = Trgp(**settings()).start(network), copy.deepcopy(network.state_dict())
    with pytest.raises(ValueError, match="weight of layer 'layer' is used outside of the layer's own forward"):
        learner.learn("a", data(0))
    assert_same(dict(network.state_dict()), before)
    own = Trgp(**settings(own=("layer",))).start(network)
    own.learn("a", data(0))
    assert own.tasks == ["a"]


class Overflowing(nn.Module):
    """In evaluation mode the second layer is given infinities."""

    def __init__(self) -> None:
        super().__init__()
        self.layer, self.head = nn.Linear(SIZE, 4), nn.Linear(4, 3)

    def forward(self, inputs):
        hidden = functional.relu(self.layer(inputs))
        return self.head(hidden if self.training else hidden / 0)


def test_inputs_of_a_layer_that_are_not_finite_are_not_taken_for_nothing():
    learner = Trgp(**settings()).start(Overflowing())
    with pytest.raises(FloatingPointError, match="inputs of layer 'head' are not all finite"):
        learner.learn("a", data(0))
    assert learner.tasks == []


# What could go wrong in silence


@pytest.mark.parametrize("method", [METHODS[1], METHODS[4], Copies(SCHEDULE)], ids=["trgp", "free", "copies"])
def test_while_the_network_answers_for_one_task_nothing_else_can_be_asked(method):
    learner = taught(method, perceptron(), 2)
    before = learner.state()
    with learner.answering("task 0"):
        for ask in (
            learner.state,
            lambda: learner.outputs("task 1", data(1)[0]),
            lambda: learner.accuracy("task 1", data(1)),
            lambda: learner.learn("more", data(2)),
            lambda: learner.restore(before),
        ):
            with pytest.raises(RuntimeError, match="leave the context of answering"):
                ask()
    assert_same(learner.state(), before)


def test_a_dominant_direction_is_protected():
    """Inputs far from zero have nearly all energy in one direction."""
    learner = Gpm(**settings(threshold=Threshold(0.9))).start(perceptron())
    inputs, labels = data(0)
    learner.learn("a", (inputs + 20, labels))
    assert learner.layers[0].blocks[0].basis.shape[1] == 1


class Folded(nn.Module):
    """Ten inputs for each example, folded into the batch or not."""

    def __init__(self, fold) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.fold, self.first, self.last = fold, nn.Linear(40, 30), nn.Linear(30, 2)

    def forward(self, x):
        hidden = self.first(x.reshape(-1, 40)).view(len(x), 10, 30) if self.fold else self.first(x)
        return self.last(hidden.relu().mean(1))


def test_samples_are_examples_wherever_a_network_folds_them():
    bases = []
    for fold in (True, False):
        inputs = torch.randn(20, 10, 40, generator=torch.Generator().manual_seed(0))
        learner = Gpm(**settings(threshold=Threshold(0.99), samples=(3, 20))).start(Folded(fold))
        learner.learn("a", (inputs, torch.arange(20) % 2))
        bases.append(learner.layers[0].blocks[0].basis)
    assert bases[0].shape == bases[1].shape
    assert 20 < bases[0].shape[1] <= 30  # of three examples, ten inputs each


@pytest.mark.parametrize("number", range(4))
def test_the_state_of_another_method_is_refused(number):
    methods = [METHODS[0], METHODS[1], FineTuning(SCHEDULE), Copies(SCHEDULE)]
    state = taught(methods[number], perceptron(), 1).state()
    for other in (*methods[:number], *methods[number + 1 :]):
        learner = other.start(perceptron(1))
        before = learner.state()
        with pytest.raises(ValueError, match="not the state of a learner with this network and method"):
            learner.restore(state)
        assert_same(learner.state(), before)


def test_a_state_with_other_norms_or_own_modules_is_refused():
    state = taught(Gpm(**settings()), perceptron(norm=nn.BatchNorm1d(16)), 1).state()
    for changes in ({"norms": "frozen"}, {"own": ("6",)}):
        with pytest.raises(ValueError, match="it is of"):
            Gpm(**settings(**changes)).start(perceptron(norm=nn.BatchNorm1d(16))).restore(state)


def test_a_larger_network_is_refused_before_anything_is_overwritten():
    small, large = FineTuning(SCHEDULE).start(perceptron()), FineTuning(SCHEDULE).start(perceptron(1))
    large.network = nn.Sequential(*perceptron(1), nn.Linear(CLASSES, CLASSES))
    before = small.state()
    with pytest.raises(ValueError, match=r"this network has no '7\.bias'"):
        small.restore(large.state())
    assert_same(small.state(), before)


def test_buffers_that_a_network_replaces_are_found():
    """As `double()` and `float()` do."""
    network = perceptron(norm=nn.BatchNorm1d(16))
    learner = Gpm(**settings(threshold=Threshold(1.0))).start(network)
    network.double()
    network.float()
    learner.learn("a", data(0, 5))
    before = learner.outputs("a", data(0, 5)[0])
    learner.learn("b", data(1, 5))
    assert (learner.outputs("a", data(0, 5)[0]) - before).abs().max() < 1e-4


@pytest.mark.parametrize(
    "change",
    [
        lambda network: network.append(nn.Linear(CLASSES, CLASSES)),
        lambda network: network.__setitem__(6, nn.Linear(12, CLASSES)),
        lambda network: network[0].requires_grad_(False),
    ],
    ids=["added", "replaced", "frozen"],
)
def test_a_network_that_has_changed_since_the_start_is_refused(change):
    network = perceptron()
    learner = Trgp(**settings()).start(network)
    learner.learn("a", data(0))
    change(network)
    with pytest.raises(ValueError, match=r"parameter '\d\.bias' has been added, removed, replaced, frozen or set free"):
        learner.learn("b", data(1))
    assert learner.tasks == ["a"]


@pytest.mark.parametrize("method", [METHODS[0], METHODS[3]], ids=["fast", "leaking"])
def test_weights_changed_behind_the_learners_back_are_refused(method):
    learner = taught(method, perceptron(), 1)
    before = learner.state()
    complaint = pytest.raises(ValueError, match="the weight of layer '0' was changed directly")
    with complaint, learner.task("b", data(1)), torch.no_grad():
        for parameter in learner.network.parameters():
            parameter.clamp_(-0.05, 0.05)
    assert_same(learner.state(), before)


def test_a_layer_with_a_forward_of_its_own_is_refused():
    network: Any = perceptron()
    network[4].forward = lambda x: x @ network[4].weight.T
    with pytest.raises(ValueError, match="layer '4' has a forward of its own"):
        Gpm(**settings()).start(network).learn("a", data(0))


class InPlace(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.layers = perceptron()

    def forward(self, x):
        return self.layers(x.sub_(3.0))


def test_a_network_may_change_its_inputs_in_place():
    class Loader:
        """Batches made anew every epoch, as a DataLoader makes them."""

        def __init__(self, task: int) -> None:
            self.pair = data(task, 5)

        def __iter__(self):
            yield self.pair[0].clone(), self.pair[1]

    learner = Gpm(**settings(threshold=Threshold(1.0))).start(InPlace())
    learner.learn("a", Loader(0))
    before = learner.outputs("a", data(0, 5)[0])
    learner.learn("b", Loader(1))
    assert (learner.outputs("a", data(0, 5)[0]) - before).abs().max() < 1e-4


def test_a_checkpoint_of_another_task_is_not_taken_up(tmp_path, monkeypatch):
    monkeypatch.setattr("ebbing.learn.schedule.CHECKPOINT_EVERY", -1.0)
    checkpoint = Checkpoint(tmp_path / "checkpoint")
    once, again = (FineTuning(SCHEDULE).start(perceptron()) for _ in range(2))
    for learner, kept in ((once, None), (again, checkpoint)):
        for task in range(2):
            learner.learn(str(task), data(task), checkpoint=kept)
    assert_same(again.state(), once.state())


def test_gpm_takes_any_labels_in_an_own_loop():
    """It measures no gradient, so it need not know the loss."""
    learner = Gpm(**settings()).start(perceptron())
    for task in range(3):
        inputs, targets = data(task)[0], torch.randn(24)
        with learner.task(str(task), (inputs, targets)) as parameters:
            optimizer = torch.optim.SGD(parameters, 0.01)
            (learner.network(inputs).mean(1) - targets).square().mean().backward()
            optimizer.step()
    assert learner.tasks == ["0", "1", "2"]


def test_whole_number_inputs():
    class Bytes(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layers = perceptron()

        def forward(self, x):
            return self.layers(x.float() / 255)

    learner = Trgp(**settings(), nearness=0.0).start(Bytes())
    for task in range(3):
        inputs = torch.randint(0, 255, (24, SIZE), dtype=torch.uint8, generator=torch.Generator().manual_seed(task))
        learner.learn(str(task), (inputs, data(task)[1]))
    assert learner.tasks == ["0", "1", "2"]


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


class Scaled(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.scale, self.layers = nn.Parameter(torch.ones(())), perceptron()

    def forward(self, x):
        return self.scale * self.layers(x)


def test_parameters_of_the_network_itself_can_be_each_tasks_own():
    with pytest.raises(ValueError, match=r"the network's own parameter 'scale'.*name it in own="):
        Gpm(**settings()).start(Scaled())
    learner = taught(Gpm(**settings(own=("scale",))), Scaled(), 2)
    scales = []
    for task in learner.tasks:
        with learner.answering(task) as network:
            scales.append(float(network.get_parameter("scale").detach()))
    assert 1 != scales[0] != scales[1] != 1


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (lambda x, y: [(x, y, y)], r"3 things \(Tensor, Tensor, Tensor\): give inputs and labels"),
        (lambda x, y: [{"x": x, "y": y}], "a dict: give inputs and labels"),
        (lambda x, y: (x.numpy(), y.numpy()), r"2 things \(ndarray, ndarray\): give inputs and labels"),
        (lambda x, y: [(x, y.int())], "labels of type torch.int32"),
        (lambda x, y: [(x, y[:3])], "24 inputs and 3 labels"),
        (TensorDataset, "DataLoader"),
    ],
    ids=["three", "dict", "arrays", "int32", "lengths", "dataset"],
)
@pytest.mark.parametrize("method", [METHODS[1], FineTuning(SCHEDULE)], ids=["trgp", "fine-tuning"])
def test_data_in_other_forms_are_refused_with_the_way_out(given, message, method):
    learner = method.start(perceptron())
    with pytest.raises(ValueError, match=message):
        learner.learn("a", given(*data(0)))
    assert learner.tasks == []


def test_other_refusals():
    for method in (METHODS[1], FineTuning(SCHEDULE)):
        learner = method.start(perceptron())
        with pytest.raises(ValueError, match="task 1: give a name, as text"):
            learner.learn(1, data(0))  # type: ignore[arg-type]
        with pytest.raises(ValueError, match="validation data are for a schedule with patience"):
            learner.learn("a", data(0), validation=data(1))
    with pytest.raises(ValueError, match="no parameter to be trained"):
        FineTuning(SCHEDULE).start(nn.ReLU())
    network: Any = perceptron()
    network.forward = lambda x: (x, x)
    for method in (METHODS[1], FineTuning(SCHEDULE)):
        with pytest.raises(ValueError, match="the network returns a tuple: let it return one tensor"):
            method.start(network).learn("a", data(0))


# Fine-tuning


def test_fine_tuning_is_plain_gradient_descent(tmp_path):
    learner, network = FineTuning(SCHEDULE).start(perceptron()), perceptron()
    for task in range(2):
        inputs, labels = data(task)
        learner.learn(str(task), (inputs, labels), random=torch.Generator().manual_seed(task))
        generator = torch.Generator().manual_seed(task)
        steps = torch.optim.SGD(network.parameters(), 0.3)
        for _ in range(4):
            for rows in torch.randperm(24, generator=generator).split(6):
                steps.zero_grad()
                functional.cross_entropy(network(inputs[rows]), labels[rows]).backward()
                steps.step()
    assert_same(dict(learner.network.state_dict()), dict(network.state_dict()))
    other = FineTuning(SCHEDULE).start(perceptron(1))
    state = learner.state()
    other.restore(load(save(state)))
    then = copy.deepcopy(state)
    for one in (learner, other):
        one.learn("2", data(2))
    assert_same(learner.state(), other.state())
    assert_same(state, then)
    learner.network.train()
    assert torch.equal(learner.outputs("0", data(0)[0]), learner.outputs(None, data(0)[0]))
    assert learner.network.training
    with pytest.raises(ValueError, match="task 'x' is unknown: learnt are '0', '1', '2'"):
        learner.outputs("x", data(0)[0])
    with pytest.raises(ValueError, match="task '0' has been learnt already"):
        learner.learn("0", data(0))
    with pytest.raises(ValueError, match="no batches in epoch 2"):
        learner.learn("3", (pair for pair in [data(3)]))


# On a GPU


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
@pytest.mark.parametrize("method", METHODS, ids=IDS)
def test_on_a_gpu(method, tmp_path):
    learner = taught(method, perceptron(norm=nn.BatchNorm1d(16)).cuda())
    assert [learner.accuracy(f"task {task}", data(task)) for task in range(3)] == [1, 1, 1]
    assert learner.outputs("task 0", data(0)[0]).is_cuda
    learner.save(tmp_path / "learner")
    assert not any(value.is_cuda for value in learner.state().values())
    for device in ("cuda", "cpu"):
        other = method.start(perceptron(1, norm=nn.BatchNorm1d(16)).to(device))
        other.load(tmp_path / "learner")
        for task in range(3):
            found = other.outputs(f"task {task}", data(task)[0]).cpu()
            torch.testing.assert_close(found, learner.outputs(f"task {task}", data(task)[0]).cpu(), rtol=0, atol=1e-4)
        other.learn("task 3", data(3))
        assert other.accuracy("task 3", data(3)) == 1


def test_the_accuracy_of_a_sample_is_that_of_its_test_data():
    random = torch.Generator().manual_seed(3)
    inputs = torch.randn(60, 4, generator=random)
    labels = (inputs[:, 0] > 0).long()
    learner = Gpm(Schedule(learning_rate=0.5, epochs=20), samples=20).start(nn.Sequential(nn.Linear(4, 2)))
    sample = Sample(inputs[:40], labels[:40], inputs[40:], 1 - labels[40:])  # the test labels are wrong on purpose
    learner.learn("a", sample)
    right = learner.accuracy("a", (inputs[40:], labels[40:]))
    assert right > 0.7
    assert learner.accuracy("a", sample) == pytest.approx(1 - right)


def test_fine_tuning_is_asked_and_kept_as_the_others_are(tmp_path):
    learner = FineTuning(SCHEDULE).start(perceptron())
    learner.learn("a", data(0))
    right = (learner.outputs("a", data(0)[0]).argmax(1) == data(0)[1]).double().mean()
    assert learner.accuracy("a", data(0)) == pytest.approx(float(right), abs=1e-12)
    with learner.answering("a") as network:
        assert network is learner.network
        assert not network.training
    learner.save(tmp_path / "learner.safetensors")
    other = FineTuning(SCHEDULE).start(perceptron(1))
    other.load(tmp_path / "learner.safetensors")
    assert_same(other.state(), learner.state())
    with pytest.raises(ValueError, match="not the state of a learner with this network"):
        FineTuning(SCHEDULE).start(nn.Linear(2, 2)).restore(learner.state())


def test_fine_tuning_takes_validation_data_and_an_interruption_changes_nothing():
    schedule = replace(SCHEDULE, patience=1, smallest=0.2)
    learner = FineTuning(schedule).start(perceptron())
    with pytest.raises(ValueError, match="patience=1: give validation data"):
        learner.learn("a", data(0))
    before = learner.state()

    def interrupt(*_):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        learner.learn("a", data(0), validation=data(1), watch=interrupt)
    assert_same(learner.state(), before)
    learner.learn("a", data(0), validation=data(1))
    assert learner.tasks == ["a"]


# Copies


def test_copies_answer_as_they_did_when_the_task_was_learnt(tmp_path):
    learner = Copies(SCHEDULE).start(perceptron(norm=nn.BatchNorm1d(16)))
    first = {}
    for task in range(3):
        learner.learn(str(task), data(task))
        first[task] = learner.outputs(str(task), data(task)[0])
    for task, outputs in first.items():
        assert torch.equal(learner.outputs(str(task), data(task)[0]), outputs)
    assert torch.equal(learner.outputs(None, data(2)[0]), first[2])
    plain = taught(FineTuning(SCHEDULE), perceptron(norm=nn.BatchNorm1d(16)))
    assert not torch.equal(plain.outputs("task 0", data(0)[0]), first[0])  # the same training, and forgotten

    learner.save(tmp_path / "copies.safetensors")
    other = Copies(SCHEDULE).start(perceptron(1, norm=nn.BatchNorm1d(16)))
    other.load(tmp_path / "copies.safetensors")
    for one in (learner, other):
        one.learn("3", data(3))
    assert_same(learner.state(), other.state())
    assert torch.equal(other.outputs("0", data(0)[0]), first[0])
    without = {name: value for name, value in learner.state().items() if name != "copy.1.0.weight"}
    with pytest.raises(ValueError, match="a task has no whole copy of the network"):
        other.restore(without)
    with pytest.raises(ValueError, match=r"it is of \{'kind': 'FineTuning'\}, this one of \{'kind': 'Copies'\}"):
        other.restore(plain.state())
