"""Words that all results about orders share."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from ebbing._tables import Table, escape_control
from ebbing.order.objective import Objective
from ebbing.problem import Problem
from ebbing.theory._description import describe, describe_model

_SHOWN = 8  # tasks of an order in one line

COLUMNS = {"forgetting": "forgetting F", "generalization": "generalization error G"}


def problem_table(problem: Problem) -> Table:
    """Return the lines that head every result: the numbers of the problem and its model."""
    return Table(f"{describe(problem)}\n{describe_model(problem.n, problem.p)}")


def join_names(names: Iterable[str]) -> str:
    """Return names of tasks in the order of learning.

    >>> join_names(("digits", "letters"))
    'digits > letters'
    """
    return " > ".join(map(escape_control, names))


def short_order(names: Sequence[str]) -> str:
    """Return names of tasks in the order of learning, the first ones and the last one if there are many.

    >>> short_order("ABCDEFGHIJKL")
    'A > B > C > D > E > F > G > ... > L'
    """
    return join_names(names if len(names) <= _SHOWN else [*names[: _SHOWN - 1], "...", names[-1]])


def describe_objective(objective: Objective) -> str:
    """Return the name of the quantity that is minimized.

    >>> describe_objective("forgetting"), describe_objective({"forgetting": 0.7, "generalization": 0.3})
    ('expected forgetting', 'mix of expected forgetting (weight 0.7) and generalization error (weight 0.3)')
    """
    words = {"forgetting": "expected forgetting", "generalization": "expected generalization error"}
    if isinstance(objective, str):
        return words[objective]
    assert isinstance(objective, Mapping)  # a single weight has been turned into both
    weights = {name: weight for name, weight in objective.items() if weight}
    if len(weights) == 1:
        return words[next(iter(weights))]
    f, g = weights["forgetting"], weights["generalization"]
    return f"mix of expected forgetting (weight {f:g}) and generalization error (weight {g:g})"
