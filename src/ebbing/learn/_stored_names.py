"""Names under which settings are stored.

The key of a stored result is a hash of the settings that made it. So that results are found again after a setting has
been renamed in Python, its stored name stays what it was.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

STORED_NAMES = {
    "include_crossing": "crossing",
    "max_trusted": "trusted",
    "min_learning_rate": "smallest",
    "num_examples": "samples",
    "per_task": "own",
    "share": "first",
    "start_from": "begins",
    "trust_threshold": "nearness",
}


def stored_settings(part: Any) -> dict[str, Any]:
    """Return the fields of a dataclass of settings, nested ones included, by their stored names.

    Args:
        part: An instance of a dataclass.

    Returns:
        A dictionary that can be written as JSON if every field can.
    """
    return _renamed(asdict(part))


def stored_kind(part: object) -> str:
    """Return the name under which a class of settings is stored.

    Args:
        part: Tasks, an architecture or a method.

    Returns:
        The `identifier` that its very class declares, else the name of the class. A subclass inherits no identifier:
        it is something else, and must not find its parent's results.
    """
    return vars(type(part)).get("identifier", type(part).__name__)


def _renamed(value: Any) -> Any:
    if isinstance(value, dict):
        return {STORED_NAMES.get(key, key): _renamed(item) for key, item in value.items()}
    return value
