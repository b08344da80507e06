"""ebbing: forgetting in continual learning, understood and controlled.

>>> import ebbing
>>> problem = ebbing.Problem.orthogonal(T=8, n=50, p=100, sigma=0.3)
>>> e = ebbing.expect(problem)
>>> round(e.forgetting, 4), round(e.generalization, 4)
(1.0214, 1.93)
"""

from importlib import import_module
from typing import TYPE_CHECKING

from ebbing import metrics, theory
from ebbing.io.matrices import read_matrix
from ebbing.problem import Problem
from ebbing.simulation import MeanEstimate, simulate, simulate_metrics, simulate_textbook
from ebbing.theory import expect, expect_grid

if TYPE_CHECKING:
    from ebbing import data, learn, order, runs
    from ebbing.io.problems import read_problem
    from ebbing.order import best_order, front, stakes, worst_order

__version__ = "0.1.0"

__all__ = [
    "MeanEstimate",
    "Problem",
    "best_order",
    "data",
    "expect",
    "expect_grid",
    "front",
    "learn",
    "metrics",
    "order",
    "read_matrix",
    "read_problem",
    "runs",
    "simulate",
    "simulate_metrics",
    "simulate_textbook",
    "stakes",
    "theory",
    "worst_order",
]


_MODULES = ("data", "learn", "order", "runs")
_LATER = {
    "best_order": "ebbing.order",
    "front": "ebbing.order",
    "read_problem": "ebbing.io.problems",
    "stakes": "ebbing.order",
    "worst_order": "ebbing.order",
}


def __getattr__(name: str) -> object:
    """Loads on first use what needs more than NumPy."""
    if name in _MODULES:
        return import_module(f"ebbing.{name}")
    if name in _LATER:
        return getattr(import_module(_LATER[name]), name)
    raise AttributeError(f"module 'ebbing' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
