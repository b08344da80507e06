"""The tables and statements on task order as text, CSV and JSON."""

import csv
import io
import json
from dataclasses import asdict

from ebbing.paper.order_tables import Result

TABLES = {
    "two": "Table validate_2_groups_6 (proof of Prop. order2): (T-1)/(1-r) times the difference of forgetting",
    "three": "Table validate_3_groups_6 (proof of Prop. order3)",
    "statements": "The paper's statements",
    "equal": "New: equal counts, every 0 < r < 1",
    "unequal": "New: unequal counts, the best orders from one breakpoint of r to the next",
}
"""The titles of the tables, by the attribute of `Result` that has their rows."""


def to_json(result: Result) -> str:
    """Return all tables as one JSON document.

    Args:
        result: The tables and statements.

    Returns:
        JSON.

    Example:
        >>> from ebbing.paper.order_tables import Config, run
        >>> json.loads(to_json(run(Config(max_tasks_equal=4, max_tasks_unequal=3))))["equal"][0]["counts"]
        [2, 2]
    """
    return json.dumps(asdict(result), indent=2)


def to_csv(result: Result) -> dict[str, str]:
    """Return each table as CSV.

    Args:
        result: The tables and statements.

    Returns:
        One text for each of "two", "three", "statements", "equal" and "unequal".

    Example:
        >>> from ebbing.paper.order_tables import Config, run
        >>> to_csv(run(Config(max_tasks_equal=4, max_tasks_unequal=3)))["equal"].splitlines()[1]
        '2 2,4,3,3,True,True'
    """
    return {name: _csv([asdict(row) for row in getattr(result, name)]) for name in TABLES}


def _csv(rows: list[dict]) -> str:
    out = io.StringIO()
    if rows:
        writer = csv.DictWriter(out, rows[0], lineterminator="\n")
        writer.writeheader()
        writer.writerows({k: _cell(v) for k, v in row.items()} for row in rows)
    return out.getvalue()


def _cell(value: object) -> object:
    """Return lists of lists as "a=b | c=d", lists as "a b", and other values unchanged."""
    if not isinstance(value, tuple):
        return value
    if value and isinstance(value[0], tuple):
        return " | ".join("=".join(tied) for tied in value)
    return " ".join(map(str, value))


def to_text(result: Result) -> str:
    """Return all tables as aligned plain text.

    Args:
        result: The tables and statements.

    Returns:
        The text.

    Example:
        >>> from ebbing.paper.order_tables import Config, run
        >>> print(to_text(run(Config(max_tasks_equal=4, max_tasks_unequal=3))).split("New: equal")[1].splitlines()[2])
        2 2     4  3       3            True    True
    """
    parts = []
    for name, title in TABLES.items():
        table = list(csv.reader(io.StringIO(to_csv(result)[name])))
        widths = [max(map(len, column)) for column in zip(*table, strict=True)]
        lines = ["  ".join(c.ljust(w) for c, w in zip(row, widths, strict=True)).rstrip() for row in table]
        parts.append("\n".join([title, *lines]))
    return "\n\n".join(parts)


PLACES = {
    "Prop. order1, 1) the same": "Prop. order1, erratum E16",
    "Prop. order1": "Prop. order1",
    "Prop. order2": "Prop. order2",
    "Prop. order3": "Prop. order3",
    "Tables": "tables of orders",
    "Proof of Prop. order2": "proof of Prop. order2, erratum E10",
    "Special case": "Section 4.3, special cases",
    "Expected by the paper": "Section 4.3, expected",
}
"""Where statements about orders stand in the paper, by how their names begin; the first that fits counts."""


def place_of(statement: str) -> str:
    """Return where a statement about orders stands in the paper.

    Args:
        statement: Its name, as in `order_tables.Statement`.

    Returns:
        The place, or "new" if the paper does not make the statement.

    Example:
        >>> place_of("Prop. order2: the alternating order is best, T = 4")
        'Prop. order2'
    """
    return next((place for start, place in PLACES.items() if statement.startswith(start)), "new")
