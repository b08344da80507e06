"""What to expect of linear tasks, and what a simulation gave, as people and programs read it."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np
from rich.console import Console
from rich.text import Text

from ebbing.printing import note, table_of
from ebbing.problem import Problem
from ebbing.simulation import MeanEstimate, SimulatedMetrics
from ebbing.theory import Expectation, forward_transfer
from ebbing.theory._rates import Rates

_MOST_ROWS = 40


def problem_json(problem: Problem) -> dict[str, Any]:
    """All that determines a problem."""
    names = ("gram", "gaps", "n", "p", "sigma", "unmodeled", "names")
    return {"T": problem.T} | {name: getattr(problem, name) for name in names}


def expectation_json(e: Expectation) -> dict[str, Any]:
    """What `ebbing predict --json` says."""
    several = e.problem.T > 1
    transfer = forward_transfer(e.problem)
    return {
        "problem": problem_json(e.problem),
        "forgetting": {"mean": e.forgetting, "std": e.forgetting_std} if several else None,
        "generalization": {"mean": e.generalization, "std": e.generalization_std},
        "terms": vars(e.terms),
        "forgetting_curve": e.forgetting_curve if several else [],
        "forward_transfer": vars(transfer),
        "errors": e.errors,
        "errors_std": e.errors_std,
    }


def sample_json(sample: SimulatedMetrics, seed: int, expectation: Expectation | None) -> dict[str, Any]:
    """What `ebbing simulate --json` says; theory is null where the expectation is infinite."""

    def one(name: str) -> dict[str, Any]:
        estimate = MeanEstimate.of(getattr(sample, name))
        content: dict[str, Any] = vars(estimate) | {"theory": None, "theory_std": None, "z": None}
        if expectation is not None:
            mean, std = getattr(expectation, name), getattr(expectation, f"{name}_std")
            content |= {"theory": mean, "theory_std": std, "z": z_score(estimate, mean)}
        return content

    return {
        "problem": problem_json(sample.problem),
        "runs": len(sample.generalization),
        "seed": seed,
        "forgetting": one("forgetting") if sample.problem.T > 1 else None,
        "generalization": one("generalization"),
        "mean_errors": sample.mean_errors,
    }


def print_expectation(e: Expectation, console: Console) -> None:
    """Forgetting and generalization error, where they come from, and what happens to each task."""
    problem, terms = e.problem, e.terms
    console.print(Text(describe(problem)))
    columns = [(f"generalization error G_{problem.T}", e.generalization, e.generalization_std, "G")]
    if problem.T > 1:
        columns.insert(0, (f"forgetting F_{problem.T}", e.forgetting, e.forgetting_std, "F"))
    table = table_of("", *(column[0] for column in columns))
    table.add_row("expected", *(f"{column[1]:.6g}" for column in columns), style="bold")
    table.add_row("standard deviation of one run", *(f"{column[2]:.4g}" for column in columns))
    for k, source in enumerate(("the initial model", "gaps between tasks", "noise"), start=1):
        parts = (getattr(terms, f"{column[3]}{k}") for column in columns)
        table.add_row(f"  from {source} (F{k}, G{k})", *(f"{part:.6g}" for part in parts))
    console.print(table)
    console.print()

    transfer = forward_transfer(problem).difference
    table = table_of("task", "error before", "just learned", "at the end", "lost", "forward transfer")
    shown = [*range(min(problem.T, _MOST_ROWS - 1)), *([problem.T - 1] if problem.T >= _MOST_ROWS else [])]
    for i in shown:
        if i == problem.T - 1 and problem.T > _MOST_ROWS:
            table.add_row(f"... {problem.T - _MOST_ROWS} more")
        numbers = (e.errors[0, i], e.errors[i + 1, i], e.errors[-1, i], e.lost[-1, i], transfer[i])
        table.add_row(Text(problem.names[i]), *(f"{x:.4g}" for x in numbers))
    console.print(table)
    note(
        "Errors are squared distances to a task's ground truth. Lost: error at the end minus error just learned. "
        "Forward transfer: error just learned minus error when learned alone; negative means that earlier tasks help.",
        console,
    )


def print_sample(sample: SimulatedMetrics, expectation: Expectation | None, console: Console) -> None:
    """Sample means with standard errors beside theory."""
    runs, T = len(sample.generalization), sample.problem.T
    console.print(Text(f"{describe(sample.problem)}; {runs:,} run{'s' * (runs > 1)}"))
    labels = {"forgetting": f"forgetting F_{T}", "generalization": f"generalization error G_{T}"}
    if T < 2:
        del labels["forgetting"]
    estimates = [MeanEstimate.of(getattr(sample, name)) for name in labels]
    table = table_of("", *labels.values())
    table.add_row("mean", *(f"{estimate.mean:.6g}" for estimate in estimates), style="bold")
    table.add_row("its standard error", *(f"{estimate.standard_error:.2g}" for estimate in estimates))
    table.add_row("standard deviation of one run", *(f"{estimate.std:.4g}" for estimate in estimates))
    if expectation is None:
        table.add_row("theory", *("infinite" for _ in labels))
    else:
        means = [getattr(expectation, name) for name in labels]
        table.add_row("theory", *(f"{mean:.6g}" for mean in means), style="bold")
        table.add_row("theory's standard deviation", *(f"{getattr(expectation, name + '_std'):.4g}" for name in labels))
        scores = (z_score(estimate, mean) for estimate, mean in zip(estimates, means, strict=True))
        table.add_row("z, in standard errors", *(f"{z:+.2f}" for z in scores))
    console.print(table)
    if expectation is None or not all(math.isfinite(getattr(expectation, f"{name}_std")) for name in labels):
        note("The variance is infinite here: standard errors and z are not to be trusted.", console)


def describe(problem: Problem) -> str:
    """One line.

    >>> describe(Problem.orthogonal(T=8, n=50, p=100, sigma=0.3))
    '8 tasks, n=50, p=100, noise 0.3: overparameterized, r = 0.5'
    """
    over = problem.n < problem.p
    regime = "overparameterized" if over.all() else "underparameterized" if not over.any() else "both regimes"
    r = Rates.of(problem).retained
    ratio = f", r = {r[0]:.4g}" if over.all() and np.all(r == r[0]) else ""
    tasks = f"{problem.T} task{'s' * (problem.T > 1)}"
    noise = np.sqrt(problem.noise_variance)
    return f"{tasks}, n={_span(problem.n)}, p={problem.p}, noise {_span(noise)}: {regime}{ratio}"


def z_score(estimate: MeanEstimate, mean: float) -> float:
    """Distance of a sample's mean from theory in standard errors; 0 if both agree without any spread."""
    difference = estimate.mean - mean
    if not estimate.standard_error <= 1e-13 * abs(mean):  # above rounding, or nan for a single run
        return difference / estimate.standard_error
    return (
        0.0 if math.isclose(estimate.mean, mean, rel_tol=1e-9, abs_tol=1e-12) else math.copysign(math.inf, difference)
    )


def _span(values: Iterable[float]) -> str:
    low, high = min(values), max(values)
    return f"{low:g}" if low == high else f"{low:g}..{high:g}"
