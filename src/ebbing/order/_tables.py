"""Words that all results about orders share."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ebbing._tables import Table, escape_control
from ebbing.order.objective import Objective, objective_weights
from ebbing.problem import Problem
from ebbing.theory import expectation_if_finite
from ebbing.theory._description import describe, describe_model, learning_notes

_SHOWN = 8  # tasks of an order in one line
_CHARACTERS = 160  # of their names, two lines of a page

COLUMNS = {"forgetting": "forgetting F", "generalization": "generalization error G"}


def problem_table(problem: Problem) -> Table:
    """Return the lines that head every result: the numbers of the problem and its model."""
    return Table(f"{describe(problem)}\n{describe_model(problem.n, problem.p)}")


def hardly_learned_notes(problem: Problem) -> tuple[str, ...]:
    """Return a warning where the tasks, one after another, are hardly learned.

    >>> [note[:28] for note in hardly_learned_notes(Problem.identical(T=2, n=50, p=10**6))]
    ['The tasks are hardly learned']
    """
    expectation = expectation_if_finite(problem)
    return () if expectation is None else learning_notes(problem, expectation.errors, None)


def join_names(names: Iterable[str]) -> str:
    """Return names of tasks in the order of learning.

    >>> join_names(("digits", "letters"))
    'digits > letters'
    """
    return " > ".join(map(escape_control, names))


def short_order(names: Sequence[str]) -> str:
    """Return names of tasks in the order of learning, the first ones and the last one if there are many or long ones.

    >>> short_order("ABCDEFGHIJKL")
    'A > B > C > D > E > F > G > ... > L'
    >>> short_order([90 * "a", 90 * "b", "c"])[85:]
    'aaaaa > ... > c'
    """
    if len(names) <= _SHOWN and len(whole := join_names(names)) <= _CHARACTERS:
        return whole
    first = list(names[: min(len(names), _SHOWN) - 1])
    while len(first) > 1 and len(join_names([*first, names[-1]])) > _CHARACTERS:
        first.pop()
    return join_names([*first, *([] if len(first) == len(names) - 1 else ["..."]), names[-1]])


def describe_objective(objective: Objective, kind: str = "expected ") -> str:
    """Return the name of the quantity that is minimized, after the kind of number that it is.

    >>> describe_objective("forgetting"), describe_objective("generalization", "predicted ")
    ('expected forgetting', 'predicted generalization error')
    >>> describe_objective({"forgetting": 0.7, "generalization": 0.3})
    'mix of expected forgetting (weight 0.7) and generalization error (weight 0.3)'
    """
    f, g = objective_weights(objective)
    if f == 0 or g == 0:
        return f"{kind}generalization error" if f == 0 else f"{kind}forgetting"
    return f"mix of {kind}forgetting (weight {f:g}) and generalization error (weight {g:g})"
