"""Orders that balance forgetting and generalization error ("the task order with balanced impact", Section 4.3)."""

from __future__ import annotations

import time
from collections.abc import Iterator
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


@dataclass(frozen=True)
class Front:
    """The corners of the convex front, least forgetting first; iterate over it for the points."""

    points: tuple[FrontPoint, ...]
    complete: bool  # every corner is proved and none is missing: each order lies on or above the lines between them

    def __iter__(self) -> Iterator[FrontPoint]:
        return iter(self.points)

    def __len__(self) -> int:
        return len(self.points)


def front(problem: Problem, *, seconds: float = 60.0, seed: int = 0, progress: Progress | None = None) -> Front:
    """Orders that balance forgetting and generalization error: the corners of the convex front, least forgetting first.

    Each is optimal for some weights of the two. An order that none of them beats in both respects may lie between
    corners, but no order lies below the line that joins them.

    >>> points = front(Problem.categories("ABBBBB", n=50, p=100))
    >>> [point.order.index(0) + 1 for point in points]       # the special task moves to the front
    [2, 1]
    """
    expect(problem)
    deadline = time.monotonic() + seconds

    def solve(f: float, g: float) -> FrontPoint:
        nonlocal deadline
        left = max(0.5, deadline - time.monotonic())
        weights = {"forgetting": f, "generalization": g}
        plan = best_order(problem, weights, seconds=left / 3, seed=seed, progress=progress)
        if plan.interrupted:  # Ctrl-C ends the whole search
            deadline = time.monotonic()
        e = expect(plan.reordered)
        return FrontPoint(plan.order, e.forgetting, e.generalization, plan.proved)

    scale = float(problem.gaps.max() + problem.start.max())
    # A trace of the other quantity breaks ties, so that the ends of the front are not beaten in both respects.
    ends = [solve(1.0, 1e-7), solve(1e-7, 1.0)]
    points, open_pairs, searched = [ends[0]], [(ends[0], ends[1])], True
    while open_pairs:
        one, other = open_pairs.pop()
        rise, fall = other.forgetting - one.forgetting, one.generalization - other.generalization
        if min(rise, fall) <= 1e-9 * scale:  # the same point, or beaten by its neighbor
            continue
        if time.monotonic() > deadline:
            points.append(other)
            searched = False
            continue
        between = solve(fall, rise)
        on_line = fall * (between.forgetting - one.forgetting) + rise * (between.generalization - one.generalization)
        if on_line >= -1e-9 * scale * max(rise, fall):  # nothing below the line that joins the two
            points.append(other)
        else:
            open_pairs += [(between, other), (one, between)]
    return Front(tuple(points), searched and all(point.proved for point in points))
