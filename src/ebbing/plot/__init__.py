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
`measurements`                              measured forgetting of orders
`fig1`, `fig2`                              Figures 1 and 2 of the paper (`ebbing.paper.fig1`, `ebbing.paper.fig2`)
`forecast_study`                            predicted against measured forgetting (`ebbing reproduce forecast`)
`frontier`                                  accuracy against memory (`ebbing.paper.frontier`)
`method_comparison`                         Table 1 and the ablations (`ebbing.paper.method_comparison`)
`rule_comparison`                           losses of ordering rules (`ebbing.paper.rule_comparison`)
`sensitivity`                               Figure 2 under other settings (`ebbing.paper.sensitivity`)
==========================================  ===========================================================================
"""

from ebbing._lazy import load_lazily

_HOMES = {
    "plot_calibrated_orders": "ebbing.plot.forecasts",
    "plot_error_curves": "ebbing.plot.errors",
    "plot_error_heat_map": "ebbing.plot.errors",
    "plot_error_matrix": "ebbing.plot.errors",
    "plot_expectation_grid": "ebbing.plot.errors",
    "plot_fig1": "ebbing.plot.fig1",
    "plot_fig2": "ebbing.plot.fig2",
    "plot_forecast": "ebbing.plot.forecasts",
    "plot_forecast_orders": "ebbing.plot.forecasts",
    "plot_forecast_study": "ebbing.plot.forecast_study",
    "plot_forgotten": "ebbing.plot.metrics",
    "plot_frontier": "ebbing.plot.frontier",
    "plot_measured_orders": "ebbing.plot.measurements",
    "plot_method_comparison": "ebbing.plot.method_comparison",
    "plot_order_comparison": "ebbing.plot.order",
    "plot_order_front": "ebbing.plot.order",
    "plot_order_stakes": "ebbing.plot.order",
    "plot_replay_curve": "ebbing.plot.replay",
    "plot_replay_plan": "ebbing.plot.replay",
    "plot_replay": "ebbing.plot.forecasts",
    "plot_rule_comparison": "ebbing.plot.rule_comparison",
    "plot_sample_histogram": "ebbing.plot.samples",
    "plot_sensitivity": "ebbing.plot.sensitivity",
    "plot_task_distances": "ebbing.plot.order",
    "plot_task_similarity": "ebbing.plot.forecasts",
}
"""The module of every public function. Each is imported on first use, as some load PyTorch or numba."""

__all__ = list(_HOMES)  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str) -> object:
    return load_lazily(__name__, _HOMES, name)


def __dir__() -> list[str]:
    return sorted(__all__)
