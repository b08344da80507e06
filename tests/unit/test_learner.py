"""Learners: what they learn, what stays, what each task has for itself, and that nothing happens by halves."""

import pytest
import torch
from torch import nn
from torch.nn import functional

from ebbing.learn.layers import Block, Layer
from ebbing.learn.learner import Learner
from ebbing.learn.methods import FineTuning, Gpm, Trgp
from ebbing.learn.projection import Threshold
from ebbing.learn.schedule import Schedule
from ebbing.learn.tasks import Sample
from toys import IDS, METHODS, SCHEDULE, SETTINGS, Images, assert_same, data, images, perceptron, settings, taught

pytestmark = pytest.mark.usefixtures("quietly")


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


def test_what_is_protected_and_whom_each_task_trusts(tmp_path):
    method = Trgp(**settings(), nearness=0.0)
    learner = taught(method, perceptron())
    assert learner.trusted[0] == {"0": [], "4": [], "6": []}
    assert learner.trusted[1] == {"0": ["task 0"], "4": ["task 0"], "6": ["task 0"]}
    assert learner.trusted[2] == {"0": ["task 0", "task 1"], "4": ["task 0", "task 1"], "6": ["task 0", "task 1"]}
    ranks = {layer.name: layer.blocks[0].basis.shape for layer in learner.layers}
    assert learner.protected == {name: m / d for name, (d, m) in ranks.items()}
    learner.save(tmp_path / "learner")
    other = method.start(perceptron(1))
    other.load(tmp_path / "learner")
    assert (other.trusted, other.protected) == (learner.trusted, learner.protected)
    before = [*learner.trusted]
    with pytest.raises(ValueError, match="between 0 and 1"):
        learner.learn("more", (data(3)[0], torch.full((24, 3), 7.0)))
    assert learner.trusted == before
    without = {name: value for name, value in learner.state().items() if name != "trusted"}  # as early versions wrote
    other.restore(without)
    assert other.trusted == [{}, {}, {}]


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


# Names and settings


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
