"""How benchmarks are measured: equality first, then the best of several repetitions, ratios within one run."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Row:
    what: str
    measured: str
    target: str
    met: bool


def seconds(work: Callable[[], object], repeat: int = 5) -> float:
    """The fastest of `repeat` calls: noise on a shared machine only ever adds."""
    best = float("inf")
    for _ in range(repeat):
        began = time.perf_counter()
        work()
        best = min(best, time.perf_counter() - began)
    return best


def at_least(what: str, ratio: float, target: float) -> Row:
    return Row(what, f"{ratio:,.0f}x" if ratio >= 10 else f"{ratio:.2f}x", f">= {target:,g}x", bool(ratio >= target))


def at_most(what: str, value: float, target: float, unit: str = "") -> Row:
    return Row(what, f"{value:.3g}{unit}", f"<= {target:g}{unit}", bool(value <= target))


def markdown(rows: list[Row]) -> str:
    lines = ["| what | measured | target | |", "|---|---|---|---|"]
    for r in rows:
        verdict = "" if r.target == "-" else "met" if r.met else "**missed**"
        lines.append(f"| {r.what} | {r.measured} | {r.target} | {verdict} |")
    return "\n".join(lines) + "\n"
