"""Run a program of examples/ in this process, whose libraries are imported already."""

import re
import runpy
import sys
from pathlib import Path

EXAMPLES = Path(__file__).parents[2] / "examples"


def run_example(monkeypatch, capsys, name, *arguments):
    """Return what the program prints, and the forgetting and accuracy of each method that it names."""
    monkeypatch.setattr(sys, "argv", [name, *arguments])
    runpy.run_path(str(EXAMPLES / name), run_name="__main__")
    printed = capsys.readouterr().out
    lines = re.findall(r"^(.*): forgetting (.*), accuracy (.*)$", printed, re.MULTILINE)
    return printed, {method: (float(forgetting), float(accuracy)) for method, forgetting, accuracy in lines}
