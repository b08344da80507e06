"""One test per claim about replay and stopping early, named after it; and their power."""

import numpy as np
import pytest

from ebbing.paper import replay_claims
from ebbing.theory import _step_rates


@pytest.mark.parametrize("name", replay_claims.CLAIMS)
def test_claim_holds(name):
    verdict = replay_claims.check(name)
    assert verdict.holds, verdict.result
    assert verdict.procedure


@pytest.mark.parametrize("name", ["replay_can_increase_forgetting", "mixing_against_one_after_another"])
def test_without_conflict_claims_fail(monkeypatch, name):
    true = _step_rates._to_the_end

    def wrong(samples, p):
        rates = true(samples, p)
        np.copyto(rates.conflict, rates.replaced)
        return rates

    monkeypatch.setattr(_step_rates, "_to_the_end", wrong)
    assert not replay_claims.check(name).holds


def test_unknown_claim_raises_an_error():
    with pytest.raises(ValueError, match="there is no such claim; give one of replay_can_increase_forgetting"):
        replay_claims.check("x")
