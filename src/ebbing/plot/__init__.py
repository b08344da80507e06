"""Figures of results; matplotlib is loaded when one is drawn.

A function that draws one panel takes `ax=None`, which makes a new figure, and returns the axes on which it drew. A
function that draws several panels returns a new figure.

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
`evaluations`                               what changed between two evaluations
==========================================  ===========================================================================
"""

from ebbing._lazy import load_lazily

_HOMES = {
    "plot_calibrated_orders": "ebbing.plot.forecasts",
    "plot_error_curves": "ebbing.plot.errors",
    "plot_error_heat_map": "ebbing.plot.errors",
    "plot_error_matrix": "ebbing.plot.errors",
    "plot_expectation_grid": "ebbing.plot.errors",
    "plot_forecast": "ebbing.plot.forecasts",
    "plot_forecast_orders": "ebbing.plot.forecasts",
    "plot_forgotten": "ebbing.plot.metrics",
    "plot_measured_orders": "ebbing.plot.measurements",
    "plot_order_comparison": "ebbing.plot.order",
    "plot_order_front": "ebbing.plot.order",
    "plot_order_stakes": "ebbing.plot.order",
    "plot_replay_curve": "ebbing.plot.replay",
    "plot_replay_plan": "ebbing.plot.replay",
    "plot_replay": "ebbing.plot.forecasts",
    "plot_sample_histogram": "ebbing.plot.samples",
    "plot_task_distances": "ebbing.plot.order",
    "plot_task_similarity": "ebbing.plot.forecasts",
}
"""The module of every public function. Each is imported on first use, as some load PyTorch or numba."""

__all__ = list(_HOMES)  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str) -> object:
    return load_lazily(__name__, _HOMES, name)


def __dir__() -> list[str]:
    return sorted(__all__)
