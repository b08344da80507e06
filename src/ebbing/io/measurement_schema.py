"""The JSON of `ebbing measure`; docs/reference/formats.md describes every field."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ebbing.runs import ForecastComparison, Measurement


def measurement_json(measured: Measurement, comparison: ForecastComparison | None = None) -> dict[str, Any]:
    """Return the content of `ebbing measure --json`.

    Args:
        measured: What training measured.
        comparison: A forecast of the same orders, if there is one.

    Returns:
        The fields.
    """
    return {
        "orders": measured.orders,
        "seeds": measured.seeds,
        "errors": measured.errors,
        "accuracies": measured.accuracies,
        "forgetting": measured.forgetting,
        "generalization": measured.generalization,
        "initial_error": measured.initial_error,
        "learned_error": measured.learned_error,
        "seed_agreement": measured.seed_agreement,
        "forecast": comparison
        and {
            "training": comparison.training,
            "forgetting": comparison.predicted,
            "generalization": comparison.predicted_generalization,
            "accuracy": comparison.predicted_accuracy,
            "rank_correlation": comparison.rank_correlation,
            "orders_better": comparison.orders_better,
            "regret": comparison.regret,
        },
    }
