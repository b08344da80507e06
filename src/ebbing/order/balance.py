"""Orders that balance forgetting and generalization error ("the task order with balanced impact", Section 4.3)."""

from __future__ import annotations

import time
from dataclasses import dataclass

from ebbing.order.plan import Progress, best_order
from ebbing.problem import Problem
from ebbing.theory import expect


@dataclass(frozen=True)
class FrontPoint:
    """A point of the front: an order and both its values."""

    order: tuple[int, ...]
    forgetting: float
    generalization: float
    proved: bool  # that no order is better for the weights that led here


def front(
    problem: Problem, *, seconds: float = 60.0, seed: int = 0, progress: Progress | None = None
) -> list[FrontPoint]:
    """Orders that balance forgetting and generalization error: the corners of the convex front, least forgetting first.

    Each is optimal for some weights of the two; an order that none of them beats in both respects may lie between
    corners, but every order lies above the line that joins them.

    >>> points = front(Problem.categories("ABBBBB", n=50, p=100))
    >>> [point.order.index(0) + 1 for point in points]       # the special task moves to the front
    [2, 1]
    """
    expect(problem)
    deadline = time.monotonic() + seconds

    def solve(f: float, g: float) -> FrontPoint:
        left = max(0.5, deadline - time.monotonic())
        weights = {"forgetting": f, "generalization": g}
        plan = best_order(problem, weights, seconds=left / 3, seed=seed, progress=progress)
        e = expect(plan.reordered)
        return FrontPoint(plan.order, e.forgetting, e.generalization, plan.proved)

    scale = float(problem.gaps.max() + problem.start.max())
    # A trace of the other quantity breaks ties, so that the ends of the front are not beaten in both respects.
    ends = [solve(1.0, 1e-7), solve(1e-7, 1.0)]
    points, open_pairs = [ends[0]], [(ends[0], ends[1])]
    while open_pairs:
        one, other = open_pairs.pop()
        rise, fall = other.forgetting - one.forgetting, one.generalization - other.generalization
        if min(rise, fall) <= 1e-9 * scale or time.monotonic() > deadline:
            if max(rise, fall) > 1e-9 * scale or other is not ends[1]:
                points.append(other)
            continue
        between = solve(fall, rise)
        on_line = fall * (between.forgetting - one.forgetting) + rise * (between.generalization - one.generalization)
        if on_line >= -1e-9 * scale * max(rise, fall):  # nothing below the line that joins the two
            points.append(other)
        else:
            open_pairs += [(between, other), (one, between)]
    return points
