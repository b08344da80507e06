"""Checks of `best_order` and its relatives at random sizes, time limits and interrupts."""

from __future__ import annotations

import signal
import threading
import time
import traceback
from dataclasses import dataclass
from math import isfinite

import numpy as np

from ebbing.order import Plan, best_order, worst_order
from ebbing.order.objective import Criterion, Objective
from ebbing.order.simple_rules import CHEAP_RULES
from ebbing.problem import Problem

OBJECTIVES: tuple[Objective, ...] = ("forgetting", "generalization", 0.3, {"forgetting": 1.0, "generalization": 20.0})
_HEEDING = ("certified", "_known", "_by_sorting", "_order_equal", "_order_unequal", "_worst_equal", "_worst_unequal")
SCALES = (1.0, 1.0, 1.0, 1e-160, 1e-80, 1e80, 1e149)


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


class Watch(threading.Thread):
    """Notes when some seconds have passed, in time and in processor time, and may send Ctrl-C then."""

    def __init__(self, seconds: float, interrupt: bool) -> None:
        super().__init__(daemon=True)
        self._seconds, self._interrupt, self._over = seconds, interrupt, threading.Event()
        self.noted: tuple[float, float] | None = None

    def run(self) -> None:
        if not self._over.wait(self._seconds):
            self.noted = time.monotonic(), time.process_time()
            if self._interrupt:
                signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)

    def since(self) -> tuple[float, float]:
        """Return the time and the processor time since then, or zeros, and stop watching."""
        now = time.monotonic(), time.process_time()
        self._over.set()
        noted = self.noted or now
        return max(0.0, now[0] - noted[0]), max(0.0, now[1] - noted[1])


@dataclass(frozen=True)
class Outcome:
    """What a search gave, and how long it took after its end was due: in time and in processor time."""

    plan: Plan
    after_limit: tuple[float, float]
    after_interrupt: tuple[float, float]


def search(find: str, problem: Problem, objective: Objective, limit: float, interrupt: float | None) -> Outcome:
    """Run `best_order` or `worst_order`, with Ctrl-C after some seconds.

    Before a search has begun and after it has ended, Ctrl-C raises KeyboardInterrupt as usual; then search again.
    """
    watches = [Watch(limit, interrupt=False)]
    if interrupt is not None:
        watches.append(Watch(interrupt, interrupt=True))
    outcome = None
    try:
        for watch in watches:
            watch.start()
        plan = (best_order if find == "best" else worst_order)(problem, objective, seconds=limit)
        outcome = Outcome(plan, watches[0].since(), watches[-1].since() if interrupt is not None else (0.0, 0.0))
        for watch in watches:
            watch.join()
    except KeyboardInterrupt as error:
        inside = [frame.name for frame in traceback.extract_tb(error.__traceback__)]
        heeded = (
            "certified",
            "_known",
            "_by_sorting",
            "_order_equal",
            "_order_unequal",
            "_worst_equal",
            "_worst_unequal",
        )
        assert not set(heeded) & set(inside), f"Ctrl-C was not heeded: {inside}"
    return outcome or search(find, problem, objective, limit, None)


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
