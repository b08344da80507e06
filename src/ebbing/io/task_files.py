"""Data of tasks in files, one for each task: npz, CSV and Parquet. Every file is checked before anything is computed.

=========  ============================================================================================
file       what it holds
=========  ============================================================================================
.npz       arrays `inputs` (n, ...) and `labels` (n,); `test_inputs` and `test_labels` if there are some
.csv       a line of column names, then one line per example; one column is the label
.parquet   the same as a table
=========  ============================================================================================
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Container, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ebbing._extras import check_installed
from ebbing._limits import check_memory
from ebbing._warnings import warn
from ebbing.forecasting._reading import check_no_text
from ebbing.io._delimited import find_delimiter
from ebbing.io._task_columns import columns_by_name, number_classes, parse_cells

Part = tuple[np.ndarray, np.ndarray]
"""Inputs and labels of some examples, one row each."""

_FEWER = "keep fewer examples in each: a forecast uses a few hundred of a task"

_KEYS = ("inputs", "labels", "test_inputs", "test_labels")


class _Content(NamedTuple):
    """What a file holds.

    Attributes:
        data: The parts of the task by name.
        columns: The names of the inputs; none for npz files.
        indexed: Whether the index of a pandas frame was left out.
    """

    data: dict[str, Part]
    columns: Sequence[str] = ()
    indexed: bool = False


def read_task_files(
    folder: Path, label: str = "label", classes: Sequence[str] | None = None
) -> dict[str, dict[str, Part]]:
    r"""Read the tasks of a folder, one file for each, and check that they fit together.

    Args:
        folder: The folder; files that are neither npz, CSV nor Parquet are left out, as are hidden ones.
        label: The column of labels in CSV and Parquet files.
        classes: The names of the classes, in the order of the network's outputs, if labels are names.

    Returns:
        Data by task, as `ebbing.forecast` takes it: {"train": (inputs, labels)}, and "test" where a file has it. A task
        has the name of its file; numbers in names count as numbers, so that "task 2" stands before "task 10". A first
        column without a name that counts 0, 1, 2, ... is the index of a pandas frame: it is left out, with a warning.

    Raises:
        ValueError: If the folder has fewer than two tasks, or a file is unreadable, empty, not finite, or of another
            width than the first, or a label is none of the classes; the message names the file.

    Example:
        >>> import tempfile
        >>> folder = Path(tempfile.mkdtemp())
        >>> _ = (folder / "cats.csv").write_text("weight,height,label\n4,25,1\n30,60,0\n")
        >>> np.savez(folder / "dogs.npz", inputs=np.array([[3.0, 20.0], [40.0, 70.0]]), labels=np.array([0, 1]))
        >>> {name: data["train"][0].tolist() for name, data in read_task_files(folder).items()}
        {'cats': [[4.0, 25.0], [30.0, 60.0]], 'dogs': [[3.0, 20.0], [40.0, 70.0]]}
    """
    if classes is not None and (not all(classes) or len(set(classes)) != len(classes) or len(classes) < 2):
        raise ValueError(f"classes={','.join(classes)}: give two names or more, each once, separated by commas")
    files = _files(Path(folder))
    size = float(sum(file.stat().st_size for file in files))
    check_memory(f"the files of {folder}", size, _FEWER)
    found: dict[str, _Content] = {}
    for file in files:
        content = found[file.stem] = _read(file, label, classes)
        _check_task(file, content.data)
        _check_same_width(file, content.data, files[0], found[files[0].stem].data)
        _check_same_columns(file, content.columns, files[0], found[files[0].stem].columns)
    if indexed := [file.name for file in files if found[file.stem].indexed]:
        more = f" and {len(indexed) - 1} more" if len(indexed) > 1 else ""
        warn(
            f"{indexed[0]}{more}: the index of a pandas frame, a column without a name, is left out of the inputs; "
            "write files with index=False, or name the column if it is an input"
        )
    return {name: content.data for name, content in found.items()}


def split_names(text: str, known: Container[str]) -> list[str]:
    """Return names that are separated by commas.

    Args:
        text: The names.
        known: Names that there are; those with commas are recognized.

    Returns:
        The names, without spaces around them.

    Example:
        >>> split_names("mail, tickets, 2024, chat", {"chat", "mail", "tickets, 2024"})
        ['mail', 'tickets, 2024', 'chat']
    """
    parts, names = text.split(","), []
    while parts:
        lengths = (k for k in range(len(parts), 1, -1) if ",".join(parts[:k]).strip() in known)
        length = next(lengths, 1)
        names.append(",".join(parts[:length]).strip())
        parts = parts[length:]
    return names


def reorder_tasks(tasks: Mapping[str, Any], order: str | None) -> dict[str, Any]:
    """Return the tasks in the order that a user names.

    Args:
        tasks: Data by task.
        order: Every name once, separated by commas; None for the order as it is.

    Returns:
        The same data.

    Raises:
        ValueError: If a task is missing, unknown or repeated.

    Example:
        >>> list(reorder_tasks({"cats": 1, "dogs": 2}, "dogs, cats"))
        ['dogs', 'cats']
    """
    names = list(tasks) if order is None else split_names(order, tasks)
    if sorted(names) != sorted(tasks):
        wrong = [f"there is no task {name!r}" for name in names if name not in tasks]
        wrong += [f"{name!r} is named twice" for name in tasks if names.count(name) > 1]
        wrong += [f"{name!r} is missing" for name in tasks if name not in names]
        raise ValueError(
            f"order={order!r}: {wrong[0]}; name every task once, separated by commas, such as {','.join(tasks)}"
        )
    return {name: tasks[name] for name in names}


def _files(folder: Path) -> list[Path]:
    if not folder.is_dir():
        what = "this is a file" if folder.exists() else "no such folder"
        raise ValueError(f"{folder}: {what}; give a folder with one file per task: npz, CSV or Parquet")
    found = [file for file in folder.iterdir() if file.suffix.lower() in _READERS and not file.name.startswith(".")]
    found.sort(key=lambda file: re.sub(r"\d+", lambda number: number[0].zfill(20), file.stem))
    if len(found) < 2:
        held = f"holds {found[0].name} alone" if found else "holds no npz, CSV or Parquet file"
        raise ValueError(f"{folder}: {held}; a forecast needs two tasks or more, one file for each")
    names: dict[str, Path] = {}
    for file in found:
        if (other := names.setdefault(file.stem, file)) is not file:
            raise ValueError(f"{file} and {other.name}: two files of one task; rename or remove one of them")
    return found


def _read(file: Path, label: str, classes: Sequence[str] | None) -> _Content:
    try:
        if not file.stat().st_size:
            raise ValueError(f"{file}: an empty file; give at least two examples, or remove it")
        return _READERS[file.suffix.lower()](file, label, classes)
    except PermissionError:
        raise ValueError(f"{file}: cannot be read, permission denied; allow it, or remove the file") from None


def _read_npz(file: Path, _: str, classes: Sequence[str] | None) -> _Content:
    try:
        with file.open("rb") as stream, np.load(stream, allow_pickle=False) as archive:
            if not isinstance(archive, np.lib.npyio.NpzFile) or archive.zip is None:
                raise ValueError("one array without a name")
            found = list(archive.files)
            unpacked = float(sum(member.file_size for member in archive.zip.infolist()))
            check_memory(f"the arrays of {file}", unpacked, _FEWER)
            arrays = {key: archive[key] for key in _KEYS if key in found}
    except PermissionError:
        raise
    except Exception as error:  # a damaged archive can raise nearly anything
        raise ValueError(
            f"{file}: not a readable npz file ({error}); write it with np.savez(file, inputs=..., labels=...)"
        ) from None
    missing = [key for key in _KEYS[:2] if key not in arrays]
    missing += [key for key, other in (_KEYS[2:], _KEYS[:1:-1]) if key not in arrays and other in arrays]
    if missing:
        raise ValueError(f"{file}: has no array {missing[0]!r}, but {', '.join(found) or 'nothing'}; add it")
    for key in ("labels", "test_labels"):
        if classes is not None and key in arrays:
            arrays[key] = number_classes(f"{file}: {key}", arrays[key].reshape(-1).tolist(), classes)
    data = {"train": (arrays["inputs"], arrays["labels"])}
    if "test_inputs" in arrays:
        data["test"] = (arrays["test_inputs"], arrays["test_labels"])
    return _Content(data)


def _read_csv(file: Path, label: str, classes: Sequence[str] | None) -> _Content:
    try:
        text = file.read_text(encoding="utf-8-sig")
        reader = csv.reader(io.StringIO(text), delimiter=find_delimiter(text), strict=True)
        lines = [(reader.line_num, cells) for cells in reader if any(cell.strip() for cell in cells)]
    except UnicodeDecodeError:
        raise ValueError(f"{file}: not a text file; save it as UTF-8") from None
    except csv.Error as error:
        raise ValueError(f"{file}: not a readable CSV file ({error}); write it again") from None
    if len(lines) < 2:
        raise ValueError(f"{file}: no examples; give a line of column names and one line per example")
    names = [name.strip() for name in lines[0][1]]
    for line, cells in lines[1:]:
        if len(cells) != len(names):
            raise ValueError(f"{file}: line {line} has {len(cells)} cells, the first {len(names)}; make them equal")
    texts = [[cells[k].strip() for _, cells in lines[1:]] for k in range(len(names))]
    columns, indexed = columns_by_name(file, names, texts, label)
    named = {} if classes is None else {label: number_classes(f"{file}: column {label!r}", columns[label], classes)}
    numbers = {
        name: named[name] if name in named else parse_cells(file, name, cells, label) for name, cells in columns.items()
    }
    return _of_columns(file, numbers, label, indexed)


def _read_parquet(file: Path, label: str, classes: Sequence[str] | None) -> _Content:
    check_installed("pyarrow", f"the file {file}")
    import pyarrow
    from pyarrow import parquet

    try:
        table = parquet.read_table(file)
    except (pyarrow.ArrowException, OSError) as error:
        raise ValueError(f"{file}: not a readable Parquet file ({error}); write it again") from None
    columns = {}
    given, indexed = columns_by_name(file, table.column_names, table.columns, label)
    for name, values in given.items():
        array = np.asarray(values.to_numpy())
        if values.null_count:
            row = int(np.flatnonzero(values.is_null().to_numpy())[0])
            raise ValueError(f"{file}: column {name!r} has no value in row {row + 1}; fill it in, or leave out the row")
        if name == label and classes is not None:
            array = number_classes(f"{file}: column {name!r}", array.tolist(), classes)
        elif name == label:
            check_no_text(f"{file}: column {name!r}", array)
        if array.dtype.kind not in "biuf":
            raise ValueError(f"{file}: column {name!r} holds {values.type}; every column must hold numbers")
        columns[name] = array
    return _of_columns(file, columns, label, indexed)


_READERS: dict[str, Callable[[Path, str, Sequence[str] | None], _Content]] = {
    ".npz": _read_npz,
    ".csv": _read_csv,
    ".parquet": _read_parquet,
}


def _of_columns(file: Path, columns: dict[str, np.ndarray], label: str, indexed: bool) -> _Content:
    inputs = [values for name, values in columns.items() if name != label]
    if not inputs:
        raise ValueError(f"{file}: no column but the label {label!r}; add the inputs")
    data = {"train": (np.column_stack(inputs).astype(np.float64), columns[label])}
    return _Content(data, [name for name in columns if name != label], indexed)


# -------------------------------------------------------------------- checks


def _check_task(file: Path, data: dict[str, Part]) -> None:
    for part, (inputs, labels) in data.items():
        prefix = "test_" if part == "test" else ""
        for name, values in ((f"{prefix}inputs", inputs), (f"{prefix}labels", labels)):
            check_no_text(f"{file}: {name}", values)
            if values.dtype.kind not in "biuf" or not values.ndim:
                raise ValueError(f"{file}: {name} is {values.ndim}-D of {values.dtype}; give one row of numbers each")
            if not np.isfinite(values).all():
                index = np.argwhere(~np.isfinite(values))[0]
                where = f"example {index[0] + 1}"
                raise ValueError(
                    f"{file}: {name} has {values[tuple(index)]} in {where}; every number must be finite: fill it in, "
                    "or leave out the example"
                )
        if len(inputs) != len(labels):
            raise ValueError(
                f"{file}: {len(inputs)} {prefix}inputs, but {len(labels)} {prefix}labels; give as many of both"
            )
        if not inputs.size:
            raise ValueError(f"{file}: {prefix}inputs of shape {inputs.shape} are empty; give examples")
    if "test" not in data and len(data["train"][1]) < 2:
        raise ValueError(f"{file}: one example; give two at least, one to train and one to test")


def _check_same_width(file: Path, data: dict[str, Part], first: Path, wanted: dict[str, Part]) -> None:
    inputs, labels = (array.shape[1:] for array in wanted["train"])
    for part, (x, y) in data.items():
        prefix = "test_" if part == "test" else ""
        for name, shape, other in (("inputs", x.shape[1:], inputs), ("labels", y.shape[1:], labels)):
            if shape != other:
                raise ValueError(
                    f"{file}: an example of {prefix}{name} has {_width(shape)}, but in {first.name} {_width(other)}; "
                    "make them equal"
                )


def _check_same_columns(file: Path, columns: Sequence[str], first: Path, wanted: Sequence[str]) -> None:
    if columns and wanted and columns != wanted:
        place = next(k for k, (a, b) in enumerate(zip(columns, wanted, strict=True)) if a != b)
        raise ValueError(
            f"{file}: column {place + 1} of the inputs is {columns[place]!r}, but in {first.name} {wanted[place]!r}; "
            "give all files the same columns in the same order"
        )


def _width(shape: tuple[int, ...]) -> str:
    if len(shape) < 2:
        return f"{shape[0]} number{'s' * (shape[0] != 1)}" if shape else "one number"
    return f"shape {shape}"
