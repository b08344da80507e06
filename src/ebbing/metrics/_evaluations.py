"""What a model lost between two evaluations on the same benchmarks, beyond chance: `compare_evaluations`."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from ebbing._pages import WIDE, Page, Picture, Size
from ebbing._significance import SIGNIFICANCE_LEVEL, holm
from ebbing._tables import Table, Tabular, format_number, to_frame, with_article
from ebbing._validate import Array
from ebbing.metrics._scores import Change, Score, change, check_same, check_units, parse_score

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

_NAMED_IN_ANSWER = 4


@dataclass(frozen=True, eq=False)
class EvaluationComparison(Tabular):
    """What changed from the first evaluation of a model to the last, benchmark by benchmark.

    Attributes:
        names: The names of the E evaluations, in the order in which the model was trained.
        benchmarks: The names of the B benchmarks that all evaluations have.
        scores: The score of each benchmark in each evaluation, E tuples of B scores.
        changes: The change of each benchmark from the first evaluation to the last (B,).
        p_values: The p-value of each change, corrected for the number of benchmarks by Holm's method (B,).
        left_out: Benchmarks that only some evaluations have.
        without_metric: Benchmarks that do not have the metric that was asked for, and are compared by another.
    """

    names: tuple[str, ...]
    benchmarks: tuple[str, ...]
    scores: tuple[tuple[Score, ...], ...]
    changes: tuple[Change, ...]
    p_values: Array
    left_out: tuple[str, ...] = ()
    without_metric: tuple[str, ...] = ()

    @property
    def worse(self) -> tuple[str, ...]:
        """The benchmarks that got worse beyond chance, at the 5% level for all of them together."""
        return self._decided(-1)

    @property
    def better(self) -> tuple[str, ...]:
        """The benchmarks that got better beyond chance, at the 5% level for all of them together."""
        return self._decided(+1)

    @property
    def undecided(self) -> tuple[str, ...]:
        """The benchmarks whose change chance can explain, or whose uncertainty is not known."""
        return self._decided(0)

    @cached_property
    def verdicts(self) -> tuple[int, ...]:
        """For each benchmark -1 if it got worse beyond chance, +1 if it got better, 0 if neither is sure (B,)."""
        return tuple(
            int(np.sign(one.difference) * _sign(score)) if p < SIGNIFICANCE_LEVEL else 0
            for one, score, p in zip(self.changes, self.scores[0], self.p_values, strict=True)
        )

    @property
    def values(self) -> Array:
        """The scores (E, B)."""
        return np.array([[score.value for score in row] for row in self.scores])

    def _decided(self, verdict: int) -> tuple[str, ...]:
        return tuple(name for name, found in zip(self.benchmarks, self.verdicts, strict=True) if found == verdict)

    def to_frame(self) -> pd.DataFrame:
        """Return the comparison as a pandas DataFrame.

        Returns:
            One row per benchmark with the columns `benchmark`, `metric`, `higher_is_better`, `before`, `after`,
            `change`, `standard_error`, `low`, `high` (the 95% interval of the change), `p_value` (corrected),
            `questions` (compared one by one) and `verdict` ("worse", "better" or "undecided").
        """
        first, last = self.scores[0], self.scores[-1]
        return to_frame({
            "benchmark": self.benchmarks,
            "metric": [score.metric for score in first],
            "higher_is_better": [score.higher_is_better for score in first],
            "before": [score.value for score in first],
            "after": [score.value for score in last],
            "change": [one.difference for one in self.changes],
            "standard_error": [one.standard_error for one in self.changes],
            "low": [one.interval[0] for one in self.changes],
            "high": [one.interval[1] for one in self.changes],
            "p_value": self.p_values,
            "questions": [one.questions for one in self.changes],
            "verdict": [_WORDS[verdict] for verdict in self.verdicts],
        })  # fmt: skip

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the change of every benchmark with its 95% interval; what is worse or better beyond chance is colored.

        Args:
            ax: The axes to draw on; a new figure if None.

        Returns:
            The axes.
        """
        from ebbing.plot.evaluations import plot_changes

        return plot_changes(self, ax=ax)

    def _page(self) -> Page:
        reading = "The change of each benchmark with its 95% interval. Right of the line is better."

        def size() -> Size:
            from ebbing.plot.evaluations import changes_size

            return WIDE[0], changes_size(len(self.benchmarks))[1]

        return Page("What the model lost", [Picture(self.plot, reading, size)])

    def _answer(self) -> str:
        span = f"From {self.names[0]} to {self.names[-1]}"
        worse, better = self._sentence(-1), self._sentence(+1)
        if not worse:
            worse = "no benchmark got worse beyond chance"
        return f"{span}, {worse}." + (f" {better[0].upper()}{better[1:]}." if better else "")

    def _sentence(self, verdict: int) -> str:
        """Say how many benchmarks got worse (-1) or better (+1), and which, the largest change first."""
        found = [
            (abs(one.difference), name, first.value, last.value)
            for one, name, first, last, decided in zip(
                self.changes, self.benchmarks, self.scores[0], self.scores[-1], self.verdicts, strict=True
            )
            if decided == verdict
        ]
        if not found:
            return ""
        found.sort(key=lambda entry: -entry[0])
        named = [
            f"{name} from {format_number(a, _digits(a, b))} to {format_number(b, _digits(a, b))}"
            for _, name, a, b in found[:_NAMED_IN_ANSWER]
        ]
        rest = f" and {len(found) - len(named)} more" if len(found) > len(named) else ""
        count = f"{len(found)} of {len(self.benchmarks)} benchmarks"
        return f"{count} got {_WORDS[verdict]} beyond chance: {', '.join(named)}{rest}"

    def _tables(self) -> Sequence[Table]:
        rows = [
            [
                name,
                (self.scores[0][place].metric or "score").replace(",", ", "),  # so that it may wrap between its parts
                *(format_number(value, _digits(*self.values[:, place])) for value in self.values[:, place]),
                *_change_cells(one, _digits(*self.values[:, place])),
                _WORDS[verdict],
            ]
            for place, (name, one, verdict) in enumerate(zip(self.benchmarks, self.changes, self.verdicts, strict=True))
        ]
        headers = ["benchmark", "metric", *self.names, "change", "95% interval", "verdict"]
        left = (0, 1, len(headers) - 1)
        return (Table(self._answer(), headers, rows, self._notes(), left=left),)

    def _notes(self) -> list[str]:
        notes = [excluded] if (excluded := self._excluded()) else []
        lower = [
            name for name, score in zip(self.benchmarks, self.scores[0], strict=True) if not score.higher_is_better
        ]
        notes += [f"Lower is better for {', '.join(lower)}."] if lower else []
        if any(one.questions for one in self.changes):
            count = sum(1 for one in self.changes if one.questions)
            notes.append(f"Compared question by question: {count} of {len(self.changes)} benchmarks.")
        if any(not one.questions and np.isfinite(one.standard_error) for one in self.changes):
            notes.append(
                "Where only scores are compared, their standard errors are added as if both evaluations were "
                "independent: what is found is safe, and small changes are missed. Answers to each question tell more."
            )
        unknown = [
            name for name, one in zip(self.benchmarks, self.changes, strict=True) if np.isnan(one.standard_error)
        ]
        notes += [f"Undecided, since no standard error is known: {', '.join(unknown)}."] if unknown else []
        if self.without_metric:
            metrics = dict(zip(self.benchmarks, (score.metric for score in self.scores[0]), strict=True))
            named = ", ".join(f"{name} (by {metrics[name]})" for name in self.without_metric)
            notes.append(f"Compared by another metric, since they do not have the chosen one: {named}.")
        if self.left_out:
            notes.append(f"Left out, since not in all evaluations: {', '.join(self.left_out)}.")
        tests = len(self.changes)
        together = f" for all {tests} benchmarks together (Holm's correction)" if tests > 1 else ""
        notes.append(f"Worse and better: beyond chance at the 5% level{together}.")
        return notes

    def _excluded(self) -> str:
        """Say how large a loss the undecided benchmarks may hide; nothing if none of them has a standard error."""
        hidden = [
            (-min(end * _sign(score) for end in one.interval), name)
            for name, one, score, verdict in zip(
                self.benchmarks, self.changes, self.scores[0], self.verdicts, strict=True
            )
            if verdict == 0 and np.isfinite(one.standard_error)
        ]
        if not hidden:
            return ""
        size, name = max(hidden)
        if size <= 0:
            return "Undecided: chance can explain the change."
        return f"Undecided: chance can explain the change. Losses of up to {size:.2g} ({name}) are not excluded."


_WORDS = {-1: "worse", 0: "undecided", 1: "better"}


def compare_evaluations(evaluations: Mapping[str, Mapping[str, Any]]) -> EvaluationComparison:
    """Say what a model lost and gained between evaluations on the same benchmarks, and what chance can explain.

    Fine-tuning changes every score a little. A change counts as a loss only if the benchmark has questions enough to
    tell it from chance, at the 5% level for all benchmarks together.

    Args:
        evaluations: At least two evaluations by name, in the order in which the model was trained: for each benchmark a
            `Score`, a number, a pair of a number and its standard error, or a dictionary with "score",
            "standard_error" and "higher_is_better". If only its name tells, lower is better for a benchmark called
            loss, error, perplexity, WER and the like. `ebbing.io.read_evaluation` reads evaluations from files.

    Returns:
        The change of every benchmark from the first evaluation to the last.

    Raises:
        ValueError: If there are fewer than two evaluations, they have no benchmark in common, a benchmark was measured
            in different ways, or one evaluation is in fractions and another in percent.

    Example:
        >>> found = compare_evaluations({
        ...     "base": {"gsm8k": (0.52, 0.014), "arc": (0.61, 0.014)},
        ...     "tuned": {"gsm8k": (0.43, 0.014), "arc": (0.60, 0.014)},
        ... })
        >>> found.worse, found.better, found.undecided
        (('gsm8k',), (), ('arc',))
        >>> print(found._answer())
        From base to tuned, 1 of 2 benchmarks got worse beyond chance: gsm8k from 0.520 to 0.430.
    """
    if not isinstance(evaluations, Mapping) or len(evaluations) < 2:
        shown = len(evaluations) if isinstance(evaluations, Mapping) else type(evaluations).__name__
        raise ValueError(f"{shown} evaluations: give two or more by name, as {{'base': {{...}}, 'tuned': {{...}}}}")
    read = {str(name): _scores(name, given) for name, given in evaluations.items()}
    tables = list(read.values())
    benchmarks = [name for name in tables[0] if all(name in table for table in tables)]
    if not benchmarks:
        shown = "; ".join(f"{name} has {', '.join(list(table)[:3]) or 'none'}" for name, table in read.items())
        raise ValueError(f"the evaluations have no benchmark in common: {shown}; evaluate the same ones")
    for name in benchmarks:
        check_same(name, {evaluation: table[name] for evaluation, table in read.items()})
    check_units({evaluation: [table[name] for name in benchmarks] for evaluation, table in read.items()})
    changes = tuple(change(tables[0][name], tables[-1][name]) for name in benchmarks)
    everything = dict.fromkeys(name for table in tables for name in table)
    return EvaluationComparison(
        names=tuple(read),
        benchmarks=tuple(benchmarks),
        scores=tuple(tuple(table[name] for name in benchmarks) for table in tables),
        changes=changes,
        p_values=holm(np.array([one.p_value for one in changes])),
        left_out=tuple(name for name in everything if name not in benchmarks),
    )


def _scores(evaluation: Any, given: Any) -> dict[str, Score]:
    if not isinstance(given, Mapping):
        raise ValueError(f"evaluation {evaluation!r} is {with_article(type(given).__name__)}: give scores by benchmark")
    found = {}
    for name, value in given.items():
        try:
            found[str(name)] = parse_score(str(name), value)
        except ValueError as problem:
            raise ValueError(f"evaluation {evaluation!r}, benchmark {name!r}: {problem}") from None
    return found


def _digits(*values: float) -> str:
    """Say how the scores of a benchmark are shown: shares with three digits, others with four in all."""
    return ".3f" if max(map(abs, values)) <= 1 else ".4g"


def _change_cells(change: Change, digits: str) -> tuple[str, str]:
    """Return a change and its interval as text, all with the same decimals."""
    shown = (change.difference, *change.interval)
    largest = max((abs(number) for number in shown if np.isfinite(number)), default=0.0)
    if digits == ".4g" and 1e-3 <= largest < 1e4:
        digits = f".{3 - math.floor(math.log10(largest))}f"
    difference, low, high = (format_number(number, f"+{digits}") for number in shown)
    return difference, "-" if np.isnan(change.interval[0]) else f"{low} to {high}"


def _sign(score: Score) -> int:
    return 1 if score.higher_is_better else -1
