"""The files of a comparison of ordering rules, with every number."""

from __future__ import annotations

from pathlib import Path

from ebbing.paper._output import write_csv, write_json
from ebbing.paper.rule_comparison import Result


def save(result: Result, folder: Path) -> None:
    """Write the mean losses as rules.csv, and these with verdicts and provenance as rules.json.

    Args:
        result: What to write.
        folder: The folder of the files.
    """
    cells = [vars(cell) for cell in result.cells if cell.instances > 1]
    write_csv(folder / "rules.csv", list(cells[0]), [list(cell.values()) for cell in cells])
    content = {
        "provenance": result.provenance,
        "unproved": int((~result.proved).sum()),
        "verdicts": [vars(verdict) for verdict in result.verdicts()],
        "cells": cells,
    }
    write_json(folder / "rules.json", content)
