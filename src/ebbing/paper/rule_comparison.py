"""Rules of thumb compared: how much of what is at stake does each rule of `order.rules` lose?

The loss of a rule on a problem is (value of its order - optimum) / (mean over all orders - optimum): 0 is optimal, 1 no
better than a random order. The optimum is proved by branch and bound, for forgetting and for generalization error, and
the mean is exact. The same tasks are ordered at every r = 1 - n/p. Noise, equal for all, would shift all values alike.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ebbing._validate import Array, count
from ebbing.order._branch_and_bound import prove
from ebbing.order.objective import Criterion
from ebbing.order.simple_rules import RULES, mean_of_all_orders
from ebbing.paper._output import STYLE, Verdict, provenance, save_figure, write_csv, write_json
from ebbing.problem import Problem
from ebbing.simulation import MeanEstimate

if TYPE_CHECKING:
    from matplotlib.figure import Figure

QUANTITIES = ("forgetting", "generalization")
_SURE = 3.0  # standard errors that a difference must exceed


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
"""Ground truths (T, features), drawn at random."""


@dataclass(frozen=True)
class Config:
    """What is drawn: `instances` problems of T tasks from each ensemble, each ordered at every r."""

    T: int = 10
    r: tuple[float, ...] = (0.1, 0.3, 0.5, 0.7, 0.9, 0.97)
    ensembles: tuple[str, ...] = tuple(ENSEMBLES)
    instances: int = 50
    p: int = 1000
    seed: int = 20  # the claims in `Result.verdicts` were formed on seeds 0 to 3; this one was fresh when first run

    def __post_init__(self) -> None:
        if not 4 <= count("T", self.T) <= 14:
            raise ValueError(f"T={self.T}: give 4 to 14 tasks, few enough to prove every optimum")
        if count("instances", self.instances) < 2:
            raise ValueError("instances=1: standard errors need at least 2")
        if unknown := set(self.ensembles) - set(ENSEMBLES):
            raise ValueError(f"no ensemble called {', '.join(sorted(unknown))}; there is {', '.join(ENSEMBLES)}")
        if bad := [r for r in self.r if not 0 < r < 1 or abs(r * self.p - round(r * self.p)) > 1e-6]:
            raise ValueError(f"r={bad[0]}: give 0 < r < 1 such that n = (1 - r) p is whole, with p={self.p}")


@dataclass(frozen=True)
class Cell:
    """The loss of one rule on one ensemble at one r, over the instances on which the order matters."""

    quantity: str
    ensemble: str
    r: float
    rule: str
    mean: float  # loss
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

    def row(self, quantity: str, ensemble: str, rule: str) -> list[Cell]:
        """The means over instances, at each r."""
        at = (QUANTITIES.index(quantity), self.rules.index(rule), self.config.ensembles.index(ensemble))
        means = [(loss.mean, loss.standard_error) for loss in map(_estimate, self.losses[at])]
        shares, matters = self.optimal[at].mean(axis=-1).tolist(), np.isfinite(self.losses[at]).sum(axis=-1).tolist()
        columns = zip(self.config.r, means, shares, matters, strict=True)
        return [Cell(quantity, ensemble, r, rule, *mean, share, count) for r, mean, share, count in columns]

    @property
    def cells(self) -> list[Cell]:
        """All rows."""
        rows = itertools.product(QUANTITIES, self.config.ensembles, self.rules)
        return [cell for row in rows for cell in self.row(*row)]

    def losses_of(self, quantity: str, rule: str, *, ensemble: str | None = None, r: float | None = None) -> Array:
        """The loss on each instance of one or all ensembles, at one r or averaged over r (which share their tasks)."""
        losses = self.losses[QUANTITIES.index(quantity), self.rules.index(rule)]  # (E, R, N)
        if ensemble is not None:
            losses = losses[[self.config.ensembles.index(ensemble)]]
        losses = losses.mean(axis=1) if r is None else losses[:, self.config.r.index(r)]
        return losses.reshape(-1)

    def verdicts(self) -> list[Verdict]:
        """What to know before trusting a rule, each decided by differences on the same instances."""
        config, small, large = self.config, min(self.config.r), max(self.config.r)
        chance, outer = _estimate(self.losses_of("forgetting", "random")), self.rules.index("periphery_to_core")
        sorts, proofs = self.optimal[1, outer], self.proved
        rows = [
            ("every optimum is proved", "control", bool(proofs.all()), f"{proofs.sum()} of {proofs.size}"),
            ("a random order loses 1", "control", abs(chance.mean - 1) < _SURE * chance.standard_error, _text(chance)),
            ("generalization error: periphery to core is optimal, with unequal norms too (equal n and noise)",
             "Section 4, remark (3)", bool(sorts.all()), f"optimal on {sorts.sum()} of {sorts.size}"),
            ("the best order for generalization error is not the best for forgetting", "Section 4.3, 2)",
             *self._less("largest_error", "periphery_to_core")),
            ("forgetting: the task of largest current error next is the best rule over all kinds and r", "new",
             *self._best("largest_error")),
            (f"forgetting at r = {large}: it is the best rule there", "new", *self._best("largest_error", r=large)),
            ("forgetting: the task farthest from all learned next is better than the one farthest from the last", "new",
             *self._less("farthest", "greedy")),
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
        ran = f"T = {config.T}, {config.instances} problems of each of {len(config.ensembles)} kinds, at each r"
        return [Verdict(claim, where, ran, result, holds) for claim, where, holds, result in rows]

    def _less(self, one: str, other: str, *, factor: float = 1.0, **where: Any) -> tuple[bool, str]:
        """Whether `other` loses more than `factor` times the forgetting that `one` loses, in pairs."""
        mine, theirs = (self.losses_of("forgetting", rule, **where) for rule in (one, other))
        gain = _estimate(theirs - factor * mine)
        means = f"{one} loses {_estimate(mine).mean:.3f}, {other} {_estimate(theirs).mean:.3f}"
        return (
            gain.mean > _SURE * gain.standard_error,
            f"{means}, difference in pairs {_text(_estimate(theirs - mine))}",
        )

    def _best(self, rule: str, **where: Any) -> tuple[bool, str]:
        """Whether `rule` forgets less than every other, beside the runner-up."""
        others = [other for other in self.rules if other != rule]
        second = min(others, key=lambda other: _estimate(self.losses_of("forgetting", other, **where)).mean)
        return all(self._less(rule, other, **where)[0] for other in others), self._less(rule, second, **where)[1]

    def _worse_than_random(self, *rules: str) -> tuple[bool, str]:
        """Whether these rules lose more than 1 in every cell, beside the cell where they lose least."""
        cells = [cell for cell in self.cells if cell.rule in rules and cell.instances > 1]
        least = min(cells, key=lambda cell: cell.mean)
        text = f"at least {_text(least)} ({least.rule}, {least.ensemble}, r = {least.r})"
        return all(cell.mean - _SURE * cell.standard_error > 1 for cell in cells), text


def run(config: Config = Config(), progress: Callable[[float], None] | None = None) -> Result:  # noqa: B008 (frozen)
    """Draw the problems, order each by every rule, and prove the optimum.

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
            stake = mean_of_all_orders(assignment) - proof.value
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
    """Over the instances on which the order matters."""
    matters = sample[np.isfinite(sample)]
    return MeanEstimate.of(matters) if len(matters) else MeanEstimate(*3 * [float("nan")])


def _text(loss: MeanEstimate | Cell) -> str:
    return f"{loss.mean:.3f} \u00b1 {loss.standard_error:.3f}"


_STYLES = {  # Okabe-Ito colors, told apart by all eyes, each with a marker of its own; random orders are the line at 1
    "largest_error": ("largest error next", "#D55E00", "o"),
    "farthest": ("farthest from all learned next", "#009E73", "s"),
    "greedy": ("most distant next (greedy)", "#E69F00", "^"),
    "alternating": ("clusters in turn", "#CC79A7", "v"),
    "periphery_to_core": ("periphery to core", "#0072B2", "D"),
    "longest_path": ("longest path", "#000000", "X"),
    "nearest": ("most similar next", "#888888", "P"),
    "core_to_periphery": ("core to periphery", "#56B4E9", "d"),
}


def plot(result: Result) -> Figure:
    """Loss against r: a row for each quantity, a column for each ensemble, on a scale of square roots."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    config = result.config
    top = 1.1 * max([1.0, *(cell.mean + cell.standard_error for cell in result.cells if cell.rule in _STYLES)])
    with mpl.rc_context({**STYLE, "font.size": 8}):
        figure = Figure(figsize=(0.8 + 1.35 * len(config.ensembles), 5.0), layout="constrained")
        axes = figure.subplots(2, len(config.ensembles), sharex=True, sharey=True, squeeze=False)
        for (row, column), ax in np.ndenumerate(axes):
            for rule, (label, color, marker) in _STYLES.items():
                line = result.row(QUANTITIES[row], config.ensembles[column], rule)
                r, loss, error = zip(*((cell.r, cell.mean, cell.standard_error) for cell in line), strict=True)
                ax.errorbar(r, loss, error, color=color, marker=marker, ms=3.6, mew=0, lw=1.1, elinewidth=0.8,
                            label=label, clip_on=False)  # fmt: skip
            ax.axhspan(1, top, color="0.955", lw=0, zorder=0)
            ax.axhline(1, color="0.4", lw=0.8, ls=(0, (4, 2)), zorder=1)
            # The signed square root: matplotlib looks below zero too.
            ax.set_yscale("function", functions=(lambda y: np.sign(y) * np.abs(y) ** 0.5, lambda x: x * np.abs(x)))
            ax.set(ylim=(0, top), xlim=(0, 1), xticks=(0, 0.5, 1), xticklabels=("0", "0.5", "1"))
            ax.set(**({"xlabel": "$r = 1 - n/p$"} if row else {"title": config.ensembles[column]}))
            ax.set_yticks(*zip(*((y, f"{y:g}") for y in (0, 0.05, 0.2, 0.5, 1, 2, 3) if y < top), strict=True))
        for ax, name in zip(axes[:, 0], ("forgetting", "generalization error"), strict=True):
            ax.set_ylabel(f"excess {name}\n(0: optimum, 1: random order)")
            ax.annotate("worse than random", (0.05, 1), xytext=(0, 3), textcoords="offset points", color="0.35")
        figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=4, frameon=False)
    return figure


def save(result: Result, folder: Path) -> list[Path]:
    """rules.png, rules.svg, the means as rules.csv, and with verdicts and provenance as rules.json."""
    figure, cells = plot(result), [vars(cell) for cell in result.cells if cell.instances > 1]
    save_figure(figure, folder, "rules")
    write_csv(folder / "rules.csv", list(cells[0]), [list(cell.values()) for cell in cells])
    content = {
        "provenance": result.provenance,
        "unproved": int((~result.proved).sum()),
        "verdicts": [vars(verdict) for verdict in result.verdicts()],
        "cells": cells,
    }
    write_json(folder / "rules.json", content)
    return [folder / f"rules.{suffix}" for suffix in ("png", "svg", "csv", "json")]


def to_text(result: Result) -> str:
    """The loss of each rule with its standard error, and the share of problems on which it is optimal.

    >>> print(to_text(run(Config(T=5, r=(0.5,), instances=3, ensembles=("on a line",)))).splitlines()[0])
    forgetting, on a line           r = 0.5         optimal
    """
    text, header = "", "".join(f"r = {r:<12g}" for r in result.config.r)
    for kind in itertools.product(QUANTITIES, result.config.ensembles):
        text += f"{', '.join(kind):<32}{header}optimal\n"
        for rule in result.rules:
            row = result.row(*kind, rule)
            losses = "".join(f"{_text(cell):<16}" for cell in row)
            text += f"  {rule:<30}{losses}{np.mean([cell.optimal for cell in row]):.0%}\n"
        text += "\n"
    return text
