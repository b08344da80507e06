"""Every kind of layer: protected exactly, and each step equal to that of a dense reference."""

import dataclasses
from typing import Any, cast

import pytest
import torch
from dense_layers import Dense
from sequence_networks import NETWORKS, TOKENS, Decoder, Encoder, Lookup, Tied, build, vectors, words
from torch import Tensor, nn
from torch.func import functional_call
from torch.nn import functional
from toys import IDS, METHODS, assert_same

from ebbing.learn import Copies, FineTuning, Gpm, LowRank, Schedule, Trgp
from ebbing.learn.projection import Threshold
from ebbing.learn.projection._embedding import EmbeddingLayer
from ebbing.learn.projection._layer_discovery import discover_layers
from ebbing.learn.projection._recording import recorded_inputs
from ebbing.learn.training._modes import no_fast_path
from ebbing.learn.training.schedule import task_loss

pytestmark = pytest.mark.usefixtures("quietly")

SCHEDULE = Schedule(0.2, epochs=2, batch_size=5)
SETTINGS: dict[str, Any] = {"schedule": SCHEDULE, "threshold": Threshold(0.95), "num_examples": 15}
CASES = pytest.mark.parametrize(("make", "data"), NETWORKS.values(), ids=NETWORKS)


def learner_of(method, make, data, tasks=2):
    learner = method.start(build(make))
    for task in range(tasks):
        learner.learn(str(task), data(task))
    return learner


@CASES
def test_changes_outside_of_recorded_inputs_change_no_output(make, data):
    """Recorded inputs are all inputs: a change that is 0 on them changes nothing, and another one does."""
    network, (inputs, _) = build(make).eval(), data(0, rows=2)
    layers = discover_layers(network, ()).layers
    before = network(inputs)
    with no_fast_path(), recorded_inputs(layers) as recorded, torch.no_grad():
        network(inputs)
    for layer in layers:
        calls, weight = recorded[layer.name], layer.weight.detach().clone()
        assert calls
        if isinstance(layer, EmbeddingLayer):
            outside = torch.ones(TOKENS, dtype=torch.bool)
            outside[cast(Tensor, calls[0]).unique()] = False
            changes = [(outside[:, None] * torch.randn_like(weight),)]
        else:
            if any(isinstance(call, tuple) for call in calls):
                layer.split_blocks(3)
            changes = [[]]
            for part, R in zip(layer.weights, layer.representation(calls), strict=True):
                values, directions = torch.linalg.eigh(R @ R.T)
                outside = directions[:, values < 1e-9 * values.max()]
                changes[0].append(torch.randn_like(part) @ outside @ outside.T)
        layer.set_weights(w + change for w, change in zip(layer.weights, changes[0], strict=True))
        torch.testing.assert_close(network(inputs), before, rtol=0, atol=1e-9)
        layer.set_weights(w + torch.randn_like(w) for w in layer.weights)
        assert (network(inputs) - before).abs().max() > 1e-6, layer.name
        with torch.no_grad():
            layer.weight.copy_(weight)


class DenseNetwork:
    """All weights of a network during a task of TRGP as dense matrices, and plain gradient descent on all values."""

    def __init__(self, learner, trust_region):
        self.network, self.layers, self.dense = learner.network, learner.layers, []
        for layer, trusted in zip(learner.layers, trust_region, strict=True):
            blocks = []
            for weight, block, tasks in zip(layer.weights, layer.blocks, trusted, strict=True):
                basis, table = block.basis, isinstance(layer, EmbeddingLayer)
                if table:
                    basis = torch.eye(block.size, dtype=weight.dtype)[:, basis]
                spans = [(basis[:, task.subspace.columns], task.weight) for task in tasks]
                blocks.append(Dense(weight.T if table else weight, basis, spans))
            self.dense.append(blocks)
        names = {layer.weight_name for layer in learner.layers}
        values = {name: value for name, value in self.network.named_parameters() if name not in names}
        self.others = {name: value.detach().clone().requires_grad_() for name, value in values.items()}

    def weights(self):
        found = {}
        for layer, blocks in zip(self.layers, self.dense, strict=True):
            parts = [block.effective_weight() for block in blocks]
            parts = [part.T for part in parts] if isinstance(layer, EmbeddingLayer) else parts
            found[layer.weight_name] = layer.kind.join(parts, layer.weight)
        return found

    def step(self, inputs, labels, rate):
        loss = functional.cross_entropy(functional_call(self.network, self.weights() | self.others, (inputs,)), labels)
        for block in (block for blocks in self.dense for block in blocks):
            for value in block.parameters():
                value.grad = None
        loss.backward()
        with torch.no_grad():
            for block in (block for blocks in self.dense for block in blocks):
                block.weight.grad = block.weight.grad @ block.projector
                for value in block.parameters():
                    value.sub_(rate * value.grad)
            for value in self.others.values():
                if value.grad is not None:
                    value.sub_(rate * value.grad)
                    value.grad = None


@pytest.mark.filterwarnings("ignore:task .* has little room")  # of the smallest layers
@pytest.mark.parametrize("method", [Gpm(**SETTINGS), Trgp(**SETTINGS, trust_threshold=0.0)], ids=["gpm", "trgp"])
@CASES
def test_steps_equal_those_of_dense_matrices(method, make, data):
    learner, reference = (learner_of(method, make, data) for _ in range(2))
    inputs, labels = data(2)
    trust_region = reference._select_trust_region(inputs[:15], labels[:15], task_loss)
    if isinstance(method, Trgp):
        assert all(len(tasks) == 2 for layer in trust_region for tasks in layer)
    dense = DenseNetwork(reference, trust_region)
    # Two seeds draw different examples; the trust region is the same, as it trusts all tasks or none.
    with learner.task("2", (inputs[:15], labels[:15])) as parameters:
        optimizer = torch.optim.SGD(parameters, 0.1)
        for _ in range(3):
            optimizer.zero_grad()
            functional.cross_entropy(learner.network(inputs), labels).backward()
            optimizer.step()
        reference.network.train()
        with no_fast_path():
            for _ in range(3):
                dense.step(inputs, labels, 0.1)
        for layer in learner.layers:
            effective = layer.parametrizations[0].effective_weight() if isinstance(layer, EmbeddingLayer) else None
            effective = layer.effective_weight() if effective is None else effective
            torch.testing.assert_close(effective, dense.weights()[layer.weight_name], rtol=0, atol=1e-9)
    with no_fast_path(), torch.no_grad():
        expected = functional_call(reference.network.eval(), dense.weights() | dense.others, (inputs,))
    torch.testing.assert_close(learner.outputs("2", inputs), expected, rtol=0, atol=1e-9)


@pytest.mark.parametrize("number", [2, 4], ids=[IDS[2], IDS[4]])
@CASES
def test_old_tasks_keep_their_outputs(number, make, data):
    """With all directions of the examples protected, nothing changes: by any method, with weight decay."""
    settings: dict[str, Any] = SETTINGS | {"threshold": Threshold(1.0), "num_examples": 20}
    method = dataclasses.replace(METHODS[number], **settings, per_task=("head",))
    learner, outputs = method.start(build(make)), {}
    for task in range(3):
        inputs, labels = data(task)
        options = {"optimizer": lambda p: torch.optim.AdamW(p, 0.01, weight_decay=0.1)}
        learner.learn(str(task), (inputs, labels), **options)
        outputs[task] = learner.outputs(str(task), inputs)
    for task in range(3):
        torch.testing.assert_close(learner.outputs(str(task), data(task)[0]), outputs[task], rtol=0, atol=1e-8)
    assert not torch.equal(learner.outputs("0", data(0)[0]), learner.outputs("2", data(0)[0]))


SOME = ["encoder", "cross-attention", "embedding", "embedding bag", "lstm", "lstm cell", "transposed 2d"]


@pytest.mark.parametrize("method", [Trgp(**SETTINGS, trust_threshold=0.0), LowRank(SCHEDULE, rank=1), Copies(SCHEDULE)])
@pytest.mark.parametrize(("make", "data"), [NETWORKS[name] for name in SOME], ids=SOME)
def test_learners_are_saved_and_undone(method, make, data):
    learner = learner_of(method, make, data)
    other = method.start(build(make))
    other.restore(learner.state())
    assert_same(other.state(), learner.state())
    assert torch.equal(other.outputs("0", data(0)[0]), learner.outputs("0", data(0)[0]))
    before = learner.state()
    with pytest.raises(FloatingPointError), learner.task("2", data(2)) as parameters, torch.no_grad():
        parameters[0].mul_(torch.nan)
    assert_same(learner.state(), before)
    torch.manual_seed(0)
    learner.learn("2", data(2))
    torch.manual_seed(0)
    other.learn("2", data(2))
    assert_same(other.state(), learner.state())


# Attention


def test_self_attention_has_one_block_and_cross_attention_three():
    method = Gpm(**SETTINGS)
    encoder, decoder = (learner_of(method, make, vectors) for make in (Encoder, Decoder))
    blocks = {layer.name: len(layer.blocks) for layer in (*encoder.layers, *decoder.layers)}
    assert blocks["layer.self_attn.in_proj"] == 1
    assert blocks["layer.self_attn.out_proj"] == 1
    assert blocks["attention.in_proj"] == 3
    state = encoder.state()
    del state["layer.layer.self_attn.in_proj.0.basis"]
    with pytest.raises(ValueError, match="has no"):
        method.start(build(Encoder)).restore(state)


class Either(nn.Module):
    """Attention to itself or, in later tasks, to other tokens."""

    def __init__(self):
        super().__init__()
        self.attention, self.head = nn.MultiheadAttention(6, 2, batch_first=True), nn.Linear(6, 3)

    def forward(self, x, task):
        y, _ = self.attention(x, x, x) if task == 0 else self.attention(x[:, :2], x[:, 2:].tanh(), x[:, 2:])
        return self.head(y.mean(1))


def test_blocks_are_split_when_inputs_begin_to_differ():
    settings: dict[str, Any] = SETTINGS | {"threshold": Threshold(1.0), "num_examples": 20}
    learner = Trgp(**settings, trust_threshold=0.0, per_task=("head",)).start(build(Either))
    outputs = {}
    for task in range(4):
        learner.learn(str(task), vectors(task))
        outputs[task] = learner.outputs(str(task), vectors(task)[0])
        assert len(learner.layers[0].blocks) == (1 if task == 0 else 3)
    for task in range(4):
        found = learner.outputs(str(task), vectors(task)[0])
        torch.testing.assert_close(found, outputs[task], rtol=0, atol=1e-8)


# Embeddings


def test_rows_of_old_tasks_are_protected_and_no_others():
    learner = Gpm(**SETTINGS).start(build(Lookup))
    table = learner.network.get_parameter("table.weight")
    learner.learn("0", words(0))
    before, seen = table.detach().clone(), words(0)[0].unique()
    assert learner.layers[0].blocks[0].basis.sort().values.tolist() == seen.tolist()
    assert learner.protected["table"] == len(seen) / TOKENS
    learner.learn("1", words(1), optimizer=lambda p: torch.optim.AdamW(p, 0.01, weight_decay=0.1))
    assert torch.equal(table[seen], before[seen])
    new = sorted({*words(1)[0].unique().tolist()} - {*seen.tolist()})
    assert new
    assert (table[new] != before[new]).all()


def test_rows_seen_in_training_are_protected_beyond_the_examples():
    learner = dataclasses.replace(Gpm(**SETTINGS), num_examples=1).start(build(Lookup))
    learner.learn("0", words(0))
    assert len(learner.layers[0].blocks[0].basis) == len(words(0)[0].unique()) > len(words(0)[0][0].unique())


class Memory:
    content = None

    def load(self):
        return self.content

    def save(self, content):
        self.content = {name: value.clone() for name, value in content.items()}


def test_resumed_training_remembers_the_rows_it_has_seen(monkeypatch):
    """Even if only the last epoch was saved, and nothing is looked up any more."""
    monkeypatch.setattr("ebbing.learn.training.schedule.CHECKPOINT_SECONDS", -1.0)
    method, checkpoint = dataclasses.replace(Gpm(**SETTINGS), num_examples=1), Memory()
    whole, resumed = (method.start(build(Lookup)) for _ in range(2))
    whole.learn("0", words(0), checkpoint=checkpoint)
    assert "parametrization_seen" not in dict(whole.network.named_buffers())
    resumed.learn("0", words(0), checkpoint=checkpoint)
    assert_same(resumed.state(), whole.state())


def test_sparse_gradients_of_an_embedding_work():
    learner = Gpm(**SETTINGS, per_task=("head",)).start(build(lambda: Lookup(sparse=True)))
    for task in range(2):
        learner.learn(str(task), words(task), optimizer=lambda p: torch.optim.SGD(p, 0.1))
    assert learner.tasks == ["0", "1"]


# Tied weights


def next_words(seed, rows=20):
    return words(seed, rows)[0], words(seed + 10, rows)[0][:, 0] % TOKENS


def test_tied_weights_are_protected_in_both_uses():
    settings: dict[str, Any] = SETTINGS | {"num_examples": 20}
    learner = Trgp(**settings, trust_threshold=0.0).start(build(Tied))
    assert [layer.name for layer in learner.layers] == ["table", "inner"]
    table, (directions, rows) = learner.network.get_parameter("table.weight"), learner.layers[0].blocks
    for task in range(3):
        M, protected, before = directions.basis, rows.basis, table.detach().clone()
        learner.learn(str(task), next_words(task), optimizer=lambda p: torch.optim.AdamW(p, 0.05, weight_decay=0.1))
        change = table.detach() - before
        assert change.abs().max() > 1e-3
        assert not change[protected].any()
        torch.testing.assert_close(change @ M, torch.zeros_like(change @ M), rtol=0, atol=1e-12)
    assert 0 < directions.rank < 6
    assert 0 < rows.rank < TOKENS
    assert learner.network.get_parameter("head.weight") is table
    other = Trgp(**settings, trust_threshold=0.0).start(build(Tied))
    other.restore(learner.state())
    assert_same(other.state(), learner.state())
    assert torch.equal(other.outputs("0", words(0)[0]), learner.outputs("0", words(0)[0]))


def test_tied_weights_step_by_projected_gradient():
    """The step is P G (I - M M'), G the gradient through both uses."""
    learner = learner_of(Gpm(**SETTINGS), Tied, next_words)
    (directions, rows), network, (inputs, labels) = learner.layers[0].blocks, learner.network, next_words(2)
    before, M = network.get_parameter("table.weight").detach().clone(), directions.basis
    network.zero_grad()
    functional.cross_entropy(network(inputs), labels).backward()
    gradient = network.get_parameter("table.weight").grad
    assert gradient is not None
    expected = gradient - gradient @ M @ M.T
    expected[rows.basis] = 0
    network.zero_grad()
    with learner.task("2", (inputs, labels)) as parameters:
        optimizer = torch.optim.SGD(parameters, 0.1)
        functional.cross_entropy(network(inputs), labels).backward()
        optimizer.step()
    torch.testing.assert_close(network.get_parameter("table.weight") - before, -0.1 * expected, rtol=0, atol=1e-12)
    assert expected.abs().max() > 1e-4


@pytest.mark.parametrize("method", [FineTuning(SCHEDULE), Copies(SCHEDULE), LowRank(SCHEDULE, rank=1)])
def test_tied_weights_stay_tied_by_other_methods(method):
    learner = learner_of(method, Tied, next_words, tasks=3)
    assert learner.network.head.weight is learner.network.table.weight
    with learner.evaluating("0") as network:
        assert network.head.weight is network.table.weight
        expected = network(words(0)[0]).detach()
    assert torch.equal(learner.outputs("0", words(0)[0]), expected)
