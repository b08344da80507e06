"""Understand and control forgetting in continual learning.

What will I forget? `expect` computes the expected error matrix of a sequence of linear tasks exactly:

>>> import ebbing
>>> problem = ebbing.Problem.categories("AABB", n=50, p=100, sigma=0.3)
>>> e = ebbing.expect(problem)
>>> round(e.forgetting, 4), round(e.generalization, 4)
(0.6879, 1.1722)

In which order should I learn the tasks? `best_order` finds one and proves that no order is better:

>>> plan = ebbing.best_order(problem, objective="forgetting")
>>> plan.names, round(plan.value, 4), plan.proved
(('A1', 'B1', 'A2', 'B2'), 0.5213, True)

What did I forget? `metrics` computes the common published metrics of an error or accuracy matrix, from Python or from a
file (`read_matrix`):

>>> accuracies = [[0.9, 0.1], [0.6, 0.8]]  # row: after each task, column: on each task
>>> round(float(ebbing.metrics.forgetting(accuracies, kind="accuracy")), 4)
0.3

How do I prevent it? `ebbing.learn` has methods that protect what a PyTorch network has learned (GPM, TRGP and their
relatives):

>>> from torch import nn
>>> learner = ebbing.learn.Gpm().start(nn.Linear(20, 2))  # then learner.learn("first task", (inputs, labels)), ...
>>> learner.tasks
[]

`simulate` samples the error matrix with its exact law; `ebbing.theory` has the formulas behind `expect`.
"""

from ebbing import _startup as _startup  # isort: skip  (before all that takes time)
from typing import TYPE_CHECKING

from ebbing import metrics, theory
from ebbing._lazy import load_lazily
from ebbing.curriculum import Curriculum
from ebbing.inputs import InputProblem
from ebbing.io.error_matrices import read_matrix
from ebbing.learners import Averaged, GradientFlow, GradientSteps, MinimumNorm, OnePassSgd, Ridge
from ebbing.problem import Problem
from ebbing.simulation import MeanEstimate, simulate, simulate_metrics, simulate_textbook
from ebbing.theory import expect, expect_grid

if TYPE_CHECKING:
    from ebbing import data, forecasting, integrations, io, learn, order, plot, runs
    from ebbing.forecasting import forecast
    from ebbing.io.problems import read_problem
    from ebbing.order import best_order, best_replay, front, stakes, worst_order
    from ebbing.runs import measure

__version__ = "0.1.0"

__all__ = [
    "Averaged",
    "Curriculum",
    "GradientFlow",
    "GradientSteps",
    "InputProblem",
    "MeanEstimate",
    "MinimumNorm",
    "OnePassSgd",
    "Problem",
    "Ridge",
    "best_order",
    "best_replay",
    "data",
    "expect",
    "expect_grid",
    "forecast",
    "forecasting",
    "front",
    "integrations",
    "io",
    "learn",
    "measure",
    "metrics",
    "order",
    "plot",
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

_MODULES = ("data", "forecasting", "integrations", "learn", "order", "plot", "runs")
_HOMES = {name: f"ebbing.{name}" for name in _MODULES} | {
    "best_order": "ebbing.order",
    "best_replay": "ebbing.order",
    "forecast": "ebbing.forecasting",
    "front": "ebbing.order",
    "measure": "ebbing.runs",
    "read_problem": "ebbing.io.problems",
    "stakes": "ebbing.order",
    "worst_order": "ebbing.order",
}
"""The module of what is imported on first use."""


def __getattr__(name: str) -> object:
    return load_lazily(__name__, _HOMES, name)


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
