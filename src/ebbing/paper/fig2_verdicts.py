"""Tests of what the paper concludes from Figure 2, and predictions of the figure by the linear theory."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

from ebbing import metrics
from ebbing._ranks import rank_correlation
from ebbing._validate import Array
from ebbing.learn import DigitTasks
from ebbing.paper._decisions import decide, describe_power, format_seeds
from ebbing.paper._output import Verdict, write_csv
from ebbing.paper._statistics import PairedDifferences, best_others_minus_best, slopes
from ebbing.paper.fig2 import SETUPS, Config, Panel, Result
from ebbing.problem import Problem
from ebbing.theory import expect

RATIOS = (0.1, 0.3, 0.5, 0.7, 0.9)
"""The r = 1 - n/p of the predictions. The theory does not say which r describes a network, so several are tried."""


def verdicts(result: Result) -> list[Verdict]:
    """Return the verdicts on what the paper concludes from Figure 2.

    Trends are slopes over the horizontal axis; the best place is compared with the best other place. Each is tested
    over the seeds, corrected for the number of claims.

    Args:
        result: The measurements; a single seed leaves every claim about an effect undecided.

    Returns:
        One verdict for each panel, setup and claim.
    """
    claims = _claims(result)
    decisions = decide([claim.differences for claim in claims])
    planned = Config()
    seeds = planned.seeds if result.config.method == planned.method else len(result.seeds)
    run = f"{format_seeds(len(result.seeds), seeds)}, {result.config.method.epochs} epochs"
    found = [_fitted(result, run)]
    for claim, decision in zip(claims, decisions, strict=True):
        power = describe_power(claim.differences, seeds, len(claims), decimals=4)
        procedure = f"{run}; {power}" if power else run
        text = f"{claim.what}: {decision.to_text(4)}"
        found.append(Verdict(claim.claim, claim.source, procedure, text, decision.holds, decision.bounds(4)))
    return found


@dataclass(frozen=True)
class _Claim:
    """A claim with what the seeds say about it.

    Attributes:
        claim: The claim, as in `Verdict`.
        source: Where it stands.
        what: What the differences are, in words.
        differences: One for each seed, positive where the claim is right.
    """

    claim: str
    source: str
    what: str
    differences: PairedDifferences


def _claims(result: Result) -> list[_Claim]:
    F, G = result.forgetting("a", "forgetting"), result.generalization("a", "forgetting")
    found = [
        _Claim(
            f"{name} falls with the overlap of two tasks", "Figure 2 (a)", "fall per digit in common", slopes(-values)
        )
        for name, values in (("forgetting", F), ("generalization error", G))
    ]
    for setup in SETUPS["b"]:
        claim = f"forgetting rises with the overlap of the first two of four tasks, {setup}"
        found.append(_Claim(claim, "Figure 2 (b)", "rise per digit in common", slopes(result.forgetting("b", setup))))
    for setup in SETUPS["c"]:
        claim = f"the best place of the special task is in the first half, {setup}"
        found.append(_best_among(claim, "Figure 2 (c)", result.forgetting("c", setup), (0, 1, 2), first=1))
    for setup in SETUPS["d"]:
        claim = f"an alternating order forgets least, {setup}"
        found.append(_best_among(claim, "Figure 2 (d)", result.forgetting("d", setup), (0, 1), first=0))
    return found


def _best_among(claim: str, source: str, values: Array, places: tuple[int, ...], *, first: int) -> _Claim:
    best = int(values.mean(axis=0).argmin()) + first
    what = f"best at {best}; best other place minus best claimed place, each seed judging the choice of the others"
    return _Claim(claim, source, what, best_others_minus_best(values, places))


def _fitted(result: Result, procedure: str) -> Verdict:
    missed = result.unfitted_tasks
    tasks = sum(fits.size for fits in result.fits.values())
    worst = float(np.max([fits.max() for fits in result.fits.values()]))
    text = f"{tasks - len(missed)} of {tasks}; largest squared training error {worst:.2g}"
    return Verdict("every task of every sequence was fitted", "Figure 2", procedure, text, not missed)


@dataclass(frozen=True, eq=False)
class Prediction:
    """Predicted and measured forgetting of the sequences of one panel.

    Attributes:
        panel: The panel's letter.
        predicted: The forgetting that the linear theory expects (ratios, sequences), one row for each of `RATIOS`.
        measured: The forgetting of the networks, mean over seeds (sequences,).
        correlations: The rank correlation of both, one for each of `RATIOS`.
    """

    panel: Panel
    predicted: Array
    measured: Array
    correlations: tuple[float, ...]


def compare_with_theory(result: Result) -> list[Prediction]:
    """Compare the forgetting of the networks with what the linear theory predicts from the labels alone.

    The ground truth of a task "is the digit in Y?" is the vector of its labels +-1 over the ten digits, scaled to
    length 1: the cosine of two tasks is 1 minus a fifth of the number of digits on which they differ.
    There is no noise.

    Args:
        result: The measurements.

    Returns:
        One comparison for each panel.
    """
    found = []
    for panel, setups in SETUPS.items():
        members = [sequence for setup in setups.values() for sequence in setup]
        measured = np.array([float(metrics.forgetting(result.matrices[s], kind="error").mean()) for s in members])
        predicted = np.array([[_predict(sequence, r) for sequence in members] for r in RATIOS])
        correlations = tuple(round(rank_correlation(row, measured), 12) for row in predicted)
        found.append(Prediction(panel, predicted, measured, correlations))
    return found


def save_predictions(result: Result, folder: Path) -> None:
    """Write fig2_theory.csv: predicted and measured forgetting of every sequence, for each of `RATIOS`.

    Args:
        result: The measurements.
        folder: The folder of the file.
    """
    rows = []
    for found in compare_with_theory(result):
        members = [(setup, sequence) for setup, some in SETUPS[found.panel].items() for sequence in some]
        for r, predicted, correlation in zip(RATIOS, found.predicted, found.correlations, strict=True):
            for (setup, sequence), expected, measured in zip(members, predicted, found.measured, strict=True):
                values = metrics.forgetting(result.matrices[sequence], kind="error")
                error = float(np.std(values, ddof=1) / len(values) ** 0.5) if len(values) > 1 else None
                rows.append(
                    (found.panel, setup, " ".join(sequence), r, expected, measured, error, len(values), correlation)
                )
    header = ("panel", "setup", "sequence", "r", "predicted", "measured", "standard_error", "seeds", "rank_correlation")
    write_csv(folder / "fig2_theory.csv", header, rows)


@cache
def _predict(sequence: tuple[str, ...], r: float) -> float:
    vectors = np.full((len(sequence), 10), -1.0)
    for row, task in zip(vectors, sequence, strict=True):
        row[DigitTasks.digits(task)] = 1.0
    p = 1000
    return expect(Problem.from_vectors(vectors / 10**0.5, n=round((1 - r) * p), p=p)).forgetting
