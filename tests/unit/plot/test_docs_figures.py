"""The figures of the documentation: `make docs` draws them again and must leave a clean checkout clean."""

import runpy
from pathlib import Path

import pytest

FIGURES = Path(__file__).parents[3] / "docs" / "figures"
SCRIPTS = sorted(FIGURES.glob("*.py"))


def test_a_figure_that_needs_no_training_is_drawn_byte_for_byte(tmp_path):
    runpy.run_path(str(FIGURES / "error_matrix.py"))["draw"](tmp_path / "error_matrix.svg")
    assert (tmp_path / "error_matrix.svg").read_bytes() == (FIGURES / "error_matrix.svg").read_bytes()


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_scripts_do_not_leave_names_to_matplotlib(script):
    assert "savefig(" not in script.read_text()  # its names are hashes; `write_figure` numbers them
    assert script.with_suffix(".svg").exists()
