"""Forecasts: what a given model will forget on given data, in which order to train it, how much old data it needs.

`ebbing.forecast` is the function; the package has another name, as a module and a function cannot share one.
"""

from typing import TYPE_CHECKING

from ebbing._lazy import load_lazily
from ebbing.forecasting._forecast import Forecast
from ebbing.forecasting._sources import forecast, forecast_memory
from ebbing.forecasting.calibration import CalibratedForecast, calibrate
from ebbing.forecasting.examples import Examples
from ebbing.forecasting.kernels import linear_kernel, random_feature_kernel
from ebbing.forecasting.plan import ForecastPlan
from ebbing.forecasting.replay import ReplayForecast

if TYPE_CHECKING:
    from ebbing.forecasting._tangent_kernel import kernel_cost, tangent_kernel
    from ebbing.forecasting.checkpoints import TaskVectors, read_task_vectors
    from ebbing.forecasting.reference_kernel import tangent_kernel_reference

__all__ = [
    "CalibratedForecast",
    "Examples",
    "Forecast",
    "ForecastPlan",
    "ReplayForecast",
    "TaskVectors",
    "calibrate",
    "forecast",
    "forecast_memory",
    "kernel_cost",
    "linear_kernel",
    "random_feature_kernel",
    "read_task_vectors",
    "tangent_kernel",
    "tangent_kernel_reference",
]

_HOMES = {
    "TaskVectors": "ebbing.forecasting.checkpoints",
    "kernel_cost": "ebbing.forecasting._tangent_kernel",
    "read_task_vectors": "ebbing.forecasting.checkpoints",
    "tangent_kernel": "ebbing.forecasting._tangent_kernel",
    "tangent_kernel_reference": "ebbing.forecasting.reference_kernel",
}
"""The module of what needs PyTorch, which is imported on first use."""


def __getattr__(name: str) -> object:
    return load_lazily(__name__, _HOMES, name)


def __dir__() -> list[str]:
    return sorted(__all__)
