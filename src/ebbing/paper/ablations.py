"""What each part of TRGP is worth: the departures of the authors' code one by one, and what goes beyond the paper.

Not of the paper. The unchanged entries are Table 1's own: in one store the studies share their runs.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ebbing.learn import Threshold
from ebbing.paper.comparison import Entry, Protocol, Study
from ebbing.paper.table1 import CIFAR100_SHORT, PMNIST, QUICK


def _against(base: str, entries: tuple[Entry, ...]) -> tuple[tuple[str, str], ...]:
    """Every other entry compared with the base."""
    return tuple((entry.name, base) for entry in entries if entry.name != base)


_DEPARTURES = (
    Entry("TRGP", "trgp"),
    Entry("strongest unprotected", "trgp", changes={"as_published": ("strongest unprotected",)}),
    Entry("first layer decides", "trgp", changes={"as_published": ("first layer decides",)}),
    Entry("shared weights measured", "trgp", changes={"as_published": ("shared weights measured",)}),
    Entry("task 2 trusts task 1 only", "trgp", changes={"latest_only_at": (2,)}),
    Entry("all, as published", "trgp", as_published=True),
)

_NORMS = (
    Entry("TRGP, own norms", "trgp"),
    Entry("frozen norms", "trgp", changes={"norms": "frozen"}),
    Entry("shared norms", "trgp", changes={"norms": "shared"}),
)

_MORE: dict[str, Any] = {"threshold": Threshold((0.98, 0.99, 0.99), growth=0.0), "samples": 3000}
_AS_PUBLISHED: dict[str, Any] = {"threshold": Threshold((0.95, 0.99, 0.99), growth=0.0), "samples": 300}

_BEYOND = (
    Entry("TRGP+", "trgp+"),
    Entry("TRGP+, more protected", "trgp+", changes=_MORE),
    Entry("TRGP free, no more protected", "trgp-free", changes=_AS_PUBLISHED),
    Entry("TRGP free", "trgp-free"),  # more protected, too
)


def _departures(base: Protocol) -> Protocol:
    pairs = _against("TRGP", _DEPARTURES)
    return replace(base, name=f"{base.name}, departures", entries=_DEPARTURES, pairs=pairs, printed={})


def _beyond(base: Protocol) -> Protocol:
    pairs = _against("TRGP+", _BEYOND)
    return replace(base, name=f"{base.name}, beyond the paper", entries=_BEYOND, pairs=pairs, printed={})


DEPARTURES = replace(_departures(PMNIST), seeds=3)
BEYOND = replace(_beyond(PMNIST), seeds=3)
NORMS = replace(
    CIFAR100_SHORT,
    name="cifar100 short, norms",
    entries=_NORMS,
    pairs=_against("TRGP, own norms", _NORMS),
)

_TITLE = "What each part is worth"
ABLATIONS = Study("ablations", _TITLE, (DEPARTURES, BEYOND, NORMS))
ABLATIONS_QUICK = Study("ablations", _TITLE, (_departures(QUICK), _beyond(QUICK)))
