"""The JSON of `ebbing order` and `ebbing replay`; docs/reference/formats.md describes every field."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ebbing.io.schema import problem_json
from ebbing.theory import expect

if TYPE_CHECKING:
    from ebbing.order import Front, ReplayCurve, ReplayOrder, ReplayPlan, Stakes


def order_json(stakes: Stakes, objective: str) -> dict[str, Any]:
    """Return the content of `ebbing order --json`.

    Args:
        stakes: The best order beside the given one, the worst and random ones.
        objective: What was minimized, as given.

    Returns:
        The fields; forgetting is None for a single task.
    """
    plan, random = stakes.plan, stakes.random
    e = expect(plan.problem.reordered(plan.order))
    return {
        "problem": problem_json(plan.problem),
        "objective": objective,
        "order": plan.order,
        "names": plan.names,
        "value": plan.value,
        "lower_bound": plan.lower_bound,
        "proved": plan.proved,
        "tolerance": plan.tolerance,
        "method": plan.method,
        "ties": plan.ties,
        "given": stakes.given,
        "worst": {"order": stakes.worst.order, "value": stakes.worst.value, "proved": stakes.worst.proved},
        "random": {"sampled": len(random.values), "mean": random.mean, "standard_error": random.standard_error},
        "forgetting": e.forgetting if plan.problem.T > 1 else None,
        "generalization": e.generalization,
    }


def front_json(front: Front) -> dict[str, Any]:
    """Return the content of `ebbing order --front --json`.

    Args:
        front: The corners of the convex front.

    Returns:
        The fields, points with the least forgetting first.
    """
    points = [
        {
            "order": point.order,
            "forgetting": point.forgetting,
            "generalization": point.generalization,
            "proved": point.proved,
            "names": [front.problem.names[i] for i in point.order],
        }
        for point in front
    ]
    return {"problem": problem_json(front.problem), "front": points, "complete": front.complete}


def replay_json(curve: ReplayCurve, plan: ReplayPlan, objective: str) -> dict[str, Any]:
    """Return the content of `ebbing replay --json`.

    Args:
        curve: Forgetting and generalization error against the replay ratio.
        plan: The best replay.
        objective: What was minimized, as given.

    Returns:
        The fields; joint is None where the objective has forgetting.
    """
    names = ("memory", "ratio", "forgetting", "generalization")
    fields = ("budget", "used", "replayed", "value", "lower_bound", "proved", "none", "even", "joint")
    return {
        "problem": problem_json(plan.problem),
        "learner": repr(plan.learner),
        "curve": {name: getattr(curve, name) for name in names},
        "objective": objective,
        "plan": {name: getattr(plan, name) for name in fields},
    }


def replay_order_json(found: ReplayOrder) -> dict[str, Any]:
    """Return the content of `ebbing order --replay --json`.

    Args:
        found: The order.

    Returns:
        The fields.
    """
    names = ("order", "names", "value", "given", "worst", "lower_bound", "proved", "method")
    return {"problem": problem_json(found.problem), **{name: getattr(found, name) for name in names}}
