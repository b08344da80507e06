"""What forecasts say about the task sets of the study, recorded beside the runs that they predict.

A prediction is computed from the data and the network alone, in seconds, but needs both: with its record the study is
made again without them.
"""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from ebbing.forecasting import Forecast, forecast
from ebbing.forecasting.fitting import trained_to, training_time
from ebbing.forecasting.recursion import Loss
from ebbing.learn import Occurrence, Sgd
from ebbing.paper._output import origin
from ebbing.paper.forecasts.task_sets import TaskSet
from ebbing.paper.records import Record, add_records, check_settings, read_records

TARGET = "forecast"

_DIGITS = 5
"""Digits of predicted errors that are kept; early records have six."""

_LARGEST = 5
"""Tasks from which on a forecast has fewer examples of each."""


@dataclass(frozen=True)
class Variant:
    """A way to make a forecast.

    Attributes:
        name: Its name in tables and records.
        networks: How many other initial networks give the kernel; 0 for that network which seed 0 trains.
        alignment: How much the kernel aligned with what was learned, in early records; this is not computed any more.
        schedule: Whether each task is learned with the learning rate and the steps of training, not to the end.
        loss: What training minimizes.
    """

    name: str
    networks: int = 0
    alignment: float = 0.0
    schedule: bool = False
    loss: Loss = "squared"

    def settings(self) -> dict[str, Any]:
        """Return what a forecast is recorded with.

        Returns:
            The settings; early records have no schedule and no loss.
        """
        found = asdict(self)
        later = {"schedule": self.schedule, "loss": self.loss != "squared"}
        return {name: value for name, value in found.items() if later.get(name, True)}

    def fits(self, one: TaskSet) -> bool:
        """Return whether a set can be predicted in this way.

        Args:
            one: The set.

        Returns:
            False for the cross-entropy of several classes.
        """
        return self.loss == "squared" or not one.has_classes


OWN = Variant("the network that is trained")

BRIEF = Variant("the same, trained as briefly", schedule=True)

FITTED = Variant("cross-entropy until tasks are fitted", loss="cross-entropy")

FITTED_BRIEFLY = Variant("cross-entropy, as briefly as training", schedule=True, loss="cross-entropy")

CURRENT = (OWN, BRIEF, FITTED, FITTED_BRIEFLY)
"""The variants that are predicted for every set."""

VARIANTS = (
    *CURRENT,
    Variant("the same, alignment 1", alignment=1.0),
    Variant("four other initial networks", networks=4),
    Variant("the same four, alignment 1", networks=4, alignment=1.0),
)
"""All variants; those that are not current are recorded for early sets only."""


def default_variant(one: TaskSet) -> Variant:
    """Return the forecast that `ebbing.forecast` makes without further settings.

    Args:
        one: The set.

    Returns:
        The variant.
    """
    return OWN if one.has_classes else FITTED


def advised_variant(one: TaskSet) -> Variant:
    """Return the forecast that the documentation advises: of brief training for pretrained networks, else the default.

    Args:
        one: The set.

    Returns:
        The variant.
    """
    return FITTED_BRIEFLY if one.is_pretrained else default_variant(one)


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
        known: A forecast by the same networks under the squared error, to the end, whose kernel is taken.

    Returns:
        The forecast, from all training examples and at most 200 test examples of each task.
    """
    if known is None:
        build = one.experiment.architecture.build
        networks = [build(100 + k) for k in range(variant.networks)] or [one.experiment.initial_network(0)]
        size = 200 if len(one.names) <= _LARGEST else 100
        known = forecast(networks, read_tasks(one), train_size=size, test_size=size, loss="squared")
    start = known.model.start
    if variant.loss == "cross-entropy":
        start = np.log(start) - np.log1p(-start)  # outputs, of which a network's predictions are the sigmoid
    model = known.model.with_(loss=variant.loss, start=start)
    if variant.schedule:
        model = model.with_(time=_time(one, known, variant.loss))
    return replace(known, model=trained_to(model), _plans={})


def _time(one: TaskSet, found: Forecast, loss: Loss) -> float:
    method = one.experiment.method
    assert isinstance(method, Sgd)
    examples = len(found.model.train[0])
    steps = method.epochs * -(-examples // (method.batch_size or examples))
    outputs = loss == "cross-entropy"
    return training_time(found.model.targets, method.learning_rate, steps, found.scale, of_outputs=outputs)


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


def record_forecasts(sets: Sequence[TaskSet], folder: Path) -> int:
    """Make the forecasts of task sets that are not recorded yet, and record each.

    Args:
        sets: The sets; whether they are trained already makes no difference.
        folder: The folder of the reproduction.

    Returns:
        How many forecasts were recorded.
    """
    records = {record.name: record for record in read_records(folder, TARGET)}
    planned = [(one, v) for one in sets for v in CURRENT if v.fits(one)]
    done, made_by = 0, {}
    for one, variant in planned:
        settings = json.loads(json.dumps(one.experiment.describe() | {"forecast": variant.settings()}))
        there = records.get(forecast_name(one, variant))
        if there is not None:
            check_settings(there, settings)
            continue
        began = time.monotonic()
        if one.name not in made_by:
            made_by = {one.name: make_forecast(one, OWN)}
        result = predict(one, make_forecast(one, variant, made_by[one.name]))
        made = origin("torch") | {"forecast_seconds": round(time.monotonic() - began, 1)}
        add_records(folder, [Record(TARGET, forecast_name(one, variant), 0, settings, result, made)])
        done += 1
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
