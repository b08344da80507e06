"""Rules of custom methods: what would not protect raises an error, and everything is as before."""

from dataclasses import dataclass
from typing import Any, ClassVar

import pytest
import torch
from toys import SETTINGS, assert_same, data, perceptron

from ebbing.learn.projection import BasisUpdate, ProjectionMethod, extend_basis


@dataclass(frozen=True)
class Custom(ProjectionMethod):
    """A method whose rules return what a test tells."""

    directions: Any = None
    trusted: Any = None
    version: ClassVar[int] = 1

    def select_directions(self, layer, task, M, R):
        good = extend_basis(M, R, 0.9)
        return good if self.directions is None or task == 0 else self.directions(M, good)

    def select_trusted(self, gradient_norm, projected_norms):
        return {} if self.trusted is None else self.trusted


@pytest.mark.parametrize(
    ("directions", "message"),
    [
        (lambda M, good: BasisUpdate(2 * good.new, good.used), "inner products, .* are wrong by 3: return orthonormal"),
        (lambda M, good: BasisUpdate(good.new + M[:, :1], good.used), "inner products"),
        (lambda M, good: BasisUpdate(M.double(), good.used[:1]), "inner products, .* are wrong by 1"),
        (lambda M, good: BasisUpdate(good.new * torch.nan, good.used), "inner products, .* are wrong by nan"),
        (lambda M, good: BasisUpdate(good.new.T, good.used), "new directions of shape"),
        (
            lambda M, good: BasisUpdate(good.new, good.used + 1),
            r"column numbers from 1 to \d+: \[M, new\] has columns 0",
        ),
        (lambda M, good: BasisUpdate(good.new, good.used.double()), "used=torch.float64"),
        (lambda M, good: BasisUpdate(good.new, good.used.repeat(2)), "a column number twice"),
        (lambda M, good: (good.new, good.used), "a tuple: return a BasisUpdate"),
    ],
)
def test_directions_that_would_not_protect_raise(directions, message):
    learner = Custom(**SETTINGS, directions=directions).start(perceptron())
    learner.learn("a", data(0))
    before = learner.state()
    with pytest.raises(ValueError, match=rf"Custom.select_directions for layer '0' returned .*{message}"):
        learner.learn("b", data(1))
    assert_same(learner.state(), before)


def test_single_precision_directions_are_accepted():
    def single(M, good):
        return BasisUpdate(good.new.float(), good.used)

    learner = Custom(**SETTINGS, directions=single).start(perceptron())
    for task in range(3):
        learner.learn(str(task), data(task))
    assert learner.tasks == ["0", "1", "2"]


@pytest.mark.parametrize("trusted", [[0], {1: 1.0}, {-1: 1.0}, {0: 0.0}, {0: float("nan")}, {0: -1.0}])
def test_trusted_tasks_that_cannot_be_raise(trusted):
    learner = Custom(**SETTINGS, trusted=trusted).start(perceptron())
    learner.learn("a", data(0))
    with pytest.raises(
        ValueError, match=r"Custom.select_trusted returned .*: return a dictionary from numbers of old tasks"
    ):
        learner.learn("b", data(1))
    assert learner.tasks == ["a"]
