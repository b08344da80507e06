"""Tasks whose inputs differ: `InputProblem`, a second kind of problem (the model of Li and Hiratani, 2025).

`Problem` has tasks with the same distribution of inputs and other labels. Here every task has an input x_i of length
one and a target y_i, and one linear layer learns task t to the end: W <- W + (y_t - W x_t) x_t'. Its effect on task i
is as large as the similarity of their inputs. Only inner products matter:

=======  =================================================  ======
here     meaning                                            shape
=======  =================================================  ======
inputs   C, C_ij = <x_i, x_j>, ones on the diagonal         (T, T)
outputs  B, B_ij = <y_i, y_j>                               (T, T)
R        residuals y_i - W x_i = sum_j R_ij y_j             (T, T)
=======  =================================================  ======

R = I at the start (W = 0), and learning task t takes R to R - C_t R[t], an outer product. The error on task i is
|y_i - W x_i|^2 = (R B R')_ii. Nothing is random: errors are numbers, not expectations.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, Self, get_args

import numpy as np
import numpy.typing as npt

from ebbing import metrics
from ebbing._gram import semidefinite
from ebbing._validate import Array, check_magnitude, check_order, check_square

InputObjective = Literal["forgetting", "generalization"]
"""What an order of an `InputProblem` should make small."""

PROVED_UP_TO = 8
"""Tasks for which all orders are tried; beyond, a local search gives an order without a proof."""


@dataclass(frozen=True, eq=False, repr=False)
class InputProblem:
    """T tasks with their own inputs, in the order in which they are learned.

    Each task is one input of length one and its target. `Problem` has tasks whose inputs have the same distribution.

    Args:
        inputs: Inner products of the inputs (T, T), ones on the diagonal.
        outputs: Inner products of the targets (T, T).

    Attributes:
        inputs: Inner products of the inputs.
        outputs: Inner products of the targets.

    Raises:
        ValueError: If a matrix is not square, symmetric and positive semidefinite, their sizes differ, or an input does
            not have length one.

    Example:
        >>> problem = InputProblem(inputs=[[1, 0.5], [0.5, 1]], outputs=[[1, 0], [0, 1]])
        >>> problem.errors.tolist()
        [[1.0, 1.0], [0.0, 1.25], [0.3125, 0.0]]
        >>> problem.forgetting, problem.generalization
        (0.3125, 0.15625)
    """

    inputs: Array
    outputs: Array

    def __init__(self, inputs: npt.ArrayLike, outputs: npt.ArrayLike) -> None:
        checked = {}
        for name, value in (("inputs", inputs), ("outputs", outputs)):
            checked[name], _ = semidefinite(check_magnitude(name, check_square(name, value)))
        if len(checked["inputs"]) != len(checked["outputs"]):
            raise ValueError(
                f"inputs has {len(checked['inputs'])} tasks and outputs {len(checked['outputs'])}: "
                "give one row per task in both"
            )
        lengths = np.diagonal(checked["inputs"])
        if np.abs(lengths - 1).max() > 1e-9:
            worst = int(np.abs(lengths - 1).argmax())
            raise ValueError(
                f"inputs[{worst}, {worst}] = {lengths[worst]:g}: inputs have length one; "
                "divide its row and column by the root"
            )
        for name, matrix in checked.items():
            matrix.setflags(write=False)
            object.__setattr__(self, name, matrix)

    @property
    def T(self) -> int:
        """Number of tasks."""
        return len(self.inputs)

    @property
    def errors(self) -> Array:
        """L[t, i], the error on task i after t tasks (T+1, T); row 0 is the initial model."""
        R: Array = np.eye(self.T)
        rows = [np.diagonal(self.outputs).copy()]
        for t in range(self.T):
            R = R - self.inputs[:, t, None] * R[t]
            rows.append(_errors_of(R, self.outputs))
        return np.array(rows)

    @property
    def forgetting(self) -> float:
        """F_T, the mean of L[T, i] - L[i, i] over all tasks but the last."""
        return float(metrics.forgetting(self.errors, kind="error"))

    @property
    def generalization(self) -> float:
        """G_T, the mean of L[T, i]."""
        return float(self.errors[-1].mean())

    def reordered(self, order: Sequence[int] | npt.NDArray[np.integer]) -> Self:
        """Return the same tasks in another order.

        Args:
            order: The tasks in the new order, indices from 0.

        Returns:
            The problem.

        Raises:
            ValueError: If it is not an order of the tasks.

        Example:
            >>> InputProblem(np.eye(2), [[1, 0], [0, 4]]).reordered([1, 0]).outputs.tolist()
            [[4.0, 0.0], [0.0, 1.0]]
        """
        tasks = check_order(order, self.T)
        index = np.ix_(tasks, tasks)
        return type(self)(self.inputs[index], self.outputs[index])

    def best_order(self, objective: InputObjective = "generalization") -> InputPlan:
        """Return the order with the smallest objective, and what two simple rules lose against it.

        Args:
            objective: "forgetting" or "generalization".

        Returns:
            The order; proved for up to eight tasks, where all orders are tried.

        Raises:
            ValueError: If the objective is unknown.

        Example:
            >>> plan = InputProblem([[1, 0.8, 0], [0.8, 1, 0.5], [0, 0.5, 1]], np.eye(3)).best_order()
            >>> plan.order, round(plan.value, 4), plan.proved
            ((0, 1, 2), 0.4674, True)
        """
        if objective not in get_args(InputObjective):
            raise ValueError(f"objective={objective!r}: give one of {', '.join(get_args(InputObjective))}")

        def value(order: Sequence[int]) -> float:
            return float(_values(self, np.array([order]), objective)[0])

        rules = {"periphery to core": periphery_to_core(self), "longest path": longest_path(self)}
        if proved := self.T <= PROVED_UP_TO:
            orders = np.array(list(itertools.permutations(range(self.T))))
            values = _values(self, orders, objective)
            best = tuple(orders[values.argmin()].tolist())
        else:
            found = [_improved(rule, value) for rule in (*rules.values(), tuple(range(self.T)))]
            best = min(found, key=value)
        return InputPlan(best, value(best), proved, {name: value(order) for name, order in rules.items()})


@dataclass(frozen=True)
class InputPlan:
    """The order found for an `InputProblem`.

    Attributes:
        order: The tasks, indices from 0.
        value: The objective of this order.
        proved: Whether no order is better.
        rules: The objective of each simple rule, by its name.
    """

    order: tuple[int, ...]
    value: float
    proved: bool
    rules: dict[str, float]


def periphery_to_core(problem: InputProblem) -> tuple[int, ...]:
    """Return the order from the task least similar to the others to the most similar one.

    The similarity of two tasks is C_ij B_ij: how much learning one reduces the error on the other, to first order.

    Args:
        problem: The tasks.

    Returns:
        The order, indices from 0.
    """
    return tuple(np.argsort((problem.inputs * problem.outputs).sum(axis=1), kind="stable").tolist())


def longest_path(problem: InputProblem) -> tuple[int, ...]:
    """Return the order in which neighbors are least similar in sum; beyond eight tasks, one that no swap improves.

    Args:
        problem: The tasks.

    Returns:
        The order, indices from 0.
    """
    similarity = problem.inputs * problem.outputs

    def total(order: Sequence[int]) -> float:
        return float(similarity[list(order[:-1]), list(order[1:])].sum())

    if problem.T <= PROVED_UP_TO:
        return min(itertools.permutations(range(problem.T)), key=total)
    return _improved(tuple(range(problem.T)), total)


def _improved(order: tuple[int, ...], value: Callable[[Sequence[int]], float]) -> tuple[int, ...]:
    """Return an order that no swap of two tasks improves."""
    best, current = value(order), list(order)
    improved = True
    while improved:
        improved = False
        for i, j in itertools.combinations(range(len(current)), 2):
            current[i], current[j] = current[j], current[i]
            if (new := value(current)) < best - 1e-14 * abs(best):
                best, improved = new, True
            else:
                current[i], current[j] = current[j], current[i]
    return tuple(current)


def _values(problem: InputProblem, orders: npt.NDArray[np.int64], objective: InputObjective) -> Array:
    """Return the objective of many orders (M, T) at once."""
    M, T = orders.shape
    R = np.tile(np.eye(T), (M, 1, 1))
    forgotten, every = np.zeros(M), np.arange(M)
    for place in range(T):
        t = orders[:, place]
        learned = R[every, t]  # (M, T)
        if objective == "forgetting" and place:
            before = orders[:, place - 1]
            last = R[every, before]
            forgotten -= np.einsum("mj,jk,mk->m", last, problem.outputs, last)
        R = R - problem.inputs[:, t].T[:, :, None] * learned[:, None, :]
    final = np.einsum("mij,jk,mik->mi", R, problem.outputs, R)
    if objective == "generalization":
        return final.mean(axis=1)
    return (forgotten + final.sum(axis=1) - final[every, orders[:, -1]]) / max(T - 1, 1)


def _errors_of(R: Array, outputs: Array) -> Array:
    return ((R @ outputs) * R).sum(axis=1)
