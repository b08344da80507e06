"""Today's names of stored settings, for readers: `_stored_names` has the names under which they are stored."""

from __future__ import annotations

from typing import Any

from ebbing.learn._stored_names import STORED_NAMES

_NAMES = {stored: name for name, stored in STORED_NAMES.items()}

_KINDS = {"Perceptron": "MLP"}
"""Today's name of every class that is stored under another one."""

_LEFT_OUT: dict[str, dict[str, Any]] = {
    "Copies": {"per_task": ()},
    "FineTuning": {"per_task": ()},
    "LowRank": {"per_task": ()},
    "SmallAlexNet": {"width": 1.0},
    "TrgpFree": {"start_from": "shared"},
}
"""By class, settings that did not exist at first: where they are not stored, they have these values."""


def current_names(settings: dict[str, Any]) -> dict[str, Any]:
    """Return stored settings of an experiment under the names that they have in Python.

    Args:
        settings: What `Experiment.describe` returns, or the settings of a stored result.

    Returns:
        The settings of "tasks", "architecture" and "method" by today's names, with those that are left out of the key;
        the rest is unchanged.

    Example:
        >>> current_names({"architecture": {"kind": "Perceptron"}, "method": {"samples": 300}, "seed": 0})
        {'architecture': {'kind': 'MLP'}, 'method': {'num_examples': 300}, 'seed': 0}
    """
    return {
        name: _current(part) if name in ("tasks", "architecture", "method") else part for name, part in settings.items()
    }


def _current(part: Any) -> Any:
    if not isinstance(part, dict):
        return part
    found = {_NAMES.get(name, name): _current(value) for name, value in part.items()}
    if "kind" in found:
        found["kind"] = _KINDS.get(found["kind"], found["kind"])
    if found.get("norms") == "own":
        found["norms"] = "per_task"
    if isinstance(threshold := found.get("threshold"), dict) and threshold.keys() == {"share", "growth"}:
        threshold["include_crossing"] = False  # as early versions did, which had no such setting
    return found | {
        name: value for name, value in _LEFT_OUT.get(str(found.get("kind")), {}).items() if name not in found
    }
