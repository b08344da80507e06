"""The figure of a forecast: what its panels show, for few and for many tasks."""

import sys
from pathlib import Path

import numpy as np
import pytest

import ebbing
from ebbing.plot._style import picture_format
from ebbing.plot.forecasts import plot_forecast, save_forecast


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
