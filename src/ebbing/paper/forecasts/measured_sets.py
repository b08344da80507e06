"""Task sets with what was measured and predicted, and the scores of each prediction: `MeasuredSet`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np

from ebbing import metrics
from ebbing._ranks import rank_correlation
from ebbing._validate import Array
from ebbing.forecasting._corrections import Errors, Pairs, correct_by_pairs, mix_with_runs
from ebbing.order.simple_rules import RULES
from ebbing.paper.forecasts.predictions import (
    OWN,
    TARGET,
    VARIANTS,
    Variant,
    advised_variant,
    default_variant,
    forecast_name,
)
from ebbing.paper.forecasts.scores import Scores
from ebbing.paper.forecasts.task_sets import TaskSet
from ebbing.paper.records import Record, RecordError
from ebbing.problem import Problem
from ebbing.theory import expect

AGREEMENT = 0.5
"""Rank correlation between seeds above which the order matters beyond chance."""

RATIO = 0.5
"""n/p of the linear theory."""

ADVISED, DEFAULT, SEED, MIXED, PROBE, COMBINED, LABELS, WITH_LABELS, RANDOM = (
    "as the documentation advises",
    "by default",
    "all orders trained with another seed",
    "the same orders and the forecast",
    "pairs trained with another seed",
    "the forecast, corrected by the same pairs",
    "theory from labels",
    "the same theory and the network's forecast",
    "random order",
)
RULE_NAMES = {"greedy": "farthest task next", "periphery_to_core": "periphery to core"}


@dataclass(frozen=True, eq=False)
class MeasuredSet:
    """A task set with what was measured and predicted.

    Attributes:
        task_set: The set.
        seeds: The recorded seeds.
        matrices: Measured error matrices of each sequence (seeds, T+1, T).
        forecasts: What each recorded variant of a forecast predicts.
        is_blind: Whether the advised forecast was recorded before the first run began.
    """

    task_set: TaskSet
    seeds: tuple[int, ...]
    matrices: Mapping[tuple[str, ...], Array]
    forecasts: Mapping[str, Mapping[str, Any]]
    is_blind: bool

    @classmethod
    def read(cls, one: TaskSet, records: Sequence[Record]) -> MeasuredSet | None:
        """Return what is recorded of a set.

        Args:
            one: The set.
            records: All records of the study.

        Returns:
            The measured set; None if no run of it is recorded.

        Raises:
            RecordError: If a record lacks a sequence that is planned.
        """
        runs = sorted((r for r in records if r.name == one.name), key=lambda record: record.seed)
        if not runs:
            return None
        try:
            matrices = {s: np.array([r.result["matrices"][" ".join(s)] for r in runs]) for s in one.sequences}
        except KeyError as missing:
            raise RecordError(f"{TARGET}, {one.name}: no run of {missing} is recorded") from None
        known = {r.name: r for r in records}
        found = {v.name: known[name].result for v in VARIANTS if (name := forecast_name(one, v)) in known}
        is_blind = _was_first(known.get(forecast_name(one, advised_variant(one))), runs)
        return cls(one, tuple(r.seed for r in runs), matrices, found, is_blind)

    @cached_property
    def forgetting(self) -> Array:
        """Measured forgetting.

        Returns:
            Forgetting of each order and seed (orders, seeds).
        """
        return metrics.forgetting(np.array([self.matrices[order] for order in self.task_set.orders]), kind="error")

    @cached_property
    def agreement(self) -> float:
        """The mean rank correlation between two seeds.

        Returns:
            The correlation; NaN for one seed.
        """
        pairs = [rank_correlation(a, b) for a, b in combinations(self.forgetting.T, 2)]
        return float(np.mean(pairs)) if pairs else float("nan")

    @property
    def agrees(self) -> bool:
        """Whether seeds agree on the ranks of orders."""
        return self.agreement > AGREEMENT

    @property
    def advised(self) -> Variant:
        """The variant that the documentation advises."""
        return advised_variant(self.task_set)

    def predicted(self, variant: Variant) -> Array:
        """Return predicted forgetting.

        Args:
            variant: The variant of the forecast, which must be recorded.

        Returns:
            Forgetting of each order (orders,).
        """
        matrices = self.forecasts[variant.name]["matrices"]
        return metrics.forgetting(np.array([matrices[" ".join(o)] for o in self.task_set.orders]), kind="error")

    def label_theory(self) -> Array | None:
        """Return the linear theory's forgetting with labels over classes as ground truths.

        Returns:
            Forgetting of each order (orders,); None if tasks are not subsets of common classes.
        """
        if self.task_set.vectors is None:
            return None
        p = 1000
        problem = Problem.from_vectors(self.task_set.vectors.astype(float), n=round(RATIO * p), p=p, sigma=0.0)
        return np.array([expect(problem.reordered(order.tolist())).forgetting for order in self.places])

    @cached_property
    def scores(self) -> dict[str, Scores]:
        """The scores of every prediction that can be made.

        Returns:
            Scores by the name of the prediction.
        """
        measured = self.forgetting.mean(axis=1)
        found = {v.name: Scores.of(self.predicted(v), measured) for v in VARIANTS if v.name in self.forecasts}
        for name, variant in ((ADVISED, self.advised), (DEFAULT, default_variant(self.task_set))):
            if variant.name in found:
                found[name] = found[variant.name]
        if (theory := self.label_theory()) is not None:
            found[LABELS] = Scores.of(theory, measured)
            if self.advised.name in self.forecasts:
                both = _standardized(theory) + _standardized(self.predicted(self.advised))
                found[WITH_LABELS] = Scores.of(both, measured)
        found |= self._rules(measured)
        found |= self._of_another_seed()
        stake = float(measured.mean() - measured.min())
        half = float(np.mean([np.mean(measured < value - 1e-12) for value in measured]))
        found[RANDOM] = Scores(0.0, half, 1.0 if stake > 0 else 0.0)
        return found

    def on_equal_terms(self, variant: Variant) -> tuple[Scores, Scores]:
        """Compare a forecast with another seed's runs, both judged by the seeds that are left.

        Args:
            variant: The variant of the forecast.

        Returns:
            The scores of the forecast, and of the other seed's runs.
        """
        F, predicted = self.forgetting, self.predicted(variant)
        others = [np.delete(F, k, axis=1).mean(axis=1) for k in range(F.shape[1])]
        return (
            Scores.mean([Scores.of(predicted, other) for other in others]),
            Scores.mean([Scores.of(F[:, k], other) for k, other in enumerate(others)]),
        )

    def _rules(self, measured: Array) -> dict[str, Scores]:
        """Return scores of simple rules, with distances of the updates by which each task alone would be learned."""
        if OWN.name not in self.forecasts:
            return {}
        problem = Problem(gram=np.array(self.forecasts[OWN.name]["gram"]), n=500, p=1000, sigma=0.0)
        places = {order: k for k, order in enumerate(self.task_set.orders)}
        found = {}
        for rule, name in RULE_NAMES.items():
            order = tuple(self.task_set.names[k] for k in RULES[rule](problem))
            if order in places:
                found[name] = Scores.of_order(places[order], measured)
        return found

    def _of_another_seed(self) -> dict[str, Scores]:
        F = self.forgetting
        if F.shape[1] < 2:
            return {}
        by: dict[str, list[Scores]] = {SEED: [], MIXED: [], PROBE: [], COMBINED: []}
        for k in range(F.shape[1]):
            others = np.delete(F, k, axis=1).mean(axis=1)
            by[SEED].append(Scores.of(F[:, k], others))
            if self.advised.name in self.forecasts:
                runs = self._errors({order: matrices[k] for order, matrices in self.matrices.items()})
                mixed = mix_with_runs(self._errors(self._predicted_matrices), runs)
                by[MIXED].append(Scores.of(_forgetting(*mixed), others))
            if len(self.task_set.orders) < np.prod(range(1, len(self.task_set.names) + 1)):
                continue  # not every pair was trained
            pairs = self.pairs(self.matrices, k)
            by[PROBE].append(Scores.of(_forgetting(*pairs.evaluate(self.places)), others))
            if self.advised.name in self.forecasts:
                by[COMBINED].append(Scores.of(self.calibrated(pairs), others))
        return {name: Scores.mean(some) for name, some in by.items() if some}

    @cached_property
    def places(self) -> np.ndarray:
        """The orders as places of their tasks.

        Returns:
            The places (orders, T).
        """
        return np.array([[self.task_set.names.index(name) for name in order] for order in self.task_set.orders])

    def pairs(self, matrices: Mapping[tuple[str, ...], Any], seed: int | None = None) -> Pairs:
        """Return errors after one task and after two.

        Args:
            matrices: Error matrices of all orders.
            seed: The place of the seed, if there are several.

        Returns:
            The errors.
        """
        found = {}
        for order, pair in zip(self.task_set.orders, self.places[:, :2].tolist(), strict=True):
            found[tuple(pair)] = np.asarray(matrices[order] if seed is None else matrices[order][seed])
        return Pairs.of(found, len(self.task_set.names))

    def calibrated(self, measured: Pairs) -> Array:
        """Return forgetting as predicted by the forecast, corrected by measured pairs.

        Args:
            measured: Measured errors of pairs.

        Returns:
            Forgetting of each order (orders,).
        """
        matrices = self._predicted_matrices
        return _forgetting(*correct_by_pairs(self._errors(matrices), self.pairs(matrices), measured, self.places))

    @cached_property
    def _predicted_matrices(self) -> dict[tuple[str, ...], Array]:
        """The error matrices (T+1, T) that the advised forecast predicts for each order."""
        stored = self.forecasts[self.advised.name]["matrices"]
        return {order: np.array(stored[" ".join(order)]) for order in self.task_set.orders}

    def _errors(self, matrices: Mapping[tuple[str, ...], Array]) -> Errors:
        """Return errors just learned and at the end, (orders, T) each, from the matrix of each order."""
        some = np.array([matrices[order] for order in self.task_set.orders])  # (orders, T+1, T)
        return np.diagonal(some[:, 1:], axis1=1, axis2=2), some[:, -1]


def _standardized(values: Array) -> Array:
    """Return values of mean 0 and deviation 1; zeros if they do not vary."""
    spread = float(values.std())
    return (values - values.mean()) / spread if spread > 0 else np.zeros_like(values)


def _forgetting(learned: Array, final: Array) -> Array:
    return (final[:, :-1] - learned[:, :-1]).mean(axis=1)


def _was_first(forecast: Record | None, runs: Sequence[Record]) -> bool:
    """Return whether a forecast was recorded before any of the runs began, as far as that is known."""
    if forecast is None or not all("when" in record.provenance for record in (forecast, *runs)):
        return False

    def when(record: Record) -> datetime:
        return datetime.fromisoformat(record.provenance["when"])

    return when(forecast) < min(when(run) - timedelta(seconds=run.provenance.get("seconds", 0)) for run in runs)
