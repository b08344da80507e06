"""Checks of `best_order` and its relatives at random sizes, time limits and interrupts."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from math import isfinite

import numpy as np

from ebbing.order import Plan, best_order, worst_order
from ebbing.order.objective import Criterion, Objective
from ebbing.order.simple_rules import CHEAP_RULES
from ebbing.problem import Problem

OBJECTIVES: tuple[Objective, ...] = ("forgetting", "generalization", 0.3, {"forgetting": 1.0, "generalization": 20.0})
SCALES = (1.0, 1.0, 1.0, 1e-160, 1e-80, 1e80, 1e150)


def random_problem(random: np.random.Generator, T: int) -> Problem:
    """Draw tasks of every kind: points, directions, copies, clusters and lines; equal or not; of any scale."""
    w = random.standard_normal((T, int(random.choice([1, 2, 6, T]))))
    match random.choice(["points", "directions", "copies", "clusters", "orthogonal"]):
        case "directions":
            w /= np.linalg.norm(w, axis=1, keepdims=True)
        case "copies":
            w = w[random.integers(0, min(T, int(random.integers(1, 5))), T)]
        case "clusters":
            w = w[random.integers(0, min(T, 4), T)] + 0.1 * w
        case "orthogonal":
            w = np.eye(T)
    p = T + int(random.choice([5, 100, 10_000]))
    n: int | np.ndarray = int(random.integers(1, p - 1))
    sigma: float | np.ndarray = float(random.choice([0.0, 0.5]))
    if random.random() < 0.4:
        n, sigma = random.integers(1, p - 1, T), random.uniform(0, 1, T)
    scale = float(random.choice(SCALES))
    return Problem(gram=scale**2 * (w @ w.T), n=n, p=p, sigma=scale * np.asarray(sigma))


@contextmanager
def interrupted_after(seconds: float | None) -> Iterator[list[float]]:
    """Send Ctrl-C to this process after some seconds; yield a list with the moment when that happened."""
    moments: list[float] = []
    timer = threading.Event()

    def send() -> None:
        if not timer.wait(seconds):
            moments.append(time.monotonic())
            signal.pthread_kill(main, signal.SIGINT)

    main = threading.main_thread().ident or 0
    thread = threading.Thread(target=send, daemon=True)
    if seconds is not None:
        thread.start()
    try:
        yield moments
    finally:
        timer.set()
        if seconds is not None:
            thread.join()


@dataclass(frozen=True)
class Outcome:
    """What a search gave, and how long it took."""

    plan: Plan
    seconds: float
    after_interrupt: float | None


def search(find: str, problem: Problem, objective: Objective, limit: float, interrupt: float | None) -> Outcome:
    """Run `best_order` or `worst_order`; an interrupt that comes too late for it is caught."""
    began, plan, ended = time.monotonic(), None, None
    moments: list[float] = []
    try:
        with interrupted_after(interrupt) as moments:
            function = best_order if find == "best" else worst_order
            plan = function(problem, objective, seconds=limit)
            ended = time.monotonic()
    except KeyboardInterrupt:
        assert plan is not None, "Ctrl-C was not heeded: the search raised KeyboardInterrupt"
    assert plan is not None
    ended = ended or time.monotonic()
    late = ended - moments[0] if moments and moments[0] < ended else None
    return Outcome(plan, ended - began, late)


def check(outcome: Outcome, problem: Problem, objective: Objective) -> None:
    """Raise an AssertionError unless the plan is at least as good as every known order and its bound is valid."""
    plan, criterion = outcome.plan, Criterion.of(problem, objective)
    sign = -1.0 if plan.worst else 1.0
    assert sorted(plan.order) == list(range(problem.T))
    assert plan.value == criterion.value(plan.order)
    assert isfinite(plan.value)
    known = {name: rule(problem) for name, rule in CHEAP_RULES.items()} | {"given": np.arange(problem.T)}
    for name, order in known.items():
        value = criterion.value(order)
        assert sign * plan.value <= sign * value, f"{name} is better: {value!r}, the plan has {plan.value!r}"
    assert sign * plan.lower_bound <= sign * plan.value + plan.tolerance
    assert plan.proved == (plan.lower_bound == plan.value)
