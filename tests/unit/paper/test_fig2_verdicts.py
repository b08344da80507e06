"""Figure 2 on made-up measurements: every verdict can go either way."""

import dataclasses
import math
import re
from typing import Any

import numpy as np
import pytest
from made_up_fig2 import AGREES, made_up, matrix
from scipy.stats import spearmanr

from ebbing import Problem, expect
from ebbing.learn import Sgd
from ebbing.paper import fig2, fig2_verdicts


def judged(result):
    """Every verdict by its claim."""
    found = fig2_verdicts.verdicts(result)
    assert len({verdict.claim for verdict in found}) == len(found) == 12
    return {verdict.claim: verdict for verdict in found}


FALLS = "forgetting falls with the overlap of two tasks"
FALLS_G = "generalization error falls with the overlap of two tasks"
FITTED = "every task of every sequence was fitted"


def rises(k):
    return f"forgetting rises with the overlap of the first two of four tasks, forgetting_{k}"


def first_half(k):
    return f"the best place of the special task is in the first half, forgetting_{k}"


def alternating(k):
    return f"an alternating order forgets least, forgetting_{k}"


# Verdicts


@pytest.mark.parametrize("seeds", [1, 2, 3])
def test_every_claim_can_hold_with_several_seeds(seeds):
    found = judged(made_up(seeds=seeds))
    assert {verdict.holds for name, verdict in found.items() if name != FITTED} == {True if seeds > 1 else None}
    assert found[FITTED].holds
    for name, verdict in found.items():
        run, _, power = verdict.procedure.partition("; ")
        assert run == f"{seeds} of {fig2.Config().seeds} planned seeds, 600 epochs"
        told = re.fullmatch(r"12 seeds detect 0\.\d{4} with 80% power", power)
        assert bool(told) == (seeds > 1 and name != FITTED)


OTHERS = [
    (FALLS, ("a", "forgetting"), AGREES["a"][::-1]),
    *((rises(k), ("b", f"forgetting_{k}"), AGREES["b"][::-1]) for k in range(3)),
    *((first_half(k), ("c", f"forgetting_{k}"), (0.2, 0.2, 0.2, 0.1, 0.2, 0.5)) for k in range(3)),
    *((first_half(k), ("c", f"forgetting_{k}"), (0.2, 0.2, 0.2, 0.2, 0.2, 0.1)) for k in range(3)),
    *((alternating(k), ("d", f"forgetting_{k}"), (0.2, 0.2, 0.1, 0.2, 0.2, 0.2)) for k in range(3)),
    *((alternating(k), ("d", f"forgetting_{k}"), (0.2, 0.2, 0.3, 0.2, 0.2, 0.1)) for k in range(3)),
]


@pytest.mark.parametrize(("claim", "setup", "values"), OTHERS)
def test_every_claim_can_fail_alone(claim, setup, values):
    found = judged(made_up({setup: values}))
    assert {name for name, verdict in found.items() if verdict.holds is False} == (
        {claim, FALLS_G} if claim == FALLS else {claim}
    )
    assert not [name for name, verdict in found.items() if verdict.holds is None]


@pytest.mark.parametrize("place", range(6))
def test_claims_name_three_places_and_two_orders(place):
    values = np.full(6, 0.5)
    values[place] = 0.1
    found = judged(made_up({("c", "forgetting_0"): values, ("d", "forgetting_0"): values}))
    assert found[first_half(0)].holds == (place < 3)
    assert found[first_half(0)].result.startswith(f"best at {place + 1};")  # places count from 1
    assert found[alternating(0)].holds == (place < 2)
    assert found[alternating(0)].result.startswith(f"best at {place};")  # orders count from 0


def with_generalization(values):
    """Panel (a)'s matrices with another G_2."""
    result = made_up()
    for x, sequence in enumerate(fig2.SETUPS["a"]["forgetting"]):
        for seed, noise in enumerate((-0.001, 0.0, 0.001)):  # of the slope, too
            value = values[x] + noise * x
            result.matrices[sequence][seed] = matrix(sequence, AGREES["a"][x] + noise * x, value)
    return result


def test_generalization_has_a_separate_verdict():
    assert judged(with_generalization(AGREES["a"]))[FALLS_G].holds
    found = judged(with_generalization(AGREES["a"][::-1]))
    assert found[FALLS].holds
    assert found[FALLS_G].holds is False


def test_insignificant_rise_is_undecided():
    noisy = [(0.1, 0.2, 0.3, 0.4), (0.2, 0.4, 0.1, 0.3), (0.3, 0.1, 0.4, 0.2)]  # slopes 0.1, 0, 0
    verdict = judged(made_up({("b", "forgetting_0"): noisy}))[rises(0)]
    assert verdict.holds is None
    assert verdict.result == (
        "rise per digit in common: +0.0333 ± 0.0333 [-0.1101, +0.1768] (p = 0.42, positive in 1 of 3 seeds); "
        "p = 0.42 among 11 comparisons"
    )
    assert verdict.label == "between -0.1101 and +0.1768"


def test_trend_of_one_seed_has_no_p_value():
    almost = (0.2, 0.1, 0.3, 0.25)
    verdict = judged(made_up({("b", "forgetting_0"): almost}, seeds=1))[rises(0)]
    assert verdict.result == "rise per digit in common: +0.0350 (one seed: significance unknown)"
    assert verdict.label == "undecided"
    assert verdict.holds is None


def test_equal_values_have_no_trend():
    verdict = judged(made_up({("b", "forgetting_1"): [(0.2,) * 4] * 3}))[rises(1)]
    assert verdict.holds is None
    assert verdict.result.endswith("+0.0000 ± 0.0000 (no spread, positive in 0 of 3 seeds)")


# Margins: seed by seed, between the best that is claimed and the best of the others


def spread(first, second):
    """Forgetting of orders 0 (claimed) and 3 (not) by seed; all others far worse."""
    values = np.full((len(first), 6), 0.9)
    values[:, 0], values[:, 3] = first, second
    return judged(made_up({("d", "forgetting_1"): values}, seeds=len(first)))[alternating(1)]


def test_insignificant_margin_is_undecided():
    """Differences 0.01, -0.02, 0.03: mean 1/150, standard error 0.0145, t = 0.459 with 2 degrees of freedom."""
    verdict = spread((0.10, 0.12, 0.10), (0.11, 0.10, 0.13))
    assert verdict.holds is None
    assert verdict.result == (
        "best at 0; best other place minus best claimed place, each seed judging the choice of the others: "
        "+0.0067 ± 0.0145 [-0.0558, +0.0692] (p = 0.69, positive in 2 of 3 seeds); p = 0.69 among 11 comparisons"
    )


def test_significant_margin_decides_either_way():
    """Differences 0.010, 0.011, 0.012: t = 0.011 sqrt(3) / 0.001 = 19.05, p = 0.0027. Paired: seeds differ far more."""
    better, worse = (0.10, 0.30, 0.50), (0.110, 0.311, 0.512)
    verdict = spread(better, worse)
    assert verdict.holds is True
    assert "+0.0110 ± 0.0006 [+0.0085, +0.0135] (p = 0.0027, positive in 3 of 3 seeds)" in verdict.result
    verdict = spread(worse, better)
    assert verdict.holds is False
    assert verdict.result.startswith("best at 3; ")
    assert "-0.0110 ± 0.0006 [-0.0135, -0.0085] (p = 0.0027, positive in 0 of 3 seeds)" in verdict.result


def test_margin_of_two_agreeing_seeds_may_be_noise():
    """Differences 0.01 and 0.02: t = 3 with 1 degree of freedom, p = 1 - 2 arctan(3) / pi = 0.205."""
    verdict = spread((0.1, 0.1), (0.11, 0.12))
    assert verdict.holds is None
    assert "p = 0.2," in verdict.result


def test_margin_of_one_seed_is_undecided():
    verdict = spread((0.1,), (0.3,))
    assert verdict.holds is None
    assert verdict.result.endswith("+0.2000 (one seed: significance unknown)")


def test_margin_of_ties_is_undecided():
    verdict = spread((0.25, 0.5, 0.25), (0.25, 0.5, 0.25))
    assert verdict.holds is None
    assert verdict.result.endswith("+0.0000 ± 0.0000 (no spread, positive in 0 of 3 seeds)")


def test_claims_are_corrected_for_their_number():
    """p = 0.0027 alone decides; among ten claims that are noise it does not."""
    noise = [(0.1, 0.2, 0.3, 0.2, 0.1, 0.3), (0.3, 0.2, 0.1, 0.2, 0.3, 0.2), (0.2, 0.1, 0.2, 0.3, 0.1, 0.2)]
    places = {
        (panel, setup): [row[: len(AGREES[panel])] for row in noise]
        for panel in ("a", "b", "c")
        for setup in fig2.SETUPS[panel]
    }
    values = np.full((3, 6), 0.9)
    values[:, 0], values[:, 3] = (0.10, 0.30, 0.50), (0.110, 0.311, 0.512)
    changes = places | {("d", f"forgetting_{k}"): noise for k in (0, 2)} | {("d", "forgetting_1"): values}
    verdict = judged(made_up(changes))[alternating(1)]
    assert verdict.holds is True
    assert verdict.result.endswith("p = 0.03 among 11 comparisons")
    values[:, 3] = (0.110, 0.312, 0.514)  # p = 0.0095
    verdict = judged(made_up(changes))[alternating(1)]
    assert (verdict.holds, verdict.label) == (None, "between +0.0070 and +0.0170")


def test_quick_runs_have_no_planned_seeds():
    result = made_up()
    quick = dataclasses.replace(result, config=fig2.Config(seeds=3, method=Sgd(epochs=150)))
    assert {v.procedure.split(",")[0] for v in fig2_verdicts.verdicts(quick)} == {"3 seeds"}


# Tasks that were not learned


def test_unfitted_tasks_are_listed_and_fail_the_verdict():
    sequence, other = fig2.SETUPS["c"]["forgetting_1"][2], fig2.SETUPS["a"]["forgetting"][0]
    missed = {(sequence, 1, 4): 0.25, (other, 2, 0): 0.051, (other, 0, 1): fig2.FIT_THRESHOLD}
    result = made_up(fits=missed)
    assert result.unfitted_tasks == [(other, 2, 0, 0.051), (sequence, 1, 4, 0.25)]
    verdict = judged(result)[FITTED]
    assert not verdict.holds
    assert verdict.result == "718 of 720; largest squared training error 0.25"
    assert [name for name, verdict in judged(result).items() if verdict.holds is not True] == [FITTED]
    assert judged(made_up())[FITTED].result == "720 of 720; largest squared training error 0.001"


@pytest.mark.parametrize("x", [0, 5])
def test_diverged_training_counts_as_unfitted(x):
    sequence = fig2.SETUPS["a"]["forgetting"][x]
    result = made_up(fits={(sequence, 0, 1): math.nan})
    [(named, seed, place, fit)] = result.unfitted_tasks
    assert (named, seed, place) == (sequence, 0, 1)
    assert math.isnan(fit)
    assert judged(result)[FITTED].result == "719 of 720; largest squared training error nan"


# Beside the theory


@pytest.mark.parametrize(
    ("pair", "cosine"), [("0-1-2-3-4 5-6-7-8-9", -1.0), ("0-1-2-3-4 2-3-4-5-6", 0.2), ("7 7-8", 0.8)]
)
def test_prediction_uses_the_cosine_of_the_labels(pair, cosine):
    for r in (0.1, 0.5):
        n = round(1000 * (1 - r))
        expected = expect(Problem(gram=[[1, cosine], [cosine, 1]], n=n, p=1000)).forgetting
        assert fig2_verdicts._predict(tuple(pair.split()), r) == pytest.approx(expected, rel=1e-12)


def test_measurements_from_the_theory_correlate_with_it():
    result = made_up()
    sign = {"a": 1, "b": -1, "c": 1, "d": -1}
    for panel, setups in fig2.SETUPS.items():
        for sequence in (sequence for members in setups.values() for sequence in members):
            predicted = fig2_verdicts._predict(sequence, 0.5)
            for seed in range(3):  # the mean over seeds is compared
                F = sign[panel] * predicted + (-1, 0, 1)[seed] * 5.0
                result.matrices[sequence][seed] = matrix(sequence, F, 0.0)
    found = fig2_verdicts.compare_with_theory(result)
    assert [comparison.panel for comparison in found] == list("abcd")
    k = fig2_verdicts.RATIOS.index(0.5)
    for comparison in found:
        members = [sequence for setup in fig2.SETUPS[comparison.panel].values() for sequence in setup]
        assert comparison.predicted.shape == (5, len(members))
        np.testing.assert_allclose(comparison.measured, sign[comparison.panel] * comparison.predicted[k], atol=1e-12)
        for row, correlation in zip(comparison.predicted, comparison.correlations, strict=True):
            expected: Any = spearmanr(row, comparison.measured)
            assert correlation == pytest.approx(expected.statistic, abs=1e-9)
        assert sign[comparison.panel] * comparison.correlations[k] > 0.9
    assert found[0].correlations == (1.0,) * 5
