"""Training of a network on one task, and the base class of all learners.

`Schedule` has the settings of gradient descent, `Optimization` those of an optimizer, `fit` trains parameters on one
task, `BaseLearner` is what the learners of all methods share. `Checkpoint` and `ProgressCallback` are what training
saves to and reports to.
"""

from ebbing.learn.training.base_learner import BaseLearner, TrainableParameters
from ebbing.learn.training.optimization import Optimization
from ebbing.learn.training.schedule import Checkpoint, ProgressCallback, Schedule, fit

__all__ = ["BaseLearner", "Checkpoint", "Optimization", "ProgressCallback", "Schedule", "TrainableParameters", "fit"]
