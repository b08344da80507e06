"""What forecasts say about the task sets of the study, recorded beside the runs that they predict.

A prediction is computed from the data and the network alone, in seconds, but needs both: with its record the study is
made again without them.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from ebbing.forecasting import Forecast, forecast
from ebbing.forecasting.recursion import training_time
from ebbing.learn import Occurrence, Sgd
from ebbing.paper._output import origin
from ebbing.paper.forecasts.task_sets import TaskSet
from ebbing.paper.records import Record, add_records, check_settings, read_records

TARGET = "forecast"

_DIGITS = 6
"""Digits of predicted errors that are kept."""

_LARGEST = 5
"""Tasks from which on a forecast has fewer examples of each."""


@dataclass(frozen=True)
class Variant:
    """A way to make a forecast.

    Attributes:
        name: Its name in tables and records.
        networks: How many other initial networks give the kernel; 0 for that network which seed 0 trains.
        alignment: How much the kernel aligns with what was learned.
        schedule: Whether each task is learned with the learning rate and the steps of training, not to the end.
    """

    name: str
    networks: int = 0
    alignment: float = 0.0
    schedule: bool = False

    def settings(self) -> dict[str, Any]:
        """Return what a forecast is recorded with.

        Returns:
            The settings; early records have no schedule.
        """
        found = asdict(self)
        return found if self.schedule else {name: value for name, value in found.items() if name != "schedule"}


OWN = Variant("the network that is trained")

BRIEF = Variant("the same, trained as briefly", schedule=True)

VARIANTS = (
    OWN,
    BRIEF,
    Variant("the same, alignment 1", alignment=1.0),
    Variant("four other initial networks", networks=4),
    Variant("the same four, alignment 1", networks=4, alignment=1.0),
)


def advised_variant(one: TaskSet) -> Variant:
    """Return the forecast that the documentation advises: of brief training for pretrained networks, else to the end.

    Args:
        one: The set.

    Returns:
        The variant.
    """
    return BRIEF if one.is_pretrained else OWN


def read_tasks(one: TaskSet) -> dict[str, Any]:
    """Return the data of a set as a forecast takes it.

    Args:
        one: The set.

    Returns:
        Training and test data by task.
    """
    found = {name: one.experiment.tasks.load(Occurrence(name, 0), 0) for name in one.names}
    return {
        name: {"train": (data.train_inputs, data.train_labels), "test": (data.test_inputs, data.test_labels)}
        for name, data in found.items()
    }


def make_forecast(one: TaskSet, variant: Variant, known: Forecast | None = None) -> Forecast:
    """Make a forecast of a set.

    Args:
        one: The set.
        variant: The way.
        known: A forecast by the same networks, whose kernel is taken.

    Returns:
        The forecast, from all training examples and at most 200 test examples of each task.
    """
    if known is not None:
        time = _time(one, known) if variant.schedule else None
        caches: dict[str, Any] = {"_solvers": {}, "_updates": {}}
        model = replace(known.model, alignment=variant.alignment, time=time, **caches)
        return replace(known, model=model, _plans={})
    build = one.experiment.architecture.build
    networks = [build(100 + k) for k in range(variant.networks)] or [one.experiment.initial_network(0)]
    size = 200 if len(one.names) <= _LARGEST else 100
    found = forecast(networks, read_tasks(one), train_size=size, test_size=size, alignment=variant.alignment)
    return make_forecast(one, variant, found) if variant.schedule else found


def _time(one: TaskSet, found: Forecast) -> float:
    method = one.experiment.method
    assert isinstance(method, Sgd)
    examples = len(found.model.train[0])
    steps = method.epochs * -(-examples // (method.batch_size or examples))
    return training_time(found.model.targets, method.learning_rate, steps, found.scale)


def predict(one: TaskSet, found: Forecast) -> dict[str, Any]:
    """Predict everything of a set that is measured.

    Args:
        one: The set.
        found: A forecast of it.

    Returns:
        The error matrix of each order, forgetting and generalization error by the number of replayed examples, and
        inner products of the updates that would learn each task.
    """
    replay = {}
    for count in one.replay_sequences:
        steps = [
            {name: len(found.model.train[k])} | dict.fromkeys(one.names[:k], count) for k, name in enumerate(one.names)
        ]
        replay[str(count)] = [_rounded(found.forgetting(steps)), _rounded(found.generalization(steps))]
    return {
        "matrices": {" ".join(order): _rounded(found.errors(order)) for order in one.orders},
        "replay": replay,
        "gram": _rounded(found.model.solutions()),
    }


def record_forecasts(sets: Sequence[TaskSet], folder: Path, *, progress: Callable[[float], None] | None = None) -> int:
    """Make the forecasts that are not recorded yet of sets of which a run is recorded, and record each.

    Args:
        sets: The sets.
        folder: The folder of the reproduction.
        progress: Called with the finished share.

    Returns:
        How many forecasts were recorded.
    """
    records = {record.name: record for record in read_records(folder, TARGET)}
    planned = [(one, variant) for one in sets if one.name in records for variant in VARIANTS]
    done, made_by = 0, {}
    for k, (one, variant) in enumerate(planned):
        settings = json.loads(json.dumps(one.experiment.describe() | {"forecast": variant.settings()}))
        there = records.get(forecast_name(one, variant))
        if there is not None:
            check_settings(there, settings)
            continue
        began = time.monotonic()
        networks = (one.name, variant.networks)
        found = make_forecast(one, variant, made_by.get(networks))
        made_by = {networks: found}
        result = predict(one, found)
        made = origin("torch") | {"forecast_seconds": round(time.monotonic() - began, 1)}
        add_records(folder, [Record(TARGET, forecast_name(one, variant), 0, settings, result, made)])
        done += 1
        if progress is not None:
            progress((k + 1) / len(planned))
    return done


def forecast_name(one: TaskSet, variant: Variant) -> str:
    """Return the name of the record of a forecast.

    Args:
        one: The set.
        variant: The way.

    Returns:
        The name.
    """
    return f"{one.name} / {variant.name}"


def _rounded(value: Any) -> Any:
    return np.round(value, _DIGITS).tolist()
