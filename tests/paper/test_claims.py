"""One test per claim of Sections 3, 4.1, 4.2, 5.1, 5.3 and the appendix, named after it; and their power."""

import dataclasses

import numpy as np
import pytest

from ebbing import simulation, theory
from ebbing.paper import claims
from ebbing.theory import _rates


@pytest.mark.parametrize("name", claims.CLAIMS)
def test_claim_holds(name):
    verdict = claims.check(name)
    assert verdict.holds, verdict.result


def test_every_verdict_has_a_source_and_a_procedure():
    for verdict in claims.run(claims.Config(problems=5, runs=500)).verdicts:
        assert verdict.source
        assert verdict.procedure
        assert "{" not in verdict.procedure


def test_unknown_claim_raises_an_error():
    with pytest.raises(ValueError, match="name='lemma_9': there is no such claim; give one of lemma_1, lemma_2"):
        claims.check("lemma_9")


# ---------------------------------------------------------------- a wrong formula must fail


def wrong_noise(monkeypatch):
    """The appendix's n s^2 / (p-n+1), an erratum, instead of n s^2 / (p-n-1)."""
    right = _rates.Rates.of_counts.__func__

    def wrong(cls, n, p, variance):
        result = right(cls, n, p, variance)
        factor = np.where(n < p, (p - n - 1) / (p - n + 1), 1.0)
        return dataclasses.replace(
            result, noise_error=result.noise_error * factor, noise_floor=result.noise_floor * factor
        )

    monkeypatch.setattr(_rates.Rates, "of_counts", classmethod(wrong))


def wrong_ratio(monkeypatch):
    """r off by one sample."""
    right = _rates.Rates.of_counts.__func__
    monkeypatch.setattr(_rates.Rates, "of_counts", classmethod(lambda cls, n, p, v: right(cls, n + 1, p, v)))


def wrong_underparameterized_noise(monkeypatch):
    right = _rates.Rates.of_counts.__func__

    def wrong(cls, n, p, variance):
        result = right(cls, n, p, variance)
        factor = np.where(n >= p, 1.05, 1.0)
        return dataclasses.replace(
            result, noise_error=result.noise_error * factor, noise_floor=result.noise_floor * factor
        )

    monkeypatch.setattr(_rates.Rates, "of_counts", classmethod(wrong))


def wrong_update(monkeypatch):
    """The smallest solution instead of the nearest one."""
    right = simulation.solve_task
    monkeypatch.setattr(claims.foundations, "solve_task", lambda w, X, y: right(np.zeros_like(w), X, y))


def wrong_coefficient(monkeypatch):
    right = theory.coefficients
    monkeypatch.setattr(theory, "coefficients", lambda T, n, p: -right(T, n, p))


def wrong_slope(monkeypatch):
    right = theory.two_task_generalization_slope
    monkeypatch.setattr(theory, "two_task_generalization_slope", lambda problem: -right(problem))


def ignored_missing_features(monkeypatch):
    monkeypatch.setattr(claims.foundations.Problem, "noise_variance", property(lambda self: self.sigma**2))


@pytest.mark.parametrize(
    ("name", "break_it"),
    [
        ("lemma_1", wrong_update),
        ("lemma_2", wrong_noise),
        ("lemma_2", wrong_ratio),
        ("theorem_1", wrong_noise),
        ("theorem_1", wrong_ratio),
        ("theorem_2", wrong_underparameterized_noise),
        ("corollary_two_tasks", wrong_ratio),
        ("unmodeled_features", ignored_missing_features),
        ("negative_forgetting", wrong_noise),
        ("forward_transfer", wrong_noise),
        ("golden_ratio", wrong_coefficient),
        ("slope_signs", wrong_slope),
    ],
)
def test_claim_fails_with_a_wrong_formula(name, break_it, monkeypatch):
    break_it(monkeypatch)
    assert not claims.check(name).holds
