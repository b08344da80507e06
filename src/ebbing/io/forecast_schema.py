"""The JSON of `ebbing forecast`; docs/reference/formats.md describes every field."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ebbing.forecasting import Forecast, ForecastPlan, ReplayForecast


def forecast_json(
    forecast: Forecast, plan: ForecastPlan, objective: str, replay: ReplayForecast | None = None
) -> dict[str, Any]:
    """Return the content of `ebbing forecast --json`.

    Args:
        forecast: The forecast of the tasks in the order given.
        plan: The order that it advises.
        objective: What was minimized, as given.
        replay: What old data is worth, if it was computed.

    Returns:
        The fields.
    """
    model = forecast.model
    return {
        "names": forecast.names,
        "source": forecast.source,
        "training": forecast.training,
        "kind": model.targets.kind,
        "train_sizes": [len(rows) for rows in model.train],
        "test_sizes": [len(rows) for rows in model.test],
        "errors": forecast.errors(),
        "accuracies": forecast.accuracies() if forecast.kind == "accuracy" else None,
        "forgetting": forecast.forgetting(),
        "generalization": forecast.generalization(),
        "similarity": forecast.similarity,
        "notes": forecast.notes,
        "plan": {
            "objective": objective,
            "order": plan.order,
            "names": plan.names,
            "recommended": plan.recommended,
            "matters": plan.matters,
            "value": plan.value,
            "given": plan.given,
            "random": plan.random,
            "worst": {"order": plan.worst_order, "value": plan.worst},
            "accuracies": plan.accuracies and dict(zip(("advised", "given", "worst"), plan.accuracies, strict=True)),
            "complete": plan.complete,
            "gain": {"mean": plan.gain, "standard_error": plan.gain_error},
            "gain_over_given": {"mean": plan.gain_over_given, "standard_error": plan.gain_over_given_error},
            "agreement": plan.confidence.agreement,
            "as_good": plan.as_good,
        },
        "replay": None if replay is None else _replay_json(replay),
    }


def _replay_json(replay: ReplayForecast) -> dict[str, Any]:
    return {
        "names": replay.names,
        "share": replay.share,
        "shares": replay.shares,
        "examples": replay.counts.mean(axis=1),
        "forgetting": replay.forgetting,
        "generalization": replay.generalization,
        "accuracy": replay.accuracy,
        "standard_error": replay.standard_errors,
    }
