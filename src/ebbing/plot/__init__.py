"""Every figure of the package; matplotlib is loaded when one is drawn.

A function that draws one panel takes `ax=None`, one that draws several takes `axes=None`. None makes a new figure. Both
return what they drew on.

==========================================  ===========================================================================
module                                      what it draws
==========================================  ===========================================================================
`errors`                                    error matrices, as curves or as a heat map, and grids of expectations
`samples`                                   histograms of simulated forgetting and generalization error
`metrics`                                   what was forgotten of each task, by a measured matrix
`order`                                     distances between tasks, and task orders
`replay`                                    forgetting against how much is replayed, and plans of replay
`forecasts`                                 similarity of tasks, predicted orders and replay curves
`fig1`, `fig2`                              Figures 1 and 2 of the paper (`ebbing.paper.fig1`, `ebbing.paper.fig2`)
`frontier`                                  accuracy against memory (`ebbing.paper.frontier`)
`method_comparison`                         Table 1 and the ablations (`ebbing.paper.method_comparison`)
`rule_comparison`                           losses of ordering rules (`ebbing.paper.rule_comparison`)
`sensitivity`                               Figure 2 under other settings (`ebbing.paper.sensitivity`)
==========================================  ===========================================================================
"""

from importlib import import_module

_HOME = {
    "plot_error_curves": "errors",
    "plot_error_heat_map": "errors",
    "plot_error_matrix": "errors",
    "plot_expectation_grid": "errors",
    "plot_fig1": "fig1",
    "plot_fig2": "fig2",
    "plot_forecast": "forecasts",
    "plot_forecast_orders": "forecasts",
    "plot_forgotten": "metrics",
    "plot_frontier": "frontier",
    "plot_method_comparison": "method_comparison",
    "plot_order_comparison": "order",
    "plot_order_front": "order",
    "plot_order_stakes": "order",
    "plot_replay_curve": "replay",
    "plot_replay_plan": "replay",
    "plot_replay": "forecasts",
    "plot_rule_comparison": "rule_comparison",
    "plot_sample_histogram": "samples",
    "plot_sensitivity": "sensitivity",
    "plot_task_distances": "order",
    "plot_task_similarity": "forecasts",
}
"""The module of every public function. Each is imported on first use, as some load PyTorch or numba."""

__all__ = list(_HOME)  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str) -> object:
    if name in _HOME:
        return getattr(import_module(f"ebbing.plot.{_HOME[name]}"), name)
    raise AttributeError(f"module 'ebbing.plot' has no attribute {name!r}")
