"""Names of users in figures: any script, any character, no warning of matplotlib."""

import warnings

import pytest

from ebbing import Problem, expect
from ebbing.plot._axes import plain_label, plain_labels


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


def test_long_names_keep_their_beginning_and_end():
    name = "a quite long task name about subject 7"
    label = plain_label(name)
    assert len(label) == 24
    begin, end = label.split("…")
    assert name.startswith(begin)
    assert name.endswith(end)
    assert abs(len(begin) - len(end)) <= 1
    assert plain_label("x" * 24) == "x" * 24


def test_labels_of_different_names_differ():
    names = [f"{'begin ' * 4}{k}{' end' * 6}" for k in range(12)] + ["short", "短", "猫"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the font lacks two of them
        labels = plain_labels(names)
    assert len(set(labels)) == len(names)
    assert labels[12] == "short"
    assert plain_labels(["same", "same"]) == ["same", "same"]  # a task that is learned twice
