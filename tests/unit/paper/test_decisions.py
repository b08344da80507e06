"""Decisions on several claims together, and the effects that a number of seeds detects."""

import numpy as np
import pytest
from scipy import stats

from ebbing.paper._decisions import POWER, decide, describe_power, detectable_effect
from ebbing.paper._statistics import PairedDifferences


def with_p_value(p, sign=1.0):
    """Differences of three seeds whose t-test has the given p-value."""
    t = stats.t.isf(p / 2, 2)
    return PairedDifferences(tuple(sign * (t / 3**0.5 + np.array([-1.0, 0.0, 1.0]))))


def test_corrected_p_values_are_holms():
    """Sorted 0.01, 0.02, 0.03, 0.04, times 4, 3, 2, 1, and never less than the one before."""
    found = decide([with_p_value(p) for p in (0.04, 0.01, 0.03, 0.02)])
    assert [decision.p_value for decision in found] == pytest.approx([0.06, 0.04, 0.06, 0.06])
    assert [decision.holds for decision in found] == [None, True, None, None]
    assert decide([]) == []


def test_corrected_p_values_are_at_most_one():
    assert [decision.p_value for decision in decide([with_p_value(0.6), with_p_value(0.7)])] == [1.0, 1.0]


@pytest.mark.parametrize(
    ("differences", "holds"),
    [
        ((0.5, 0.6, 0.7), True),
        ((-0.5, -0.6, -0.7), False),
        ((0.5, -0.6, 0.7), None),
        ((0.5,), None),
        ((0.5, np.nan, 0.6), None),
    ],
)
def test_decision_needs_significance(differences, holds):
    (decision,) = decide([PairedDifferences(differences)])
    assert decision.holds is holds


def test_claim_of_one_seed_counts_among_the_comparisons():
    decisions = decide([with_p_value(0.03), PairedDifferences((0.5,))])
    assert [decision.holds for decision in decisions] == [None, None]
    assert (decisions[0].p_value, decisions[1].bounds()) == (pytest.approx(0.06), "")


def test_wrong_decisions_among_true_nulls_are_rare():
    """Of families of five true nulls, at most 5% have any significant claim; uncorrected, 23% have."""
    random = np.random.default_rng(0)
    families = [[PairedDifferences(tuple(random.standard_normal(4))) for _ in range(5)] for _ in range(600)]
    wrong = np.mean([any(decision.holds is not None for decision in decide(family)) for family in families])
    uncorrected = np.mean([any(claim.p_value < 0.05 for claim in family) for family in families])
    assert wrong < 0.05 + 3 * (0.05 * 0.95 / 600) ** 0.5
    assert uncorrected > 0.15


@pytest.mark.parametrize(("seeds", "comparisons"), [(3, 1), (5, 4), (12, 11)])
def test_detectable_effect_is_detected_in_80_percent(seeds, comparisons):
    random, runs = np.random.default_rng(0), 20_000
    effect = detectable_effect(0.3, seeds, comparisons=comparisons)
    drawn = effect + 0.3 * random.standard_normal((runs, seeds))
    detected = np.mean(np.asarray(stats.ttest_1samp(drawn, 0.0, axis=1).pvalue) < 0.05 / comparisons)  # type: ignore[attr-defined]
    assert abs(detected - POWER) < 3 * (POWER * (1 - POWER) / runs) ** 0.5


def test_more_seeds_detect_smaller_effects():
    effects = [detectable_effect(1.0, seeds) for seeds in (2, 3, 5, 12, 100)]
    assert effects == sorted(effects, reverse=True)
    assert effects[-1] == pytest.approx((stats.norm.isf(0.025) + stats.norm.isf(0.2)) / 10, rel=0.02)


def test_power_is_told_for_the_planned_seeds():
    claim = PairedDifferences((0.1, 0.3, 0.2))
    assert describe_power(claim, planned=5, comparisons=1) == (
        f"5 seeds detect {detectable_effect(0.1, 5):.2f} with 80% power"
    )
    assert describe_power(claim, planned=2, comparisons=1).startswith("3 seeds")  # there are more than planned
    assert describe_power(PairedDifferences((0.1,)), planned=5, comparisons=1) == ""
