"""Names under which settings are stored.

The key of a stored result is a hash of the settings that produced it. A setting keeps its stored name when it is
renamed in Python, so that stored results are still found.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

STORED_NAMES = {
    "fingerprint": "identity",
    "include_crossing": "crossing",
    "max_trusted": "trusted",
    "min_learning_rate": "smallest",
    "num_examples": "samples",
    "per_task": "own",
    "share": "first",
    "start_from": "begins",
    "trust_threshold": "nearness",
}
"""The stored name of every setting that has another name in Python."""


def stored_settings(part: Any) -> dict[str, Any]:
    """Return the fields of a dataclass of settings by their stored names, including nested dataclasses.

    Args:
        part: An instance of a dataclass.

    Returns:
        A dictionary that can be written as JSON if every field can.
    """
    return _with_stored_names(asdict(part))


def stored_kind(part: object) -> str:
    """Return the name under which a class of settings is stored.

    Args:
        part: Tasks, an architecture or a method.

    Returns:
        The `identifier` that the class itself declares, else the name of the class. A subclass does not inherit the
        identifier: it may behave differently, so it must not find its parent's results.
    """
    return vars(type(part)).get("identifier", type(part).__name__)


def _with_stored_names(value: Any) -> Any:
    if isinstance(value, dict):
        return {STORED_NAMES.get(key, key): _with_stored_names(item) for key, item in value.items()}
    return value
