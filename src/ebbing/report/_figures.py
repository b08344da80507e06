"""Interactive figures as plain data that plotly draws: traces and a layout."""

from __future__ import annotations

import math
from collections import defaultdict
from pathlib import Path

from ebbing.paper._output import protocol_title
from ebbing.plot._style import LINE_COLORS
from ebbing.report._panels import SYMBOLS, Figure, Panels, read_json, read_rows, standard_error


def fig1_figure(file: Path) -> Figure:
    """Return Figure 1: forgetting and generalization error against p, theory and simulation."""
    content = read_json(file)
    titles = {
        "a": "(a) forgetting, identical tasks",
        "b": "(b) forgetting, orthogonal tasks",
        "c": "(c) generalization error, identical tasks",
        "d": "(d) generalization error, orthogonal tasks",
    }
    grid = Panels(list(titles.values()), columns=2, xlabel="number of parameters p", xtype="log")
    sigmas = sorted({curve["sigma"] for curve in content["curves"]}, reverse=True)
    for curve in content["curves"]:
        panel, color = [*titles].index(curve["panel"]), LINE_COLORS[sigmas.index(curve["sigma"])]
        name = f"σ = {curve['sigma']:g}"
        grid.line(panel, curve["p"], curve["mean"], color, name=name)
    for sigma in sigmas:
        for panel, key in enumerate(titles):
            marks = [m for m in content["markers"] if m["panel"] == key and m["sigma"] == sigma]
            grid.points(
                panel,
                [m["p"] for m in marks],
                [m["mean"] for m in marks],
                [m["standard_error"] for m in marks],
                LINE_COLORS[sigmas.index(sigma)],
                name=f"σ = {sigma:g}",
                symbol=SYMBOLS[sigmas.index(sigma)],
                texts=[f"theory {m['theory']:.4g}, z = {m['z']:+.2f}" if m["z"] is not None else "" for m in marks],
            )
    markers = content["markers"]
    for panel, key in enumerate(titles):
        shown = [m["mean"] for m in markers if m["panel"] == key]
        if key in "cd":
            grid.axis(panel, type="log", dtick=1)
        else:
            low, high = min(shown), max(shown)
            grid.axis(panel, range=[low - 0.2 * (high - low), high + 0.2 * (high - low)])
    return grid.figure(height=720)


def rules_figure(file: Path) -> Figure:
    """Return the comparison of simple rules with the proved optimum."""
    cells = read_json(file)["cells"]
    ensembles = list(dict.fromkeys(cell["ensemble"] for cell in cells))
    rules = [rule for rule in dict.fromkeys(cell["rule"] for cell in cells) if rule != "random"]  # random: 1
    grid = Panels([f"forgetting: {name}" for name in ensembles] + [f"error: {name}" for name in ensembles],
                 columns=len(ensembles), xlabel="r = 1 − n/p")  # fmt: skip
    quantities = list(dict.fromkeys(cell["quantity"] for cell in cells))
    for index, rule in enumerate(rules):
        for row, quantity in enumerate(quantities):
            for column, ensemble in enumerate(ensembles):
                mine = [c for c in cells if (c["quantity"], c["ensemble"], c["rule"]) == (quantity, ensemble, rule)]
                grid.points(
                    row * len(ensembles) + column,
                    [c["r"] for c in mine],
                    [c["mean"] for c in mine],
                    [c["standard_error"] for c in mine],
                    LINE_COLORS[index % len(LINE_COLORS)],
                    name=rule.replace("_", " "),
                    symbol=SYMBOLS[index % len(SYMBOLS)],
                    mode="lines+markers",
                )
    return grid.figure(height=640)


def fig2_figure(file: Path) -> Figure:
    """Return Figure 2: what networks forget, by setup."""
    rows = read_rows(file.with_suffix(".csv"))
    panels = {
        "a": ("(a) two tasks", "digits in common"),
        "b": ("(b) four tasks", "digits that tasks 1 and 2 share"),
        "c": ("(c) one special task", "its place"),
        "d": ("(d) two categories", "order"),
    }
    grid = Panels([title for title, _ in panels.values()], columns=2, xlabel="")
    for panel, (key, (_, label)) in enumerate(panels.items()):
        setups = list(dict.fromkeys(row["setup"] for row in rows if row["panel"] == key))
        for index, setup in enumerate(setups):
            values: dict[str, list[float]] = defaultdict(list)
            sequences: dict[str, str] = {}
            for row in rows:
                if (row["panel"], row["setup"]) == (key, setup):
                    values[row["x"]].append(float(row["forgetting"]))
                    sequences[row["x"]] = row["sequence"]
            grid.points(
                panel,
                [_mark(key, x, sequences[x]) for x in values],
                [sum(v) / len(v) for v in values.values()],
                [standard_error(v) for v in values.values()],
                LINE_COLORS[index],
                name=setup.replace("forgetting_", "setup ").replace("forgetting", "the setup of (a)"),
                symbol=SYMBOLS[index],
                mode="lines+markers",
                texts=[f"{sequences[x]}: {len(values[x])} seeds" for x in values],
            )
        grid.axis(panel, "x", title={"text": label, "standoff": 4}, type="category")
        grid.axis(panel, "y", title={"text": "forgetting"})
    return grid.figure(height=720)


def _mark(panel: str, x: str, sequence: str) -> str:
    """Return a sequence's mark on the horizontal axis: digits in common, a place, or an order such as ABBA."""
    if panel == "c":
        return str(int(x) + 1)
    if panel != "d":
        return x
    tasks = sequence.split()
    letters = dict(zip(sorted(set(tasks), reverse=True), "AB", strict=False))
    return "".join(letters[task] for task in tasks)


def methods_figure(file: Path) -> Figure:
    """Return accuracy against memory per task, by method and protocol."""
    rows = [row for row in read_rows(file.with_suffix(".csv")) if row["ACC"]]
    protocols = list(dict.fromkeys(row["protocol"] for row in rows))
    methods = list(dict.fromkeys(row["method"] for row in rows))
    grid = Panels(
        [protocol_title(name) for name in protocols], columns=min(3, len(protocols)), xlabel="MB that a task adds"
    )
    for index, method in enumerate(methods):
        for panel, protocol in enumerate(protocols):
            mine = [row for row in rows if (row["protocol"], row["method"]) == (protocol, method)]
            if not mine:
                continue
            accuracies = [float(row["ACC"]) for row in mine]
            memory = [float(row["bytes_per_task"]) / 1e6 for row in mine if row["bytes_per_task"]]
            grid.points(
                panel,
                [sum(memory) / len(memory) if memory else None],
                [sum(accuracies) / len(accuracies)],
                [standard_error(accuracies)],
                LINE_COLORS[index % len(LINE_COLORS)],
                name=method,
                symbol=SYMBOLS[(index // len(LINE_COLORS) + index) % len(SYMBOLS)],
                texts=[f"{len(accuracies)} seed{'s' * (len(accuracies) > 1)}"],
            )
    for panel, protocol in enumerate(protocols):
        accuracies = [float(row["ACC"]) for row in rows if row["protocol"] == protocol]
        low, high = min(accuracies), max(accuracies)
        low = max(low, high - 12)  # fine-tuning may be far below: zoom out to see it
        grid.axis(panel, title={"text": "ACC (%)"}, range=[low - 0.1 * (high - low), high + 0.1 * (high - low)])
    return grid.figure(height=330 * math.ceil(len(protocols) / 3) + 90)


def sensitivity_figure(file: Path) -> Figure:
    """Return Figure 2 under other choices: a line for each variant."""
    rows = read_rows(file.with_suffix(".csv"))
    titles = {"a": "(a) two tasks", "b": "(b) four tasks", "d": "(d) two categories"}
    panels = [key for key in titles if any(row["panel"] == key for row in rows)]
    grid = Panels([titles[key] for key in panels], columns=len(panels), xlabel="")
    for index, variant in enumerate(dict.fromkeys(row["variant"] for row in rows)):
        for panel, key in enumerate(panels):
            values: dict[str, list[float]] = defaultdict(list)
            for row in rows:
                if (row["variant"], row["panel"]) == (variant, key):
                    values[row["mark"]].append(float(row["forgetting"]))
            grid.points(
                panel,
                list(values),
                [sum(v) / len(v) for v in values.values()],
                [standard_error(v) for v in values.values()],
                LINE_COLORS[index % len(LINE_COLORS)],
                name=variant,
                symbol=SYMBOLS[index % len(SYMBOLS)],
                mode="lines+markers",
                texts=[f"{len(v)} seeds" for v in values.values()],
            )
    for panel, key in enumerate(panels):
        label = "order" if key == "d" else "digits in common"
        grid.axis(panel, "x", title={"text": label, "standoff": 4}, type="category")
        grid.axis(panel, "y", title={"text": "forgetting"})
    return grid.figure(height=400)
