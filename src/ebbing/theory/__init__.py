"""Expected errors of learning linear tasks one after another, exactly. NumPy only: no randomness, no files."""

from ebbing.theory._expect import expect, expectation_if_finite
from ebbing.theory._rates import InfiniteExpectationError, UnknownExpectationError
from ebbing.theory._terms import CurriculumTerms, Terms
from ebbing.theory.closed_form import (
    coefficients,
    overparameterized_ratio,
    theorem_terms,
    two_task_forgetting,
    two_task_generalization,
    two_task_generalization_slope,
)
from ebbing.theory.expectation import Expectation
from ebbing.theory.grid import ExpectationGrid, expect_grid
from ebbing.theory.overfitting import DescentFloor, OverfittingVerdict, benign_overfitting, descent_floor
from ebbing.theory.transfer import (
    ForwardTransfer,
    NegativeForgetting,
    forgetting_curve_by_recursion,
    forward_transfer,
    negative_forgetting,
)

__all__ = [
    "CurriculumTerms",
    "DescentFloor",
    "Expectation",
    "ExpectationGrid",
    "ForwardTransfer",
    "InfiniteExpectationError",
    "NegativeForgetting",
    "OverfittingVerdict",
    "Terms",
    "UnknownExpectationError",
    "benign_overfitting",
    "coefficients",
    "descent_floor",
    "expect",
    "expect_grid",
    "expectation_if_finite",
    "forgetting_curve_by_recursion",
    "forward_transfer",
    "negative_forgetting",
    "overparameterized_ratio",
    "theorem_terms",
    "two_task_forgetting",
    "two_task_generalization",
    "two_task_generalization_slope",
]
