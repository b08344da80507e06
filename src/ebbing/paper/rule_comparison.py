"""A comparison of the simple ordering rules of `ebbing.order.simple_rules` with optimal orders.

The loss of a rule on a problem is (value of its order - optimum) / (mean over all orders - optimum): 0 is optimal, 1 is
no better than a random order. The optimum is proved by branch and bound, for forgetting and for generalization error,
and the mean is exact. The same tasks are ordered at every r = 1 - n/p. There is no noise: if it is equal for all tasks,
it shifts all values alike. `ebbing.paper.figures.rule_comparison` draws the losses.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from ebbing._validate import Array, check_count
from ebbing.order._branch_and_bound import prove
from ebbing.order.objective import Criterion
from ebbing.order.simple_rules import RULES, mean_over_orders
from ebbing.paper._output import Verdict, provenance
from ebbing.problem import Problem
from ebbing.simulation import MeanEstimate

QUANTITIES = ("forgetting", "generalization")
_REQUIRED_Z = 3.0  # standard errors that a difference must exceed


def _gaussian(random: np.random.Generator, T: int) -> Array:
    return random.standard_normal((T, 6))


def _categories(random: np.random.Generator, T: int) -> Array:
    c = int(random.integers(2, 5))
    return np.eye(c)[random.permutation(np.append(np.arange(c), random.integers(0, c, T - c)))]


ENSEMBLES: dict[str, Callable[[np.random.Generator, int], Array]] = {
    "random": _gaussian,  # in 6 dimensions
    # on the sphere: the assumption of Section 4.3
    "equal norms": lambda random, T: (w := _gaussian(random, T)) / np.linalg.norm(w, axis=1, keepdims=True),
    "three clusters": lambda random, T: _gaussian(random, 3)[random.integers(0, 3, T)] + 0.3 * _gaussian(random, T),
    "on a line": lambda random, T: random.uniform(-1, 1, (T, 1)),  # on both sides of the initial model
    "categories": _categories,  # two to four, at least one task each
}
"""The kinds of problems: functions that draw random ground truths (T, features)."""


@dataclass(frozen=True)
class Config:
    """The settings of the comparison: which problems are drawn.

    Attributes:
        T: The number of tasks of each problem.
        r: The values of r = 1 - n/p at which each problem is ordered.
        ensembles: The kinds of problems, names in `ENSEMBLES`.
        instances: The number of problems of each kind.
        p: The number of parameters.
        seed: The seed. The claims in `Result.verdicts` were formed on seeds 0 to 3; the default was fresh when it was
            first run.
    """

    T: int = 10
    r: tuple[float, ...] = (0.1, 0.3, 0.5, 0.7, 0.9, 0.97)
    ensembles: tuple[str, ...] = tuple(ENSEMBLES)
    instances: int = 50
    p: int = 1000
    seed: int = 20

    def __post_init__(self) -> None:
        if not 4 <= check_count("T", self.T) <= 14:
            raise ValueError(f"T={self.T}: give 4 to 14 tasks, few enough to prove every optimum")
        if check_count("instances", self.instances) < 2:
            raise ValueError("instances=1: standard errors need at least 2")
        if unknown := set(self.ensembles) - set(ENSEMBLES):
            raise ValueError(
                f"ensembles: no ensemble is called {', '.join(sorted(unknown))}; give some of {', '.join(ENSEMBLES)}"
            )
        if bad := [r for r in self.r if not 0 < r < 1 or abs(r * self.p - round(r * self.p)) > 1e-6]:
            raise ValueError(f"r={bad[0]}: give 0 < r < 1 such that n = (1 - r) p is whole, with p={self.p}")


@dataclass(frozen=True)
class Cell:
    """The loss of one rule on one ensemble at one r.

    Attributes:
        quantity: "forgetting" or "generalization".
        ensemble: The kind of problems.
        r: The ratio 1 - n/p.
        rule: The name of the rule.
        mean: The mean loss over the instances on which the order matters.
        standard_error: The standard error of that mean.
        optimal: The share of all instances on which the rule is optimal.
        instances: The number of instances on which the order matters.
    """

    quantity: str
    ensemble: str
    r: float
    rule: str
    mean: float
    standard_error: float
    optimal: float
    instances: int


@dataclass(frozen=True)
class Result:
    """The loss of every rule on every problem: E ensembles, R values of r, N instances.

    Attributes:
        config: The settings.
        rules: The names of the rules.
        losses: The losses (2, rules, E, R, N), first axis as in `QUANTITIES`; nan where all orders are equally good.
        optimal: Whether each rule is optimal (2, rules, E, R, N).
        proved: Whether each optimum is proved (2, E, R, N).
        provenance: Code, settings, versions and machine.
    """

    config: Config
    rules: tuple[str, ...]
    losses: Array
    optimal: npt.NDArray[np.bool_]
    proved: npt.NDArray[np.bool_]
    provenance: dict[str, Any] = field(repr=False)

    def row(self, quantity: str, ensemble: str, rule: str) -> list[Cell]:
        """Return the mean losses of one rule on one ensemble.

        Args:
            quantity: "forgetting" or "generalization".
            ensemble: The kind of problems.
            rule: The name of the rule.

        Returns:
            One cell for each r.
        """
        at = (QUANTITIES.index(quantity), self.rules.index(rule), self.config.ensembles.index(ensemble))
        means = [(loss.mean, loss.standard_error) for loss in map(_estimate, self.losses[at])]
        shares, matters = self.optimal[at].mean(axis=-1).tolist(), np.isfinite(self.losses[at]).sum(axis=-1).tolist()
        columns = zip(self.config.r, means, shares, matters, strict=True)
        return [Cell(quantity, ensemble, r, rule, *mean, share, count) for r, mean, share, count in columns]

    @property
    def cells(self) -> list[Cell]:
        """The cells of all rows."""
        rows = itertools.product(QUANTITIES, self.config.ensembles, self.rules)
        return [cell for row in rows for cell in self.row(*row)]

    def losses_of(self, quantity: str, rule: str, *, ensemble: str | None = None, r: float | None = None) -> Array:
        """Return the loss of a rule on each instance.

        Args:
            quantity: "forgetting" or "generalization".
            rule: The name of the rule.
            ensemble: The kind of problems; None for all kinds.
            r: The ratio 1 - n/p; None for the mean over all r, which have the same tasks.

        Returns:
            The losses (instances,).
        """
        losses = self.losses[QUANTITIES.index(quantity), self.rules.index(rule)]  # (E, R, N)
        if ensemble is not None:
            losses = losses[[self.config.ensembles.index(ensemble)]]
        losses = losses.mean(axis=1) if r is None else losses[:, self.config.r.index(r)]
        return losses.reshape(-1)

    def verdicts(self) -> list[Verdict]:
        """Return the verdicts on the rules, each decided by differences on the same instances.

        Returns:
            Two controls, claims of the paper about orders, and new claims about the rules.
        """
        config, small, large = self.config, min(self.config.r), max(self.config.r)
        random, outer = _estimate(self.losses_of("forgetting", "random")), self.rules.index("periphery_to_core")
        sorts, proofs = self.optimal[1, outer], self.proved
        rows = [
            ("every optimum is proved", "control", bool(proofs.all()), f"{proofs.sum()} of {proofs.size}"),
            ("a random order loses 1", "control",
             abs(random.mean - 1) < _REQUIRED_Z * random.standard_error, format_loss(random)),
            ("generalization error: periphery to core is optimal, with unequal norms too (equal n and noise)",
             "Section 4, remark (3)", bool(sorts.all()), f"optimal on {sorts.sum()} of {sorts.size}"),
            ("the best order for generalization error is not the best for forgetting", "Section 4.3, 2)",
             *self._less("largest_error", "periphery_to_core")),
            ("forgetting: learning the task of largest current error next is the best rule over all kinds and r", "new",
             *self._best("largest_error")),
            (f"forgetting at r = {large}: learning the task of largest current error next is the best rule", "new",
             *self._best("largest_error", r=large)),
            ("forgetting: the task farthest from all learned tasks is a better next task than the one farthest from "
             "the last", "new", *self._less("farthest", "greedy")),
            ("forgetting: greedy, the task most distant from the last, loses more than twice as much as the best rule",
             "new", *self._less("largest_error", "greedy", factor=2)),
            *((f"forgetting at r = {r}: dissimilar neighbors are enough, the longest path beats greedy",
               "Section 4.3, 1)", *self._less("longest_path", "greedy", r=r)) for r in (small, large)),
            ("small steps and starting from the core are worse than a random order, always and for both quantities",
             "Section 4.3, 1)", *self._worse_than_random("nearest", "core_to_periphery")),
        ]  # fmt: skip
        if "categories" in config.ensembles:
            claim = "forgetting: with categories, unequal counts included, dealing them in turn is the best rule"
            rows.append((claim, "Section 4.3, 1)", *self._best("alternating", ensemble="categories")))
        procedure = f"T = {config.T}, {config.instances} problems of each of {len(config.ensembles)} kinds, at each r"
        return [Verdict(claim, source, procedure, result, holds) for claim, source, holds, result in rows]

    def _less(self, one: str, other: str, *, factor: float = 1.0, **selection: Any) -> tuple[bool, str]:
        """Test whether `other` loses more than `factor` times the forgetting that `one` loses, instance by instance."""
        mine, theirs = (self.losses_of("forgetting", rule, **selection) for rule in (one, other))
        gain = _estimate(theirs - factor * mine)
        means = f"{one} loses {_estimate(mine).mean:.3f}, {other} {_estimate(theirs).mean:.3f}"
        return (
            gain.mean > _REQUIRED_Z * gain.standard_error,
            f"{means}, difference in pairs {format_loss(_estimate(theirs - mine))}",
        )

    def _best(self, rule: str, **selection: Any) -> tuple[bool, str]:
        """Test whether `rule` forgets less than every other rule, and compare it with the second best."""
        others = [other for other in self.rules if other != rule]
        second = min(others, key=lambda other: _estimate(self.losses_of("forgetting", other, **selection)).mean)
        return all(self._less(rule, other, **selection)[0] for other in others), self._less(rule, second, **selection)[
            1
        ]

    def _worse_than_random(self, *rules: str) -> tuple[bool, str]:
        """Test whether these rules lose more than 1 in every cell, and name the cell of least loss."""
        cells = [cell for cell in self.cells if cell.rule in rules and cell.instances > 1]
        least = min(cells, key=lambda cell: cell.mean)
        text = f"at least {format_loss(least)} ({least.rule}, {least.ensemble}, r = {least.r})"
        return all(cell.mean - _REQUIRED_Z * cell.standard_error > 1 for cell in cells), text


def run(config: Config = Config(), progress: Callable[[float], None] | None = None) -> Result:  # noqa: B008 (frozen)
    """Draw the problems, order each by every rule, and prove the optimum.

    Args:
        config: The settings.
        progress: Called with the finished share of the work, from 0 to 1.

    Returns:
        The losses of all rules.

    Example:
        >>> result = run(Config(T=5, r=(0.5,), instances=3, ensembles=("on a line",)))
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
            assignment, _ = Criterion.of(problem, quantity).assignment()
            values = np.array([assignment.value(order) for order in orders])
            proof = prove(assignment, incumbent=orders[int(values.argmin())])
            stake = mean_over_orders(assignment) - proof.value
            excess = np.maximum(values - proof.value, 0.0)
            losses[q, :, e, i, k] = excess / stake if stake > proof.tolerance else np.nan
            proved[q, e, i, k] = proof.proved
            optimal[q, :, e, i, k] = proof.proved & (excess <= proof.tolerance)
        if progress:
            progress((done + 1) / proved[0].size)
    return Result(config, tuple(RULES), losses, optimal, proved, provenance(config, time.monotonic() - began))


def _problem(config: Config, ensemble: str, r: float, instance: int) -> Problem:
    seeds = [config.seed, list(ENSEMBLES).index(ensemble), instance]
    w = ENSEMBLES[ensemble](np.random.default_rng(seeds), config.T)
    return Problem.from_vectors(w, n=round((1 - r) * config.p), p=config.p)


def _estimate(sample: Array) -> MeanEstimate:
    """Return the mean over the instances on which the order matters."""
    matters = sample[np.isfinite(sample)]
    return MeanEstimate.of(matters) if len(matters) else MeanEstimate(*3 * [float("nan")])


def format_loss(loss: MeanEstimate | Cell) -> str:
    """Return a mean loss and its standard error as text.

    Args:
        loss: The mean and its standard error.

    Returns:
        Both, with three decimals.
    """
    return f"{loss.mean:.3f} \u00b1 {loss.standard_error:.3f}"
