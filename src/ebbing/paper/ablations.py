"""Ablations of TRGP: the departures of the authors' code one by one, and the additions of TRGP free.

The paper has no ablations. The unchanged variants are those of Table 1: in one store the studies share their runs.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ebbing.learn import Threshold
from ebbing.paper.method_study import MethodVariant, Protocol, Study
from ebbing.paper.table1 import CIFAR100_SHORT, FREE, MORE_PROTECTED, PMNIST, QUICK, SHARED_START


def _against(base: str, variants: tuple[MethodVariant, ...]) -> tuple[tuple[str, str], ...]:
    """Return the comparisons of every other variant with the base."""
    return tuple((variant.name, base) for variant in variants if variant.name != base)


_DEPARTURES = (
    MethodVariant("TRGP", "trgp"),
    MethodVariant("strongest unprotected", "trgp", changes={"as_published": ("strongest unprotected",)}),
    MethodVariant("first layer decides", "trgp", changes={"as_published": ("first layer decides",)}),
    MethodVariant("shared weights measured", "trgp", changes={"as_published": ("shared weights measured",)}),
    MethodVariant("task 2 trusts task 1 only", "trgp", changes={"latest_only_at": (2,)}),
    MethodVariant(
        "crossing direction protected", "trgp", changes={"threshold": Threshold((0.95, 0.99, 0.99), growth=0.0)}
    ),
    MethodVariant("all, as published", "trgp", as_published=True),
)

_NORMS = (
    MethodVariant("TRGP, task-specific norms", "trgp"),
    MethodVariant("frozen norms", "trgp", changes={"norms": "frozen"}),
    MethodVariant("shared norms", "trgp", changes={"norms": "shared"}),
)

_AS_PUBLISHED: dict[str, Any] = {
    "threshold": Threshold((0.95, 0.99, 0.99), growth=0.0, include_crossing=False),
    "num_examples": 300,
}
_SHARED: dict[str, Any] = {"start_from": "shared"}

_BEYOND = (
    MethodVariant("TRGP+", "trgp+"),
    MORE_PROTECTED,
    MethodVariant("TRGP free, published protection", "trgp-free", changes=_AS_PUBLISHED | _SHARED),
    SHARED_START,
    FREE,
)


def _departures(base: Protocol) -> Protocol:
    pairs = _against("TRGP", _DEPARTURES)
    return replace(base, name=f"{base.name}, departures", variants=_DEPARTURES, pairs=pairs, paper_values={})


def _beyond(base: Protocol) -> Protocol:
    pairs = _against("TRGP+", _BEYOND)
    return replace(base, name=f"{base.name}, beyond the paper", variants=_BEYOND, pairs=pairs, paper_values={})


DEPARTURES = replace(_departures(PMNIST), seeds=4)
BEYOND = _beyond(PMNIST)
NORMS = replace(
    CIFAR100_SHORT,
    name="cifar100 short, norms",
    variants=_NORMS,
    pairs=_against("TRGP, task-specific norms", _NORMS),
)

_TRIALS = (
    MethodVariant("TRGP+", "trgp+"),
    MethodVariant(
        "TRGP+, 97% in the first layer",
        "trgp+",
        changes={"threshold": Threshold((0.97, 0.99, 0.99), growth=0.0, include_crossing=False)},
    ),
    MethodVariant("TRGP+, 1,000 examples", "trgp+", changes={"num_examples": 1000}),
    MethodVariant("TRGP free, published protection", "trgp-free", changes=_AS_PUBLISHED | _SHARED),
    MethodVariant("TRGP free, 1,000 examples", "trgp-free", changes=_AS_PUBLISHED | _SHARED | {"num_examples": 1000}),
    SHARED_START,
)

TRIALS = replace(
    _beyond(PMNIST),
    name="pmnist, trials on another seed",
    variants=_TRIALS,
    pairs=_against("TRGP+", _TRIALS),
    seeds=1,
    first_seed=10,
)
"""The trials by which the threshold of TRGP free was chosen, on a seed that no verdict uses."""

_TRUSTING = (
    SHARED_START,
    MethodVariant("shared start, 3 trusted", "trgp-free", changes=_SHARED | {"max_trusted": 3}),
    MethodVariant(
        "shared start, all trusted", "trgp-free", changes=_SHARED | {"max_trusted": 9, "trust_threshold": 0.0}
    ),
    FREE,
    MethodVariant("copies", "copies"),
)

TRUST_TRIALS = replace(
    CIFAR100_SHORT,
    name="cifar100 short, trials on another seed",
    variants=_TRUSTING,
    pairs=_against(SHARED_START.name, _TRUSTING),
    seeds=1,
    first_seed=10,
)
"""The trials by which start and trust region of TRGP free were chosen, on a seed that no verdict uses."""

_TITLE = "Ablations of TRGP"
ABLATIONS = Study("ablations", _TITLE, (DEPARTURES, BEYOND, TRIALS, NORMS, TRUST_TRIALS))
ABLATIONS_QUICK = Study("ablations_quick", _TITLE, (_departures(QUICK), _beyond(QUICK)))
