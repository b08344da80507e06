"""Scores of a model on benchmarks, and the change of one score between two evaluations, with its uncertainty."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from numbers import Real
from typing import Any

import numpy as np

from ebbing._rounding import without_rounding_errors

QUANTILE_95 = 1.959963984540054
"""The 97.5% quantile of the normal distribution: half the width of a 95% interval, in standard errors."""

_ABOVE_FRACTIONS, _BETWEEN_UNITS = 1.5, 10.0
"""Scores above the first are no fractions; percent are 100 times as large, and no model gets ten times as bad."""

_LOWER_IS_BETTER = re.compile(
    r"(?<![a-z])(?:"
    r"perplexity|ppl|bits[ _-]per[ _-](?:byte|char|character|token|word)|bp[bc]|nll|(?:log)?loss(?:es)?|brier|"
    r"cross[ _-]?entropy|r?mse|mae|mape|[wc]er|"
    r"err(?:ors?)?(?![ _-]+(?!rate|mean|percent|pct|on\b)[a-z])"  # error_detection is a skill
    r")(?![a-z])",
    re.IGNORECASE,
)

_FORMS = (
    'give a number, a number and its standard error, or {"score": 0.52, "standard_error": 0.01, '
    '"higher_is_better": true}'
)
_FIELDS = ("score", "standard_error", "higher_is_better")


@dataclass(frozen=True)
class Score:
    """The score of a model on one benchmark.

    Attributes:
        value: The score, such as an accuracy or a perplexity.
        standard_error: Its standard error over the questions of the benchmark; None if it is not known.
        higher_is_better: Whether a higher score is better; False for errors and perplexities.
        metric: What was measured, such as "acc".
        answers: The score of each question, by its name, where it is known. Two evaluations are then compared question
            by question.

    Raises:
        ValueError: If the value or the standard error is not a finite number, or the standard error is negative.
    """

    value: float
    standard_error: float | None = None
    higher_is_better: bool = True
    metric: str = ""
    answers: Mapping[str, float] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "value", _finite("score", self.value))
        if self.standard_error is not None:
            error = _finite("standard error", self.standard_error)
            if error < 0:
                raise ValueError(f"the standard error is {error}: it cannot be negative; None if it is not known")
            object.__setattr__(self, "standard_error", error)


def lower_is_better(name: str) -> bool:
    """Return whether a lower value is better of what has a name: of errors, losses and perplexities.

    Args:
        name: The name of a metric, or of a benchmark.

    Returns:
        Whether it is so; False if the name does not tell.

    Example:
        >>> lower_is_better("word_perplexity"), lower_is_better("eval-loss"), lower_is_better("WER")
        (True, True, True)
        >>> lower_is_better("acc"), lower_is_better("error_detection"), lower_is_better("glossary")
        (False, False, False)
    """
    return _LOWER_IS_BETTER.search(name) is not None


def parse_score(benchmark: str, given: Any) -> Score:
    """Return the score of a model on a benchmark.

    Args:
        benchmark: The name of the benchmark, which says whether lower is better where nothing else does.
        given: A `Score`, a number, a pair of a number and its standard error, or a dictionary with "score" and perhaps
            "standard_error" and "higher_is_better".

    Returns:
        The score.

    Raises:
        ValueError: If it is something else.

    Example:
        >>> parse_score("loss", (2.5, 0.1)).higher_is_better
        False
        >>> parse_score("hearing loss", {"score": 0.8, "higher_is_better": True})
        Score(value=0.8, standard_error=None, higher_is_better=True, metric='')
    """
    if isinstance(given, Score):
        return given
    fields: Mapping[str, Any] = {"score": given}
    if isinstance(given, Mapping):
        fields = given
    elif isinstance(given, (tuple, list)):
        if len(given) != 2:
            raise ValueError(f"{len(given)} numbers: {_FORMS}")
        fields = dict(zip(_FIELDS, given, strict=False))
    if "score" not in fields or set(fields) - set(_FIELDS):
        raise ValueError(f"the entries are {', '.join(map(str, fields)) or 'none'}: {_FORMS}")
    higher = fields.get("higher_is_better", not lower_is_better(benchmark))
    if not isinstance(higher, bool):
        raise ValueError(f"higher_is_better is {higher!r}: say true or false")
    try:
        return Score(fields["score"], fields.get("standard_error"), higher_is_better=higher)
    except ValueError as problem:
        raise ValueError(f"{problem}; {_FORMS}") from None


def check_same(benchmark: str, scores: Mapping[str, Score]) -> None:
    """Check that a benchmark was measured in the same way everywhere.

    Args:
        benchmark: Its name.
        scores: Its score in each evaluation.

    Raises:
        ValueError: If metrics differ, or higher is better in one evaluation and worse in another.
    """
    if len({score.metric for score in scores.values()}) > 1:
        shown = ", ".join(f"{score.metric or 'no name'} in {name}" for name, score in scores.items())
        raise ValueError(f"{benchmark} was measured by different metrics: {shown}; choose one that all have")
    if len({score.higher_is_better for score in scores.values()}) > 1:
        shown = ", ".join(
            f"{'higher' if score.higher_is_better else 'lower'} is better in {name}" for name, score in scores.items()
        )
        raise ValueError(f"{benchmark}: {shown}; give the same higher_is_better everywhere")


@dataclass(frozen=True)
class Change:
    """How a score changed from one evaluation to another.

    Attributes:
        difference: The second score minus the first.
        standard_error: The standard error of the difference; NaN if it is not known.
        interval: The 95% interval of the true difference; NaN at both ends if it is not known.
        p_value: The two-sided p-value of no change; 1 where it is not known.
        questions: The number of questions that were compared one by one; 0 if only the scores were compared.
    """

    difference: float
    standard_error: float
    interval: tuple[float, float]
    p_value: float
    questions: int = 0


def change(before: Score, after: Score) -> Change:
    """Return how a score changed, with its uncertainty.

    Where both evaluations have the score of every question, the questions are compared one by one. Otherwise the
    standard errors of both scores are added as if the evaluations were independent. If both answered the same
    questions, this is the larger error: what is found is safe, and small changes are missed.

    Args:
        before: The first score.
        after: The second score, of the same benchmark and metric.

    Returns:
        The change.

    Example:
        >>> found = change(Score(0.84, standard_error=0.01), Score(0.80, standard_error=0.01))
        >>> round(found.difference, 3), round(found.standard_error, 4), round(found.p_value, 4)
        (-0.04, 0.0141, 0.0047)
    """
    common = before.answers.keys() & after.answers.keys()
    if common and len(common) == len(before.answers) == len(after.answers):
        pairs = np.array([(before.answers[question], after.answers[question]) for question in sorted(common)])
        differences = without_rounding_errors(np.diff(pairs)[:, 0], pairs)
        signs = np.isin(differences, (-1.0, 0.0, 1.0)).all()
        return _right_and_wrong(differences) if signs else _paired(differences)
    difference = after.value - before.value
    if before.standard_error is None or after.standard_error is None:
        return Change(difference, math.nan, (math.nan, math.nan), 1.0)
    error = math.hypot(before.standard_error, after.standard_error)
    return _normal(difference, error)


def _right_and_wrong(differences: np.ndarray) -> Change:
    """Return the change of answers that are right or wrong.

    The test is McNemar's, in its exact form: of the questions whose answer changed, as many should have become right as
    wrong. The interval adds half a question to each of the four outcomes (Agresti and Min 2005), so that it is not
    empty where no answer changed.
    """
    from scipy.stats import binomtest

    gained, lost, n = int((differences > 0).sum()), int((differences < 0).sum()), len(differences)
    p = float(binomtest(lost, lost + gained).pvalue) if lost + gained else 1.0
    center = (gained - lost) / (n + 2)
    error = math.sqrt((gained + lost + 1) - (gained - lost) ** 2 / (n + 2)) / (n + 2)
    half = QUANTILE_95 * error
    return Change((gained - lost) / n, error, (center - half, center + half), p, n)


def _paired(differences: np.ndarray) -> Change:
    """Return the change of scores between 0 and 1, by a t-test of the differences."""
    from scipy.special import stdtr, stdtrit

    n, mean = len(differences), float(differences.mean())
    if n < 2 or not without_rounding_errors(np.ptp(differences), differences):
        return Change(mean, math.nan, (math.nan, math.nan), 1.0, n)
    error = float(differences.std(ddof=1)) / math.sqrt(n)
    half = float(-stdtrit(n - 1, 0.025)) * error
    p = float(2 * stdtr(n - 1, -abs(mean) / error))
    return Change(mean, error, (mean - half, mean + half), p, n)


def _normal(difference: float, error: float) -> Change:
    from scipy.special import ndtr

    if not error:  # as of a benchmark on which nothing is right: how sure that is, is not known
        return Change(difference, math.nan, (math.nan, math.nan), 1.0)
    half = QUANTILE_95 * error
    p = float(2 * ndtr(-abs(difference) / error))
    return Change(difference, error, (difference - half, difference + half), p)


def _finite(what: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, Real) or not math.isfinite(value):
        raise ValueError(f"a {what} is {value!r}: give a finite number")
    return float(value)


def check_units(scores: Mapping[str, Sequence[Score]]) -> None:
    """Check that all evaluations are in one unit.

    Args:
        scores: The scores of each evaluation on the same benchmarks.

    Raises:
        ValueError: If one evaluation looks like fractions and another like percent.
    """
    values = {name: [one.value for one in own if one.higher_is_better] for name, own in scores.items()}
    values = {name: own for name, own in values.items() if own}
    fractions = [name for name, own in values.items() if min(own) >= 0 and max(own) <= 1]
    percent = [name for name, own in values.items() if min(own) > _ABOVE_FRACTIONS and max(own) <= 100]
    for one, other in ((one, other) for one in fractions for other in percent):
        if sum(values[other]) >= _BETWEEN_UNITS * sum(values[one]):
            spans = [f"{min(own):g} to {max(own):g} in {name}" for name, own in values.items() if name in (one, other)]
            raise ValueError(
                f"scores are {' and '.join(spans)}: fractions and percent? give all in one unit, 0.52 or 52"
            )
