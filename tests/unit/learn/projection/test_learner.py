"""Learners of gradient projection: what they learn and keep, and which names and settings raise errors."""

import pytest
import torch
from torch import nn
from toys import IDS, METHODS, SCHEDULE, SETTINGS, Images, data, images, perceptron, settings, trained_learner

from ebbing.learn.methods import FineTuning, Gpm, Trgp
from ebbing.learn.projection import Threshold

pytestmark = pytest.mark.usefixtures("quietly")


# Learning


@pytest.mark.parametrize("method", METHODS, ids=IDS)
def test_tasks_are_learned_and_not_forgotten(method):
    learner = trained_learner(method, perceptron())
    assert [learner.accuracy(f"task {task}", data(task)) for task in range(3)] == [1, 1, 1]
    assert learner.tasks == ["task 0", "task 1", "task 2"]
    plain = trained_learner(FineTuning(SCHEDULE), perceptron())
    outputs = plain.outputs("task 0", data(0)[0])
    assert (
        float((outputs.argmax(1) == data(0)[1]).double().mean()) < 0.9
    )  # without protection, these tasks are forgotten


@pytest.mark.parametrize(
    "method",
    [*METHODS[:3], METHODS[4], Trgp(**SETTINGS, trust_threshold=0.0, max_trusted=3)],
    ids=[*IDS[:3], "free", "three"],
)
@pytest.mark.parametrize(("dtype", "close"), [(torch.float64, 1e-12), (torch.float32, 1e-5)])
@pytest.mark.parametrize("norm", [None, "batch", "layer"])
def test_measured_outputs_stay_up_to_rounding(method, dtype, close, norm):
    """With all directions of the examples protected, outputs for these examples never change again."""
    kind = {None: nn.Identity(), "batch": nn.BatchNorm1d(16), "layer": nn.LayerNorm(16)}[norm]
    method = type(method)(**vars(method) | {"threshold": Threshold(1.0)})
    learner = method.start(perceptron(dtype=dtype, norm=kind))
    first = {}
    for task in range(4):
        inputs, labels = data(task, rows=5, dtype=dtype)
        before = {name: value.clone() for name, value in learner.network.state_dict().items()}
        learner.learn(str(task), (inputs, labels))
        change = max((value - before[name]).abs().max() for name, value in learner.network.state_dict().items())
        assert change > 0.01  # it is still learning
        first[task] = learner.outputs(str(task), inputs)
        for old in range(task):
            now = learner.outputs(str(old), data(old, rows=5, dtype=dtype)[0])
            assert (now - first[old]).abs().max() < close * first[old].abs().max()


@pytest.mark.parametrize("deviation", [True, ("strongest unprotected",)])
def test_as_published_changes_measured_outputs(deviation):
    """The strongest new direction of the second task is not protected, so the third task changes its outputs."""
    method = Trgp(**settings(threshold=Threshold(1.0)), trust_threshold=0.0, as_published=deviation)
    learner = trained_learner(method, perceptron(dtype=torch.float64), 2, rows=5, dtype=torch.float64)
    before = learner.outputs("task 1", data(1, 5)[0].double())
    learner.learn("more", data(2, 5, dtype=torch.float64))
    assert (learner.outputs("task 1", data(1, 5)[0].double()) - before).abs().max() > 1e-2


@pytest.mark.filterwarnings("ignore:task .* has little room")  # at a threshold of 1, on purpose
def test_convolutional_network_keeps_old_outputs():
    options = settings(threshold=Threshold(1.0), per_task=("heads.*",))
    for method in (Gpm(**options), Trgp(**options, trust_threshold=0.1)):
        torch.manual_seed(0)
        learner = method.start(Images())
        outputs = {}
        for task in range(3):
            learner.learn(str(task), images(task))
            assert learner.accuracy(str(task), images(task)) > 0.9
            outputs[task] = learner.outputs(str(task), images(task)[0])
        for task in range(3):
            torch.testing.assert_close(learner.outputs(str(task), images(task)[0]), outputs[task], rtol=0, atol=1e-4)


def test_unused_layers_are_not_protected():
    """With one head per task, a task does not use the heads of the others, and their directions stay free."""
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


def test_learner_reports_protected_and_trusted(tmp_path):
    method = Trgp(**settings(), trust_threshold=0.0)
    learner = trained_learner(method, perceptron())
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


def test_authors_deviations_are_selected_by_name():
    """Each of the three can be selected; True selects all of them."""
    names = ("strongest unprotected", "shared weights measured", "first layer decides")
    assert [Trgp(as_published=True).reproduces(name) for name in names] == [True] * 3
    assert [Trgp().reproduces(name) for name in names] == [False] * 3
    for name in names:
        assert [Trgp(as_published=(name,)).reproduces(other) for other in names] == [name == other for other in names]
        assert not Gpm().reproduces(name)
    with pytest.raises(ValueError, match="as_published="):
        Trgp(as_published=("something else",))  # type: ignore[arg-type]


# Names and settings


def test_unknown_and_repeated_task_names_raise():
    learner = trained_learner(METHODS[0], perceptron(), 1)
    for call in (learner.accuracy, learner.outputs):
        with pytest.raises(ValueError, match="task 'x' has not been learned; learned tasks: 'task 0'"):
            call("x", data(0)[0])
    with pytest.raises(ValueError, match="task 'x' has not been learned; learned tasks: none"):
        METHODS[0].start(perceptron()).outputs("x", data(0)[0])
    with pytest.raises(ValueError, match="task 'task 0' has already been learned; to learn it again, give"):
        learner.learn("task 0", data(1))


def test_settings_by_layer_need_one_value_per_layer():
    layers = "the layers 0, 4, 6"
    with pytest.raises(ValueError, match=rf"num_examples=\(3, 4\): give one number, or one for each of {layers}"):
        Gpm(num_examples=(3, 4)).start(perceptron())
    with pytest.raises(ValueError, match=rf"threshold=\(0.9,\): give one number, or one for each of {layers}"):
        Gpm(threshold=Threshold((0.9,))).start(perceptron())


# On a GPU


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
@pytest.mark.parametrize("method", METHODS, ids=IDS)
def test_learner_on_a_gpu(method, tmp_path):
    learner = trained_learner(method, perceptron(norm=nn.BatchNorm1d(16)).cuda())
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
