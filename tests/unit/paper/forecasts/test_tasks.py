"""Tasks and networks of the study of forecasts: fixed data, replay, and states that hold what is trained."""

from itertools import pairwise

import numpy as np
import pytest
import torch

from ebbing.learn import Occurrence
from ebbing.paper.forecasts.networks import SentenceClassifier, SmallResNet
from ebbing.paper.forecasts.pools import Pool, read_pool
from ebbing.paper.forecasts.task_sets import task_sets
from ebbing.paper.forecasts.tasks import FixedData, QuantileTasks, SubsetTasks

pytest.importorskip("sklearn")


def test_subset_tasks_ask_for_the_classes():
    data = SubsetTasks("digits", 100, 50).load(Occurrence("0-1-2", 0), seed=0)
    pool = read_pool("digits")
    by_input = {row.tobytes(): int(c) for row, c in zip(pool.train_inputs, pool.train_classes, strict=True)}
    classes = np.array([by_input[row.numpy().tobytes()] for row in data.train_inputs])
    assert (data.train_labels[:, 0].numpy() == (classes <= 2)).all()
    assert np.bincount(classes).tolist() == [10] * 10  # balanced
    assert data.test_inputs.shape == (50, 64)


def test_data_of_a_set_is_the_same_for_every_seed():
    tasks = FixedData(SubsetTasks("wine", 60, 50), draw=1)
    one, other = (tasks.load(Occurrence("0", 0), seed) for seed in (0, 5))
    assert torch.equal(one.train_inputs, other.train_inputs)
    another = FixedData(SubsetTasks("wine", 60, 50), draw=2).load(Occurrence("0", 0), 0)
    assert not torch.equal(one.train_inputs, another.train_inputs)
    assert tasks.settings() == {
        "tasks": {"kind": "SubsetTasks", "pool": "wine", "train_size": 60, "test_size": 50},
        "draw": 1,
    }


def test_replay_adds_examples_of_old_tasks():
    tasks = FixedData(SubsetTasks("wine", 60, 50), draw=1)
    new, old, third = (tasks.load(Occurrence(name, 0)) for name in ("0", "1", "2"))
    both = tasks.load(Occurrence("0/7/1,2", 0))
    assert torch.equal(both.train_inputs, torch.cat([new.train_inputs, old.train_inputs[:7], third.train_inputs[:7]]))
    assert torch.equal(both.train_labels[60:67], old.train_labels[:7])
    assert torch.equal(both.test_inputs, new.test_inputs)


def test_quantiles_part_a_table():
    parts = [QuantileTasks("breast cancer", 0).load(Occurrence(str(k), 0), 0) for k in range(4)]
    pool = read_pool("breast cancer")
    assert sum(len(part.train_inputs) for part in parts) == len(pool.train_inputs)
    assert sum(len(part.test_inputs) for part in parts) == len(pool.test_inputs)
    edges = [(float(part.train_inputs[:, 0].min()), float(part.train_inputs[:, 0].max())) for part in parts]
    assert all(one[1] <= other[0] for one, other in pairwise(edges))


def test_task_sets_stay_as_they_were_fixed():
    sets = {one.name: one for one in task_sets()}
    assert sets["MNIST / 1"].names == ("0-1-7-9", "4", "2", "2-5")
    assert sets["wine / 2"].names == ("0-1", "1-2", "0", "1")
    assert sets["8x8 digits, 8 tasks / 1"].orders[0][0] == "1-7-9"
    assert len(sets["8x8 digits, 8 tasks / 1"].orders) == 30
    assert sets["MNIST / 1"].replay_sequences[40] == (
        "0-1-7-9",
        "4/40/0-1-7-9",
        "2/40/0-1-7-9,4",
        "2-5/40/0-1-7-9,4,2",
    )
    for one in sets.values():
        assert all(" " not in name for sequence in one.sequences for name in sequence)
        if one.vectors is not None:
            wanted = [np.flatnonzero(row > 0).tolist() for row in one.vectors]
            assert wanted == [SubsetTasks.classes(name) for name in one.names]


def test_a_small_resnet_has_batch_norm():
    network = SmallResNet().build(0)
    assert network(torch.zeros(3, 1, 28, 28)).shape == (3, 1)
    assert sum(isinstance(module, torch.nn.BatchNorm2d) for module in network.modules()) == 7


def test_only_adapters_and_head_of_a_lora_model_are_trained(monkeypatch):
    transformers, _ = pytest.importorskip("transformers"), pytest.importorskip("peft")
    config = transformers.BertConfig(
        vocab_size=50, hidden_size=384, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16
    )
    model = transformers.BertModel(config, add_pooling_layer=False)
    monkeypatch.setattr("ebbing.paper.forecasts.networks._sentence_model", lambda: model)
    network, other = (SentenceClassifier(lora_rank=2).build(seed) for seed in (0, 1))
    state = network.state_dict()
    assert {name.split(".")[-2] for name in state} == {"default", "head"}
    tokens = torch.tensor([[3, 4, 0], [7, 8, 9]])
    for name in state:
        torch.nn.init.normal_(network.get_parameter(name))
    other.load_state_dict(network.state_dict())
    network.eval()
    other.eval()
    assert torch.allclose(network(tokens), other(tokens))
    assert torch.allclose(network(tokens)[:1], network(tokens[:1, :2]), atol=1e-6)  # padding does not count


def test_classes_of_a_pool_are_counted():
    assert Pool(np.zeros((3, 1)), np.array([0, 2, 1]), np.zeros((1, 1)), np.array([0]), "").classes == 3
