"""The results of the study of forecasts as tables, data and verdicts: `Study`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ebbing import metrics
from ebbing._files import write_atomic
from ebbing.paper._output import Verdict, write_csv, write_json
from ebbing.paper.forecasts.measured_sets import (
    ADVISED,
    COMBINED,
    DEFAULT,
    LABELS,
    MIXED,
    PROBE,
    RANDOM,
    RULE_NAMES,
    SEED,
    WITH_LABELS,
    MeasuredSet,
)
from ebbing.paper.forecasts.predictions import VARIANTS
from ebbing.paper.forecasts.scores import Scores
from ebbing.paper.forecasts.task_sets import TaskSet, task_sets
from ebbing.paper.records import Record

PREDICTIONS = (
    ADVISED,
    DEFAULT,
    *(v.name for v in VARIANTS),
    LABELS,
    WITH_LABELS,
    *RULE_NAMES.values(),
    RANDOM,
    PROBE,
    COMBINED,
    SEED,
    MIXED,
)
"""All predictions, in the order of tables."""

CORRELATION, BETTER, REGRET = 0.90, 0.10, 0.08
"""What a forecast should reach on sets in which seeds agree."""


@dataclass(frozen=True, eq=False)
class Study:
    """What is recorded of the study.

    Attributes:
        sets: The sets of which a run is recorded.
        missing: The planned sets without any run.
        provenance: Where the records come from.
    """

    sets: tuple[MeasuredSet, ...]
    missing: tuple[TaskSet, ...]
    provenance: dict[str, Any]

    @classmethod
    def read(cls, records: Sequence[Record], provenance: dict[str, Any]) -> Study:
        """Return the study from its records.

        Args:
            records: The records.
            provenance: Where they come from.

        Returns:
            The study.
        """
        planned = task_sets()
        found = {one.name: MeasuredSet.read(one, records) for one in planned}
        return cls(
            tuple(some for some in found.values() if some is not None),
            tuple(one for one in planned if found[one.name] is None),
            provenance,
        )

    @property
    def agreeing(self) -> tuple[MeasuredSet, ...]:
        """The sets in which seeds agree."""
        return tuple(one for one in self.sets if one.agrees)

    def means(self, sets: Sequence[MeasuredSet]) -> dict[str, tuple[Scores, int]]:
        """Return mean scores over sets.

        Args:
            sets: The sets.

        Returns:
            The mean of each prediction over those sets in which it can be made, and their number.
        """
        tables = [one.scores for one in sets]
        found = {}
        for name in PREDICTIONS:
            if some := [table[name] for table in tables if name in table]:
                found[name] = (Scores.mean(some), len(some))
        return found

    def verdicts(self) -> list[Verdict]:
        """Return verdicts on what a forecast should reach.

        Returns:
            Four verdicts on the forecast that the documentation advises.
        """
        sets = [one for one in self.agreeing if one.advised.name in one.forecasts]
        if not sets:
            return []
        mean = Scores.mean([one.scores[ADVISED] for one in sets])
        correlation = mean.rank_correlation or 0.0
        procedure = f"{len(sets)} task sets in which seeds agree, {self._runs(sets)} runs of all their orders"
        equal = [one.on_equal_terms(one.advised) for one in sets]
        behind = [one for one, (mine, seed) in zip(sets, equal, strict=True) if mine.regret > seed.regret + 1e-9]
        claims = (
            (
                f"rank correlation over orders of at least {CORRELATION:g}",
                f"{correlation:.2f}",
                correlation >= CORRELATION,
            ),
            (
                f"advised order within the best {BETTER:.0%}",
                f"{mean.orders_better:.0%} better",
                mean.orders_better <= BETTER,
            ),
            (f"regret of at most {REGRET:g}", f"{mean.regret:.2f}", mean.regret <= REGRET),
            (
                "never advises worse than all orders trained with another seed",
                f"worse in {len(behind)} of {len(sets)} sets",
                not behind,
            ),
        )
        return [Verdict(f"a forecast: {claim}", "new", procedure, result, holds) for claim, result, holds in claims]

    @staticmethod
    def _runs(sets: Sequence[MeasuredSet]) -> int:
        return sum(len(one.seeds) for one in sets)

    def markdown(self) -> str:
        """Return the tables in Markdown.

        Returns:
            The text, with a line break at its end.
        """
        blind = [one for one in self.agreeing if one.is_blind]
        parts = [
            "# Forecasts against training",
            f"{len(self.sets)} task sets, {self._runs(self.sets)} seeds; in {len(self.agreeing)} of them seeds agree: "
            "the rank correlation of forgetting over orders between two seeds is above 0.5.",
            "![Predicted against measured forgetting](forecast.png)",
            "Each dot is an order; the diamond is the one that the forecast advises; beside the name of a set stands "
            "the rank correlation.",
            "## What was trained",
            self._set_table(),
            "## Scores, mean over the sets in which seeds agree",
            _score_table(self.means(self.agreeing)),
            "The same over those of them whose forecast was recorded before the first network was trained: "
            f"{', '.join(one.task_set.name for one in blind) or 'none yet'}.",
            _score_table(self.means(blind)),
            "Over the sets in which seeds do not agree:",
            _score_table(self.means([one for one in self.sets if one not in self.agreeing and len(one.seeds) > 1])),
            "## Every set",
            self._every_set(),
            "## Replay",
            self._replay_table(),
            "## Not run",
            self._not_run(),
        ]
        return "\n\n".join(parts) + "\n"

    def _set_table(self) -> str:
        lines = ["| set | tasks | orders | seeds | forgetting, best | mean | worst | correlation of seeds |"]
        lines.append("|---|---|---|---|---|---|---|---|")
        for one in self.sets:
            F = one.forgetting.mean(axis=1)
            orders, agreement = len(one.task_set.orders), _number(one.agreement)
            cells = (one.task_set.name, len(one.task_set.names), orders, len(one.seeds))
            levels = (f"{value:.3f}" for value in (F.min(), F.mean(), F.max()))
            lines.append(f"| {' | '.join(map(str, cells))} | {' | '.join(levels)} | {agreement} |")
        return "\n".join(lines)

    def _every_set(self) -> str:
        lines = ["| set | predicted by | rank correlation | orders better | regret | mean forgetting |"]
        lines.append("|---|---|---|---|---|---|")
        for one in self.sets:
            levels = {v.name: f"{one.predicted(v).mean():.3f}" for v in VARIANTS if v.name in one.forecasts}
            lines.append(f"| {one.task_set.name} | measured | | | | {one.forgetting.mean():.3f} |")
            for name, scores in one.scores.items():
                if name not in (RANDOM, ADVISED, DEFAULT):
                    lines.append(f"| | {name} | {_cells(scores)} | {levels.get(name, '')} |")
        return "\n".join(lines)

    def _replay_table(self) -> str:
        lines = ["| set | examples of each old task | forgetting, measured | predicted | error at the end, measured |"]
        lines[0] += " predicted |"
        lines.append("|---|---|---|---|---|---|")
        for one, count, measured, predicted in self.replays():
            cells = (one.task_set.name, count, *(f"{value:.3f}" for value in (measured[0], predicted[0])))
            more = (f"{value:.3f}" for value in (measured[1], predicted[1]))
            lines.append(f"| {' | '.join(map(str, (*cells, *more)))} |")
        return "\n".join(lines)

    def replays(self) -> list[tuple[MeasuredSet, int, tuple[float, float], tuple[float, float]]]:
        """Return replay curves, measured and predicted as the documentation advises.

        Returns:
            For each set and number of replayed examples, forgetting and generalization error, measured and predicted.
        """
        found = []
        for one in self.sets:
            if not one.task_set.replays or one.advised.name not in one.forecasts:
                continue
            result = one.forecasts[one.advised.name]
            names = one.task_set.names
            plain = np.array(result["matrices"][" ".join(names)])
            predicted = {0: [metrics.forgetting(plain, kind="error"), plain[-1].mean()]}
            predicted |= {int(count): values for count, values in result["replay"].items()}
            for count, sequence in ({0: names} | one.task_set.replay_sequences).items():
                matrices = one.matrices[sequence]
                F, G = metrics.forgetting(matrices, kind="error"), matrices[:, -1].mean(axis=1)
                mine = (float(predicted[count][0]), float(predicted[count][1]))
                found.append((one, count, (float(np.mean(F)), float(np.mean(G))), mine))
        return found

    def _not_run(self) -> str:
        lines = [f"* {one.name}: {len(one.seeds)} seeds planned" for one in self.missing]
        lines += [
            f"* {one.task_set.name}: {left} of {len(one.task_set.seeds)} planned seeds are missing"
            for one in self.sets
            if (left := len(set(one.task_set.seeds) - set(one.seeds)))
        ]
        return "\n".join(lines) if lines else "Everything that is planned was run."

    def save(self, folder: Path) -> None:
        """Write tables and data.

        Args:
            folder: Where forecast.md, forecast.csv and forecast.json are written.
        """
        write_atomic(folder / "forecast.md", self.markdown())
        rows, entries = [], []
        for one in self.sets:
            scores = one.scores
            for name, found in scores.items():
                values = (found.rank_correlation, found.orders_better, found.regret)
                rows.append((one.task_set.name, name, len(one.seeds), *values))
            entries.append(
                {
                    "set": one.task_set.name,
                    "tasks": one.task_set.names,
                    "seeds": one.seeds,
                    "agreement": one.agreement if len(one.seeds) > 1 else None,
                    "orders": [" ".join(order) for order in one.task_set.orders],
                    "forgetting": one.forgetting.round(6),
                    "predicted": {v.name: one.predicted(v).round(6) for v in VARIANTS if v.name in one.forecasts},
                    "scores": {name: asdict(found) for name, found in scores.items()},
                }
            )
        header = ("set", "predicted_by", "seeds", "rank_correlation", "orders_better", "regret")
        write_csv(folder / "forecast.csv", header, rows)
        write_json(folder / "forecast.json", {"provenance": self.provenance, "sets": entries})


def _score_table(means: dict[str, tuple[Scores, int]]) -> str:
    lines = ["| predicted by | rank correlation | orders better | regret | sets |", "|---|---|---|---|---|"]
    lines += [f"| {name} | {_cells(scores)} | {count} |" for name, (scores, count) in means.items()]
    return "\n".join(lines) if means else "There is none."


def _cells(scores: Scores) -> str:
    correlation = "" if scores.rank_correlation is None else _number(scores.rank_correlation)
    return f"{correlation} | {scores.orders_better:.0%} | {scores.regret:.2f}"


def _number(value: float) -> str:
    return "" if np.isnan(value) else f"{round(value, 2) + 0.0:.2f}"  # no negative zero
