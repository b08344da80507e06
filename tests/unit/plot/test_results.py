"""Figures of results: the numbers drawn are the result's, and every axis says what it shows."""

import sys
from dataclasses import replace
from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.figure import Figure

from ebbing import metrics
from ebbing.order import best_order, front, stakes
from ebbing.plot.errors import plot_error_curves, plot_error_heat_map
from ebbing.plot.order import plot_order_comparison
from ebbing.problem import Problem
from ebbing.simulation import simulate, simulate_metrics
from ebbing.theory import expect, expect_grid

PROBLEM = Problem.orthogonal(T=5, n=50, p=100, sigma=0.3)
VECTORS = np.random.default_rng(0).standard_normal((5, 3))
UNEQUAL = Problem.from_vectors(VECTORS, n=50, p=100, sigma=0.3)


@pytest.fixture(autouse=True)
def _close_figures():
    mpl.use("Agg")
    yield
    plt.close("all")


def draw(result: Any, *arguments: Any, **settings: Any) -> Any:
    return result.plot(*arguments, **settings)


def labels(ax):
    return ax.get_xlabel(), ax.get_ylabel()


def legend(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def vertical_lines(ax):
    return [line.get_xdata()[0] for line in ax.lines if len(set(line.get_xdata())) == 1]


def test_expectation_draws_its_error_matrix():
    e = expect(UNEQUAL)
    ax = draw(e)
    assert labels(ax) == ("tasks learned (0: the initial model)", "expected error")
    assert legend(ax) == list(UNEQUAL.names)
    for i in range(5):
        before, after = ax.lines[2 * i], ax.lines[2 * i + 1]
        assert np.array_equal(before.get_xdata(), range(i + 2))
        assert np.array_equal(before.get_ydata(), e.errors[: i + 2, i])
        assert np.array_equal(after.get_ydata(), e.errors[i + 1 :, i])
        assert after.get_markevery() == [0]  # the dot is where the task is learned


def test_expectation_of_many_tasks_is_a_heat_map():
    e = expect(Problem.orthogonal(T=12, n=50, p=100))
    ax = draw(e)
    assert np.array_equal(ax.images[0].get_array(), e.errors)
    assert labels(ax) == (
        "task, in the order of learning\n(below the white line: learned)",
        "tasks learned (0: the initial model)",
    )
    assert ax.images[0].colorbar.ax.get_ylabel() == "expected error"
    assert [text.get_text() for text in ax.get_xticklabels()][:2] == ["task 1", "task 2"]


def test_plots_draw_on_the_axes_given():
    ax = Figure().subplots()
    found = stakes(UNEQUAL)
    for result in (expect(PROBLEM), simulate(PROBLEM, 20), simulate_metrics(PROBLEM, 20), found, found.plan):
        assert result.plot(ax) is ax
    assert metrics.summary(expect(PROBLEM).errors, kind="error").plot(ax) is ax
    assert front(UNEQUAL).plot(ax) is ax
    assert expect_grid(PROBLEM, p=[60, 70]).plot(ax) is ax


def test_names_of_users_are_shown_as_they_are():
    names = ["_hidden", "$x_", "a\x1bb", "a name of more than twenty-four letters", "b"]
    ax = expect(PROBLEM.replace(names=names)).plot()
    assert legend(ax) == ["_hidden", r"\$x_", r"a\x1bb", "a name of mo…our letters", "b"]
    ax.figure.canvas.draw()  # "$x_" would not parse as mathematics
    plot_order_comparison(best_order(PROBLEM.replace(names=names))).canvas.draw()


@pytest.mark.parametrize("shape", [(5, 5), (6,), (2, 6, 5)])
def test_error_matrices_of_another_shape_raise(shape):
    with pytest.raises(ValueError, match=r"give \(T\+1, T\)"):
        plot_error_heat_map(np.zeros(shape))


def test_error_curves_raise_what_cannot_be_read():
    with pytest.raises(ValueError, match="use plot_error_heat_map"):
        plot_error_curves(np.zeros((10, 9)))
    with pytest.raises(ValueError, match="2 names for 3 tasks"):
        plot_error_curves(np.zeros((4, 3)), ["a", "b"])


@pytest.mark.parametrize("quantity", ["forgetting", "generalization"])
def test_grid_draws_a_line_per_sigma(quantity):
    p = [60, 100, 500, 3000]
    grid = expect_grid(PROBLEM, p=np.array(p)[:, None], sigma=[0.1, 0.3])
    ax = draw(grid, quantity=quantity)
    assert ax.get_xlabel() == "parameters p"
    assert ax.get_xscale() == "log"
    assert quantity in ax.get_ylabel()
    assert legend(ax) == ["sigma = 0.1", "sigma = 0.3"]
    for k, line in enumerate(ax.lines):
        assert np.array_equal(line.get_xdata(), p)
        assert np.array_equal(line.get_ydata(), getattr(grid, quantity)[:, k])


def test_grid_uses_the_coordinate_with_the_most_values():
    grid = expect_grid(PROBLEM, n=np.arange(5, 25)[:, None], p=np.arange(100, 109))
    ax = draw(grid)
    assert ax.get_xlabel() == "samples per task n"
    assert len(ax.lines) == 9
    assert ax.get_legend() is None  # a color bar of p
    assert ax.figure.axes[1].get_ylabel() == "parameters p"


def test_grid_near_the_peak_is_logarithmic():
    grid = expect_grid(PROBLEM, p=np.arange(10, 2000), sigma=1.0)
    assert grid.plot(quantity="generalization").get_yscale() == "log"


def test_quantities_are_checked():
    for result in (expect_grid(PROBLEM, p=[60, 70]), simulate(PROBLEM, 5)):
        with pytest.raises(ValueError, match="give 'forgetting' or 'generalization'"):
            result.plot(quantity="accuracy")  # type: ignore[arg-type]
    single = Problem.orthogonal(T=1, n=5, p=20)
    for result in (expect_grid(single, p=[60, 70]), simulate(single, 5)):
        with pytest.raises(ValueError, match="at least two tasks"):
            result.plot()
        assert result.plot(quantity="generalization").get_ylabel()


@pytest.mark.parametrize("sampler", [simulate, simulate_metrics])
def test_simulation_draws_its_runs_beside_theory(sampler):
    sample, e = sampler(PROBLEM, 400, 1), expect(PROBLEM)
    ax = draw(sample)
    assert labels(ax) == ("forgetting $F_T$", "runs")
    assert sum(patch.get_height() for patch in ax.containers[0]) == 400
    assert vertical_lines(ax) == [sample.forgetting.mean(), e.forgetting]
    assert legend(ax)[1] == f"theory: {e.forgetting:.4g}"
    span = ax.patches[-1].get_x(), ax.patches[-1].get_x() + ax.patches[-1].get_width()
    assert span == pytest.approx((e.forgetting - e.forgetting_std, e.forgetting + e.forgetting_std))


def test_simulation_cuts_off_a_heavy_tail_and_says_so():
    sample = simulate(PROBLEM.replace(p=52), 2000, 0)
    ax = draw(sample, quantity="generalization")
    drawn = sum(patch.get_height() for patch in ax.containers[0])
    assert drawn < 2000
    assert f"({2000 - int(drawn)} of 2,000 runs outside)" in ax.get_xlabel()


def test_simulation_of_one_run_and_of_constant_runs():
    for sample in (simulate(PROBLEM, 1), simulate(Problem.orthogonal(T=2, n=50, p=20), 30)):
        ax = draw(sample)
        assert ax.lines[0].get_xdata()[0] == pytest.approx(sample.forgetting[0])
        assert max(ax.lines[0].get_ydata()) == len(sample.forgetting)


def test_stakes_draw_the_orders():
    found = stakes(UNEQUAL)
    ax = draw(found)
    assert labels(ax) == ("expected forgetting", "of all 120 orders")
    assert vertical_lines(ax) == [found.plan.value, found.given, found.worst.value]
    assert legend(ax)[0] == f"recommended (proved): {found.plan.value:.4g}"
    assert sum(patch.get_height() for patch in ax.patches) == 120


def test_stakes_without_proof_draw_the_bound():
    found = stakes(UNEQUAL)
    unproved = replace(found, plan=replace(found.plan, proved=False, lower_bound=found.plan.value - 0.1))
    ax = draw(unproved)
    assert vertical_lines(ax)[-1] == found.plan.value - 0.1
    assert legend(ax)[-1].startswith("no order is below")


def test_plan_draws_distances_in_its_order():
    plan = best_order(UNEQUAL)
    ax = draw(plan)
    assert np.array_equal(ax.images[0].get_array(), np.sqrt(plan.reordered.gaps))
    assert [text.get_text() for text in ax.get_xticklabels()] == list(plan.names)
    assert "distance" in ax.images[0].colorbar.ax.get_ylabel()


def test_comparison_has_both_orders():
    plan = best_order(UNEQUAL)
    panels: Any = plot_order_comparison(plan).axes
    left, right, _ = panels
    assert left.get_title(loc="left").startswith("as given\nF = ")
    assert right.get_title(loc="left").startswith(f"recommended\nF = {plan.value:.4g}")
    assert np.array_equal(left.images[0].get_array(), np.sqrt(UNEQUAL.gaps))


def test_front_draws_its_corners_and_the_given_order():
    found, e = front(UNEQUAL), expect(UNEQUAL)
    ax = draw(found)
    assert labels(ax) == ("expected forgetting $F_T$", "expected generalization error $G_T$")
    assert ax.lines[0].get_xdata().tolist() == [point.forgetting for point in found]
    assert ax.lines[0].get_ydata().tolist() == [point.generalization for point in found]
    assert (ax.lines[-1].get_xdata()[0], ax.lines[-1].get_ydata()[0]) == (e.forgetting, e.generalization)
    assert [text.get_text() for text in ax.texts] == [str(k + 1) for k in range(len(found))]


def test_front_is_not_one_dot_beside_a_bad_order():
    found = front(Problem.categories("AABBC", n=50, p=100, sigma=0.3))
    ax, e = draw(found), expect(found.problem)
    assert len(found) == 2
    assert e.forgetting > ax.get_xlim()[1]
    assert any(text == f"as given (outside: {e.forgetting:.3g}, {e.generalization:.3g})" for text in legend(ax))
    assert found._page().pictures[0].reading == "Each corner is an order; no order lies below the line."
    unproved = replace(found, complete=False)._page().pictures[0].reading
    assert unproved == "Each corner is an order; not proved: orders may lie below the line."


def test_metrics_draw_each_task_before_and_after():
    found = metrics.summary([[60, 25], [80, 70]], kind="accuracy", names=["cats", "dogs"])
    ax = draw(found)
    assert [text.get_text() for text in ax.get_yticklabels()] == ["cats", "dogs"]
    assert legend(ax) == ["just learned", "at the end"]
    assert [line.get_xdata().tolist() for line in ax.lines] == [[60, 70], [80, 70]]
    assert [text.get_text() for text in ax.texts] == ["", "+20.0", "0.0"]  # an arrow, and the change of each task
    assert ax.get_xlabel() == "accuracy on the task"


def test_arrows_of_metrics_tell_worse_from_better():
    def colors(kind):
        ax = draw(metrics.summary([[0.5, 0.5, 0.5], [0.6, 0.5, 0.5], [0.9, 0.1, 0.5]], kind=kind))
        return [text.arrow_patch.get_edgecolor() for text in ax.texts if text.arrow_patch is not None]

    (worse, better), swapped = colors("error"), colors("accuracy")
    assert worse != better
    assert swapped == [better, worse]


def test_metrics_of_several_matrices_show_each():
    errors = simulate(PROBLEM, 7).errors
    ax = draw(metrics.summary(errors, kind="error"))
    assert ax.lines[1].get_xdata() == pytest.approx(errors[:, -1].mean(axis=0))
    dots = np.concatenate([line.get_xdata() for line in ax.lines[2:]])
    assert len(dots) == 2 * errors[:, -1].size
    assert set(errors[:, -1].ravel()) <= set(dots)


def test_metrics_of_missing_entries_and_many_tasks_are_drawn():
    gaps = draw(metrics.summary([[0.5, np.nan], [np.nan, 0.4]], kind="error"))
    assert [text.get_text() for text in gaps.texts] == ["0.00"]
    many = draw(metrics.summary(np.random.default_rng(0).uniform(size=(60, 60)), kind="error"))
    assert many.get_ylabel() == "task, in the order of learning"


def test_plots_need_matplotlib(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match=r"pip install 'ebbing\[figures\]'"):
        expect(PROBLEM).plot()
