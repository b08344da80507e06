"""How many samples of which old task to replay at which step: `best_replay`.

Learned to the end, the mean error a_s over all tasks after step s has a recursion of its own (docs/theory/replay.md),

    E a_s = retained(N_s) E a_{s-1} + b_s(samples of the step),

and b_s is concave in the samples of old tasks while their number is fixed and N_s < p: disagreement acts as noise. So a
step replays a single old task, and a dynamic program over steps and samples spent finds the least E G, with proof. With
N_s >= p, b_s may be convex: the best split is searched for and bounded. Forgetting is minimized by local search, and
`_replay_bound` bounds it: with proof for two or three tasks, and more where budgets are small.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ebbing._pages import Page, Picture
from ebbing._tables import Table, Tabular, format_number, to_frame
from ebbing._validate import Array, check_count, check_seconds, check_seed
from ebbing.curriculum import Curriculum
from ebbing.learners import Averaged, LinearLearner, MinimumNorm, check_learner, simplify_learner
from ebbing.order._clock import Clock, heed_interrupts
from ebbing.order._curriculum_values import Counts, curriculum_values
from ebbing.order._replay_bound import bound_replay
from ebbing.order._replay_search import least_generalization, local_search, lot_size
from ebbing.order._tables import describe_objective, hardly_learned_notes
from ebbing.order.objective import Criterion, Objective
from ebbing.problem import Problem
from ebbing.theory._description import describe, describe_step_model
from ebbing.theory._step_checks import check_rates_converge

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

HARDLY = 0.001
"""A plan whose gain is a smaller share of the objective is said to hardly help."""

MOST_TASKS = 30
"""Largest T: the local search tries all pairs of T (T-1) / 2 places for samples."""


@dataclass(frozen=True, eq=False, repr=False)
class ReplayPlan(Tabular):
    """How many samples of which old task to replay at which step.

    Attributes:
        problem: The tasks, in the order of learning.
        budget: How many samples might be replayed in all.
        replayed: Samples of task j replayed in the step of task t (T, T), zero for j >= t.
        value: The objective with this replay.
        lower_bound: No replay within the budget is below it; -inf if no bound is known.
        proved: Whether no replay within the budget is better.
        none: The objective without replay.
        even: The objective with the budget spread evenly over all steps and old tasks.
        joint: The objective of learning everything in one step, the budget spread evenly over the tasks; NaN for
            forgetting, which one step cannot have.
        objective: What is minimized.
        learner: How each step learns.
    """

    problem: Problem
    budget: int
    replayed: Counts
    value: float
    lower_bound: float
    proved: bool
    none: float
    even: float
    joint: float
    objective: Objective
    learner: LinearLearner

    @property
    def curriculum(self) -> Curriculum:
        """The steps, with what they replay."""
        return _curriculum(self.problem, self.replayed)

    @property
    def used(self) -> int:
        """How many samples are replayed: less than the budget where more would hurt."""
        return int(self.replayed.sum())

    @property
    def ratios(self) -> Array:
        """Replayed samples per new one, at each step (T,)."""
        return self.replayed.sum(axis=1) / self.problem.n

    def to_frame(self) -> pd.DataFrame:
        """Return what is replayed as a pandas DataFrame.

        Returns:
            One row for each step and old task with samples replayed: `step` (from 1), `task` (name of the new one),
            `replayed` (name of the old one) and `samples`.
        """
        steps, tasks = np.nonzero(self.replayed)
        names = self.problem.names
        return to_frame(
            {
                "step": steps + 1,
                "task": [names[t] for t in steps],
                "replayed": [names[j] for j in tasks],
                "samples": self.replayed[steps, tasks],
            }
        )

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw what to replay: a bar for each step, divided by old task.

        Args:
            ax: The axes to draw on; a new figure if None.

        Returns:
            The axes.
        """
        from ebbing.plot.replay import plot_replay_plan

        return plot_replay_plan(self, ax=ax)

    def _page(self) -> Page:
        picture = Picture(self.plot, "A bar is a step; its pieces are samples of old tasks to mix into it.")
        return Page("Which old data to replay when", [picture] if self.used else [])

    def _answer(self) -> str:
        quantity = describe_objective(self.objective)
        if self.budget == 0:
            return f"Without replay, the {quantity} is {format_number(self.none, '.4g')}."
        if self.used == 0:
            return f"Replay nothing: no plan with up to {self.budget} old samples was found to reduce the {quantity}."
        samples = "1 sample" if self.used == 1 else f"{self.used} samples"
        if abs(self.none - self.value) < HARDLY * abs(self.none):
            return (
                f"Old data hardly helps: with {samples} in all, the best plan, the {quantity} falls by only "
                f"{format_number(self.none - self.value, '.2g')}, from {format_number(self.none, '.4g')}."
            )
        return (
            f"Replay {samples}: the {quantity} is {format_number(self.value, '.4g')}, instead of "
            f"{format_number(self.none, '.4g')} without old data."
        )

    def _tables(self) -> Sequence[Table]:
        quantity, names = describe_objective(self.objective), self.problem.names
        rows = [["without replay", format_number(self.none), "0"]]
        if self.budget:
            rows += [
                ["the same number of every old task", format_number(self.even), str(self.budget)],
                ["this plan", format_number(self.value), str(self.used)],
            ]
        if not np.isnan(self.joint):
            rows.append(["all tasks in one step", format_number(self.joint), str(self.budget)])
        if self.proved:
            certificate = f"Proved: no replay of at most {self.budget} samples has a lower {quantity} in this model."
        elif np.isfinite(self.lower_bound):
            bound = format_number(self.lower_bound)
            certificate = f"Not proved: no replay of at most {self.budget} samples is below {bound}."
        else:
            certificate = "Not proved: the best plan that a local search found; no bound is known."
        notes = [*[certificate] * (self.budget > 0), *hardly_learned_notes(self.problem)]
        _, (with_plan, without) = curriculum_values(
            self.problem, np.stack([self.replayed, 0 * self.replayed]) + np.diag(self.problem.n), self.learner
        )
        if with_plan > without:
            notes.append(
                "It forgets less because it learns less: the generalization error is "
                f"{format_number(with_plan)} with this plan, and {format_number(without)} without replay."
            )
        steps = [
            [names[t], ", ".join(f"{m} of {names[j]}" for j, m in enumerate(self.replayed[t]) if m) or "-"]
            for t in range(1, self.problem.T)
        ]
        unused = (
            [f"{self.budget - self.used} samples of the budget are left: more replay would increase it."]
            if self.used < self.budget
            else []
        )
        model = f"{describe(self.problem)}\n{describe_step_model(self.learner)}"
        searched = f"; fresh samples are replayed.\nReplay of at most {self.budget} samples for the least {quantity}."
        model += searched if self.budget else "."
        compared = Table(model, ["", quantity, "samples replayed"], rows, [*notes, *unused])
        if not self.budget:
            return (compared,)
        return compared, Table("What to mix into each step:", ["new task", "samples of old tasks"], steps, left=(0, 1))

    def __repr__(self) -> str:
        value = format_number(self.value)
        return f"ReplayPlan(budget={self.budget}, used={self.used}, value={value}, proved={self.proved})"


def best_replay(
    problem: Problem,
    budget: int,
    objective: Objective = "generalization",
    *,
    learner: LinearLearner = MinimumNorm(),  # noqa: B008  (frozen)
    seconds: float = 3.0,
    seed: int = 0,
) -> ReplayPlan:
    """Find how many fresh samples of which old task to mix into which step.

    Args:
        problem: The tasks, in the order of learning.
        budget: How many samples may be replayed in all; 0 for none.
        objective: "forgetting", "generalization", the weight of forgetting from 0 to 1, or weights of both.
        learner: How each step learns.
        seconds: Approximate time for the search and its bound, after which 30 tasks and thousands of samples still take
            some seconds. More may improve the plan, or prove it best. Ctrl-C ends it.
        seed: Seed of the local search, which is used for forgetting and for learners that stop early.

    Returns:
        The plan with its value, what it gains, and a certificate where there is one. Budgets of more than 2,000 samples
        are spent in portions of several samples, without a certificate.

    Raises:
        ValueError: If there is a single task or more than 30, or the expectation is infinite.

    Example:
        >>> problem = Problem.categories("AAAB", n=50, p=200, sigma=0.3)
        >>> best_replay(problem, budget=60)
        ReplayPlan(budget=60, used=60, value=0.961636, proved=True)
    """
    criterion = Criterion.of(problem, objective)
    budget = check_count("budget", budget, least=0)
    how = simplify_learner(check_learner(learner))
    if check_replay_tasks(problem) > MOST_TASKS:
        raise ValueError(f"the problem has {problem.T} tasks: replay is searched for at most {MOST_TASKS} tasks")
    check_rates_converge(problem.n, problem.p, how)
    clock, seed = Clock(check_seconds(seconds)), check_seed(seed)

    def values(replayed: Counts) -> Array:  # (plans, T, T) -> (plans,)
        samples = replayed + np.diag(problem.n)
        return _weighted(criterion, *curriculum_values(problem, samples, how))

    T = problem.T
    nothing, even = np.zeros((T, T), dtype=np.int64), _spread_evenly(budget, T)
    none, evenly = values(np.stack([nothing, even])).tolist()
    bound = -np.inf
    with heed_interrupts():
        if budget == 0:
            replayed, bound = nothing, none
        elif not criterion.forgetting and isinstance(how, MinimumNorm):
            replayed, bound = least_generalization(problem, budget, clock)
            bound *= criterion.generalization
        else:
            starts = [nothing, even]
            if isinstance(how, MinimumNorm | Averaged):
                starts.append(least_generalization(problem, budget, Clock(0.25 * seconds))[0])
            replayed = local_search(values, starts, budget, seed, Clock(0.5 * seconds))
            if isinstance(how, MinimumNorm) and lot_size(budget) == 1:
                replayed, bound = bound_replay(criterion, budget, replayed, values, clock)
    value = float(values(replayed[None])[0])
    proved = bool(bound >= value - 1e-12 * abs(value))
    together = problem.n + np.diff(np.arange(T + 1) * budget // T)
    joint = np.nan if criterion.forgetting else values_of_joint(problem, together, criterion, how)
    return ReplayPlan(
        problem, budget, replayed, value, bound, proved, none, evenly, joint, criterion.objective, learner
    )


def values_of_joint(problem: Problem, samples: Counts, criterion: Criterion, learner: LinearLearner) -> float:
    """Return the generalization error of learning all tasks in one step.

    Args:
        problem: The tasks.
        samples: Samples of each task (T,).
        criterion: The objective.
        learner: How the step learns.

    Returns:
        The value; inf where the expectation is.
    """
    _, G = curriculum_values(problem, samples[None, None], learner)
    return criterion.generalization * float(G[0])


def check_replay_tasks(problem: Problem) -> int:
    """Return the number of tasks, if there is an old one to replay.

    Args:
        problem: The tasks.

    Returns:
        T, at least 2.

    Raises:
        ValueError: If there is a single task.
    """
    if problem.T < 2:
        raise ValueError("replay needs an old task: give at least two tasks, not 1")
    return problem.T


def _weighted(criterion: Criterion, F: Array, G: Array) -> Array:
    value = criterion.generalization * G if criterion.generalization else np.zeros_like(G)
    return value + criterion.forgetting * F if criterion.forgetting else value


def _spread_evenly(budget: int, T: int) -> Counts:
    """Return the budget spread over all pairs of a step and an old task (T, T)."""
    steps, tasks = np.tril_indices(T, -1)
    replayed = np.zeros((T, T), dtype=np.int64)
    replayed[steps, tasks] = np.diff(np.arange(len(steps) + 1) * budget // len(steps))
    return replayed


def _curriculum(problem: Problem, replayed: Counts) -> Curriculum:
    return Curriculum(
        [
            {t: int(problem.n[t])} | {j: int(replayed[t, j]) for j in range(t) if replayed[t, j]}
            for t in range(problem.T)
        ]
    )
