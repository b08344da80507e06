"""Keys of stored results: renaming in Python must not change them, or stored results would not be found."""

from dataclasses import dataclass

import numpy as np
import pytest
from torch import nn
from toys import NODE, TINY, ToyTasks

from ebbing import data
from ebbing.learn import Adam, Experiment, FineTuning, FiveLayers, Gpm, Sgd, Trgp, TrgpPlus, prefix_tree
from ebbing.paper import fig2, sensitivity, table1
from ebbing.runs._given_network import GivenNetwork, read_tasks


def key(experiment: Experiment, sequence) -> str:
    """The key of the last node of a sequence with seed 0."""
    return prefix_tree([sequence], seed=0)[-1].key(experiment.describe())


def test_key_of_figure_2_is_unchanged():
    expected = "d867f4a098d8b483e4fe6ad7e979c731236dde2ce87595a05a3fa96b2578f950"
    assert key(fig2.Config().experiment, fig2.sequences()[0]) == expected


@pytest.mark.parametrize(
    ("variant", "expected"),
    [
        ("batches of 10", "479d8a0507d0f6e66dcc491377733e9bec3de7d4c585ee62f1d3ac4e05ac7a9f"),
        ("widths x 2", "08402712828a8f27ff625c8e647dc52c33ed755bdaef794afc561da45ce865d7"),
        ("squared loss", "d1da76128732317522ffbe09c4b4e5e7aeabe49d7fdb92717a824ed1470a74f1"),
    ],
)
def test_keys_of_the_sensitivity_study_are_unchanged(variant, expected):
    assert key(sensitivity.Config().variants[variant], ["0-1-2"]) == expected


@pytest.mark.parametrize(
    ("outputs", "method", "expected"),
    [
        (1, Sgd(epochs=2), "f8932eb8ed7762396cb593fd889262c3e2c41fe4a82a3b0b7c9d5e0e41b9be08"),
        (2, Adam(epochs=2), "9d20f706fafe84703185129a44d652eeadfc89cc9ee55a5260ca00032030c447"),
    ],
)
def test_keys_of_measurements_are_unchanged(outputs, method, expected, monkeypatch):
    monkeypatch.setattr("ebbing.runs._given_network.network_digest", lambda _: "digest")  # may differ with PyTorch
    x = np.arange(24, dtype=np.float32).reshape(8, 3) / 8
    tasks = {"a": (x, np.arange(8) % 2), "b": (x[::-1].copy(), np.arange(8) // 4)}
    given = GivenNetwork(nn.Linear(3, outputs))
    size = None if outputs == 1 else 5
    assert key(Experiment(read_tasks(given, tasks, size, None), given, method), ["a", "b"]) == expected


def table1_key(protocol_name: str, variant: str) -> str:
    """The key of the first two tasks of a protocol of Table 1."""
    (protocol,) = (protocol for protocol in table1.TABLE1.protocols if protocol.name == protocol_name)
    return key(protocol.experiment(variant), protocol.stream.names[:2])


@pytest.mark.parametrize(
    ("variant", "expected"),
    [
        ("fine-tuning", "9f55fc38fe2a44b5b4385c42ff942715cb82674b43a205a5681b227e06b71f39"),
        ("GPM", "dd49e2a84af42e842ab56b6dfc1ed7b3cb6784927d924e06ece333892b34d56a"),
        ("TRGP as published", "ddad36b60f67f3b2bf3c868847ffb692c9f0227bc865afca5d4b47670298901b"),
        ("TRGP+", "89f15c0c60a6f859084b915332077d39ee394afd5bc583385713f401cee1a116"),
        ("TRGP free", "25d4b8cd83d9fa035a693f54d273c3260a9c971e36b161153fbc932c0bece156"),
    ],
)
def test_keys_of_table_1_on_permuted_mnist_are_unchanged(variant, expected):
    assert table1_key("pmnist", variant) == expected


@pytest.mark.parametrize(
    ("protocol", "variant", "expected"),
    [
        ("cifar100 short", "copies", "9a346782d48b1057cf201bdb728ef1681696427d01ee572033dddb0b583b9563"),
        ("cifar100", "TRGP", "e46085f9c134437b04df8c71debd9405221b628ee03548de04aa295098b24175"),
    ],
)
def test_keys_of_table_1_on_cifar100_are_unchanged(protocol, variant, expected):
    if any(file.state != "verified" for file in data.status("cifar100")):
        pytest.skip("CIFAR-100 is not in the cache: `ebbing data cifar100 --fetch` gets it")
    assert table1_key(protocol, variant) == expected


@dataclass(frozen=True)
class MyGpm(Gpm):
    pass


@dataclass(frozen=True)
class MyTrgp(Trgp):
    pass


@dataclass(frozen=True)
class MySgd(Sgd):
    pass


@dataclass(frozen=True)
class MyFineTuning(FineTuning):
    pass


@pytest.mark.parametrize(
    ("method", "subclass"), [(Gpm, MyGpm), (Trgp, MyTrgp), (Trgp, TrgpPlus), (Sgd, MySgd), (FineTuning, MyFineTuning)]
)
def test_subclass_of_a_method_has_another_key(method, subclass):
    keys = [NODE.key(Experiment(ToyTasks(), TINY, kind()).describe()) for kind in (method, subclass)]
    assert keys[0] != keys[1]


def test_subclasses_of_tasks_and_architecture_have_other_keys():
    @dataclass(frozen=True)
    class MyTasks(ToyTasks):
        pass

    @dataclass(frozen=True)
    class MyLayers(FiveLayers):
        pass

    plain = Experiment(ToyTasks(), FiveLayers())
    others = [Experiment(MyTasks(), FiveLayers()), Experiment(ToyTasks(), MyLayers())]
    assert len({NODE.key(experiment.describe()) for experiment in (plain, *others)}) == 3
