"""Interactive figures of predicted against measured forgetting: of Figure 2 by the linear theory, and of forecasts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ebbing.plot._style import GRAY, LINE_COLORS
from ebbing.report._panels import SYMBOLS, Figure, Panels, read_json, read_rows

_SHOWN = 0.5  # the r = 1 - n/p that is shown at first; the others are a click on the legend away
_TITLES = {"a": "two tasks", "b": "four tasks", "c": "one special task", "d": "two categories"}


def fig2_theory_figure(file: Path) -> Figure | None:
    """Return Figure 2 against the linear theory: a point for each sequence, a color for each r = 1 - n/p.

    Args:
        file: fig2.json or fig2_quick.json; the predictions stand beside it.

    Returns:
        The figure; None if the run has no predictions.
    """
    data = file.with_name(f"{file.stem}_theory.csv")
    if not data.exists():
        return None
    rows = read_rows(data)
    panels = list(dict.fromkeys(row["panel"] for row in rows))
    correlations = {row["panel"]: float(row["rank_correlation"]) for row in rows if float(row["r"]) == _SHOWN}
    titles = [f"({key}) {_TITLES[key]}: rank correlation {correlations[key]:+.2f}" for key in panels]
    grid = Panels(titles, columns=2, xlabel="predicted forgetting")
    for index, r in enumerate(sorted({float(row["r"]) for row in rows})):
        for panel, key in enumerate(panels):
            mine = [row for row in rows if row["panel"] == key and float(row["r"]) == r]
            grid.points(
                panel,
                [float(row["predicted"]) for row in mine],
                [float(row["measured"]) for row in mine],
                [float(row["standard_error"]) if row["standard_error"] else None for row in mine],
                LINE_COLORS[index],
                name=f"r = {r:g}",
                symbol=SYMBOLS[index],
                texts=[f"{row['setup']}: {row['sequence']}, {row['seeds']} seeds" for row in mine],
                hidden=r != _SHOWN,
            )
    for panel in range(len(panels)):
        grid.axis(panel, title={"text": "measured forgetting"})
    return grid.figure(height=640)


def forecast_figure(file: Path) -> Figure:
    """Return forecasts against training: a panel for each task set, a point for each order."""
    found = [(one, variant) for one in read_json(file)["sets"] if (variant := _advised_variant(one))]
    titles = [f"{one['set']}: {one['scores'][variant]['rank_correlation']:.2f}" for one, variant in found]
    grid = Panels(titles, columns=min(4, len(found)), xlabel="predicted forgetting")
    for panel, (one, variant) in enumerate(found):
        predicted, measured = one["predicted"][variant], one["forgetting"]
        means = [sum(values) / len(values) for values in measured]
        advised = min(range(len(predicted)), key=predicted.__getitem__)
        low, high = min(*predicted, *means), max(*predicted, *means)
        grid.line(panel, [low, high], [low, high], GRAY, name="as predicted")
        for name, members in (
            ("an order", [k for k in range(len(predicted)) if k != advised]),
            ("the order that the forecast advises", [advised]),
        ):
            grid.points(
                panel,
                [predicted[k] for k in members],
                [means[k] for k in members],
                [max(measured[k]) - means[k] if len(measured[k]) > 1 else None for k in members],
                LINE_COLORS[members == [advised]],
                name=name,
                symbol=SYMBOLS[2 * (members == [advised])],
                texts=[f"{one['orders'][k]}<br>seeds: {_listed(measured[k])}" for k in members],
            )
    for panel in range(0, len(found), 4):
        grid.axis(panel, title={"text": "measured"})
    return grid.figure(height=250 * -(-len(found) // 4))


def _listed(values: list[float]) -> str:
    return ", ".join(f"{value:.3g}" for value in values)


def _advised_variant(one: dict[str, Any]) -> str | None:
    """Return the forecast of a task set that the documentation advises: the one with the advised one's scores."""
    advised = one["scores"].get("as the documentation advises")
    return next((name for name in one["predicted"] if one["scores"].get(name) == advised), None)
