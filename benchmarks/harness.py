"""Tools of the benchmarks: timing, comparison with a target, and the table of results.

Every benchmark first checks that the compared programs give equal results. Then it takes the fastest of several
repetitions, and reports ratios of times measured in the same run.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Row:
    """A row of the table of results; a target of "-" is no target."""

    what: str
    measured: str
    target: str
    met: bool


def seconds(work: Callable[[], object], repeat: int = 5) -> float:
    """Return the time of the fastest of `repeat` calls: noise on a shared machine only adds time."""
    best = float("inf")
    for _ in range(repeat):
        began = time.perf_counter()
        work()
        best = min(best, time.perf_counter() - began)
    return best


def at_least(what: str, ratio: float, target: float) -> Row:
    """Return the row of a speedup that should reach a target."""
    return Row(what, f"{ratio:,.0f}x" if ratio >= 10 else f"{ratio:.2f}x", f">= {target:,g}x", bool(ratio >= target))


def at_most(what: str, value: float, target: float, unit: str = "") -> Row:
    """Return the row of a cost that should not exceed a target."""
    return Row(what, f"{value:.3g}{unit}", f"<= {target:g}{unit}", bool(value <= target))


def markdown(rows: list[Row]) -> str:
    """Return the table of results in Markdown."""
    lines = ["| what | measured | target | |", "|---|---|---|---|"]
    for r in rows:
        verdict = "" if r.target == "-" else "met" if r.met else "**missed**"
        lines.append(f"| {r.what} | {r.measured} | {r.target} | {verdict} |")
    return "\n".join(lines) + "\n"
