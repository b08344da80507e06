"""Orders as people read them, and as programs read them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.text import Text

from ebbing.order import Front, Plan, Stakes
from ebbing.order.objective import Objective
from ebbing.printing import note, table_of
from ebbing.printing.linear import describe, problem_json
from ebbing.problem import Problem
from ebbing.theory import expect


def parse_objective(text: str) -> Objective:
    """What the command line asks to be minimized.

    >>> parse_objective("forgetting"), parse_objective("0.7")
    ('forgetting', {'forgetting': 0.7, 'generalization': 0.30000000000000004})
    """
    if text in ("forgetting", "generalization"):
        return text
    try:
        weight = float(text)
    except ValueError:
        weight = -1.0
    if not 0 <= weight <= 1:
        raise ValueError(f"objective={text!r}: give forgetting, generalization, or a weight of forgetting from 0 to 1")
    return {"forgetting": weight, "generalization": 1 - weight}


def print_stakes(found: Stakes, objective: str, console: Console) -> None:
    """The order, its certificate, and what other orders lead to."""
    plan = found.plan
    console.print(Text(describe(plan.problem)))
    console.print(Text(f"learn in this order, for {_wanted(objective)}:", "bold"))
    console.print(Text("  " + " > ".join(plan.names)))
    console.print(Text(_certificate(plan)))
    console.print()
    names = [name for name in ("forgetting", "generalization") if name == "generalization" or plan.problem.T > 1]
    mixed = objective not in names
    table = table_of("", *(["the mix"] if mixed else []), *(_LABELS[name] for name in names))
    for label, order, value in (
        ("this order", plan.order, plan.value),
        ("as given", range(plan.problem.T), found.given),
        ("worst order" + ("" if found.worst.proved else " found"), found.worst.order, found.worst.value),
    ):
        e = expect(plan.problem.reordered(list(order)))
        table.add_row(label, *([f"{value:.6g}"] if mixed else []), *(f"{getattr(e, name):.6g}" for name in names))
    chance = found.chance
    mean = f"{chance.mean:.5g} ± {chance.standard_error:.1g}"
    table.add_row("random orders, mean", *([mean] if mixed else [mean if name == objective else "" for name in names]))
    console.print(table)
    shares = (chance.share_above(found.given), chance.share_above(plan.value))
    note(
        "Of {:,} random orders, {:.0%} are worse than the one given, {:.0%} worse than the one found.".format(
            len(chance.values), *shares
        ),
        console,
    )


_LABELS = {"forgetting": "forgetting F", "generalization": "generalization error G"}


def _certificate(plan: Plan) -> str:
    if plan.proved:
        others = (
            ""
            if plan.ties is None
            else f"; {plan.ties:,} orders share it"
            if plan.ties > 1
            else "; no other order does"
        )
        return f"Proved: no order has less than {plan.value:.6g}{others} ({plan.how})."
    return (
        f"Not proved: found {plan.value:.6g}, and no order has less than {plan.lower_bound:.6g} ({plan.how}). "
        "More --seconds may close the gap."
    )


def _wanted(objective: str) -> str:
    words = {"forgetting": "the least forgetting", "generalization": "the least generalization error"}
    return words.get(objective) or f"the least mix of forgetting (weight {objective}) and generalization error"


def stakes_json(found: Stakes, objective: str) -> dict[str, Any]:
    """What `ebbing order --json` says."""
    plan, chance = found.plan, found.chance
    return {
        "problem": problem_json(plan.problem),
        "objective": objective,
        "order": plan.order,
        "names": plan.names,
        "value": plan.value,
        "lower_bound": plan.lower_bound,
        "proved": plan.proved,
        "tolerance": plan.tolerance,
        "how": plan.how,
        "ties": plan.ties,
        "given": found.given,
        "worst": {"order": found.worst.order, "value": found.worst.value, "proved": found.worst.proved},
        "random": {"sampled": len(chance.values), "mean": chance.mean, "standard_error": chance.standard_error},
        **_both(plan.problem, plan.order),
    }


def print_front(problem: Problem, points: Front, console: Console) -> None:
    """The corners of the front, least forgetting first."""
    console.print(Text(describe(problem)))
    table = table_of("forgetting F", "generalization error G", "order", "", left=(2, 3))
    for point in points:
        names = " > ".join(problem.names[i] for i in point.order)
        proved = "proved" if point.proved else "not proved"
        table.add_row(f"{point.forgetting:.6g}", f"{point.generalization:.6g}", Text(names), proved)
    console.print(table)
    if points.complete:
        note("Corners of the convex front, all proved: no order lies below the lines between them.", console)
    else:
        note("Time ran out: corners may be missing or not the best. More --seconds may complete the front.", console)


def front_json(problem: Problem, points: Front) -> dict[str, Any]:
    """What `ebbing order --front --json` says."""
    named = [vars(point) | {"names": [problem.names[i] for i in point.order]} for point in points]
    return {"problem": problem_json(problem), "front": named, "complete": points.complete}


def _both(problem: Problem, order: Sequence[int]) -> dict[str, float | None]:
    e = expect(problem.reordered(list(order)))
    return {"forgetting": e.forgetting if problem.T > 1 else None, "generalization": e.generalization}
