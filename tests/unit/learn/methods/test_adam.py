"""Adam learns as torch's AdamW does, from new moments for every task, and has keys of its own."""

import copy

import pytest
import torch
from torch import nn

import ebbing
from ebbing.learn import Adam, Sgd, TaskData


def task(seed=0, n=80):
    generator = torch.Generator().manual_seed(seed)
    inputs = torch.randn(n, 5, generator=generator)
    labels = (inputs[:, 0] > 0).long()
    return TaskData(inputs, labels, inputs, labels)


def test_steps_are_those_of_adamw_started_anew_for_each_task():
    torch.manual_seed(0)
    network = nn.Linear(5, 2)
    plain = copy.deepcopy(network)
    method = Adam(learning_rate=0.01, epochs=3, batch_size=None, weight_decay=0.1)
    for data in (task(0), task(1)):
        method.learn(network, data, torch.Generator())
        optimizer = torch.optim.AdamW(plain.parameters(), lr=0.01, weight_decay=0.1)
        for _ in range(3):
            optimizer.zero_grad()
            nn.functional.cross_entropy(plain(data.train_inputs), data.train_labels).backward()
            optimizer.step()
    for one, other in zip(network.parameters(), plain.parameters(), strict=True):
        assert torch.equal(one, other)


def test_measure_trains_by_adam(tmp_path):
    torch.manual_seed(0)
    tasks = {name: (task(k).train_inputs.numpy(), task(k).train_labels.numpy()) for k, name in enumerate("ab")}
    settings = {"store": tmp_path, "progress": False}
    network = nn.Linear(5, 2)
    methods = (Adam(learning_rate=0.05, epochs=20), Adam(learning_rate=0.01, epochs=1), Sgd(epochs=1, batch_size=20))
    by_adam, shortly, by_sgd = (ebbing.measure(network, tasks, method=method, **settings) for method in methods)
    assert by_adam.learned_error < 0.5 * by_adam.initial_error
    assert (shortly.errors != by_sgd.errors).any()


def test_decay_is_not_negative():
    with pytest.raises(ValueError, match="weight_decay=-1"):
        Adam(weight_decay=-1)


def test_optimizer_of_pytorch_is_no_method(tmp_path):
    tasks = {name: (task(k).train_inputs.numpy(), task(k).train_labels.numpy()) for k, name in enumerate("ab")}
    way = r"method=Adam is an optimizer of PyTorch: give a method, ebbing.learn.Adam\(learning_rate=1e-3\)"
    with pytest.raises(ValueError, match=way):
        ebbing.measure(nn.Linear(5, 2), tasks, method=torch.optim.Adam, store=tmp_path)  # type: ignore[arg-type]
