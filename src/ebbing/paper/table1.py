"""Table 1: GPM, TRGP and TRGP+ on Permuted MNIST and Split CIFAR-100 (Section 5.3 and its appendix)."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

from ebbing.learn import PermutedMnist, SplitCifar100, Training
from ebbing.learn.methods import FineTuning, Gpm, Trgp, TrgpPlus
from ebbing.learn.projection import Threshold
from ebbing.learn.schedule import Schedule
from ebbing.learn.table1_networks import Perceptron, SmallAlexNet

Benchmark = Literal["pmnist", "cifar100"]


def pmnist() -> dict[str, Training]:
    """Every method on Permuted MNIST, with the published settings."""
    stream, network = PermutedMnist(), Perceptron()
    rates = Schedule(learning_rate=0.01, epochs=5, batch_size=10)
    threshold = Threshold((0.95, 0.99, 0.99), growth=0.0)
    trgp = Trgp(rates, threshold, samples=300, nearness=0.2)
    plus = TrgpPlus(rates, threshold, samples=300, nearness=0.2)
    published = {"as_published": True, "norms": "shared", "latest_only_at": (2,)}
    methods = {
        "SGD": FineTuning(rates),
        "GPM": Gpm(rates, threshold, samples=300),
        "TRGP as published": replace(trgp, **published),
        "TRGP": trgp,
        "TRGP+ as published": replace(plus, **published),
        "TRGP+": plus,
        "TRGP+ theory": replace(plus, recency=round(1 - 54_000 / 89_400, 3)),
    }
    return {name: Training(stream, network, method) for name, method in methods.items()}


def cifar100() -> dict[str, Training]:
    """Every method on Split CIFAR-100, with the published settings."""
    stream, network = SplitCifar100(), SmallAlexNet()
    rates = Schedule(learning_rate=0.01, epochs=200, batch_size=64, patience=6, factor=0.5, smallest=1e-5)
    threshold, samples, own = Threshold(0.97, growth=0.003), (24, 100, 100, 125, 125), ("heads",)
    trgp = Trgp(rates, threshold, samples, own, nearness=0.5)
    plus = TrgpPlus(rates, threshold, samples, own, nearness=0.5)
    published = {"as_published": True, "norms": "shared"}
    methods = {
        "SGD": FineTuning(rates),
        "GPM": Gpm(rates, threshold, samples, own),
        "TRGP as published": replace(trgp, **published),
        "TRGP": trgp,
        "TRGP+ as published": replace(plus, **published),
        "TRGP+": plus,
        "TRGP+ theory": replace(plus, recency=round(1 - 4_750 / 6_528_896, 4)),
    }
    return {name: Training(stream, network, method) for name, method in methods.items()}
