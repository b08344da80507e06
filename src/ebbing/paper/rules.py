"""Rules of thumb compared: how much of what is at stake does each rule of `order.rules` lose?

The loss of a rule on a problem is (value of its order - optimum) / (mean over all orders - optimum): 0 is optimal, 1 no
better than a random order. The optimum is proved by branch and bound, for forgetting and for generalization error alike;
the mean is exact. The same tasks are ordered at every r = 1 - n/p. Noise, equal for all tasks, shifts every value alike.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ebbing.order.assignment import Assignment
from ebbing.order.exact import prove
from ebbing.order.objective import Objective
from ebbing.order.rules import RULES
from ebbing.paper.record import Verdict, provenance, write_atomically, write_csv, write_json
from ebbing.problem import Problem
from ebbing.simulation import Estimate
from ebbing.validate import Array, count

if TYPE_CHECKING:
    from matplotlib.figure import Figure

QUANTITIES = ("forgetting", "generalization")
DIMENSIONS = 6
_SURE = 3.0  # standard errors that a difference must exceed


def _random(random: np.random.Generator, T: int) -> Array:
    return random.standard_normal((T, DIMENSIONS))


def _equal_norms(random: np.random.Generator, T: int) -> Array:
    w = _random(random, T)
    return w / np.linalg.norm(w, axis=1, keepdims=True)


def _clustered(random: np.random.Generator, T: int) -> Array:
    return _random(random, 3)[random.integers(0, 3, T)] + 0.3 * _random(random, T)


def _line(random: np.random.Generator, T: int) -> Array:
    return random.uniform(-1, 1, (T, 1))


def _categories(random: np.random.Generator, T: int) -> Array:
    c = int(random.integers(2, 5))
    return np.eye(c)[random.permutation(np.append(np.arange(c), random.integers(0, c, T - c)))]


ENSEMBLES: dict[str, Callable[[np.random.Generator, int], Array]] = {
    "random": _random,  # Gaussian
    "equal norms": _equal_norms,  # on the sphere: the assumption of Section 4.3
    "clustered": _clustered,  # three clusters, 0.3 wide
    "line": _line,  # uniform on both sides of the initial model
    "categories": _categories,  # two to four, at least one task each
}
"""Ground truths (T, features), drawn at random."""


@dataclass(frozen=True)
class Config:
    """What is drawn: `instances` problems of T tasks from each ensemble, each ordered at every r."""

    T: int = 10
    r: tuple[float, ...] = (0.1, 0.3, 0.5, 0.7, 0.9, 0.97)
    ensembles: tuple[str, ...] = tuple(ENSEMBLES)
    instances: int = 40
    p: int = 1000
    seed: int = 0

    def __post_init__(self) -> None:
        if not 4 <= count("T", self.T) <= 14:
            raise ValueError(f"T={self.T}: give 4 to 14 tasks, so that there are categories and every optimum is proved")
        if count("instances", self.instances) < 2:
            raise ValueError("instances=1: standard errors need at least 2")
        if unknown := set(self.ensembles) - set(ENSEMBLES):
            raise ValueError(f"no ensemble called {', '.join(sorted(unknown))}; there is {', '.join(ENSEMBLES)}")
        if bad := [r for r in self.r if not 0 < r < 1 or abs(r * self.p - round(r * self.p)) > 1e-6]:
            raise ValueError(f"r={bad[0]}: give 0 < r < 1 such that n = (1 - r) p is whole, with p={self.p}")


@dataclass(frozen=True)
class Cell:
    """One rule on one ensemble at one r; loss over the instances on which the order matters."""

    quantity: str
    ensemble: str
    r: float
    rule: str
    loss: float
    standard_error: float
    optimal: float  # share of all instances
    instances: int


@dataclass(frozen=True)
class Result:
    """Every loss; nan where all orders are equally good. E ensembles, R values of r, N instances."""

    config: Config
    rules: tuple[str, ...]
    losses: Array  # (2, rules, E, R, N), the first axis as in QUANTITIES
    optimal: npt.NDArray[np.bool_]  # (2, rules, E, R, N)
    proved: npt.NDArray[np.bool_]  # (2, E, R, N)
    provenance: dict[str, Any] = field(repr=False)

    @property
    def cells(self) -> list[Cell]:
        """Means over instances."""
        cells = []
        for q, k, e, i in np.ndindex(self.losses.shape[:4]):
            sample = self.losses[q, k, e, i]
            where = (QUANTITIES[q], self.config.ensembles[e], self.config.r[i], self.rules[k])
            loss, share = _estimate(sample), float(self.optimal[q, k, e, i].mean())
            cells.append(Cell(*where, loss.mean, loss.standard_error, share, int(np.isfinite(sample).sum())))
        return cells

    def sample(self, quantity: str, rule: str, *, ensemble: str | None = None, r: float | None = None) -> Array:
        """The loss on each instance of one or all ensembles, at one r or averaged over r (which share their tasks)."""
        losses = self.losses[QUANTITIES.index(quantity), self.rules.index(rule)]  # (E, R, N)
        if ensemble is not None:
            losses = losses[[self.config.ensembles.index(ensemble)]]
        at = range(len(self.config.r)) if r is None else [self.config.r.index(r)]
        return losses[:, list(at)].mean(axis=1).reshape(-1)

    def verdicts(self) -> list[Verdict]:
        """What to know before trusting a rule, each decided by differences on the same instances."""
        small, large, T = min(self.config.r), max(self.config.r), self.config.T
        q, some = "generalization", self.config.ensembles
        paths = "longest_path", "greedy"
        outer = self.optimal[1, self.rules.index("periphery_to_core")]
        rows = [
            ("every optimum is proved", "control", bool(self.proved.all()), f"{self.proved.sum()} of {self.proved.size}"),
            ("a random order loses 1", "control", *self._random_loses_one()),
            ("generalization error: periphery-to-core is optimal, with unequal norms too (equal n and noise)",
             "Section 4, remark (3)", bool(outer.all()), f"optimal on {outer.sum()} of {outer.size}"),
            ("forgetting: the task of largest current error next is the best rule over all r", "new",
             *self._best("largest_error")),
            (f"forgetting at r = {large}: the same", "new", *self._best("largest_error", r=large)),
            (f"forgetting at r = {small}: the task farthest from all learnt next is the best rule", "new",
             *self._best("farthest", r=small)),
            (f"forgetting at r = {small}: dissimilar neighbours are enough, the longest path beats greedy",
             "Section 4.3, 1)", *self._less(*paths, r=small)),
            (f"forgetting at r = {large}: dissimilar neighbours are enough, the longest path beats greedy",
             "Section 4.3, 1)", *self._less(*paths, r=large)),
            ("forgetting: greedy saves at least half of what is at stake, in each ensemble at each r", "Section 4.3, 1)",
             *self._everywhere("greedy", lambda mean, error: mean + _SURE * error < 0.5, max)),
            ("the best order for generalization error is not the best for forgetting", "Section 4.3, 2)",
             *self._less("largest_error", "periphery_to_core")),
            ("forgetting: small steps are worse than a random order, in each ensemble at each r", "Section 4.3, 1)",
             *self._everywhere("nearest", lambda mean, error: mean - _SURE * error > 1, min)),
            ("generalization error: small steps are worse than a random order, in each ensemble at each r", "new",
             *self._everywhere("nearest", lambda mean, error: mean - _SURE * error > 1, min, q)),
        ]  # fmt: skip
        if "categories" in some:
            claim = "forgetting: with categories, unequal counts included, dealing them in turn is the best rule"
            rows.append((claim, "Section 4.3, 1)", *self._best("alternating", ensemble="categories")))
        ran = f"T = {T}, {self.config.instances} problems of {len(some)} kinds, {len(self.config.r)} values of r"
        return [Verdict(claim, where, ran, result, holds) for claim, where, holds, result in rows]

    def _less(self, one: str, other: str, **where: Any) -> tuple[bool, str]:
        """Whether `one` forgets less than `other`, in pairs."""
        mine, theirs = (self.sample("forgetting", rule, **where) for rule in (one, other))
        gain = _estimate(theirs - mine)
        text = f"{one} loses {_estimate(mine).mean:.2f}, {other} {_estimate(theirs).mean:.2f}: difference {_text(gain)}"
        return gain.mean > _SURE * gain.standard_error, text

    def _best(self, rule: str, **where: Any) -> tuple[bool, str]:
        """Whether `rule` forgets less than every other."""
        others = [other for other in self.rules if other != rule]
        means = [np.nanmean(self.sample("forgetting", other, **where)) for other in others]
        runner_up = others[int(np.argmin(means))]
        return all(self._less(rule, other, **where)[0] for other in others), self._less(rule, runner_up, **where)[1]

    def _everywhere(
        self, rule: str, holds: Callable[[float, float], bool], worst: Callable[..., Cell], quantity: str = QUANTITIES[0]
    ) -> tuple[bool, str]:
        """Whether something holds in every cell of a rule, and the cell where it holds least."""
        cells = [cell for cell in self.cells if (cell.rule, cell.quantity) == (rule, quantity)]
        least = worst(cells, key=lambda cell: cell.loss)
        text = f"{rule} loses {_text(Estimate(least.loss, least.standard_error, 0))}, {least.ensemble}, r = {least.r}"
        return all(holds(cell.loss, cell.standard_error) for cell in cells), f"at the extreme {text}"

    def _random_loses_one(self) -> tuple[bool, str]:
        loss = _estimate(self.sample("forgetting", "random"))
        return abs(loss.mean - 1) < _SURE * loss.standard_error, _text(loss)


def run(config: Config = Config(), progress: Callable[[float], None] | None = None) -> Result:  # noqa: B008 (frozen)
    """Draw the problems, order each by every rule, and prove the optimum.

    >>> result = run(Config(T=5, r=(0.5,), instances=3, ensembles=("line",)))
    >>> result.losses.shape, bool(result.proved.all()), bool((result.losses >= 0).all())
    ((2, 9, 1, 1, 3), True, True)
    """
    began = time.monotonic()
    shape = (len(config.ensembles), len(config.r), config.instances)
    losses, proved = np.empty((2, len(RULES), *shape)), np.empty((2, *shape), dtype=bool)
    optimal = np.empty(losses.shape, dtype=bool)
    for done, (e, i, k) in enumerate(np.ndindex(shape)):
        problem = _problem(config, config.ensembles[e], config.r[i], k)
        orders = [rule(problem) for rule in RULES.values()]
        for q, quantity in enumerate(QUANTITIES):
            assignment, _ = Objective.of(problem, quantity).assignment()
            values = np.array([assignment.value(order) for order in orders])
            proof = prove(assignment, incumbent=orders[int(values.argmin())])
            stake = mean_value(assignment) - proof.value
            excess = np.maximum(values - proof.value, 0.0)
            losses[q, :, e, i, k] = excess / stake if stake > proof.tolerance else np.nan
            optimal[q, :, e, i, k], proved[q, e, i, k] = excess <= proof.tolerance, proof.proved
        if progress:
            progress((done + 1) / proved[0].size)
    return Result(config, tuple(RULES), losses, optimal, proved, provenance(config, time.monotonic() - began))


def _problem(config: Config, ensemble: str, r: float, instance: int) -> Problem:
    seeds = [config.seed, list(ENSEMBLES).index(ensemble), instance]
    w = ENSEMBLES[ensemble](np.random.default_rng(seeds), config.T)
    return Problem.from_vectors(w, n=round((1 - r) * config.p), p=config.p)


def mean_value(assignment: Assignment) -> float:
    """V averaged over all orders: every task in every place, every pair at every distance, equally often.

    >>> mean_value(Assignment(np.eye(2), [0, 1], [[0, 3], [3, 0]]))  # of -1 and -3
    -2.0
    """
    T = assignment.T
    pairs = (T - np.arange(1, T)) @ assignment.kernel[1:]  # sum_{i<j} k_{j-i}
    return float(assignment.linear.mean() * T - pairs * assignment.distance.sum() / (T * (T - 1)))


def _estimate(sample: Array) -> Estimate:
    return Estimate.of(sample[np.isfinite(sample)])


def _text(estimate: Estimate) -> str:
    return f"{estimate.mean:.3f} \u00b1 {estimate.standard_error:.3f}"
