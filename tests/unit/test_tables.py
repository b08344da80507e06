"""Tables as text, HTML and frames, whatever the cells hold."""

import math
import sys

import numpy as np
import pytest

from ebbing._pages import Page
from ebbing._tables import MAX_ROWS, Table, Tabular, abridged_rows, escape_control, format_number, to_frame


@pytest.mark.parametrize(
    ("value", "spec", "text"),
    [
        (-0.0, ".6g", "0"),
        (-1e-9, ".2f", "0.00"),
        (-1e-9, "+.2f", "0.00"),
        (-0.5, "+.2f", "-0.50"),
        (0.5, "+.2f", "+0.50"),
        (np.float64(-1e-9), ".6g", "-1e-09"),
        (math.inf, ".6g", "infinite"),
        (math.nan, ".6g", "-"),
    ],
)
def test_format_number(value, spec, text):
    assert format_number(value, spec) == text


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("tâche 1 日本", "tâche 1 日本"),
        ("a\nb\tc", "a\\nb\\tc"),
        ("\x1b[31mred", "\\x1b[31mred"),
        ("\x9b31m", "\\x9b31m"),
        ("\u202eevil\u2066", "\\u202eevil\\u2066"),
        ("\u2028line", "\\u2028line"),
        ("\ud800", "\\ud800"),
    ],
)
def test_control_characters_are_escaped(name, shown):
    assert escape_control(name) == shown
    for text in (
        Table(notes=[name]).to_text(),
        Table("", ["task"], [[name]]).to_text(),
        Table("", ["task"], [[name]]).to_html(),
    ):
        assert shown in text
        text.encode()


def test_columns_are_aligned():
    text = Table("Title", ["task", "error"], [["a", "1"], ["longer", "0.25"]], ["A note."]).to_text()
    assert text.split("\n") == ["Title", "", "task    error", "a           1", "longer   0.25", "A note."]


def test_wide_characters_take_two_columns():
    lines = Table("", ["task", "error"], [["日本", "1"], ["é", "2"], ["e\u0301", "3"]]).to_text().split("\n")
    assert lines == ["task  error", "日本      1", "é         2", "e\u0301         3"]


def test_wide_columns_of_text_wrap_and_numbers_do_not():
    long = " > ".join(f"task {i}" for i in range(40))
    text = Table(long, ["forgetting", "order"], [["1.23456", long], ["2", "x" * 200]], [long], left=(1,)).to_text()
    assert max(map(len, text.split("\n"))) <= 100
    assert "1.23456" in text
    assert " ".join(text.split()).count("task 39") == 3
    assert "".join(text.split()).count("x" * 200) == 1


def test_spaces_within_a_name_stay():
    assert "a  b" in Table("", ["task"], [["a  b"]]).to_text()


def test_indented_paragraphs_keep_their_indent():
    lines = Table("Order:\n  " + "task " * 40).to_text().split("\n")
    assert len(lines) > 2
    assert all(line.startswith("  task") for line in lines[1:])


def test_html_escapes_the_text_of_users():
    page = Table("<b>title", ["<th>"], [["<script>alert(1)</script>&"]], ["a < b"]).to_html()
    assert "<script>" not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;&amp;" in page
    assert "<b>" not in page
    assert "a &lt; b" in page


def test_results_show_all_their_tables():
    class Two(Tabular):
        def _tables(self):
            return Table("one"), Table("two")

        def _page(self):
            return Page("Two")

        def to_frame(self):
            return to_frame({})

    assert Two().summary() == "one\n\ntwo"
    assert "<p>one</p>\n<p>two</p>" in Two()._repr_html_()


@pytest.mark.parametrize("size", [0, 1, MAX_ROWS, MAX_ROWS + 1, 1000])
def test_abridged_rows(size):
    rows = abridged_rows(size, lambda i: [f"task {i}", "1"])
    assert len(rows) == min(size, MAX_ROWS + 1)
    if size > MAX_ROWS:
        assert rows[-2] == [f"... {size - MAX_ROWS} more", ""]
        assert rows[-1][0] == f"task {size - 1}"


def test_frames_need_pandas(monkeypatch):
    assert to_frame({"a": [1, 2]}).shape == (2, 1)
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match=r"to_frame\(\) needs pandas, .* pip install 'ebbing\[frames\]'"):
        to_frame({"a": [1, 2]})


def test_long_words_may_break_in_a_page():
    page = Table(title="<" * 45 + " and b").to_html()
    assert page == "<p>" + "<wbr>".join(["&lt;" * 20, "&lt;" * 20, "&lt;" * 5]) + " and b</p>"
    assert "<wbr>" not in Table(title="a<b" * 13).to_html()
