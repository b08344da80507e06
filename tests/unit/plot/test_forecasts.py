"""The figure of a forecast: what its panels show, for few and for many tasks."""

import re
import sys
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

import ebbing
from ebbing.plot._style import inline_picture, picture_format
from ebbing.plot.errors import plot_error_curves
from ebbing.plot.forecasts import plot_forecast, plot_task_similarity, save_forecast, similarity_size


def forecast(T, name="task"):
    random = np.random.default_rng(0)
    tasks = {}
    for k in range(T):
        inputs = random.standard_normal((20, 5))
        tasks[f"{name} {k}"] = (inputs, (inputs @ random.standard_normal(5) > 0).astype(int))
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
    assert marks[plan.given] == 1 + lower
    assert marks[plan.value] == 1


def test_replay_of_no_old_data_alone_is_drawn():
    axes = forecast(2).replay(shares=[0]).plot()
    assert np.asarray(axes.lines[0].get_xdata()).tolist() == [0.0]


def test_rounding_errors_of_orders_are_drawn_as_zero():
    plan = forecast(2).best_order()
    plan = replace(plan, value=-1.7e-17, given=1.4e-17, worst=1.4e-17, values=np.array([-1.7e-17, 1.4e-17]))
    ax = plan.plot()
    assert not np.any(ax.lines[0].get_ydata())
    legend = ax.get_legend()
    assert legend is not None
    assert {text.get_text().partition(": ")[2] for text in legend.get_texts()} == {"0.00"}


def test_panels_say_what_they_show():
    found = forecast(4)
    axes = plot_forecast(found, found.best_order()).axes
    titles = [ax.get_title(loc="left") for ax in axes[:3]]
    assert titles == ["similarity of tasks", "accuracy in the order as given", "all 24 orders"]
    assert "below the white line: learned" in axes[1].get_xlabel()


def test_numbers_of_panels_have_two_decimals():
    found = forecast(4)
    figure = plot_forecast(found, found.best_order())
    figure.draw_without_rendering()
    similarity, errors, orders, *bars = figure.axes
    texts = [text.get_text() for ax in (similarity, errors) for text in ax.texts]
    texts += [label.get_text() for bar in bars for label in bar.get_yticklabels()]
    legend = orders.get_legend()
    assert legend is not None
    texts += [text.get_text().partition(": ")[2] for text in legend.get_texts()]
    assert all(re.fullmatch(r"-?\d\.\d\d", text) for text in texts), texts


@pytest.mark.parametrize("name", ["t", "breast cancer"])
@pytest.mark.parametrize("T", [3, 8])
def test_panels_and_color_bars_leave_each_other_room(T, name):
    found = forecast(T, name)
    figure = plot_forecast(found, found.best_order())
    figure.draw_without_rendering()
    found_boxes = [box for ax in figure.axes if (box := ax.get_tightbbox()) is not None]
    assert len(found_boxes) == len(figure.axes)
    boxes = sorted(found_boxes, key=lambda box: box.x0)
    gaps = [right.x0 - left.x1 for left, right in pairwise(boxes)]
    assert boxes[0].x0 >= 0
    assert boxes[-1].x1 <= figure.bbox.width
    assert min(gaps[1::2]) > 0.08 * figure.dpi  # between a color bar and the next panel, in inches
    assert min(box.y0 for box in boxes) >= 0


def test_more_than_eight_tasks_are_drawn(tmp_path):
    found = forecast(12)
    save_forecast(found, found.best_order(seconds=0.2), tmp_path / "new" / "forecast.pdf")
    assert (tmp_path / "new" / "forecast.pdf").read_bytes().startswith(b"%PDF")


def test_a_picture_without_matplotlib_is_refused_before_work(monkeypatch):
    assert picture_format(Path("a.png")) == "png"
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ModuleNotFoundError, match=r"the picture a\.png needs matplotlib, which is missing: pip"):
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


@pytest.mark.parametrize(
    "names", [["t", "u"], ["breast cancer", "clipped", "wine"], [LONG, "W" * 24], ["WWWWWWWW", "i"]]
)
def test_names_beside_similarities_are_not_cut(names):
    drawn, T = [], len(names)
    inline_picture(
        lambda ax: drawn.append(plot_task_similarity(np.eye(T), names, ax=ax)), "test", similarity_size(names)
    )
    (ax,) = drawn
    assert min(label.get_window_extent().x0 for label in ax.get_yticklabels()) >= 0
    assert min(label.get_window_extent().y0 for label in ax.get_xticklabels()) >= 0
    bar = ax.images[0].colorbar.ax
    assert bar.get_tightbbox().x1 <= ax.figure.bbox.width
    sizes = {label.get_fontsize() for axes in (ax, bar) for label in (*axes.get_yticklabels(), bar.yaxis.label)}
    assert len(sizes) == 1


def test_pictures_of_a_page_are_scaled_alike():
    widths = [
        re.search(r"<svg [^>]*max-width: (\d+)px", inline_picture(lambda ax: None, "test", (w, 3))) for w in (3, 6)
    ]
    narrow, wide = (int(found[1]) for found in widths if found)
    assert wide == 2 * narrow


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
