"""The registry of claims: a decorator that adds a claim with its check, and functions that check claims."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from ebbing.paper._output import Verdict, provenance


@dataclass(frozen=True)
class Config:
    """The settings of the checks.

    Attributes:
        problems: The number of random problems for each algebraic identity.
        runs: The number of simulated runs for each statistical check.
        seed: The seed of both.
    """

    problems: int = 200
    runs: int = 20_000
    seed: int = 0


@dataclass(frozen=True)
class Result:
    """The verdicts on all claims.

    Attributes:
        config: The settings.
        verdicts: One verdict for each claim.
        provenance: Code, settings, versions and machine.
    """

    config: Config
    verdicts: tuple[Verdict, ...]
    provenance: dict[str, Any] = field(repr=False)


Check = Callable[[Config], tuple[str, bool]]
"""A function that checks a claim and returns the result in words and whether the claim holds."""


@dataclass(frozen=True)
class Claim:
    """A claim and the function that checks it.

    Attributes:
        text: What is claimed.
        source: Where the claim stands in the paper.
        procedure: What the check runs; {problems} and {runs} stand for the settings.
        check: The function that checks the claim.
    """

    text: str
    source: str
    procedure: str
    check: Check


CLAIMS: dict[str, Claim] = {}
"""All claims, by the name of the function that checks them."""


def claim(text: str, source: str, procedure: str) -> Callable[[Check], Check]:
    """Register a function as the check of a claim, under its name.

    Args:
        text: What is claimed.
        source: Where the claim stands in the paper.
        procedure: What the check runs; {problems} and {runs} stand for the settings.

    Returns:
        A decorator that leaves the function unchanged.
    """

    def register(check: Check) -> Check:
        CLAIMS[check.__name__] = Claim(text, source, procedure, check)
        return check

    return register


def check(name: str, config: Config = Config()) -> Verdict:  # noqa: B008 (frozen)
    """Check one claim.

    Args:
        name: The name of the claim, a key of `CLAIMS`.
        config: The settings of the check.

    Returns:
        The verdict.

    Raises:
        ValueError: If there is no such claim.

    Example:
        >>> from ebbing.paper import claims
        >>> claims.check("golden_ratio").holds
        True
    """
    if name not in CLAIMS:
        raise ValueError(f"name={name!r}: there is no such claim; give one of {', '.join(CLAIMS)}")
    found = CLAIMS[name]
    result, holds = found.check(config)
    return Verdict(found.text, found.source, found.procedure.format(**vars(config)), result, bool(holds))


def run(config: Config = Config(), progress: Callable[[float], None] | None = None) -> Result:  # noqa: B008 (frozen)
    """Check every claim.

    Args:
        config: The settings of the checks.
        progress: Called with the finished share of the work, from 0 to 1.

    Returns:
        The verdicts on all claims.
    """
    began = time.monotonic()
    verdicts = []
    for done, name in enumerate(CLAIMS):
        verdicts.append(check(name, config))
        if progress:
            progress((done + 1) / len(CLAIMS))
    return Result(config, tuple(verdicts), provenance(config, time.monotonic() - began))
