"""Accuracy against memory: is a method that protects old tasks worth the memory that it adds for each task?

The paper does not ask this. A method that protects is worth its memory only where no plainer method is as accurate with
as little. The plainer ones are copies of the network, copies of narrower networks, and low-rank updates of a frozen
network (LoRA), which forget nothing by construction, and fine-tuning, which needs no memory. All methods have the same
schedule and the same seeds; each has several settings that trade accuracy for memory: the threshold of gradient
projection, the width of copies, the rank.

`ebbing.paper.frontier_points` finds the best settings, `ebbing.paper.frontier_report` says which method is best at
which memory, and `ebbing.paper.figures.frontier` draws it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ebbing.learn import PermutedMnist, Threshold
from ebbing.paper import table1
from ebbing.paper.frontier_points import COPIES, FINE_TUNING, LOW_RANK, PROJECTION
from ebbing.paper.method_study import MethodVariant, Protocol, Study


def widths(*multiples: float) -> tuple[MethodVariant, ...]:
    """Return copies of narrower networks.

    Args:
        *multiples: Their widths, as multiples of the published one.

    Returns:
        One variant for each, and copies of the published network.
    """
    narrow = [MethodVariant(f"{COPIES}, width {multiple:g}", "copies", width=multiple) for multiple in multiples]
    return (*narrow, MethodVariant(COPIES, "copies"))


FINE_TUNED = MethodVariant(FINE_TUNING, "fine-tuning")
"""Plain training, one task after the other."""


def ranks(*values: int) -> tuple[MethodVariant, ...]:
    """Return low-rank updates.

    Args:
        *values: Their ranks.

    Returns:
        One variant for each.
    """
    return tuple(MethodVariant(f"{LOW_RANK}, rank {rank}", "low-rank", changes={"rank": rank}) for rank in values)


def thresholds(families: Sequence[str], *shares: float, growth: float) -> tuple[MethodVariant, ...]:
    """Return methods of gradient projection with other thresholds, equal in all layers.

    Args:
        families: Names in `PROJECTION`.
        *shares: The shares of energy to protect.
        growth: What the share grows by with every task.

    Returns:
        One variant for each family and share.
    """
    made = []
    for name in families:
        for share in shares:
            changes = {"threshold": Threshold(share, growth=growth, include_crossing=False)}
            made.append(MethodVariant(f"{name}, {share:.0%}", PROJECTION[name], changes=changes))
    return tuple(made)


PMNIST_SHORT = Protocol(
    "pmnist short",
    PermutedMnist(train_images=10_000, validation_images=0),
    (
        FINE_TUNED,
        *widths(0.05, 0.1, 0.2, 0.5),
        *ranks(1, 2, 4, 8, 16, 32),
        *thresholds(tuple(PROJECTION), 0.7, 0.9, 0.95, 0.99, growth=0.0),
    ),
    (),
    seeds=5,
    epochs=3,
    reduction="10,000 of 54,000 training images per task, 3 of 5 epochs",
)
PMNIST = replace(
    table1.PMNIST,
    variants=(
        FINE_TUNED,
        *widths(0.2, 0.5),
        *ranks(8, 32),
        *(MethodVariant(name, method) for name, method in PROJECTION.items()),
        table1.MORE_PROTECTED,
    ),
    pairs=(),
    paper_values={},
)
CIFAR100_SHORT = replace(
    table1.CIFAR100_SHORT,
    variants=(
        FINE_TUNED,
        *widths(0.125, 0.25, 0.5),
        *ranks(2, 8, 32),
        *(MethodVariant(name, method) for name, method in PROJECTION.items()),  # at the published 97%
        *thresholds(("TRGP free", "GPM", "TRGP", "TRGP+"), 0.85, 0.93, growth=0.003),
        *thresholds(("TRGP free", "GPM"), 0.7, growth=0.003),
        *thresholds(("GPM",), 0.5, growth=0.003),
    ),
    pairs=(),
    seeds=5,  # differences vary by 0.6 from seed to seed: 2 points can be told among all comparisons, with 3 seeds none
)
FRONTIER = Study("frontier", "Accuracy against memory per task", (PMNIST_SHORT, PMNIST, CIFAR100_SHORT))
FRONTIER_QUICK = Study(
    "frontier_quick",
    FRONTIER.title,
    (
        replace(
            table1.QUICK,
            variants=(
                FINE_TUNED,
                *widths(0.16),
                *ranks(2, 8),
                *thresholds(("GPM", "TRGP free"), 0.9, 0.95, growth=0.0),
            ),
            pairs=(),
        ),
    ),
)
