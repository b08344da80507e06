"""The interactive figure of accuracy against memory: a line for each family of methods, and the frontier."""

from __future__ import annotations

import math
from collections import defaultdict
from pathlib import Path

from ebbing.paper._output import protocol_title
from ebbing.paper.figures.frontier import LOOK, accuracy_limits, setting
from ebbing.paper.frontier_points import FINE_TUNING, Point, family, pareto
from ebbing.report._panels import Figure, Panels, read_rows, standard_error

_SYMBOLS = {
    "copies": "circle",
    "low-rank": "square",
    "GPM": "triangle-up",
    "TRGP": "triangle-down",
    "TRGP+": "cross",
    "TRGP free": "diamond",
}

_FRONTIER = "#80808066"
"""Gray that lets the grid shine through, on light pages and on dark ones."""

_TICKS = tuple(digit * 10.0**power for power in range(-4, 5) for digit in (1, 3))


def frontier_figure(file: Path) -> Figure:
    """Return accuracy against the memory that each task adds, a panel for each protocol, if runs are finished."""
    protocols = {name: found for name, found in _points(file).items() if any(p.name != FINE_TUNING for p in found)}
    if not protocols:  # of fine-tuning alone, there is no memory to compare
        return {}
    grid = Panels(
        [protocol_title(name) for name in protocols],
        columns=min(3, len(protocols)),
        xlabel="MB that a task adds",
        xtype="log",
    )
    for panel, found in enumerate(protocols.values()):
        sizes = [point.memory for point in found if point.name != FINE_TUNING]
        low, high = min(sizes) / 1.3, max(sizes) * 1.3
        front = pareto(found)
        steps = [max(point.memory, low) for point in front]
        heights = [*(point.mean for point in front), front[-1].mean]
        grid.line(panel, [*steps, high], heights, _FRONTIER, name="frontier", named=True, shape="hv", width=6)
        for name, (color, _, label) in LOOK.items():
            mine = [point for point in found if family(point.name) == name]
            if mine and name == FINE_TUNING:  # without memory, it has no place on a logarithmic axis
                grid.line(panel, [low, high], 2 * [mine[0].mean], color, name=label, dash="dash", named=True)
            elif mine:
                grid.points(
                    panel,
                    [point.memory for point in mine],
                    [point.mean for point in mine],
                    [standard_error([*point.accuracy.values()]) for point in mine],
                    color,
                    name=label,
                    symbol=_SYMBOLS[name],
                    mode="lines+markers",
                    texts=[f"{setting(point) or 'published'}, {_seeds(point)}" for point in mine],
                )
        grid.axis(panel, "x", range=[math.log10(low), math.log10(high)], tickvals=_TICKS, dtick=None)
        grid.axis(panel, "y", title={"text": "ACC (%)"}, range=accuracy_limits(found))
    return grid.figure(height=330 * math.ceil(len(protocols) / 3) + 90)


def _points(file: Path) -> dict[str, list[Point]]:
    """The settings by protocol, each by increasing memory."""
    accuracies: dict[tuple[str, str], dict[int, float]] = defaultdict(dict)
    memory: dict[tuple[str, str], list[float]] = defaultdict(list)
    for row in read_rows(file.with_suffix(".csv")):
        if row["ACC"] and row["bytes_per_task"]:
            key = row["protocol"], row["method"]
            accuracies[key][int(row["seed"])] = float(row["ACC"])
            memory[key].append(float(row["bytes_per_task"]) / 1e6)
    found: dict[str, list[Point]] = defaultdict(list)
    for (protocol, name), by_seed in accuracies.items():
        sizes = memory[protocol, name]
        found[protocol].append(Point(name, sum(sizes) / len(sizes), math.nan, by_seed))
    return {protocol: sorted(points, key=lambda point: point.memory) for protocol, points in found.items()}


def _seeds(point: Point) -> str:
    return f"{len(point.accuracy)} seed{'s' * (len(point.accuracy) > 1)}"
