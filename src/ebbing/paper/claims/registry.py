"""Claims and their checks: a decorator that registers them, and `run`, which turns them into verdicts."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from ebbing.paper._output import Verdict, provenance


@dataclass(frozen=True)
class Config:
    """Sizes of the checks."""

    problems: int = 200  # random problems per algebraic identity
    runs: int = 20_000  # simulated runs per statistical check
    seed: int = 0


@dataclass(frozen=True)
class Result:
    """One verdict per claim."""

    config: Config
    verdicts: tuple[Verdict, ...]
    provenance: dict[str, Any] = field(repr=False)


Check = Callable[[Config], tuple[str, bool]]
CLAIMS: dict[str, tuple[str, str, str, Check]] = {}


def claim(text: str, where: str, ran: str) -> Callable[[Check], Check]:
    """Register a check under its function's name."""

    def register(check: Check) -> Check:
        CLAIMS[check.__name__] = (text, where, ran, check)
        return check

    return register


def check(name: str, config: Config = Config()) -> Verdict:  # noqa: B008 (frozen)
    """The verdict on one claim.

    >>> from ebbing.paper import claims
    >>> claims.check("golden_ratio").holds
    True
    """
    text, where, ran, function = CLAIMS[name]
    result, holds = function(config)
    return Verdict(text, where, ran.format(**vars(config)), result, holds)


def run(config: Config = Config(), progress: Callable[[float], None] | None = None) -> Result:  # noqa: B008 (frozen)
    """Check every claim."""
    began = time.monotonic()
    verdicts = []
    for done, name in enumerate(CLAIMS):
        verdicts.append(check(name, config))
        if progress:
            progress((done + 1) / len(CLAIMS))
    return Result(config, tuple(verdicts), provenance(config, time.monotonic() - began))
