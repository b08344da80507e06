"""What Table 1 and the ablations train is what their names say, with the published settings."""

from dataclasses import fields, replace
from typing import Any

import pytest

from ebbing.learn import PermutedMnist, SplitCifar100
from ebbing.learn.methods import Copies, FineTuning, Gpm, Trgp, TrgpFree, TrgpPlus
from ebbing.learn.presets import METHODS, preset, stream_by_name
from ebbing.paper import ablations, table1


def test_variants_of_table_1_have_the_named_methods():
    names = table1.PMNIST.names
    kinds: dict[str, Any] = {name: table1.PMNIST.experiment(name).method for name in names}
    assert isinstance(kinds["fine-tuning"], FineTuning)
    assert isinstance(kinds["GPM"], Gpm)
    assert [type(kinds[name]) for name in ("TRGP", "TRGP as published")] == [Trgp, Trgp]
    assert [type(kinds[name]) for name in names[4:]] == [TrgpPlus] * 4 + [TrgpFree, TrgpFree, Copies]
    assert [kinds[name].start_from for name in ("TRGP free, shared start", "TRGP free")] == ["shared", "latest"]
    assert [kinds[name].as_published for name in names[2:9]] == [True, False, True, False, False, False, False]
    assert [kinds[name].recency for name in names[4:7]] == [None, None, 0.396]
    assert kinds["TRGP+"].weights == (1.2, 0.8)


def test_recency_is_computed_from_examples_and_weights():
    """r = 1 - n/p: 54,000 images, 4,750 images, and the weights of the networks."""
    pmnist: Any = table1.PMNIST.experiment("TRGP").architecture.build(0)
    assert sum(p.numel() for p in pmnist.parameters()) == table1.MNIST_WEIGHTS
    network: Any = table1.CIFAR100.experiment("TRGP").architecture.build(0)
    weights = sum(p.numel() for name, p in network.named_parameters() if not name.startswith("heads."))
    assert weights + network.heads[0].weight.numel() == table1.CIFAR100_WEIGHTS
    short: Any = table1.CIFAR100_SHORT.experiment("TRGP+ theory").method
    assert short.recency == round(1 - 4_750 / table1.CIFAR100_WEIGHTS, 3)


def test_each_ablation_changes_one_setting():
    base: Any = table1.PMNIST.experiment("TRGP").method
    for name in ablations.DEPARTURES.names[:-1]:
        method: Any = ablations.DEPARTURES.experiment(name).method
        changed = [field.name for field in fields(base) if getattr(method, field.name) != getattr(base, field.name)]
        assert len(changed) == (name != "TRGP")
    assert ablations.DEPARTURES.experiment("TRGP") == table1.PMNIST.experiment("TRGP")
    assert ablations.DEPARTURES.experiment("all, as published") == table1.PMNIST.experiment("TRGP as published")
    free: Any = table1.PMNIST.experiment("TRGP free").method
    beyond: dict[str, Any] = {name: ablations.BEYOND.experiment(name).method for name in ablations.BEYOND.names}
    assert beyond["TRGP free"] == free
    assert beyond["TRGP+"] == table1.PMNIST.experiment("TRGP+").method
    for name, other in (("TRGP+, more protected", free), ("TRGP free, published protection", base)):
        assert (beyond[name].threshold, beyond[name].num_examples) == (other.threshold, other.num_examples)
    assert beyond["TRGP free, published protection"].start_from == "shared"
    assert beyond["TRGP free, shared start"] == replace(free, start_from="shared")
    trials: list[Any] = [ablations.TRUST_TRIALS.experiment(name).method for name in ablations.TRUST_TRIALS.names[:4]]
    chosen = [(method.start_from, method.max_trusted) for method in trials]
    assert chosen == [("shared", 2), ("shared", 3), ("shared", 9), ("latest", 2)]
    assert ablations.NORMS.experiment("TRGP, task-specific norms") == table1.CIFAR100_SHORT.experiment("TRGP")
    norms: list[Any] = [ablations.NORMS.experiment(name).method for name in ablations.NORMS.names]
    assert [method.norms for method in norms] == ["per_task", "frozen", "shared"]


def test_presets_have_the_published_settings():
    pmnist: Any = table1.PMNIST.experiment("TRGP")
    cifar: Any = table1.CIFAR100.experiment("TRGP+")
    assert (pmnist.method.schedule.learning_rate, pmnist.method.schedule.epochs, pmnist.method.schedule.batch_size) == (
        0.01,
        5,
        10,
    )
    assert (pmnist.method.threshold.share, pmnist.method.threshold.growth) == ((0.95, 0.99, 0.99), 0)
    assert (pmnist.method.num_examples, pmnist.method.trust_threshold, pmnist.method.max_trusted) == (300, 0.2, 2)
    assert pmnist.architecture.widths == (784, 100, 100, 10)
    schedule = cifar.method.schedule
    assert (schedule.learning_rate, schedule.epochs, schedule.batch_size) == (0.01, 200, 64)
    assert (schedule.patience, schedule.factor, schedule.min_learning_rate) == (6, 0.5, 1e-5)
    assert (cifar.method.num_examples, cifar.method.trust_threshold) == ((24, 100, 100, 125, 125), 0.5)
    assert cifar.method.threshold.at(layer=4, task=9) == pytest.approx(0.997)


def test_short_protocol_does_not_stop_early():
    short: Any = table1.CIFAR100_SHORT.experiment("TRGP").method
    schedule = short.schedule
    assert (schedule.epochs, schedule.patience) == (2, None)


@pytest.mark.parametrize(
    ("method", "settings", "complaint"),
    [
        ("adam", {}, "method 'adam': give one of fine-tuning, copies, low-rank, gpm, trgp, trgp\\+, trgp-free"),
        ("trgp", {"weights": (1.2, 0.8)}, "weights or recency for method 'trgp': only trgp+"),
        ("gpm", {"recency": 0.5}, "weights or recency for method 'gpm': only trgp+"),
        ("fine-tuning", {"as_published": True}, "only trgp and trgp\\+ have a published variant; leave it out"),
        ("trgp+", {"weights": (0.8, 1.2)}, "give decreasing weights"),
        ("trgp+", {"recency": 1.5}, "between 0 and 1"),
        ("trgp+", {"recency": 0.5, "weights": (1.2, 0.8)}, "weights and recency: give only one of them"),
        ("trgp", {"epochs": 0}, "epochs=0"),
        ("trgp", {"start_from": "latest"}, "start_from for method 'trgp': only trgp-free has a choice"),
        ("trgp-free", {"start_from": "first"}, "start_from='first': give one of shared, latest"),
    ],
)
def test_preset_raises_an_error_for_impossible_settings(method, settings, complaint):
    with pytest.raises(ValueError, match=complaint):
        preset(PermutedMnist(), method, **settings)


def test_preset_takes_the_given_settings():
    made: Any = preset(PermutedMnist(), "trgp+", weights=(1.5, 1.0, 0.5), epochs=3).method
    assert (made.weights, made.max_trusted, made.schedule.epochs) == ((1.5, 1.0, 0.5), 3, 3)
    for start_from in ("shared", "latest"):
        free: Any = preset(PermutedMnist(), "trgp-free", start_from=start_from).method
        assert free.start_from == start_from
    network: Any = preset(SplitCifar100(tasks=20, classes=5), "gpm").architecture
    assert (network.tasks, network.classes) == (20, 5)
    assert set(METHODS) == {"fine-tuning", "copies", "low-rank", "gpm", "trgp", "trgp+", "trgp-free"}
    for name in METHODS:
        assert preset(PermutedMnist(), name, epochs=7).method.schedule.epochs == 7  # type: ignore[attr-defined]
        assert preset(SplitCifar100(), name, epochs=7).method.schedule.epochs == 7  # type: ignore[attr-defined]


def test_stream_by_name_takes_settings():
    found: Any = stream_by_name("pmnist", tasks=None, train_images=100)
    assert found.train_images == 100
    with pytest.raises(ValueError, match="stream 'imagenet': give one of pmnist, rmnist, smnist, cifar100"):
        stream_by_name("imagenet")
