"""Problems that users write: TOML files, and the short forms of the command line.

A file says how many samples, parameters and how much noise there is, and gives the ground truths in one of six ways:

    p = 100                     # parameters
    n = 50                      # samples: one number, or one per task
    sigma = 0.3                 # noise: one number, or one per task (0 if left out)
    orthogonal = 8              # 8 orthogonal ground truths; or one of
    # identical = 8             # 8 times the same
    # categories = "ABAB"       # equal letters, equal ground truths; different letters, orthogonal ones
    # vectors = [[1, 0], [0.6, 0.8]]                        # one row of features per task
    # gram = [[1, 0.6], [0.6, 1]]                           # their inner products
    # distances = [[0, 0.9], [0.9, 0]]                      # |w_i - w_j|, not squared; norms = [1, 1] if known

Optional: `norm` (length, for the first three), `initial` (the initial model, for vectors and gram), `unmodeled`
(energy of missing features) and `names`.
"""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from ebbing.io.matrices import column_names, read_matrix
from ebbing.problem import Problem

_TRUTHS = ("orthogonal", "identical", "categories", "vectors", "gram", "distances")

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


def read_problem(path: str | Path) -> Problem:
    """The problem in a TOML file; the module's docstring shows the format.

    >>> import tempfile, pathlib
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "problem.toml"
    >>> _ = file.write_text('p = 100\\nn = 50\\nsigma = 0.3\\ncategories = "ABAB"')
    >>> read_problem(file)
    Problem(T=4, n=50, p=100, sigma=0.3)
    """
    try:
        text = Path(path).read_text(encoding="utf-8-sig")
        content = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"{path} is not a TOML file: {error}") from None
    except RecursionError:
        raise ValueError(f"{path}: brackets are nested too deeply; a matrix has two levels") from None
    except ValueError as error:  # a number of more digits than Python reads
        raise ValueError(f"{path}: {error}") from None
    try:
        return parse_problem(content)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None


def parse_problem(content: dict[str, Any]) -> Problem:
    """The problem that a file's content describes.

    >>> parse_problem({"p": 100, "n": 50, "orthogonal": 8})
    Problem(T=8, n=50, p=100, sigma=0)
    """
    try:
        file = _File.model_validate(content)
    except ValidationError as error:
        raise ValueError(_explain(content, error)) from None
    given = [name for name in _TRUTHS if getattr(file, name) is not None]
    if len(given) != 1:
        raise ValueError(
            f"give the ground truths in one way, by one of {', '.join(_TRUTHS)}; here: {', '.join(given) or 'none'}"
        )
    truths = given[0]
    extras = {"norm": _TRUTHS[:3], "initial": ("vectors", "gram"), "norms": ("distances",)}
    for name, companions in extras.items():
        if getattr(file, name) is not None and truths not in companions:
            raise ValueError(f"{name} goes with {' or '.join(companions)}, not with {truths}; leave it out")
    settings: dict[str, Any] = {"n": file.n, "p": file.p, "sigma": file.sigma, "unmodeled": file.unmodeled}
    if file.names is not None:
        settings["names"] = file.names
    value = getattr(file, truths)
    match truths:
        case "vectors":
            return Problem.from_vectors(value, initial=file.initial, **settings)
        case "gram" if file.initial is not None:
            return Problem.from_gram(value, initial=file.initial, **settings)
        case "gram":
            return Problem(gram=value, **settings)
        case "distances":
            return Problem.from_distances(value, file.norms, **settings)
    return getattr(Problem, truths)(value, norm=1.0 if file.norm is None else file.norm, **settings)


def read_distances(path: str | Path) -> dict[str, Any]:
    """Distances |w_i - w_j| (CSV, JSON, npy, npz) as a problem file would have them, with the names in a CSV header.

    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp(), "distances.csv")
    >>> _ = file.write_text("cats,dogs\\n0,1.5\\n1.5,0\\n")
    >>> read_distances(file)
    {'distances': [[0.0, 1.5], [1.5, 0.0]], 'names': ['cats', 'dogs']}
    """
    matrix = read_matrix(path)
    content: dict[str, Any] = {"distances": matrix.tolist()}
    names = column_names(path)
    if len(names) == matrix.shape[1] and all(names):
        content["names"] = names
    return content


def parse_tasks(text: str) -> dict[str, Any]:
    """The short form of the command line, as a file would have it.

    >>> parse_tasks("orthogonal:8"), parse_tasks("categories:ABAB")
    ({'orthogonal': 8}, {'categories': 'ABAB'})
    """
    kind, _, value = text.partition(":")
    if kind == "categories" and value:
        return {kind: value}
    if kind in ("orthogonal", "identical") and value.isdecimal():
        return {kind: int(value)}
    raise ValueError(
        f"tasks {text!r}: give orthogonal:8, identical:8 or categories:ABAB, or other ground truths in a TOML file"
    )


def parse_numbers(name: str, text: str) -> float | list[float]:
    """One number, or one per task separated by commas.

    >>> parse_numbers("n", "50"), parse_numbers("sigma", "0.1,0.3")
    (50.0, [0.1, 0.3])
    """
    try:
        values = [float(part) for part in text.split(",")]
    except ValueError:
        raise ValueError(f"{name}={text!r}: give a number, or one per task separated by commas: 50,40,60") from None
    return values if "," in text else values[0]


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
}
