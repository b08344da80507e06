"""What Figure 2 says, with statistics, and how the linear theory's predictions compare with it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ebbing import metrics
from ebbing._validate import Array
from ebbing.learn import DigitTasks
from ebbing.paper._output import Verdict
from ebbing.paper._statistics import Paired, trend
from ebbing.paper.fig2 import SETUPS, Panel, Result
from ebbing.problem import Problem
from ebbing.theory import expect

RATIOS = (0.1, 0.3, 0.5, 0.7, 0.9)
"""r = 1 - n/p at which predictions are made: a network has no p of the theory, so none is preferred."""


def verdicts(result: Result) -> list[Verdict]:
    """One verdict per panel, setup and claim; how sure they are depends on the number of seeds."""
    seeds, method = result.config.seeds, result.config.method
    ran = f"{seeds} seed{'s' * (seeds > 1)}, {method.epochs} epochs"
    found = [_fitted(result, ran)]
    F, G = result.forgetting("a", "forgetting"), result.generalization("a", "forgetting")
    found.append(_trend("forgetting falls with the overlap of two tasks", "Figure 2 (a)", -F, ran))
    found.append(_trend("generalization error falls with the overlap of two tasks", "Figure 2 (a)", -G, ran))
    for setup in SETUPS["b"]:
        claim = f"forgetting rises with the overlap of the first two of four tasks, {setup}"
        found.append(_trend(claim, "Figure 2 (b)", result.forgetting("b", setup), ran))
    for setup in SETUPS["c"]:
        claim = f"the best place of the special task is in the first half, {setup}"
        found.append(_best_among(claim, "Figure 2 (c)", result.forgetting("c", setup), (0, 1, 2), ran, first=1))
    for setup in SETUPS["d"]:
        claim = f"an alternating order forgets least, {setup}"
        found.append(_best_among(claim, "Figure 2 (d)", result.forgetting("d", setup), (0, 1), ran, first=0))
    return found


def _fitted(result: Result, ran: str) -> Verdict:
    missed = result.not_fitted
    tasks = sum(fits.size for fits in result.fits.values())
    worst = float(np.max([fits.max() for fits in result.fits.values()]))
    text = f"{tasks - len(missed)} of {tasks}; largest squared training error {worst:.2g}"
    return Verdict("every task of every sequence was fitted", "Figure 2", ran, text, not missed)


def _trend(claim: str, where: str, values: Array, ran: str) -> Verdict:
    """Do values rise along the axis, seed by seed?"""
    rising = [rank_correlation(np.arange(values.shape[1]), row) for row in values]
    count = sum(r > 0 for r in rising)
    text = f"rank correlation {np.mean(rising):+.2f}, in the claimed direction in {count} of {len(rising)} seeds"
    p, holds = trend(values)
    return Verdict(claim, where, ran, text if len(values) < 2 else f"{text}; Page's test p = {p:.2g}", holds)


def rank_correlation(a: Array, b: Array) -> float:
    """Spearman's rank correlation; 0 if all of one are equal.

    >>> rank_correlation(np.array([1.0, 2.0, 3.0]), np.array([1.0, 10.0, 5.0]))
    0.5
    """
    from scipy.stats import rankdata

    if np.ptp(a) == 0 or np.ptp(b) == 0:
        return 0.0
    return round(float(np.corrcoef(rankdata(a), rankdata(b))[0, 1]), 12)


def _best_among(claim: str, where: str, values: Array, places: tuple[int, ...], ran: str, *, first: int) -> Verdict:
    """Is the best mean among some places, by more than noise from the best elsewhere, seed by seed?

    The two places are picked by their means, so the test is lenient: what is within noise by it surely is.
    """
    mean = values.mean(axis=0)
    best = int(mean.argmin())
    others = [x for x in range(len(mean)) if x not in places]
    inside, outside = min(places, key=lambda x: mean[x]), min(others, key=lambda x: mean[x])
    less = Paired(tuple((values[:, outside] - values[:, inside]).tolist()))  # positive: the claim's best is better
    text = f"best at {best + first}; forgetting at {outside + first}, the best other, minus that at {inside + first}, "
    return Verdict(claim, where, ran, f"{text}the best claimed: {less.text(4)}", less.positive)


@dataclass(frozen=True, eq=False)
class Prediction:
    """Predicted against measured forgetting of the sequences of a panel, and their rank correlation by r."""

    panel: Panel
    predicted: Array  # (ratios, sequences)
    measured: Array  # (sequences,) mean over seeds
    correlations: tuple[float, ...]  # one per ratio


def compare_with_theory(result: Result) -> list[Prediction]:
    """Forgetting by the linear theory, from distances between label vectors, against what networks forgot.

    A task "is the digit in Y?" is the vector of its labels +-1 over the ten digits, scaled to length 1: the cosine of
    two tasks is 1 minus a fifth of the number of digits on which they differ. Noise is left out.
    """
    found = []
    for panel, setups in SETUPS.items():
        members = [sequence for setup in setups.values() for sequence in setup]
        measured = np.array([float(metrics.forgetting(result.matrices[s], kind="error").mean()) for s in members])
        predicted = np.array([[_predict(sequence, r) for sequence in members] for r in RATIOS])
        correlations = tuple(rank_correlation(row, measured) for row in predicted)
        found.append(Prediction(panel, predicted, measured, correlations))
    return found


def _predict(sequence: tuple[str, ...], r: float) -> float:
    vectors = np.full((len(sequence), 10), -1.0)
    for row, task in zip(vectors, sequence, strict=True):
        row[DigitTasks.digits(task)] = 1.0
    p = 1000
    return expect(Problem.from_vectors(vectors / 10**0.5, n=round((1 - r) * p), p=p)).forgetting
