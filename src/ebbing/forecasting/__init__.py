"""Forecasts: what a given model will forget on given data, in which order to train it, how much old data it needs.

`ebbing.forecast` is the function; the package has another name, as a module and a function cannot share one.
"""

from importlib import import_module
from typing import TYPE_CHECKING

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

_HOME = {
    "TaskVectors": "checkpoints",
    "kernel_cost": "_tangent_kernel",
    "read_task_vectors": "checkpoints",
    "tangent_kernel": "_tangent_kernel",
    "tangent_kernel_reference": "reference_kernel",
}
"""The module of what needs PyTorch."""


def __getattr__(name: str) -> object:
    if name in _HOME:
        return getattr(import_module(f"ebbing.forecasting.{_HOME[name]}"), name)
    raise AttributeError(f"module 'ebbing.forecasting' has no attribute {name!r}")
