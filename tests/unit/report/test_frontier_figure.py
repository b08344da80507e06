"""The interactive figure of accuracy against memory."""

import csv
from pathlib import Path

import pytest

from ebbing.report._frontier_figure import frontier_figure

ROWS = """protocol,method,seed,ACC,BWT,bytes_per_task
pmnist short,fine-tuning,0,60.0,-30.0,7.0
pmnist short,"copies, width 0.5",0,90.0,0.0,100000
pmnist short,"copies, width 0.5",1,92.0,0.0,100000
pmnist short,copies,0,94.0,0.0,400000
pmnist short,TRGP free,0,93.0,0.0,300000
pmnist short,"TRGP free, 90%",0,89.0,0.0,200000
cifar100 short,copies,0,54.0,0.0,3000000
cifar100 short,GPM,0,,,
"""


@pytest.fixture
def figure(tmp_path):
    (tmp_path / "frontier.csv").write_text(ROWS)
    return frontier_figure(tmp_path / "frontier.json")


def traces(figure, axis, name):
    return [trace for trace in figure["data"] if trace["xaxis"] == axis and trace["name"] == name]


def test_a_line_joins_the_settings_of_a_method(figure):
    (copies,) = traces(figure, "x", "copies (width)")
    assert copies["x"] == pytest.approx([0.1, 0.4])
    assert copies["y"] == pytest.approx([91.0, 94.0])
    assert copies["error_y"]["array"] == [pytest.approx(1.0), None]
    assert copies["text"] == ["0.5, 2 seeds", "1, 1 seed"]
    (free,) = traces(figure, "x", "TRGP free (threshold)")
    assert free["text"] == ["90%, 1 seed", "published, 1 seed"]
    assert not [trace for trace in figure["data"] if trace["name"].startswith("GPM")], "it has no finished run"


def test_the_frontier_rises_with_the_memory(figure):
    (frontier,) = traces(figure, "x", "frontier")
    assert frontier["y"] == pytest.approx([60.0, 91.0, 93.0, 94.0, 94.0])
    assert frontier["x"] == sorted(frontier["x"])
    assert frontier["x"][1:4] == pytest.approx([0.1, 0.3, 0.4])
    assert frontier["line"]["shape"] == "hv"


def test_fine_tuning_is_a_level_across_the_panel(figure):
    (level,) = traces(figure, "x", "fine-tuning (adds no memory)")
    assert level["y"] == [60.0, 60.0]
    low, high = figure["layout"]["xaxis"]["range"]
    assert level["x"] == pytest.approx([10**low, 10**high])


def test_each_method_stands_once_in_the_legend(figure):
    named = [trace["name"] for trace in figure["data"] if trace["showlegend"]]
    assert len(named) == len(set(named))
    assert {"frontier", "copies (width)", "fine-tuning (adds no memory)"} <= set(named)
    assert [note["text"] for note in figure["layout"]["annotations"]] == [
        "Permuted MNIST, short",
        "Split CIFAR-100, short",
    ]


@pytest.mark.parametrize("rows", [1, 2])
def test_without_settings_that_add_memory_nothing_is_drawn(tmp_path, rows):
    """As after an interruption: fine-tuning is trained first."""
    (tmp_path / "frontier.csv").write_text("".join(ROWS.splitlines(keepends=True)[:rows]))
    assert frontier_figure(tmp_path / "frontier.json") == {}


def test_recorded_settings_are_all_drawn():
    file = Path(__file__).parents[3] / "reproduced" / "frontier.json"
    drawn = sum(len(trace["x"]) for trace in frontier_figure(file)["data"] if trace["mode"] == "lines+markers")
    with file.with_suffix(".csv").open(newline="") as stream:
        finished = {(row["protocol"], row["method"]) for row in csv.DictReader(stream) if row["ACC"]}
    assert drawn == sum(method != "fine-tuning" for _, method in finished)
