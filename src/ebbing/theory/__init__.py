"""Expected errors of learning linear tasks one after another, exactly. NumPy only: no randomness, no files."""

from ebbing.theory.closed_form import (
    coefficients,
    overparameterized_ratio,
    theorem_terms,
    two_task_forgetting,
    two_task_generalization,
    two_task_generalization_slope,
)
from ebbing.theory.consequences import (
    ForwardTransfer,
    NegativeForgetting,
    forgetting_evolution,
    forward_transfer,
    negative_forgetting,
)
from ebbing.theory.expectation import Expectation, Terms, expect, expectation_if_finite
from ebbing.theory.grid import Grid, expect_grid
from ebbing.theory.landscape import Floor, OverfittingVerdict, descent_floor, overfitting

__all__ = [
    "Expectation",
    "Floor",
    "ForwardTransfer",
    "Grid",
    "NegativeForgetting",
    "OverfittingVerdict",
    "Terms",
    "coefficients",
    "descent_floor",
    "expect",
    "expect_grid",
    "expectation_if_finite",
    "forgetting_evolution",
    "forward_transfer",
    "negative_forgetting",
    "overfitting",
    "overparameterized_ratio",
    "theorem_terms",
    "two_task_forgetting",
    "two_task_generalization",
    "two_task_generalization_slope",
]
