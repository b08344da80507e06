"""The report of a comparison of ordering rules: a table as text, and files with every number."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np

from ebbing.paper._output import write_csv, write_json
from ebbing.paper.rule_comparison import QUANTITIES, Result, format_loss


def save(result: Result, folder: Path) -> list[Path]:
    """Write rules.png, rules.svg, the mean losses as rules.csv, and these with verdicts and provenance as rules.json.

    Args:
        result: What to write.
        folder: The folder of the files.

    Returns:
        The paths of the four files.
    """
    from ebbing.plot.rule_comparison import save_rule_comparison

    save_rule_comparison(result, folder)
    cells = [vars(cell) for cell in result.cells if cell.instances > 1]
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
    """Return a table of the loss of each rule and of the share of problems on which it is optimal.

    Args:
        result: The losses.

    Returns:
        One block of lines for each quantity and ensemble.

    Example:
        >>> from ebbing.paper.rule_comparison import Config, run
        >>> print(to_text(run(Config(T=5, r=(0.5,), instances=3, ensembles=("on a line",)))).splitlines()[0])
        forgetting, on a line           r = 0.5         optimal
    """
    text, header = "", "".join(f"r = {r:<12g}" for r in result.config.r)
    for kind in itertools.product(QUANTITIES, result.config.ensembles):
        text += f"{', '.join(kind):<32}{header}optimal\n"
        for rule in result.rules:
            row = result.row(*kind, rule)
            losses = "".join(f"{format_loss(cell):<16}" for cell in row)
            text += f"  {rule:<30}{losses}{np.mean([cell.optimal for cell in row]):.0%}\n"
        text += "\n"
    return text
