"""Figure 2 on made-up measurements: every verdict can go either way, and everything measured is kept."""

import csv
import json
import math
import re
import xml.etree.ElementTree as ET
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
import torch
from scipy.stats import sem, spearmanr

from ebbing import Problem, expect
from ebbing.learn import FiveLayers, Lesson, Sample, Sgd, Training, train_plainly
from ebbing.learn.sequences import one_thread
from ebbing.paper import fig2, fig2_plot, fig2_verdicts
from ebbing.runs import Store, pools

SETUPS: dict[Any, dict[str, list[tuple[str, ...]]]] = {**fig2.SETUPS}

AGREES = {
    "a": (0.50, 0.40, 0.30, 0.20, 0.10, 0.05),
    "b": (0.10, 0.20, 0.30, 0.40),
    "c": (0.20, 0.10, 0.21, 0.22, 0.23, 0.50),
    "d": (0.11, 0.10, 0.30, 0.31, 0.29, 0.32),
}
"""Forgetting along each panel's axis, as the paper has it."""


def matrix(sequence, forgetting, generalization):
    """An error matrix of given F_T and G_T."""
    T = len(sequence)
    errors = np.full((T + 1, T), 0.01)
    errors[T, :-1] += forgetting
    errors[T, -1] = T * generalization - errors[T, :-1].sum()
    return errors


def by_seed(values, seeds=3):
    """Values that all seeds share but for a level of their own and a little noise."""
    noise = 1e-4 * np.random.default_rng(0).standard_normal((3, 6))
    return np.array(values) + 0.001 * np.arange(seeds)[:, None] + noise[:seeds, : len(values)]


def made_up(changes=(), seeds=3, fits=()) -> Any:
    """A result that agrees with every claim but for changes: (panel, setup) -> F_T by place, or by seed and place."""
    changes, fits = dict(changes), dict(fits)
    matrices, fitted = {}, {}
    for panel, setups in fig2.SETUPS.items():
        for setup, members in setups.items():
            F = np.array(changes.get((panel, setup), AGREES[panel]))
            F = F if F.ndim == 2 else by_seed(F, seeds)
            for x, sequence in enumerate(members):
                matrices[sequence] = np.stack([matrix(sequence, F[k, x], F[k, x]) for k in range(seeds)])
                fitted[sequence] = np.full((seeds, len(sequence)), 0.001)
    for (sequence, seed, place), fit in fits.items():
        fitted[sequence][seed, place] = fit
    return fig2.Result(fig2.Config(seeds=seeds), matrices, fitted, {"commit": "abc"})


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


# What was measured


def test_forgetting_and_generalization_by_seed_and_place():
    result = made_up()
    for panel, setups in fig2.SETUPS.items():
        for setup in setups:
            expected = by_seed(AGREES[panel])
            np.testing.assert_allclose(result.forgetting(panel, setup), expected, rtol=1e-12)
            np.testing.assert_allclose(result.generalization(panel, setup), expected, rtol=1e-12)


# Verdicts


@pytest.mark.parametrize("seeds", [1, 2, 3])
def test_every_claim_can_hold_but_not_by_one_seed(seeds):
    found = judged(made_up(seeds=seeds))
    assert {verdict.holds for name, verdict in found.items() if name != FITTED} == {True if seeds > 1 else None}
    assert found[FITTED].holds
    assert {verdict.ran for verdict in found.values()} == {f"{seeds} seed{'s' * (seeds > 1)}, 600 epochs"}


OTHERS = [
    (FALLS, ("a", "forgetting"), AGREES["a"][::-1]),
    *((rises(k), ("b", f"forgetting_{k}"), AGREES["b"][::-1]) for k in range(3)),
    *((first_half(k), ("c", f"forgetting_{k}"), (0.2, 0.2, 0.2, 0.1, 0.2, 0.5)) for k in range(3)),
    *((first_half(k), ("c", f"forgetting_{k}"), (0.2, 0.2, 0.2, 0.2, 0.2, 0.1)) for k in range(3)),
    *((alternating(k), ("d", f"forgetting_{k}"), (0.2, 0.2, 0.1, 0.2, 0.2, 0.2)) for k in range(3)),
    *((alternating(k), ("d", f"forgetting_{k}"), (0.2, 0.2, 0.3, 0.2, 0.2, 0.1)) for k in range(3)),
]


@pytest.mark.parametrize(("claim", "where", "values"), OTHERS)
def test_every_claim_can_fail_alone(claim, where, values):
    found = judged(made_up({where: values}))
    assert {name for name, verdict in found.items() if verdict.holds is False} == (
        {claim, FALLS_G} if claim == FALLS else {claim}
    )
    assert not [name for name, verdict in found.items() if verdict.holds is None]


@pytest.mark.parametrize("place", range(6))
def test_the_first_half_is_three_places_and_alternating_orders_are_two(place):
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
        result.matrices[sequence][:] = matrix(sequence, AGREES["a"][x], values[x])
    return result


def test_generalization_is_judged_by_itself():
    assert judged(with_generalization(AGREES["a"]))[FALLS_G].holds
    found = judged(with_generalization(AGREES["a"][::-1]))
    assert found[FALLS].holds
    assert found[FALLS_G].holds is False


def test_a_rise_on_average_that_chance_explains_decides_nothing():
    noisy = [(0.1, 0.2, 0.3, 0.4), (0.2, 0.4, 0.1, 0.3), (0.3, 0.1, 0.4, 0.2)]  # rank correlations 1, 0, 0
    verdict = judged(made_up({("b", "forgetting_0"): noisy}))[rises(0)]
    assert verdict.holds is None
    said = re.fullmatch(
        r"rank correlation \+0\.33, in the claimed direction in 1 of 3 seeds; Page's test p = (0\.\d+)", verdict.result
    )
    assert said
    assert float(said[1]) > 0.05


def test_with_one_seed_the_trend_is_told_and_no_test_is_named():
    almost = (0.2, 0.1, 0.3, 0.25)
    verdict = judged(made_up({("b", "forgetting_0"): almost}, seeds=1))[rises(0)]
    assert verdict.result == "rank correlation +0.60, in the claimed direction in 1 of 1 seeds"
    assert verdict.holds is None


def test_equal_values_are_no_trend():
    verdict = judged(made_up({("b", "forgetting_1"): [(0.2,) * 4] * 3}))[rises(1)]
    assert verdict.holds is None
    assert verdict.result.startswith("rank correlation +0.00, in the claimed direction in 0 of 3 seeds")


@pytest.mark.parametrize(("values", "expected"), [((1, 1, 1), 0.0), ((1, 2, 2), math.sqrt(0.75)), ((3, 2, 1), -1.0)])
def test_rank_correlation_with_ties(values, expected):
    a, b = np.arange(3.0), np.array(values, float)
    assert fig2_verdicts.rank_correlation(a, b) == pytest.approx(expected, abs=1e-12)
    assert fig2_verdicts.rank_correlation(b, a) == pytest.approx(expected, abs=1e-12)


# Margins: seed by seed, between the best that is claimed and the best of the others


def spread(first, second):
    """Forgetting of orders 0 (claimed) and 3 (not) by seed; all others far worse."""
    values = np.full((len(first), 6), 0.9)
    values[:, 0], values[:, 3] = first, second
    return judged(made_up({("d", "forgetting_1"): values}, seeds=len(first)))[alternating(1)]


def test_a_margin_within_noise_decides_nothing():
    """Differences 0.01, -0.02, 0.03: mean 1/150, standard error 0.0145, t = 0.459 with 2 degrees of freedom."""
    verdict = spread((0.10, 0.12, 0.10), (0.11, 0.10, 0.13))
    assert verdict.holds is None
    assert verdict.result == (
        "best at 0; forgetting at 3, the best other, minus that at 0, the best claimed: "
        "+0.0067 ± 0.0145 (p = 0.69, positive in 2 of 3 seeds)"
    )


def test_a_margin_beyond_noise_decides_either_way():
    """Differences 0.010, 0.011, 0.012: t = 0.011 sqrt(3) / 0.001 = 19.05, p = 0.0027. Paired: seeds differ far more."""
    better, worse = (0.10, 0.30, 0.50), (0.110, 0.311, 0.512)
    verdict = spread(better, worse)
    assert verdict.holds is True
    assert verdict.result.endswith("+0.0110 ± 0.0006 (p = 0.0027, positive in 3 of 3 seeds)")
    verdict = spread(worse, better)
    assert verdict.holds is False
    assert verdict.result.startswith("best at 3; forgetting at 3, the best other, minus that at 0, the best claimed")
    assert verdict.result.endswith("-0.0110 ± 0.0006 (p = 0.0027, positive in 0 of 3 seeds)")


def test_two_seeds_that_agree_may_still_be_noise():
    """Differences 0.01 and 0.02: t = 3 with 1 degree of freedom, p = 1 - 2 arctan(3) / pi = 0.205."""
    verdict = spread((0.1, 0.1), (0.11, 0.12))
    assert verdict.holds is None
    assert "p = 0.2," in verdict.result


def test_one_seed_cannot_tell():
    verdict = spread((0.1,), (0.3,))
    assert verdict.holds is None
    assert verdict.result.endswith("+0.2000 (one seed: how surely cannot be told)")


def test_ties():
    verdict = spread((0.25, 0.5, 0.25), (0.25, 0.5, 0.25))
    assert verdict.holds is None
    assert verdict.result.endswith("+0.0000 ± 0.0000 (no spread, positive in 0 of 3 seeds)")


# Tasks that were not learnt


def test_tasks_that_were_not_fitted_are_named():
    sequence, other = fig2.SETUPS["c"]["forgetting_1"][2], fig2.SETUPS["a"]["forgetting"][0]
    missed = {(sequence, 1, 4): 0.25, (other, 2, 0): 0.051, (other, 0, 1): fig2.NOT_FITTED}
    result = made_up(fits=missed)
    assert result.not_fitted == [(other, 2, 0, 0.051), (sequence, 1, 4, 0.25)]
    verdict = judged(result)[FITTED]
    assert not verdict.holds
    assert verdict.result == "718 of 720; largest squared training error 0.25"
    assert [name for name, verdict in judged(result).items() if verdict.holds is not True] == [FITTED]
    assert judged(made_up())[FITTED].result == "720 of 720; largest squared training error 0.001"


@pytest.mark.parametrize("x", [0, 5])
def test_a_training_that_diverged_was_not_fitted(x):
    sequence = fig2.SETUPS["a"]["forgetting"][x]
    result = made_up(fits={(sequence, 0, 1): math.nan})
    [(named, seed, place, fit)] = result.not_fitted
    assert (named, seed, place) == (sequence, 0, 1)
    assert math.isnan(fit)
    assert judged(result)[FITTED].result == "719 of 720; largest squared training error nan"


# Beside the theory


@pytest.mark.parametrize(
    ("pair", "cosine"), [("0-1-2-3-4 5-6-7-8-9", -1.0), ("0-1-2-3-4 2-3-4-5-6", 0.2), ("7 7-8", 0.8)]
)
def test_predictions_are_those_of_tasks_a_fifth_of_a_digit_apart(pair, cosine):
    for r in (0.1, 0.5):
        n = round(1000 * (1 - r))
        expected = expect(Problem(gram=[[1, cosine], [cosine, 1]], n=n, p=1000)).forgetting
        assert fig2_verdicts._predict(tuple(pair.split()), r) == pytest.approx(expected, rel=1e-12)


def test_measurements_that_follow_the_theory_correlate_with_it():
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


# Files and pictures


def test_every_number_is_saved(tmp_path):
    sequence = fig2.SETUPS["b"]["forgetting_2"][1]
    result = made_up(fits={(sequence, 1, 2): 0.5})
    fig2.save(result, tmp_path / "new")
    assert {path.name for path in (tmp_path / "new").iterdir()} == {"fig2.csv", "fig2.json"}
    with (tmp_path / "new" / "fig2.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == ["panel", "setup", "x", "sequence", "seed", "forgetting", "generalization_error"]
    assert len(rows) == 54 * 3
    for row in rows:
        panel, setup, x, seed = row["panel"], row["setup"], int(row["x"]), int(row["seed"])
        assert row["sequence"] == " ".join(SETUPS[panel][setup][x])
        assert float(row["forgetting"]) == result.forgetting(panel, setup)[seed, x]
        assert float(row["generalization_error"]) == result.generalization(panel, setup)[seed, x]
    assert len({(row["panel"], row["setup"], row["x"], row["seed"]) for row in rows}) == 54 * 3
    content = json.loads((tmp_path / "new" / "fig2.json").read_text())
    assert content["provenance"] == {"commit": "abc"}
    assert content["not_fitted"] == [[list(sequence), 1, 2, 0.5]]
    for name in ("matrices", "fits"):
        read = {tuple(key.split()): np.array(value) for key, value in content[name].items()}
        assert list(read) == list(getattr(result, name))
        for key, value in getattr(result, name).items():
            np.testing.assert_array_equal(read[key], value)


def curves(ax):
    """Label -> (x, y, half-lengths of error bars or None)."""
    found = {}
    for container in ax.containers:
        line, _, bars = container.lines
        lengths = [np.diff(segment[:, 1]).item() / 2 for segment in bars[0].get_segments()] if bars else None
        found[container.get_label()] = (line.get_xdata().tolist(), line.get_ydata(), lengths)
    return found


def test_the_picture_shows_means_and_standard_errors():
    result = made_up()
    axes = dict(zip("abcd", fig2_plot.plot(result).axes, strict=True))
    found = curves(axes["a"])
    assert list(found) == ["forgetting $F_2$", "generalization error $G_2$"]
    for x, y, lengths in found.values():
        assert x == list(range(6))
        np.testing.assert_allclose(y, by_seed(AGREES["a"]).mean(axis=0), rtol=1e-12)
        np.testing.assert_allclose(lengths, sem(by_seed(AGREES["a"])), rtol=1e-9)
    for panel, start in (("b", 0), ("c", 1), ("d", 0)):
        found = curves(axes[panel])
        assert list(found) == list(SETUPS[panel])
        mean, error = by_seed(AGREES[panel]).mean(axis=0), sem(by_seed(AGREES[panel]))
        worst = 1 if panel == "b" else mean.max()
        for x, y, lengths in found.values():
            assert x == [start + i for i in range(len(mean))]
            np.testing.assert_allclose(y, mean / worst, rtol=1e-12)
            np.testing.assert_allclose(lengths, error / worst, rtol=1e-9)


def test_one_seed_has_no_error_bars_and_zeros_can_be_drawn():
    result = made_up({("c", "forgetting_0"): [(0.0,) * 6]}, seeds=1)
    axes = fig2_plot.plot(result).axes
    assert {lengths is None for ax in axes for _, _, lengths in curves(ax).values()} == {True}
    assert not curves(axes[2])["forgetting_0"][1].any()


def test_the_picture_of_the_theory_shows_every_sequence():
    found = fig2_verdicts.compare_with_theory(made_up())
    for ratio in (0.5, 0.9):
        k = fig2_verdicts.RATIOS.index(ratio)
        for ax, comparison in zip(fig2_plot.plot_theory(found, ratio).axes, found, strict=True):
            points = np.column_stack([comparison.predicted[k], comparison.measured])
            np.testing.assert_array_equal(ax.collections[0].get_offsets(), points)
            assert ax.get_title(loc="left") == f"({comparison.panel}) rank corr. {comparison.correlations[k]:+.2f}"


def test_pictures_are_saved(tmp_path):
    fig2_plot.save(made_up(seeds=1), tmp_path)
    names = {"fig2", "fig2_theory"}
    assert {path.name for path in tmp_path.iterdir()} == {
        f"{name}.{suffix}" for name in names for suffix in ("png", "svg")
    }
    for name in names:
        assert (tmp_path / f"{name}.png").read_bytes().startswith(b"\x89PNG")
        assert ET.parse(tmp_path / f"{name}.svg").getroot().tag.endswith("svg")


# Running


@dataclass(frozen=True)
class Toy:
    """Ten random images with random labels per lesson."""

    identity: str = "toy"

    def sample(self, lesson: Lesson, seed: int) -> Sample:
        random = np.random.default_rng([seed, *lesson.task.encode(), lesson.occurrence])
        images = torch.from_numpy(random.random((2, 10, 1, 28, 28), np.float32))
        labels = torch.from_numpy(random.integers(0, 2, (2, 10, 1)).astype(np.float32))
        return Sample(images[0], labels[0], images[1], labels[1])


SMALL = {"a": {"forgetting": [("0", "1"), ("0", "0")]}, "b": {"forgetting_0": [("1", "0", "1")]}}


def test_a_run_gathers_what_the_plain_loop_gives_and_says_what_it_trained(tmp_path, monkeypatch):
    monkeypatch.setattr(fig2, "SETUPS", SMALL)
    config = fig2.Config(2, Toy(), FiveLayers(widths=(2, 3, 4, 5)), Sgd(epochs=2))  # type: ignore[arg-type]
    store, seen = Store(tmp_path), []
    result = fig2.run(config, store, progress=seen.append)
    assert seen[-1] == 1
    assert set(result.matrices) == set(result.fits) == {("0", "1"), ("0", "0"), ("1", "0", "1")}
    for sequence in result.matrices:
        for seed in range(2):
            with one_thread():
                matrix, fits = train_plainly(config.training, sequence, seed)
            np.testing.assert_array_equal(result.matrices[sequence][seed], matrix)
            np.testing.assert_array_equal(result.fits[sequence][seed], fits)
    nodes = 2 * (1 + 1 + 2 + 3)  # the initial network; 0; 0 1 and 0 0; 1 0 1 and what it begins with
    assert result.provenance["networks"] == {"trained": nodes, "found": 0}
    assert result.provenance["versions"]["torch"] == torch.__version__
    assert result.provenance["config"]["method"]["epochs"] == 2

    next(iter(tmp_path.rglob("*.json"))).unlink()
    again = fig2.run(config, store)
    assert again.provenance["networks"]["found"] < nodes
    assert sum(again.provenance["networks"].values()) == nodes
    monkeypatch.setattr(pools, "train", None)
    assert fig2.run(config, store).provenance["networks"] == {"trained": 0, "found": nodes}
    np.testing.assert_array_equal(again.matrices["0", "1"], result.matrices["0", "1"])


def test_the_training_is_that_of_the_settings():
    config = fig2.Config(method=Sgd(epochs=3))
    assert config.training == Training(method=Sgd(epochs=3))
