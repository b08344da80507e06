"""Problems in files: TOML files, and files of ground truths (CSV, JSON, npy, npz).

A TOML file says how many samples, parameters and how much noise there is, and gives the ground truths in one of six
ways:

    p = 100                     # parameters
    n = 50                      # samples: one number, or one per task
    sigma = 0.3                 # noise: one number, or one per task (0 if left out)
    orthogonal = 8              # 8 orthogonal ground truths; or one of
    # identical = 8             # 8 times the same
    # categories = "ABAB"       # equal letters, equal ground truths; different letters, orthogonal ones
    # vectors = [[1, 0], [0.6, 0.8]]                        # one row of features per task
    # gram = [[1, 0.6], [0.6, 1]]                           # their inner products
    # distances = [[0, 0.9], [0.9, 0]]                      # |w_i - w_j|, not squared; norms = [1, 1] if known

`steps` (and `stored`) may say what is learned together at each step: `ebbing.io.read_curriculum`.
Optional: `norm` (length, for the first three), `initial` (the initial model, for vectors and gram), `unmodeled`
(energy of missing features) and `names`.
"""

from __future__ import annotations

import os
import tomllib
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from ebbing.io.matrices import FORMATS, read_named_matrix
from ebbing.problem import Problem

GroundTruths = Literal["vectors", "gram", "distances"]
"""What a matrix file may hold: the ground truths themselves, their inner products, or their distances."""

_FORMS = ("orthogonal", "identical", "categories", "vectors", "gram", "distances")

Number = int | float
Rows = list[list[Number]]


class _File(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    p: Number
    n: Number | list[Number]
    sigma: Number | list[Number] = 0
    unmodeled: Number | list[Number] = 0
    names: list[str] | None = None
    norm: Number | None = None
    norms: Number | list[Number] | None = None
    initial: list[Number] | None = None
    orthogonal: Number | None = None
    identical: Number | None = None
    categories: str | list[str] | None = None
    vectors: Rows | None = None
    gram: Rows | None = None
    distances: Rows | None = None
    steps: list[dict[str, int]] | None = None
    stored: bool | None = None


def read_problem(path: str | os.PathLike[str]) -> Problem:
    r"""Return the problem in a TOML file; the module's docstring shows the format.

    Args:
        path: The TOML file.

    Returns:
        The problem, validated.

    Raises:
        FileNotFoundError: If there is no such file.
        ValueError: If the file is not TOML, or does not state a problem; the message names the file and the entry.

    Example:
        >>> import tempfile, pathlib
        >>> file = pathlib.Path(tempfile.mkdtemp()) / "problem.toml"
        >>> _ = file.write_text('p = 100\nn = 50\nsigma = 0.3\ncategories = "ABAB"')
        >>> read_problem(file)
        Problem(T=4, n=50, p=100, sigma=0.3)
    """
    file = Path(path)
    content = read_toml(file)
    try:
        return parse_problem(content)
    except ValueError as error:
        raise ValueError(f"{file}: {error}") from None


def read_toml(file: Path) -> dict[str, Any]:
    """Return the entries of a TOML file.

    Args:
        file: The file.

    Returns:
        The entries by name.

    Raises:
        FileNotFoundError: If there is no such file.
        ValueError: If it is a directory, or not TOML.
    """
    if file.is_dir():
        raise ValueError(f"{file}: this is a directory; name a TOML file in it")
    try:
        return tomllib.loads(file.read_text(encoding="utf-8-sig"))
    except FileNotFoundError:
        raise FileNotFoundError(f"{file}: no such file") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"{file} is not a TOML file: {error}{_other_reader(file)}") from None
    except RecursionError:
        raise ValueError(f"{file}: brackets are nested too deeply; a matrix has two levels") from None
    except ValueError as error:  # a number of more digits than Python reads
        raise ValueError(f"{file}: {error}") from None


def parse_problem(content: dict[str, Any]) -> Problem:
    """Return the problem that the entries of a TOML file describe.

    Args:
        content: The entries by name; the module's docstring lists them.

    Returns:
        The problem, validated.

    Raises:
        ValueError: If an entry is missing, unknown or wrong; the message names it and says what belongs there.

    Example:
        >>> parse_problem({"p": 100, "n": 50, "orthogonal": 8})
        Problem(T=8, n=50, p=100, sigma=0)
    """
    try:
        file = _File.model_validate(content)
    except ValidationError as error:
        raise ValueError(_explain(content, error)) from None
    given = [name for name in _FORMS if getattr(file, name) is not None]
    if len(given) != 1:
        raise ValueError(
            f"give the ground truths in one way, by one of {', '.join(_FORMS)}; here: {', '.join(given) or 'none'}"
        )
    form = given[0]
    extras = {"norm": _FORMS[:3], "initial": ("vectors", "gram"), "norms": ("distances",)}
    for name, companions in extras.items():
        if getattr(file, name) is not None and form not in companions:
            raise ValueError(f"{name} goes with {' or '.join(companions)}, not with {form}; leave it out")
    settings: dict[str, Any] = {"n": file.n, "p": file.p, "sigma": file.sigma, "unmodeled": file.unmodeled}
    if file.names is not None:
        settings["names"] = file.names
    value = getattr(file, form)
    match form:
        case "vectors":
            return Problem.from_vectors(value, initial=file.initial, **settings)
        case "gram" if file.initial is not None:
            return Problem.from_gram(value, initial=file.initial, **settings)
        case "gram":
            return Problem(gram=value, **settings)
        case "distances":
            return Problem.from_distances(value, file.norms, **settings)
    return getattr(Problem, form)(value, norm=1.0 if file.norm is None else file.norm, **settings)


def read_ground_truths(path: str | os.PathLike[str], form: GroundTruths) -> dict[str, Any]:
    r"""Return the ground truths in a matrix file, as entries that `parse_problem` takes.

    Args:
        path: A CSV, TSV, JSON, npy or npz file. In JSON and npz the matrix stands under the name of its form or under
            "matrix", or it is the only entry; "names" may give the names of the tasks.
        form: What the file holds: "vectors" (one row per task), "gram" (inner products) or "distances"
            (|w_i - w_j|, not squared).

    Returns:
        The matrix as a list of rows under the name of its form. If the file names the tasks, also "names": a CSV
        header names the tasks of "gram" and "distances", the first column names those of "vectors".

    Raises:
        ValueError: If the file does not hold such a matrix; the message names the file.

    Example:
        >>> import tempfile
        >>> file = Path(tempfile.mkdtemp(), "distances.csv")
        >>> _ = file.write_text("cats,dogs\n0,1.5\n1.5,0\n")
        >>> read_ground_truths(file, "distances")
        {'distances': [[0.0, 1.5], [1.5, 0.0]], 'names': ['cats', 'dogs']}
    """
    matrix = read_named_matrix(path, (form, "matrix"), square=form != "vectors")
    rows, columns = matrix.values.shape
    if form == "vectors" and not columns:
        raise ValueError(f"{path}: {rows} rows without numbers; give one row of features per task")
    if form != "vectors" and rows != columns:
        raise ValueError(
            f"{path}: {rows} rows and {columns} columns; a matrix of {form} has one row and one column per task"
        )
    if form != "vectors" and matrix.row_names and matrix.column_names and matrix.row_names != matrix.column_names:
        rows_named, columns_named = (", ".join(names) for names in (matrix.row_names, matrix.column_names))
        raise ValueError(
            f"{path}: the rows are named {rows_named} but the columns {columns_named}; give both in the same order"
        )
    content: dict[str, Any] = {form: matrix.values.tolist()}
    choices = (matrix.column_names, matrix.row_names)
    if form == "vectors":  # a header names features; names of another kind of file name tasks
        choices = (matrix.row_names,) if Path(path).suffix.lower() in (".csv", ".tsv") else choices
    names = next((names for names in choices if len(names) == rows and all(names)), None)
    if names:
        content["names"] = list(names)
    return content


def _other_reader(file: Path) -> str:
    """What else reads the file, if it is one of a matrix."""
    if file.suffix.lower() not in FORMATS:
        return ""
    return "; read_ground_truths reads the ground truths in a matrix file"


def _explain(content: dict[str, Any], error: ValidationError) -> str:
    """Pydantic's findings in our words: each entry once, with what belongs there."""
    entries = dict.fromkeys(str(detail["loc"][0]) for detail in error.errors())
    return "; ".join(
        f"{entry} is not known here; known: {', '.join(_File.model_fields)}"
        if entry not in _File.model_fields
        else f"{entry} is missing; give {_WANTED[entry]}"
        if entry not in content
        else f"{entry} = {content[entry]!r}: give {_WANTED[entry]}"
        for entry in entries
    )


_WANTED = {
    "p": "a whole number",
    "n": "a whole number, or a list with one per task",
    "sigma": "a number, or a list with one per task",
    "unmodeled": "a number, or a list with one per task",
    "names": "a list of strings, one per task",
    "norm": "a number",
    "norms": "a number, or a list with one per task",
    "initial": "a list of numbers",
    "orthogonal": "a number of tasks",
    "identical": "a number of tasks",
    "categories": "a string with one letter per task, or a list of strings",
    "vectors": "a list with one list of numbers per task",
    "gram": "a list with one list of numbers per task",
    "distances": "a list with one list of numbers per task",
    "steps": "a list of steps, each with samples by name of task, such as {A1 = 50, B1 = 10}",
    "stored": "true or false",
}
