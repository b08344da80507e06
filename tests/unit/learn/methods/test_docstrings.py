"""Docstrings of methods: `help` of a method explains all its settings, inherited ones too."""

import inspect
import re
from dataclasses import fields, is_dataclass

import pytest

from ebbing.learn import methods

METHODS = {name: kind for name in methods.__all__ if is_dataclass(kind := getattr(methods, name))}


def documented(kind) -> list[str]:
    """Return the names under "Attributes:" in the docstring of the class itself, in order."""
    attributes = inspect.cleandoc(kind.__doc__ or "").partition("Attributes:\n")[2].partition("\n\n")[0]
    return re.findall(r"^ {4}(\w+): \w", attributes, re.MULTILINE)


def test_all_methods_are_found():
    assert {"Sgd", "FineTuning", "Copies", "LowRank", "Gpm", "Trgp", "TrgpPlus", "TrgpFree"} <= set(METHODS)


@pytest.mark.parametrize("name", METHODS)
def test_docstring_explains_every_setting_first(name):
    settings, names = [field.name for field in fields(METHODS[name])], documented(METHODS[name])
    assert names[: len(settings)] == settings
    assert set(names[len(settings) :]) <= {"identifier", "version"}
