"""Read accuracy matrices from what other frameworks print and save: Mammoth, PyCIL, LAMDA-PILOT and Avalanche.

===========  ============================  =================================================================
framework    file                          what is read
===========  ============================  =================================================================
Mammoth      `logs.pyd` of its results     of each line (a run), the entries `'accuracy_J_taskI': A`
Mammoth      its console output, saved     "Accuracy for N task(s): ..." and, in the line below it,
                                           "Raw accuracy values: Class-IL [...] | Task-IL [...]"
PyCIL,       the `.log` of a run, or its   "CNN: {'total': ..., '00-09': A, '10-19': A, ...}" and the same with
LAMDA-PILOT  console output, saved         "NME:"; one line after each task
Avalanche    `eval_results.csv` of its     the columns `eval_exp`, `training_exp` and `eval_accuracy`
             `CSVLogger`
===========  ============================  =================================================================

A file of Mammoth or PyCIL may hold several runs, one after another. Nothing is executed or unpickled.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ebbing._limits import MOST_CELLS, MOST_MATRIX_BYTES
from ebbing.io._bytes import read_text
from ebbing.io._delimited import has_only_numbers

Matrix = NDArray[np.float64]
Row = list[float]
Run = dict[int, Row]  # the accuracies after t tasks, t from 1

LOG_FORMATS = (".log", ".txt", ".out", ".err", ".pyd")
"""Endings of files that may be logs."""

_NUMBER = r"(?:np\.float\d+\()?(-?(?:\d+\.?\d*(?:[eE][-+]?\d+)?|nan))\)?"
_MAMMOTH_ENTRY = re.compile(rf"'accuracy_([1-9]\d{{0,5}})_task([1-9]\d{{0,5}})': {_NUMBER}(?=[,}}])")
_MAMMOTH_ROW = re.compile(
    r"(?<!Future )(?<!Joint )Accuracy for ([1-9]\d{0,5}) task\(s\):[^\n]*\n\s*Raw accuracy values: ([^\n]*)"
)
_MAMMOTH_LIST = r"{} \[([^\]]*)\]"
_PYCIL_ROW = r"\b{}: \{{([^}}\n]*)\}}"
_PYCIL_GROUP = re.compile(rf"'(\d+-\d+)': {_NUMBER}")
_AVALANCHE_HEADER = "eval_exp,training_exp,eval_accuracy"


def read_mammoth_log(
    path: str | os.PathLike[str],
    *,
    setting: Literal["class-il", "task-il", "domain-il"] | None = None,
    run: int | None = None,
) -> Matrix:
    """Return the accuracy matrix of a run of Mammoth, in percent.

    Args:
        path: `logs.pyd`, which Mammoth writes into its results folder; or its console output, saved to a file.
        setting: Whose accuracies to read of a console output, which has two of them: "class-il" (the default) or
            "task-il"; or "domain-il". The file `logs.pyd` has one only: that of its folder.
        run: The number of the run in the file, from 0; -1 for the last. None: the file must hold one run.

    Returns:
        The matrix (T, T): row t is after task t+1, NaN where Mammoth measured nothing.

    Raises:
        ValueError: If the file has no such accuracies, or several runs and `run` is None.

    Example:
        >>> import tempfile
        >>> file = Path(tempfile.mkdtemp(), "logs.pyd")
        >>> _ = file.write_text("{'lr': 0.1, 'accuracy_1_task1': 98.5, 'accuracy_1_task2': 60.0, "
        ...                     "'accuracy_2_task2': 97.0}" + chr(10))
        >>> read_mammoth_log(file).tolist()
        [[98.5, nan], [60.0, 97.0]]
    """
    file, text = _log_text(path)
    return _matrix(file, _mammoth_runs(file, text, setting), run)


def read_pycil_log(
    path: str | os.PathLike[str], *, classifier: Literal["CNN", "NME"] = "CNN", run: int | None = None
) -> Matrix:
    """Return the accuracy matrix of a run of PyCIL or LAMDA-PILOT, in percent.

    These programs print accuracies of groups of classes, as many as a later task adds. If the first task is larger, its
    accuracy is the mean over its groups: exact if all have equally many test images, as those of CIFAR-100 have.

    Args:
        path: The log of a run, or its console output, saved to a file.
        classifier: "CNN" for the accuracies of the network's outputs, "NME" for those of the nearest mean.
        run: The number of the run in the file, from 0; -1 for the last. None: the file must hold one run.

    Returns:
        The matrix (T, T): row t is after task t+1, NaN for tasks to come.

    Raises:
        ValueError: If the file has no such accuracies, or several runs and `run` is None.

    Example:
        >>> import tempfile
        >>> file = Path(tempfile.mkdtemp(), "run.log")
        >>> _ = file.write_text('''2024-01-01 [trainer.py] => CNN: {'total': 90.0, '00-09': 90.0, 'old': 0, 'new': 90.0}
        ... 2024-01-01 [trainer.py] => CNN: {'total': 70.0, '00-09': 60.0, '10-19': 80.0, 'old': 60.0, 'new': 80.0}
        ... ''')
        >>> read_pycil_log(file).tolist()
        [[90.0, nan], [60.0, 80.0]]
    """
    file, text = _log_text(path)
    return _matrix(file, _pycil_runs(text, classifier), run)


def read_avalanche_log(path: str | os.PathLike[str]) -> Matrix:
    """Return the accuracy matrix in `eval_results.csv`, which Avalanche's `CSVLogger` writes.

    Args:
        path: The file.

    Returns:
        The matrix (T, T), as fractions; (T+1, T), row 0 for the initial model, if it was evaluated before the first
        experience. Of several evaluations after one experience, the last.

    Raises:
        ValueError: If the file is not such a log.

    Example:
        >>> import tempfile
        >>> file = Path(tempfile.mkdtemp(), "eval_results.csv")
        >>> _ = file.write_text('''eval_exp,training_exp,eval_accuracy,eval_loss,forgetting
        ... 0,0,0.9000,0.3,0
        ... 0,1,0.6000,0.9,0.3
        ... 1,1,0.8000,0.5,0
        ... ''')
        >>> read_avalanche_log(file).tolist()
        [[0.9, nan], [0.6, 0.8]]
    """
    file, text = _log_text(path)
    head, *lines = text.splitlines() or [""]
    if not head.startswith(_AVALANCHE_HEADER):
        raise ValueError(f"{file}: begins with {head[:40]!r}; Avalanche's CSVLogger writes {_AVALANCHE_HEADER!r} there")
    entries: dict[tuple[int, int], float] = {}
    for number, line in enumerate(lines, 2):
        try:
            task, after, accuracy = line.split(",")[:3]
            entries[-1 if after == "None" else int(after), int(task)] = float(accuracy)
        except ValueError:
            raise ValueError(f"{file}: line {number} is {line[:40]!r}; is it half-written?") from None
    tasks = 1 + max((max(key) for key in entries), default=-1)
    rows = {t + 1: [entries.get((t, i), math.nan) for i in range(tasks)] for t in range(-1, tasks)}
    initial = rows.pop(0)
    matrix = _matrix(file, [rows] if entries else [], None)
    return matrix if np.isnan(initial).all() else np.vstack([initial, matrix])


def _read_log(file: Path, text: str, run: int | None) -> Matrix:
    """Return the accuracy matrix of a log, whichever framework wrote it."""
    if _MAMMOTH_ENTRY.search(text) or _MAMMOTH_ROW.search(text):
        return _matrix(file, _mammoth_runs(file, text, None), run)
    if re.search(_PYCIL_ROW.format("CNN"), text):
        return _matrix(file, _pycil_runs(text, "CNN"), run)
    raise ValueError(
        f"{file}: not a log that is known; Mammoth writes 'accuracy_1_task1' or \"Raw accuracy values: Class-IL [\", "
        "PyCIL and LAMDA-PILOT write \"CNN: {'total': \"; a matrix of your own belongs into a .csv or .json file, or "
        "without names into a .txt file"
    )


def find_log(file: Path, run: int | None) -> Matrix | None:
    """Return the accuracies in a file that is a log by its name, or by the first line of a CSV file.

    Args:
        file: The file.
        run: The number of the run in the file, from 0; -1 for the last. None: the file must hold one run.

    Returns:
        The matrix (T, T), or None if the file is no log.
    """
    if file.suffix.lower() in LOG_FORMATS:
        _, text = _log_text(file)
        is_table = file.suffix.lower() == ".txt" and has_only_numbers(text)
        return None if is_table else _read_log(file, text, run)
    if file.suffix.lower() == ".csv" and file.is_file():
        with file.open("rb") as stream:
            if stream.read(len(_AVALANCHE_HEADER)) == _AVALANCHE_HEADER.encode():
                return read_avalanche_log(file)
    return None


# -------------------------------------------------------------------- Mammoth


def _mammoth_runs(file: Path, text: str, setting: str | None) -> list[Run]:
    runs = [found for line in text.splitlines() if (found := _mammoth_line(file, line))]
    if runs and setting is not None:
        raise ValueError(f"setting={setting!r}: {file} has the accuracies of its folder's setting only; leave it out")
    return runs or _mammoth_console(file, text, setting)


def _mammoth_line(file: Path, line: str) -> Run:
    """Return the accuracies in a line of `logs.pyd`, a dictionary as Python prints it."""
    rows: dict[int, dict[int, float]] = {}
    for task, row, accuracy in _MAMMOTH_ENTRY.findall(line):
        rows.setdefault(int(row), {})[int(task)] = float(accuracy)
    lengths = [len(rows[row]) for row in sorted(rows)]
    # Evaluations between epochs (--eval_epochs) are rows, too: of equally long ones, the last is after the task.
    if lengths != sorted(lengths):
        raise ValueError(
            f"{file}: rows of {', '.join(map(str, lengths))} accuracies; as they do not grow from task to task, they "
            "cannot be told apart (--eval_future writes such rows): read the console output instead"
        )
    return {len(rows[row]): [rows[row][task] for task in sorted(rows[row])] for row in sorted(rows)}


def _mammoth_console(file: Path, text: str, setting: str | None) -> list[Run]:
    name = {"class-il": "Class-IL", "task-il": "Task-IL", "domain-il": "Domain-IL"}.get(setting or "", "")
    if setting is not None and not name:
        raise ValueError(f"setting={setting!r}: say class-il, task-il or domain-il")
    runs: list[Run] = []
    latest = math.inf
    for number, lists in _MAMMOTH_ROW.findall(text):
        found = re.search(_MAMMOTH_LIST.format(name or "(?:Class|Domain)-IL"), lists)
        if found is None:
            raise ValueError(f"{file}: no accuracies of {name or 'Class-IL or Domain-IL'} in {lists[:60]!r}")
        task = int(number)
        if task <= latest:
            runs.append({})
        latest = task
        runs[-1][task] = [float(value) for value in re.findall(_NUMBER, found[1])]
    return runs


# -------------------------------------------------------------------- PyCIL


def _pycil_runs(text: str, classifier: str) -> list[Run]:
    runs: list[Run] = []
    first = latest = 0  # groups of the first task of a run; of its latest row
    for match in re.finditer(_PYCIL_ROW.format(classifier), text):
        groups = [float(value) for _, value in _PYCIL_GROUP.findall(match[1])]
        if len(groups) <= latest or not runs:
            runs.append({})
            first = len(groups)
        latest = len(groups)
        if groups:
            task = latest - first + 1
            runs[-1][task] = [float(np.mean(groups[:first])), *groups[first:]]
    return [one for one in runs if one]


# -------------------------------------------------------------------- all


def _log_text(path: str | os.PathLike[str]) -> tuple[Path, str]:
    file = Path(path)
    return file, read_text(file, MOST_MATRIX_BYTES)


def _matrix(file: Path, runs: Sequence[Run], run: int | None) -> Matrix:
    """Return the matrix of one of the runs."""
    if not runs:
        raise ValueError(f"{file}: no accuracies in it; is it the log of a run that has finished a task?")
    if run is None and len(runs) > 1:
        raise ValueError(f"{file}: holds {len(runs)} runs; say which: run=0 for the first, run=-1 for the last")
    if run is not None and not -len(runs) <= run < len(runs):
        raise ValueError(f"run={run}: {file} holds {len(runs)}; count from 0, or from the end: -1")
    chosen = runs[run or 0]
    tasks = max(*chosen, *map(len, chosen.values()))
    if tasks**2 > MOST_CELLS:
        raise ValueError(f"{file}: {tasks:,} tasks; a matrix has no more than {MOST_CELLS:,} cells")
    matrix = np.full((tasks, tasks), np.nan)
    for t, row in chosen.items():
        matrix[t - 1, : len(row)] = row
    return matrix
