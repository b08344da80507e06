"""The runs at paper scale that the studies of networks plan, whether they are recorded yet or not."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ebbing.learn import Experiment
from ebbing.paper import ablations, fig2, frontier, sensitivity, table1
from ebbing.paper.forecasts.task_sets import task_sets
from ebbing.paper.method_study import Study


@dataclass(frozen=True)
class PlannedRuns:
    """The runs of one experiment with several seeds; each of them becomes a record.

    Attributes:
        target: The target of `ebbing reproduce` that they belong to.
        name: Their name in records.
        experiment: What is trained.
        sequences: The sequences of tasks that a run learns; those with a common beginning share its training.
        seeds: The seeds.
        is_stream: Whether a run is a single sequence whose accuracies are reported, not the errors of many sequences.
    """

    target: str
    name: str
    experiment: Experiment
    sequences: tuple[tuple[str, ...], ...]
    seeds: tuple[int, ...]
    is_stream: bool


def planned_runs(target: str, seeds: int | None = None) -> list[PlannedRuns]:
    """Return the runs that a target plans at paper scale.

    Args:
        target: One of "fig2", "sensitivity", "table1", "ablations", "frontier" and "forecast".
        seeds: The number of seeds; None for the numbers that the study plans.

    Returns:
        The runs, in the order in which they are trained.

    Example:
        >>> [(runs.name, len(runs.sequences), len(runs.seeds)) for runs in planned_runs("fig2", seeds=3)]
        [('figure 2', 54, 3)]
    """
    return _PLANS[target](seeds)


def _fig2(seeds: int | None) -> list[PlannedRuns]:
    config = fig2.Config()
    numbers = tuple(range(seeds or config.seeds))
    return [PlannedRuns("fig2", "figure 2", config.experiment, tuple(fig2.sequences()), numbers, is_stream=False)]


def _sensitivity(seeds: int | None) -> list[PlannedRuns]:
    config = sensitivity.Config()
    numbers = tuple(range(seeds or config.seeds))
    sequences = tuple(sequence for marks in sensitivity.SEQUENCES.values() for sequence in marks.values())
    return [
        PlannedRuns("sensitivity", name, experiment, sequences, numbers, is_stream=False)
        for name, experiment in config.variants.items()
    ]


def _study(study: Study) -> Callable[[int | None], list[PlannedRuns]]:
    def plan(seeds: int | None) -> list[PlannedRuns]:
        return [
            PlannedRuns(
                study.name,
                f"{protocol.name} / {name}",
                protocol.experiment(name),
                (protocol.stream.names,),
                protocol.seed_numbers(name),
                is_stream=True,
            )
            for protocol in study.with_seeds(seeds).protocols
            for name in protocol.names
        ]

    return plan


def _forecast(seeds: int | None) -> list[PlannedRuns]:
    return [
        PlannedRuns(
            "forecast", one.name, one.experiment, one.sequences, tuple(range(seeds or len(one.seeds))), is_stream=False
        )
        for one in task_sets()
    ]


_PLANS: dict[str, Callable[[int | None], list[PlannedRuns]]] = {
    "fig2": _fig2,
    "sensitivity": _sensitivity,
    "table1": _study(table1.TABLE1),
    "ablations": _study(ablations.ABLATIONS),
    "frontier": _study(frontier.FRONTIER),
    "forecast": _forecast,
}
