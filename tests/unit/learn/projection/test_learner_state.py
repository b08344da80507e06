"""Saved learners continue identically; states of other learners raise an error."""

from itertools import pairwise

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
    trained_learner,
)

from ebbing.learn.methods import Copies, FineTuning, Gpm, TrgpPlus
from ebbing.learn.training._state_file import dump, encode_json
from ebbing.runs.store import CheckpointFile

pytestmark = pytest.mark.usefixtures("quietly")


@pytest.mark.parametrize("method", METHODS, ids=IDS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_saved_learner_continues_identically(method, dtype, tmp_path):
    learner = trained_learner(method, perceptron(dtype=dtype, norm=nn.BatchNorm1d(16)), dtype=dtype)
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


@pytest.mark.parametrize("method", METHODS, ids=IDS)
def test_nbytes_is_the_size_of_what_is_saved(method, tmp_path):
    learner = trained_learner(method, perceptron(norm=nn.BatchNorm1d(16)))
    learner.save(tmp_path / "learner")
    assert learner.nbytes == sum(value.nbytes for value in load((tmp_path / "learner").read_bytes()).values())


def test_each_copy_costs_as_much_as_the_network():
    learner = Copies(SCHEDULE).start(perceptron())
    network = sum(value.nbytes for value in learner.network.parameters())
    sizes = [learner.nbytes]
    for task in range(3):
        learner.learn(f"task {task}", data(task))
        sizes.append(learner.nbytes)
    assert 0 <= sizes[0] - network < 200  # names, as JSON
    assert all(network <= after - before < network + 200 for before, after in pairwise(sizes))


def test_saved_learner_with_heads_continues_identically(tmp_path):
    method = TrgpPlus(**SETTINGS, trust_threshold=0.1, per_task=("heads.*",))
    torch.manual_seed(0)
    learner = trained_learner(method, Images(), make=images)
    learner.save(tmp_path / "learner")
    other = method.start(Images())  # with other initial weights
    other.load(tmp_path / "learner")
    for one in (learner, other):
        one.learn("task 3", images(3))
    assert_same(other.state(), learner.state())
    assert torch.equal(other.outputs("task 1", images(1)[0]), learner.outputs("task 1", images(1)[0]))


def test_state_is_independent_of_later_learning():
    learner = trained_learner(METHODS[1], perceptron(), 1)
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


def test_per_task_modules_with_a_shared_weight_save():
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
def test_state_of_another_network_raises(other):
    state = trained_learner(METHODS[1], perceptron(), 1).state()
    learner = METHODS[1].start(other())
    before = learner.state()
    with pytest.raises(ValueError, match="not the state of a learner with this network and method"):
        learner.restore(state)
    assert_same(learner.state(), before)


def test_damaged_files_raise(tmp_path):
    learner = trained_learner(METHODS[0], perceptron(), 1)
    path = tmp_path / "learner"
    learner.save(path)
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(ValueError, match="learner is damaged or not a safetensors file"):
        learner.load(path)
    path.write_bytes(save(learner.state()))
    with pytest.raises(ValueError, match="its checksum is missing"):
        learner.load(path)
    path.write_bytes(dump({"tasks": encode_json(["a"])}))
    with pytest.raises(ValueError, match="not the state of a learner"):
        learner.load(path)
    assert learner.tasks == ["task 0"]


@pytest.mark.parametrize("number", range(4))
def test_state_of_another_method_raises(number):
    methods = [METHODS[0], METHODS[1], FineTuning(SCHEDULE), Copies(SCHEDULE)]
    state = trained_learner(methods[number], perceptron(), 1).state()
    for other in (*methods[:number], *methods[number + 1 :]):
        learner = other.start(perceptron(1))
        before = learner.state()
        with pytest.raises(ValueError, match="not the state of a learner with this network and method"):
            learner.restore(state)
        assert_same(learner.state(), before)


def test_state_with_other_norms_or_per_task_raises():
    state = trained_learner(Gpm(**settings()), perceptron(norm=nn.BatchNorm1d(16)), 1).state()
    for changes in ({"norms": "frozen"}, {"per_task": ("6",)}):
        with pytest.raises(ValueError, match="it is a state of"):
            Gpm(**settings(**changes)).start(perceptron(norm=nn.BatchNorm1d(16))).restore(state)


def test_state_of_a_larger_network_raises():
    small, large = FineTuning(SCHEDULE).start(perceptron()), FineTuning(SCHEDULE).start(perceptron(1))
    large.network = nn.Sequential(*perceptron(1), nn.Linear(CLASSES, CLASSES))
    before = small.state()
    with pytest.raises(ValueError, match=r"this network has no '7\.bias'"):
        small.restore(large.state())
    assert_same(small.state(), before)


def test_checkpoint_of_another_task_is_ignored(tmp_path, monkeypatch):
    monkeypatch.setattr("ebbing.learn.training.schedule.CHECKPOINT_SECONDS", -1.0)
    checkpoint = CheckpointFile(tmp_path / "checkpoint")
    once, again = (FineTuning(SCHEDULE).start(perceptron()) for _ in range(2))
    for learner, kept in ((once, None), (again, checkpoint)):
        for task in range(2):
            learner.learn(str(task), data(task), checkpoint=kept)
    assert_same(again.state(), once.state())


def test_flipped_bit_in_a_file_raises(tmp_path):
    learner = trained_learner(METHODS[1], perceptron(), 2)
    learner.save(tmp_path / "learner")
    content = bytearray((tmp_path / "learner").read_bytes())
    content[-5] ^= 64
    (tmp_path / "learner").write_bytes(content)
    with pytest.raises(ValueError, match="learner is damaged or not a safetensors file: its checksum is"):
        learner.load(tmp_path / "learner")


def test_saved_file_is_a_safetensors_file(tmp_path):
    learner = trained_learner(METHODS[1], perceptron(), 2)
    learner.save(tmp_path / "learner")
    assert_same(load((tmp_path / "learner").read_bytes()), learner.state())


def without(state, *names):
    return {name: value for name, value in state.items() if name not in names}


@pytest.mark.parametrize(
    ("corrupt", "message"),
    [
        (lambda state: without(state, "tasks"), "it has no 'tasks'"),
        (lambda state: without(state, "layer.0.0.basis"), "it has no 'basis'"),
        (lambda state: without(state, "own.1.6.bias"), "task 1 has no task-specific '6.bias'"),
        (lambda state: state | {"own.1.7.bias": torch.zeros(3)}, r"7.bias of shape \(3,\) is not task-specific"),
        (lambda state: state | {"own.1.6.bias": torch.zeros(4)}, r"6.bias of shape \(4,\)"),
        (
            lambda state: state | {"layer.9.0.basis": torch.zeros(3)},
            "protects layers that this network does not have or train",
        ),
        (
            lambda state: state | {"layer.0.0.1.columns": state["layer.0.0.1.columns"] + 1000},
            "task 1 uses columns outside of the basis, which has [0-9]+",
        ),
        (lambda state: state | {"layer.0.0.1.others": torch.zeros(31, 1)}, "has rows of shape"),
        (
            lambda state: state | {"layer.0.0.1.change.rows": state["layer.0.0.1.change.rows"][1:]},
            "rows for [0-9]+ columns",
        ),
        (lambda state: state | {"layer.0.0.1.change.rows": torch.zeros(3, 5)}, r"rows of shape \(3, 5\)"),
    ],
)
def test_corrupted_state_raises_and_changes_nothing(corrupt, message):
    learner = trained_learner(METHODS[1], perceptron(), 2)
    before = learner.state()
    with pytest.raises(ValueError, match=f"not the state of a learner with this network and method: .*{message}"):
        learner.restore(corrupt(before))
    assert_same(learner.state(), before)


def test_state_with_an_unfrozen_layer_raises():
    state = trained_learner(METHODS[4], perceptron(), 2).state()
    network = perceptron()
    network[0].requires_grad_(False)
    with pytest.raises(ValueError, match="is not task-specific in this network"):
        METHODS[4].start(network).restore(state)


class Remembering(nn.Linear):
    def get_extra_state(self):
        return {"since": 1970}


def test_module_with_extra_state_raises_at_start():
    with pytest.raises(ValueError, match="module '1' has a state other than tensors"):
        Gpm().start(nn.Sequential(nn.Linear(3, 3), Remembering(3, 3)))
