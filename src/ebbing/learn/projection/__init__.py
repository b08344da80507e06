"""Gradient projection: a network learns new tasks in input directions that old tasks do not use."""

from ebbing.learn.projection._authors_variant import AuthorsDeviation
from ebbing.learn.projection._parametrization import ParametrizationKind
from ebbing.learn.projection.learner import ProjectionLearner
from ebbing.learn.projection.method import ProjectionMethod
from ebbing.learn.projection.subspaces import (
    BasisUpdate,
    extend_basis,
    initial_basis,
    spectrum,
    strongest_directions,
)
from ebbing.learn.projection.threshold import Threshold

__all__ = [
    "AuthorsDeviation",
    "BasisUpdate",
    "ParametrizationKind",
    "ProjectionLearner",
    "ProjectionMethod",
    "Threshold",
    "extend_basis",
    "initial_basis",
    "spectrum",
    "strongest_directions",
]
