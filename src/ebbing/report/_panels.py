"""Panels of an interactive figure in rows and columns, as plain data that plotly draws, and the files they show."""

from __future__ import annotations

import csv
import json
import math
from pathlib import Path
from typing import Any

SYMBOLS = ("circle", "square", "diamond", "triangle-up", "x", "triangle-down", "cross", "star")

Figure = dict[str, Any]
"""Traces and layout of a figure, as plotly takes them."""


def read_json(file: Path) -> dict[str, Any]:
    """Return the content of a JSON file that a target wrote; a `ValueError` names a file that is damaged."""
    try:
        content = json.loads(file.read_text("utf-8"))
        if not isinstance(content, dict):
            raise ValueError(f"it has a {type(content).__name__} where names and values should be")
    except ValueError as error:
        raise ValueError(
            f"{file}: not as a reproduction wrote it ({error}); restore it from version control, or reproduce its "
            "target again"
        ) from None
    return content


def read_rows(file: Path) -> list[dict[str, str]]:
    """Return the rows of a CSV file by column."""
    with file.open(newline="", encoding="utf-8") as stream:
        return list(csv.DictReader(stream))


def standard_error(values: list[float]) -> float | None:
    """Return the standard error of a mean; None for a single value."""
    if len(values) < 2:
        return None
    mean = sum(values) / len(values)
    return math.sqrt(sum((v - mean) ** 2 for v in values) / (len(values) - 1) / len(values))


class Panels:
    """Panels in rows and columns that share a legend."""

    def __init__(self, titles: list[str], columns: int, xlabel: str, xtype: str = "-") -> None:
        self.traces: list[dict[str, Any]] = []
        self._named: set[str] = set()
        rows = math.ceil(len(titles) / columns)
        self.layout: dict[str, Any] = {
            "annotations": [],
            "legend": {"orientation": "h", "yref": "container", "y": 0.01, "yanchor": "bottom"},
            "margin": {"l": 60, "r": 20, "t": 40},
            "hovermode": "closest",
        }
        wide, high = 1 / columns, 1 / rows
        for panel, title in enumerate(titles):
            row, column = divmod(panel, columns)
            left, right = column * wide + 0.03 * (column > 0), (column + 1) * wide - 0.02
            top, bottom = 1 - high * (row + 0.06 * (row > 0)), 1 - high * (row + 1 - 0.18 * (row < rows - 1))
            self.layout[self._key(panel, "x")] = {
                "domain": [left, right], "anchor": self._ref(panel, "y"), "type": xtype,
                "title": {"text": xlabel if row == rows - 1 else "", "standoff": 8}, "zeroline": False,
            }  # fmt: skip
            if xtype == "log":
                self.layout[self._key(panel, "x")]["dtick"] = 1
            self.layout[self._key(panel, "y")] = {
                "domain": [bottom, top], "anchor": self._ref(panel, "x"), "zeroline": False,
            }  # fmt: skip
            self.layout["annotations"].append({
                "text": title, "x": left, "y": top, "xref": "paper", "yref": "paper", "xanchor": "left",
                "yanchor": "bottom", "showarrow": False, "font": {"size": 13},
            })  # fmt: skip

    def line(
        self,
        panel: int,
        x: list[Any],
        y: list[Any],
        color: str,
        *,
        name: str,
        named: bool = False,
        **look: Any,
    ) -> None:
        """Add a line; it is `named` in the legend if no points of its name are."""
        shown = named and name not in self._named
        self._named |= {name} if named else set()
        self._add(panel, {"x": x, "y": y, "mode": "lines", "line": {"color": color, "width": 1.6} | look, "name": name,
                          "legendgroup": name, "showlegend": shown, "hoverinfo": "skip"})  # fmt: skip

    def points(
        self,
        panel: int,
        x: list[Any],
        y: list[Any],
        error: list[float | None],
        color: str,
        *,
        name: str,
        symbol: str,
        mode: str = "markers",
        texts: list[str] | None = None,
        hidden: bool = False,
    ) -> None:
        shown = name not in self._named
        self._named.add(name)
        safe = name.replace("&", "&amp;").replace("<", "&lt;")
        place = "%{x:.4g}" if all(isinstance(value, float | int) for value in x) else "%{x}"
        self._add(panel, {
            "x": x, "y": y, "mode": mode, "name": safe, "legendgroup": name, "showlegend": shown,
            "marker": {"color": color, "symbol": symbol, "size": 8}, "line": {"color": color, "width": 1.4},
            "error_y": {"type": "data", "array": error, "color": color, "thickness": 1.2, "width": 3},
            "visible": "legendonly" if hidden else True,
            "text": texts or [""] * len(x),
            "customdata": ["" if e is None else f" ± {e:.2g}" for e in error],
            "hovertemplate": f"%{{y:.4g}}%{{customdata}}<br>at {place}<br>%{{text}}<extra>{safe}</extra>",
        })  # fmt: skip

    def axis(self, panel: int, letter: str = "y", **settings: Any) -> None:
        self.layout[self._key(panel, letter)] |= settings

    def figure(self, height: int) -> Figure:
        lines = math.ceil(sum(60 + 8 * len(name) for name in self._named) / 1000)  # of the legend
        margin = self.layout["margin"] | {"b": 62 + 26 * lines}
        return {"data": self.traces, "layout": self.layout | {"height": height + 26 * lines, "margin": margin}}

    def _add(self, panel: int, trace: dict[str, Any]) -> None:
        self.traces.append({"type": "scatter", "xaxis": self._ref(panel, "x"), "yaxis": self._ref(panel, "y")} | trace)

    @staticmethod
    def _key(panel: int, letter: str) -> str:
        return f"{letter}axis{panel + 1 if panel else ''}"

    @staticmethod
    def _ref(panel: int, letter: str) -> str:
        return f"{letter}{panel + 1 if panel else ''}"
