"""What each part of TRGP is worth: the departures of the authors' code one by one, and what goes beyond the paper.

Not of the paper. The unchanged contenders are Table 1's own: in one store the studies share their runs.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ebbing.learn import Threshold
from ebbing.paper.comparison import Contender, Protocol, Study
from ebbing.paper.table1 import CIFAR100_SHORT, FREE, MORE_PROTECTED, PMNIST, QUICK, SHARED_START


def _against(base: str, contenders: tuple[Contender, ...]) -> tuple[tuple[str, str], ...]:
    """Every other contender compared with the base."""
    return tuple((contender.name, base) for contender in contenders if contender.name != base)


_DEPARTURES = (
    Contender("TRGP", "trgp"),
    Contender("strongest unprotected", "trgp", changes={"as_published": ("strongest unprotected",)}),
    Contender("first layer decides", "trgp", changes={"as_published": ("first layer decides",)}),
    Contender("shared weights measured", "trgp", changes={"as_published": ("shared weights measured",)}),
    Contender("task 2 trusts task 1 only", "trgp", changes={"latest_only_at": (2,)}),
    Contender("crossing direction protected", "trgp", changes={"threshold": Threshold((0.95, 0.99, 0.99), growth=0.0)}),
    Contender("all, as published", "trgp", as_published=True),
)

_NORMS = (
    Contender("TRGP, own norms", "trgp"),
    Contender("frozen norms", "trgp", changes={"norms": "frozen"}),
    Contender("shared norms", "trgp", changes={"norms": "shared"}),
)

_AS_PUBLISHED: dict[str, Any] = {"threshold": Threshold((0.95, 0.99, 0.99), growth=0.0, crossing=False), "samples": 300}
_SHARED: dict[str, Any] = {"begins": "shared"}

_BEYOND = (
    Contender("TRGP+", "trgp+"),
    MORE_PROTECTED,
    Contender("free motion alone", "trgp-free", changes=_AS_PUBLISHED | _SHARED),
    SHARED_START,  # free motion, and more protected
    FREE,
)


def _departures(base: Protocol) -> Protocol:
    pairs = _against("TRGP", _DEPARTURES)
    return replace(base, name=f"{base.name}, departures", contenders=_DEPARTURES, pairs=pairs, printed={})


def _beyond(base: Protocol) -> Protocol:
    pairs = _against("TRGP+", _BEYOND)
    return replace(base, name=f"{base.name}, beyond the paper", contenders=_BEYOND, pairs=pairs, printed={})


DEPARTURES = replace(_departures(PMNIST), seeds=4)
BEYOND = _beyond(PMNIST)
NORMS = replace(
    CIFAR100_SHORT,
    name="cifar100 short, norms",
    contenders=_NORMS,
    pairs=_against("TRGP, own norms", _NORMS),
)

_TRIALS = (
    Contender("TRGP+", "trgp+"),
    Contender(
        "TRGP+, 97% in the first layer",
        "trgp+",
        changes={"threshold": Threshold((0.97, 0.99, 0.99), growth=0.0, crossing=False)},
    ),
    Contender("TRGP+, 1,000 examples", "trgp+", changes={"samples": 1000}),
    Contender("free motion alone", "trgp-free", changes=_AS_PUBLISHED | _SHARED),
    Contender("free motion, 1,000 examples", "trgp-free", changes=_AS_PUBLISHED | _SHARED | {"samples": 1000}),
    SHARED_START,
)

TRIALS = replace(
    _beyond(PMNIST),
    name="pmnist, trials on another seed",
    contenders=_TRIALS,
    pairs=_against("TRGP+", _TRIALS),
    seeds=1,
    first_seed=10,
)
"""How was chosen what TRGP free protects, on a seed that nothing is judged by."""

_TRUSTING = (
    SHARED_START,
    Contender("shared start, 3 trusted", "trgp-free", changes=_SHARED | {"trusted": 3}),
    Contender("shared start, all trusted", "trgp-free", changes=_SHARED | {"trusted": 9, "nearness": 0.0}),
    FREE,
    Contender("copies", "copies"),
)

TRUST_TRIALS = replace(
    CIFAR100_SHORT,
    name="cifar100 short, trials on another seed",
    contenders=_TRUSTING,
    pairs=_against(SHARED_START.name, _TRUSTING),
    seeds=1,
    first_seed=10,
)
"""How was chosen where TRGP free begins, and how many it trusts, on a seed that nothing is judged by."""

_TITLE = "What each part is worth"
ABLATIONS = Study("ablations", _TITLE, (DEPARTURES, BEYOND, TRIALS, NORMS, TRUST_TRIALS))
ABLATIONS_QUICK = Study("ablations_quick", _TITLE, (_departures(QUICK), _beyond(QUICK)))
