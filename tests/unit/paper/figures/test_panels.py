"""Figures of the paper draw into given axes, and return them."""

import numpy as np
import pytest
from made_up_fig2 import made_up
from matplotlib import pyplot as plt
from matplotlib.figure import Figure

from ebbing.paper import fig1, fig2_verdicts, rule_comparison, sensitivity
from ebbing.paper.figures.fig1 import plot_fig1, plot_fig1_panel
from ebbing.paper.figures.fig2 import plot_fig2, plot_fig2_panel, plot_fig2_theory
from ebbing.paper.figures.rule_comparison import plot_rule_comparison, plot_rule_losses
from ebbing.paper.figures.sensitivity import plot_sensitivity


@pytest.fixture(scope="module")
def figure_1():
    return fig1.run(fig1.Config(marker_p=(20, 100), sigma=(0.3, 0.1), largest_p=200, runs=10))


@pytest.fixture(scope="module")
def rules():
    return rule_comparison.run(rule_comparison.Config(T=4, r=(0.3, 0.7), instances=3, ensembles=("random",)))


@pytest.fixture(scope="module")
def variants():
    config = sensitivity.Config(seeds=2, batch_sizes=(), width_factors=(), losses=())
    sequences = [sequence for marks in sensitivity.SEQUENCES.values() for sequence in marks.values()]
    matrices = {s: np.random.default_rng(0).random((2, len(s) + 1, len(s))) for s in sequences}
    fits = {s: np.zeros((2, len(s))) for s in sequences}
    return sensitivity.Result(config, {sensitivity.BASELINE: matrices}, {sensitivity.BASELINE: fits}, {})


DRAWINGS = {
    "fig1": (4, lambda request: (plot_fig1, request.getfixturevalue("figure_1"))),
    "fig2": (4, lambda request: (plot_fig2, made_up())),
    "fig2_theory": (4, lambda request: (plot_fig2_theory, fig2_verdicts.compare_with_theory(made_up()))),
    "rules": (2, lambda request: (plot_rule_comparison, request.getfixturevalue("rules"))),
    "sensitivity": (3, lambda request: (plot_sensitivity, request.getfixturevalue("variants"))),
}


@pytest.mark.parametrize("name", DRAWINGS)
def test_figure_draws_into_the_given_axes(name, request):
    number, make = DRAWINGS[name]
    plot, result = make(request)
    given = Figure().subplots(1, number, squeeze=False)
    drawn = plot(result, axes=given)
    assert drawn.ravel().tolist() == given.ravel().tolist()
    assert all(ax.has_data() and ax.get_xlabel() for ax in given.flat)
    assert len(given[0, 0].figure.axes) == number
    assert not given[0, 0].figure.legends  # within a panel: the figure is not ours


@pytest.mark.parametrize("name", DRAWINGS)
def test_figure_raises_an_error_for_too_few_axes(name, request):
    number, make = DRAWINGS[name]
    plot, result = make(request)
    with pytest.raises(ValueError, match=f"axes: 1 given, but this figure has {number} panels"):
        plot(result, axes=Figure().subplots())


def test_panel_draws_into_the_given_axes(figure_1, rules):
    panels = (
        lambda ax: plot_fig1_panel(figure_1, "c", ax=ax),
        lambda ax: plot_fig2_panel(made_up(), "d", ax=ax),
        lambda ax: plot_rule_losses(rules, "forgetting", "random", ax=ax),
    )
    for plot in panels:
        ax = Figure().subplots()
        assert plot(ax) is ax
        assert ax.has_data()
        alone = plot(None)
        assert alone is not ax
        assert alone.get_title("left") == ax.get_title("left")
        assert alone.get_xlabel() == ax.get_xlabel() != ""
        assert alone.get_ylabel() == ax.get_ylabel() != ""
        plt.close("all")


def test_plot_fig1_shows_every_marker_and_curve(figure_1):
    axes = plot_fig1(figure_1)
    assert axes.shape == (2, 2)
    for ax, (panel, _, quantity) in zip(axes.flat, fig1.PANELS, strict=True):
        means = [container.lines[0].get_ydata().tolist() for container in ax.containers]
        for sigma, shown in zip(figure_1.config.sigma, means, strict=True):
            assert shown == [m.mean for m in figure_1.markers if (m.panel, m.sigma) == (panel, sigma)]
        assert ax.get_yscale() == ("log" if quantity == "generalization" else "linear")
        assert len(ax.collections) >= 4  # a band on each side of p = n, for both noise levels
    labels = [text.get_text() for text in axes[0, 0].figure.legends[0].get_texts()]
    assert labels[-1] == "mean of 10 runs"
