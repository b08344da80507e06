"""The figure of a forecast: what its panels show, for few and for many tasks."""

import sys
from pathlib import Path

import numpy as np
import pytest

import ebbing
from ebbing.plot._style import inline_picture, picture_format
from ebbing.plot.errors import plot_error_curves
from ebbing.plot.forecasts import plot_forecast, plot_task_similarity, save_forecast, similarity_size


def forecast(T):
    random = np.random.default_rng(0)
    tasks = {}
    for k in range(T):
        inputs = random.standard_normal((20, 5))
        tasks[f"task {k}"] = (inputs, (inputs @ random.standard_normal(5) > 0).astype(int))
    return ebbing.forecast("linear", tasks, loss="squared")  # which is solved at once


def test_panels_show_the_numbers():
    found = forecast(4)
    plan = found.best_order()
    similarity, errors, orders = plot_forecast(found, plan).axes[:3]
    assert np.array_equal(np.asarray(similarity.images[0].get_array()), found.similarity)
    assert np.array_equal(np.asarray(errors.images[0].get_array()), found.accuracies())
    curve, *_ = orders.lines
    assert np.array_equal(curve.get_ydata(), np.sort(plan.values))
    dots = [np.asarray(line.get_xydata())[0] for line in orders.lines if line.get_marker() == "o"]
    marks = {float(y): float(x) for x, y in dots}
    lower = np.sum(plan.values < plan.given - 1e-12)
    assert marks[plan.given] == pytest.approx(100 * lower / 23)
    assert marks[plan.value] == 0


def test_more_than_eight_tasks_are_drawn(tmp_path):
    found = forecast(12)
    save_forecast(found, found.best_order(seconds=0.2), tmp_path / "new" / "forecast.pdf")
    assert (tmp_path / "new" / "forecast.pdf").read_bytes().startswith(b"%PDF")


def test_a_picture_without_matplotlib_is_refused_before_work(monkeypatch):
    assert picture_format(Path("a.png")) == "png"
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ValueError, match=r"a\.png: pictures are drawn with matplotlib, which is missing: pip install"):
        picture_format(Path("a.png"))


LONG = "a quite long task name about subject"


@pytest.mark.parametrize("T", [3, 8])
@pytest.mark.parametrize("name", ["t", LONG])
def test_numbers_of_similarities_fit_their_cells(T, name):
    names, drawn = [f"{name} {k}" for k in range(T)], []
    inline_picture(
        lambda ax: drawn.append(plot_task_similarity(np.full((T, T), -0.88), names, ax=ax)),
        "test",
        similarity_size(names),
    )
    (ax,) = drawn
    cell = ax.get_window_extent().width / T
    assert len(ax.texts) == T * T
    assert max(text.get_window_extent().width for text in ax.texts) < cell
    assert ax.get_window_extent().width == pytest.approx(ax.get_window_extent().height, rel=0.01)


def test_long_names_stand_once_beside_similarities():
    ax = plot_task_similarity(np.eye(3), [f"{LONG} {k}" for k in range(3)])
    assert [text.get_text() for text in ax.get_xticklabels()] == ["1", "2", "3"]
    assert [text.get_text()[-5:] for text in ax.get_yticklabels()] == ["0 · 1", "1 · 2", "2 · 3"]
    ax = plot_task_similarity(np.eye(2), ["cats", "dogs"])
    assert [text.get_text() for text in ax.get_xticklabels()] == ["cats", "dogs"]


@pytest.mark.parametrize("name", ["t", LONG])
def test_a_legend_leaves_room_for_the_curves(name):
    matrix = np.random.default_rng(0).random((9, 8))
    ax = plot_error_curves(matrix, [f"{name} {k}" for k in range(8)])
    ax.figure.canvas.draw()
    assert ax.get_window_extent().width > 0.6 * ax.figure.bbox.width
    assert ax.get_window_extent().height > 0.4 * ax.figure.bbox.height
    legend = ax.get_legend()
    assert legend is not None
    box = legend.get_window_extent()
    assert not box.overlaps(ax.get_window_extent())
    assert box.x0 >= 0
    assert box.x1 <= ax.figure.bbox.width
    assert len({text.get_text() for text in legend.get_texts()}) == 8
