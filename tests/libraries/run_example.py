"""Run a program of examples/ in this process, whose libraries are imported already."""

import re
import runpy
import sys
import textwrap
from pathlib import Path

EXAMPLES = Path(__file__).parents[2] / "examples"


def run_example(monkeypatch, capsys, name, *arguments):
    """Return what the program prints, and the forgetting and accuracy of each method that it names."""
    monkeypatch.setattr(sys, "argv", [name, *arguments])
    runpy.run_path(str(EXAMPLES / name), run_name="__main__")
    printed = capsys.readouterr().out
    lines = re.findall(r"^(.*): forgetting (.*), accuracy (.*)$", printed, re.MULTILINE)
    return printed, {method: (float(forgetting), float(accuracy)) for method, forgetting, accuracy in lines}


def code_blocks(heading, indent=""):
    """Return the programs below a heading of the page on integrations, which readers paste; "" for its beginning."""
    page = (EXAMPLES.parent / "docs" / "howto" / "integrations.md").read_text(encoding="utf-8")
    begin = rf"^## {heading}\n" if heading else r"\A"
    (section,) = re.findall(rf"{begin}(.*?)(?=^## )", page, re.MULTILINE | re.DOTALL)
    found = re.findall(rf"^{indent}```python\n(.*?)^{indent}```", section, re.MULTILINE | re.DOTALL)
    return [textwrap.dedent(block) for block in found]
