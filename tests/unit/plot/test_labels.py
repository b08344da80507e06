"""Names of users in figures: any script, any character, no warning of matplotlib."""

import warnings

import pytest

from ebbing import Problem, expect
from ebbing.plot._axes import plain_label


def test_characters_that_no_font_has_become_squares():
    names = ["猫", "dog", "\x1b[31m", "$x$", "é"]
    e = expect(Problem.orthogonal(5, n=50, p=100, names=names))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        ax = e.plot()
        ax.figure.canvas.draw()
    assert {str(w.message).split(",")[0] for w in caught} == {"the font of matplotlib lacks some characters of names"}
    legend = ax.get_legend()
    assert legend is not None
    assert [text.get_text() for text in legend.get_texts()] == ["□", "dog", r"\x1b[31m", r"\$x\$", "é"]


@pytest.mark.parametrize("name", ["é", "σ", "Größe", "Привет"])
def test_characters_of_the_default_font_stay(name):
    assert plain_label(name) == name
