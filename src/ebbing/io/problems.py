"""Problems in files: TOML files, and files of ground truths (CSV, JSON, npy, npz).

A TOML file says how many samples, parameters and how much noise there is, and gives the ground truths in one of seven
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
    # cosines = [[1, 0.6], [0.6, 1]]                        # cosine similarities; norms = [1, 1] if not 1

Optional: `norm` (length, for the first three), `initial` (the initial model, for vectors and gram), `norms` (distances
from the initial model, for distances and cosines), `tolerance` (how far distances, cosines or a Gram matrix may move to
be those of vectors), `unmodeled` (energy of missing features) and `names`. `steps` (and `stored`) may say what is
learned together at each step: `ebbing.io.read_curriculum`.
"""

from __future__ import annotations

import difflib
import os
import reprlib
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

from pydantic import BaseModel, ConfigDict, PlainValidator, ValidationError

from ebbing._validate import EntryError
from ebbing.io._toml import read_toml
from ebbing.io.matrices import FORMATS, NamedMatrix, read_named_matrix
from ebbing.problem import Problem

GroundTruths = Literal["vectors", "gram", "distances", "cosines"]
"""What a matrix file may hold: the ground truths themselves, their inner products, distances or cosines."""

_FORMS = ("orthogonal", "identical", "categories", *get_args(GroundTruths))
_GOES_WITH = {
    "norm": _FORMS[:3],
    "initial": ("vectors", "gram"),
    "norms": ("distances", "cosines"),
    "tolerance": ("gram", "distances", "cosines"),
}

Number = int | float


def _is_list(value: Any, *kinds: type) -> bool:
    return isinstance(value, list) and all(type(item) in kinds for item in value)


def _checked_list(*kinds: type) -> PlainValidator:
    """Accept a list of items of these types. Unlike pydantic's own check, it ends at the first wrong item."""

    def check(value: Any) -> Any:
        if not _is_list(value, *kinds):
            raise ValueError
        return value

    return PlainValidator(check)


def _check_rows(value: Any) -> Any:
    if not isinstance(value, list) or not all(_is_list(row, int, float) for row in value):
        raise ValueError
    return value


Numbers = Annotated[list[Number], _checked_list(int, float)]
Words = Annotated[list[str], _checked_list(str)]
Rows = Annotated[list[list[Number]], PlainValidator(_check_rows)]


class _File(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    p: Number
    n: Number | Numbers
    sigma: Number | Numbers = 0
    unmodeled: Number | Numbers = 0
    names: Words | None = None
    norm: Number | None = None
    norms: Number | Numbers | None = None
    tolerance: Number | None = None
    initial: Numbers | None = None
    orthogonal: Number | None = None
    identical: Number | None = None
    categories: str | Words | None = None
    vectors: Rows | None = None
    gram: Rows | None = None
    distances: Rows | None = None
    steps: list[dict[str, int]] | None = None
    stored: bool | None = None
    cosines: Rows | None = None


def read_problem(path: str | os.PathLike[str]) -> Problem:
    r"""Return the problem in a TOML file (format: docs/reference/input_files.md).

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
    if file.is_dir():
        raise ValueError(f"{file}: this is a directory; name a TOML file in it")
    content = read_toml(file, or_else=_other_reader(file))
    try:
        return parse_problem(content)
    except ValueError as error:
        raise ValueError(f"{file}: {error}") from None


def parse_problem(content: dict[str, Any]) -> Problem:
    """Return the problem that the entries of a TOML file describe.

    Args:
        content: The entries by name (docs/reference/input_files.md lists them).

    Returns:
        The problem, validated.

    Raises:
        ValueError: If an entry is missing, unknown or wrong; the message names it and says what belongs there.

    Example:
        >>> parse_problem({"p": 100, "n": 50, "orthogonal": 8})
        Problem(T=8, n=50, p=100, sigma=0)
    """
    if unknown := [name for name in content if name not in _File.model_fields]:
        shown = ", ".join(name if len(name) <= 40 else reprlib.repr(name) for name in unknown[:5])
        more = f" and {len(unknown) - 5} more are" if len(unknown) > 5 else " is" if len(unknown) == 1 else " are"
        known = f"{shown}{more} not known here{_suggestion(content, unknown[0])}; known: "
        raise ValueError(known + ", ".join(_File.model_fields))
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
    for name, companions in _GOES_WITH.items():
        if getattr(file, name) is not None and form not in companions:
            raise ValueError(f"{name} goes with {' or '.join(companions)}, not with {form}; leave it out")
    settings: dict[str, Any] = {"n": file.n, "p": file.p, "sigma": file.sigma, "unmodeled": file.unmodeled}
    if file.names is not None:
        settings["names"] = file.names
    value = getattr(file, form)
    match form:
        case "vectors":
            return Problem.from_vectors(value, initial=file.initial, **settings)
        case "gram":
            return Problem.from_gram(value, initial=file.initial, tolerance=file.tolerance, **settings)
        case "distances":
            return Problem.from_distances(value, file.norms, tolerance=file.tolerance, **settings)
        case "cosines":
            norms = 1.0 if file.norms is None else file.norms
            return Problem.from_cosines(value, norms, tolerance=file.tolerance, **settings)
    return getattr(Problem, form)(value, norm=1.0 if file.norm is None else file.norm, **settings)


def read_matrix_problem(path: str | os.PathLike[str], form: GroundTruths, **settings: Any) -> Problem:
    r"""Return the problem whose ground truths stand in a matrix file.

    Args:
        path: A CSV, TSV, JSON, npy or npz file, as `read_ground_truths` reads it.
        form: What the file holds.
        **settings: The other entries of a problem file: `n`, `p`, `sigma`, `norms` and so on.

    Returns:
        The problem, validated.

    Raises:
        ValueError: If the file does not hold such a matrix, or an entry is wrong; the message names the file, and where
            one number is to blame, its line.

    Example:
        >>> import tempfile
        >>> file = Path(tempfile.mkdtemp(), "distances.csv")
        >>> _ = file.write_text("cats,dogs\n0,1.5\n1.5,0\n")
        >>> read_matrix_problem(file, "distances", n=50, p=100, norms=1)
        Problem(T=2, n=50, p=100, sigma=0)
    """
    matrix = _read_form(path, form)
    try:
        return parse_problem(_entries(path, form, matrix) | settings)
    except EntryError as error:
        if error.name != form:
            raise
        raise ValueError(f"{path}: {matrix.place(*error.index)}: {error}") from None


def read_ground_truths(path: str | os.PathLike[str], form: GroundTruths) -> dict[str, Any]:
    r"""Return the ground truths in a matrix file, as entries that `parse_problem` takes.

    Args:
        path: A CSV, TSV, JSON, npy or npz file. In JSON and npz the matrix stands under the name of its form or under
            "matrix", or it is the only entry; "names" may give the names of the tasks.
        form: What the file holds: "vectors" (one row per task), "gram" (inner products), "distances" (|w_i - w_j|, not
            squared) or "cosines".

    Returns:
        The matrix as a list of rows under the name of its form. If the file names the tasks, also "names": a CSV
        header names the tasks of a square matrix, the first column names those of "vectors".

    Raises:
        ValueError: If the file does not hold such a matrix; the message names the file.

    Example:
        >>> import tempfile
        >>> file = Path(tempfile.mkdtemp(), "distances.csv")
        >>> _ = file.write_text("cats,dogs\n0,1.5\n1.5,0\n")
        >>> read_ground_truths(file, "distances")
        {'distances': [[0.0, 1.5], [1.5, 0.0]], 'names': ['cats', 'dogs']}
    """
    return _entries(path, form, _read_form(path, form))


def _read_form(path: str | os.PathLike[str], form: GroundTruths) -> NamedMatrix:
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
    return matrix


def _entries(path: str | os.PathLike[str], form: GroundTruths, matrix: NamedMatrix) -> dict[str, Any]:
    """Return the ground truths and the names of the tasks."""
    rows = len(matrix.values)
    content: dict[str, Any] = {form: matrix.values.tolist()}
    choices = (matrix.column_names, matrix.row_names)
    if form == "vectors":  # a header names features; names of another kind of file name tasks
        choices = (matrix.row_names,) if Path(path).suffix.lower() in (".csv", ".tsv", ".txt") else choices
    names = next((names for names in choices if len(names) == rows and all(names)), None)
    if names:
        content["names"] = list(names)
    return content


def _other_reader(file: Path) -> str:
    """What else reads the file, if it is one of a matrix."""
    if file.suffix.lower() not in FORMATS:
        return ""
    return "; read_matrix_problem reads a problem from a matrix file"


def _suggestion(content: dict[str, Any], unknown: str) -> str:
    """What a user may have meant by an entry that is not known; nothing if that is not clear."""
    if isinstance(content[unknown], dict):
        return ": entries stand at the top of the file, without tables such as [problem]"
    known = list(_File.model_fields)
    close = difflib.get_close_matches(unknown[:40].lower(), [*known, *_SYNONYMS], n=1, cutoff=0.7)
    return f" (did you mean {_SYNONYMS.get(close[0], close[0])}?)" if close else ""


_SYNONYMS = {
    "noise": "sigma",
    "noise_std": "sigma",
    "samples": "n",
    "num_samples": "n",
    "n_samples": "n",
    "parameters": "p",
    "features": "p",
    "dimension": "p",
    "labels": "names",
    "task_names": "names",
    "tasks": "names",
    "ground_truths": "vectors",
    "inner_products": "gram",
    "similarities": "cosines",
    "curriculum": "steps",
}
"""Other words for entries of a TOML file."""


def _explain(content: dict[str, Any], error: ValidationError) -> str:
    """Pydantic's findings in our words: each entry once, with what belongs there."""
    entries = list(dict.fromkeys(str(detail["loc"][0]) for detail in error.errors(include_input=False)))
    found = [
        f"{entry} is missing; give {_WANTED[entry]}"
        if entry not in content
        else f"{entry} = {reprlib.repr(content[entry])}: give {_WANTED[entry]}"
        for entry in entries
    ]
    return "; ".join(found)


_WANTED = {
    "p": "a whole number",
    "n": "a whole number, or a list with one per task",
    "sigma": "a number, or a list with one per task",
    "unmodeled": "a number, or a list with one per task",
    "names": "a list of strings, one per task",
    "norm": "a number",
    "norms": "a number, or a list with one per task",
    "tolerance": "a number",
    "initial": "a list of numbers",
    "orthogonal": "a number of tasks",
    "identical": "a number of tasks",
    "categories": "a string with one letter per task, or a list of strings",
    "vectors": "a list with one list of numbers per task",
    "gram": "a list with one list of numbers per task",
    "distances": "a list with one list of numbers per task",
    "steps": "a list of steps, each with samples by name of task, such as {A1 = 50, B1 = 10}",
    "stored": "true or false",
    "cosines": "a list with one list of numbers per task",
}
