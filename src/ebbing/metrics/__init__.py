"""Metrics of continual learning, each a function of one matrix: the error (or accuracy) on each task after each task.

======  ============================================================  ======================================
letter  meaning                                                       where
======  ============================================================  ======================================
T       number of tasks                                               columns of the matrix
L[t,i]  error on task i after t tasks (t = 0: the initial model);     Lin et al. 2023, "Performance
        an accuracy A enters as L = -A: every difference below then   evaluation"; shape (..., T+1, T), or
        has the same sign for both kinds                              (..., T, T) without the initial model
F_t     forgetting                                                    ibid.
G_T     overall generalization error                                  ibid.
======  ============================================================  ======================================

These are the paper's metrics, and those that others publish under the same words, each under a name of its own: from
GEM (Lopez-Paz & Ranzato 2017), iCaRL (Rebuffi et al. 2017), RWalk (Chaudhry et al. 2018), Díaz-Rodríguez et al. 2018
and Riemer et al. 2019. `kind` is "error" (lower is better) or "accuracy" (higher is better, fractions or percentages).
Results have the unit of the matrix and keep its leading axes (runs, seeds). NaN means not measured; only a metric that
needs the entry raises an error.
"""

from ebbing.metrics._evaluations import EvaluationComparison, compare_evaluations
from ebbing.metrics._matrix import Kind
from ebbing.metrics._paper import (
    average_accuracy,
    backward_transfer,
    forgetting,
    forgetting_curve,
    forward_transfer,
    generalization_error,
)
from ebbing.metrics._scores import Change, Score
from ebbing.metrics._summary import MetricSummary, summary
from ebbing.metrics._variants import (
    average_incremental_accuracy,
    best_minus_last,
    first_minus_last,
    gem_forward_transfer,
    learning_accuracy,
    lower_triangle_mean,
    past_best_minus_last,
    positive_backward_transfer,
    remembering,
    triangle_backward_transfer,
    upper_triangle_mean,
)

__all__ = [
    "Change",
    "EvaluationComparison",
    "Kind",
    "MetricSummary",
    "Score",
    "average_accuracy",
    "average_incremental_accuracy",
    "backward_transfer",
    "best_minus_last",
    "compare_evaluations",
    "first_minus_last",
    "forgetting",
    "forgetting_curve",
    "forward_transfer",
    "gem_forward_transfer",
    "generalization_error",
    "learning_accuracy",
    "lower_triangle_mean",
    "past_best_minus_last",
    "positive_backward_transfer",
    "remembering",
    "summary",
    "triangle_backward_transfer",
    "upper_triangle_mean",
]
