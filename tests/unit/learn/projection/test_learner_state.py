"""Saved learners go on as if nothing had been; states of others are refused."""

import json

import pytest
import torch
from safetensors.torch import load, save
from torch import nn
from toys import (
    CLASSES,
    IDS,
    METHODS,
    SCHEDULE,
    SETTINGS,
    SIZE,
    Images,
    assert_same,
    data,
    images,
    perceptron,
    settings,
    taught,
)

from ebbing.learn.methods import Copies, FineTuning, Gpm, TrgpPlus
from ebbing.runs.store import CheckpointFile

pytestmark = pytest.mark.usefixtures("quietly")


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
    method = TrgpPlus(**SETTINGS, trust_threshold=0.1, per_task=("heads.*",))
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
    learner = Gpm(**SETTINGS, per_task=("1", "2")).start(network)
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
    for changes in ({"norms": "frozen"}, {"per_task": ("6",)}):
        with pytest.raises(ValueError, match="it is of"):
            Gpm(**settings(**changes)).start(perceptron(norm=nn.BatchNorm1d(16))).restore(state)


def test_a_larger_network_is_refused_before_anything_is_overwritten():
    small, large = FineTuning(SCHEDULE).start(perceptron()), FineTuning(SCHEDULE).start(perceptron(1))
    large.network = nn.Sequential(*perceptron(1), nn.Linear(CLASSES, CLASSES))
    before = small.state()
    with pytest.raises(ValueError, match=r"this network has no '7\.bias'"):
        small.restore(large.state())
    assert_same(small.state(), before)


def test_a_checkpoint_of_another_task_is_not_taken_up(tmp_path, monkeypatch):
    monkeypatch.setattr("ebbing.learn.training.schedule.CHECKPOINT_EVERY", -1.0)
    checkpoint = CheckpointFile(tmp_path / "checkpoint")
    once, again = (FineTuning(SCHEDULE).start(perceptron()) for _ in range(2))
    for learner, kept in ((once, None), (again, checkpoint)):
        for task in range(2):
            learner.learn(str(task), data(task), checkpoint=kept)
    assert_same(again.state(), once.state())


def test_a_flipped_bit_is_noticed(tmp_path):
    learner = taught(METHODS[1], perceptron(), 2)
    learner.save(tmp_path / "learner")
    content = bytearray((tmp_path / "learner").read_bytes())
    content[-5] ^= 64
    (tmp_path / "learner").write_bytes(content)
    with pytest.raises(ValueError, match="learner is damaged or no safetensors file: its checksum is wrong"):
        learner.load(tmp_path / "learner")
    (tmp_path / "learner").write_bytes(save(learner.state()))  # as early ones are: without a checksum
    learner.load(tmp_path / "learner")


def test_what_is_saved_is_a_safetensors_file(tmp_path):
    learner = taught(METHODS[1], perceptron(), 2)
    learner.save(tmp_path / "learner")
    assert_same(load((tmp_path / "learner").read_bytes()), learner.state())


def without(state, *names):
    return {name: value for name, value in state.items() if name not in names}


@pytest.mark.parametrize(
    ("spoilt", "message"),
    [
        (lambda state: without(state, "tasks"), "it has no 'tasks'"),
        (lambda state: without(state, "layer.0.0.basis"), "it has no 'basis'"),
        (lambda state: without(state, "own.1.6.bias"), "a task has no '6.bias' of its own"),
        (lambda state: state | {"own.1.7.bias": torch.zeros(3)}, r"7.bias of shape \(3,\) is not each task's own"),
        (lambda state: state | {"own.1.6.bias": torch.zeros(4)}, r"6.bias of shape \(4,\)"),
        (lambda state: state | {"layer.9.0.basis": torch.zeros(3)}, "more layers than there are here"),
        (
            lambda state: state | {"layer.0.0.1.columns": state["layer.0.0.1.columns"] + 1000},
            "task 1 uses columns that a basis of [0-9]+ has not",
        ),
        (lambda state: state | {"layer.0.0.1.others": torch.zeros(31, 1)}, "has rows of shape"),
        (
            lambda state: state | {"layer.0.0.1.change.rows": state["layer.0.0.1.change.rows"][1:]},
            "rows for [0-9]+ columns",
        ),
        (lambda state: state | {"layer.0.0.1.change.rows": torch.zeros(3, 5)}, r"rows of shape \(3, 5\)"),
    ],
)
def test_a_state_that_does_not_fit_is_refused_and_changes_nothing(spoilt, message):
    learner = taught(METHODS[1], perceptron(), 2)
    before = learner.state()
    with pytest.raises(ValueError, match=f"not the state of a learner with this network and method: .*{message}"):
        learner.restore(spoilt(before))
    assert_same(learner.state(), before)


def test_a_layer_that_is_frozen_here_and_was_not_there():
    state = taught(METHODS[4], perceptron(), 2).state()
    network = perceptron()
    network[0].requires_grad_(False)
    with pytest.raises(ValueError, match="is not each task's own here"):
        METHODS[4].start(network).restore(state)


class Remembering(nn.Linear):
    def get_extra_state(self):
        return {"since": 1970}


def test_what_could_not_be_saved_is_refused_at_the_start():
    with pytest.raises(ValueError, match="module '1' keeps more than tensors"):
        Gpm().start(nn.Sequential(nn.Linear(3, 3), Remembering(3, 3)))
