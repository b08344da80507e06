"""The settings that `ebbing.paper.frontier` compares: their memory and accuracy, the frontier, and duels.

The report reads recorded settings where PyTorch is not installed, so this module does not load it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from ebbing.paper._decisions import Decision, decide
from ebbing.paper._statistics import PairedDifferences

if TYPE_CHECKING:
    from ebbing.learn.presets import MethodName
    from ebbing.paper.method_comparison import Result
    from ebbing.paper.method_study import Protocol

PROJECTION: dict[str, MethodName] = {"GPM": "gpm", "TRGP": "trgp", "TRGP+": "trgp+", "TRGP free": "trgp-free"}
"""The families of methods that protect by gradient projection, with their names as presets."""

FINE_TUNING, COPIES, LOW_RANK = "fine-tuning", "copies", "low-rank"
PLAIN = (FINE_TUNING, COPIES, LOW_RANK)
"""The families of plainer methods."""


def family(name: str) -> str:
    """Return the family of a variant: what stands before the comma in its name.

    Args:
        name: The name of a variant.

    Returns:
        "GPM", "copies", "low-rank" and so on.

    Example:
        >>> family("TRGP free, 95%"), family("copies")
        ('TRGP free', 'copies')
    """
    return name.partition(",")[0]


@dataclass(frozen=True, eq=False)
class Point:
    """A variant with finished runs: its memory and its accuracy.

    Attributes:
        name: The name of the variant.
        memory: Megabytes that each task adds besides the network, on average.
        total: Megabytes in all at the end of the stream, with the network.
        accuracy: ACC in percent, by seed.
    """

    name: str
    memory: float
    total: float
    accuracy: dict[int, float]

    @property
    def mean(self) -> float:
        """The mean ACC over the seeds."""
        return float(np.mean([*self.accuracy.values()]))

    def minus(self, other: Point) -> PairedDifferences:
        """Return the differences in ACC to another variant, over the seeds that both have.

        Args:
            other: The other variant.

        Returns:
            The differences, in percentage points.
        """
        seeds = sorted(self.accuracy.keys() & other.accuracy.keys())
        return PairedDifferences(tuple(self.accuracy[seed] - other.accuracy[seed] for seed in seeds))


def points(result: Result, protocol: Protocol) -> list[Point]:
    """Return the variants of a protocol that have finished runs and a known memory.

    Args:
        result: The runs of the study.
        protocol: One of its protocols.

    Returns:
        The variants by increasing memory.
    """
    found = []
    for name in protocol.names:
        memory, runs = result.memory_per_task(protocol, name), result.finished_runs(protocol, name)
        if memory is not None:
            accuracy = dict(zip((run.seed for run in runs), result.accuracy(protocol, name).tolist(), strict=True))
            total = _network_size(protocol.experiment(name).architecture) + memory * (len(protocol.stream.names) - 1)
            found.append(Point(name, memory, total, accuracy))
    return sorted(found, key=lambda point: (point.memory, -point.mean))


@cache
def _network_size(architecture: Any) -> float:
    """Return the size of a network in megabytes."""
    network = architecture.build(0)
    return sum(value.nbytes for value in network.state_dict().values()) / 1e6


def pareto(found: Sequence[Point], *, total: bool = False) -> list[Point]:
    """Return the points that no other point beats: none has as little memory and a higher mean accuracy.

    Args:
        found: Points.
        total: Whether memory is that in all, instead of that per task.

    Returns:
        The Pareto frontier, by increasing memory and accuracy.
    """
    front: list[Point] = []
    for point in sorted(found, key=lambda point: (point.total if total else point.memory, -point.mean)):
        if not front or point.mean > front[-1].mean:
            front.append(point)
    return front


@dataclass(frozen=True, eq=False)
class Duel:
    """A setting of gradient projection against the most accurate plainer method that needs no more memory.

    Attributes:
        point: The setting of gradient projection.
        rival: The plainer method; None if all that were run need more memory.
        decision: The test of what gradient projection gains over its rival, in percentage points of ACC, corrected for
            all duels of the protocol; None without a rival.
    """

    point: Point
    rival: Point | None
    decision: Decision | None

    @property
    def gain(self) -> float | None:
        """What gradient projection gains over its rival on average; None without a rival."""
        return None if self.decision is None else self.decision.differences.mean

    @property
    def won(self) -> bool | None:
        """Whether gradient projection wins (True) or loses (False); None without a rival or if seeds do not decide."""
        return None if self.decision is None else self.decision.holds


def duels(found: Sequence[Point]) -> list[Duel]:
    """Return the duel of every setting of gradient projection.

    The rival has the highest mean over all its seeds, which may flatter it by part of its standard error.

    Args:
        found: The points of a protocol.

    Returns:
        One duel for each setting, by increasing memory per task.
    """
    pairs = []
    for point in (point for point in found if family(point.name) in PROJECTION):
        rivals = [p for p in found if family(p.name) in PLAIN and p.memory <= point.memory and _share_seeds(p, point)]
        pairs.append((point, max(rivals, key=lambda p: p.mean, default=None)))
    decisions = iter(decide([point.minus(rival) for point, rival in pairs if rival is not None]))
    return [Duel(point, rival, None if rival is None else next(decisions)) for point, rival in pairs]


def _share_seeds(one: Point, other: Point) -> bool:
    return bool(one.accuracy.keys() & other.accuracy.keys())
