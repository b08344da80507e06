"""Read scores on benchmarks that other programs wrote: the lm-evaluation-harness, lighteval, or plain JSON.

======================  =====================================================================================
file                    what is read
======================  =====================================================================================
lm-evaluation-harness   `results_*.json` of `lm_eval --output_path`: scores and standard errors; with
                        `--log_samples` also `samples_*.jsonl` beside it: the score of each question
lighteval               `results_*.json`: scores and standard errors
plain JSON              {"gsm8k": 0.52, "arc": [0.61, 0.014]}: a score, or a score and its standard error; or
                        {"wer": {"score": 0.1, "standard_error": 0.01, "higher_is_better": false}}
======================  =====================================================================================
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from ebbing._limits import MOST_MATRIX_BYTES
from ebbing.io._bytes import read_text
from ebbing.metrics import EvaluationComparison, Score, compare_evaluations
from ebbing.metrics._scores import lower_is_better, parse_score

_NO_METRICS = ("alias", "name", "sample_len", "sample_count")
_ROUNDING = 1e-6  # between a score and the mean of its answers


class _Metric(NamedTuple):
    """A metric in a results file.

    Attributes:
        key: Its key, such as "exact_match,strict-match".
        name: What is measured, such as "exact_match".
        filter: How answers are read, such as "strict-match"; empty where the key has none.
    """

    key: str
    name: str
    filter: str

    @classmethod
    def parse(cls, key: str) -> _Metric:
        name, _, chosen = key.partition(",")
        return cls(key, name, chosen)

    @property
    def error_key(self) -> str:
        return f"{self.name}_stderr,{self.filter}" if self.filter else f"{self.name}_stderr"

    @property
    def short(self) -> str:
        """The key without a filter that says nothing."""
        return self.name if self.filter in ("", "none") else self.key


def read_evaluation(
    path: str | os.PathLike[str], *, metric: str | None = None, subtasks: bool = False
) -> dict[str, Score]:
    r"""Return the scores of a model on benchmarks, as `ebbing.metrics.compare_evaluations` takes them.

    Args:
        path: A results file of the lm-evaluation-harness or of lighteval, plain JSON such as {"gsm8k": 0.52}, or the
            folder of such a file; of several from one model, the newest is read.
        metric: The metric to read of every benchmark that has it, such as "acc_norm"; elsewhere, and if None, the first
            one that has a standard error. Plain JSON names no metrics.
        subtasks: Whether to read the parts of a group (the subjects of MMLU) instead of the group.

    Returns:
        The score of each benchmark, with the score of each question where the file is there and agrees with it.

    Raises:
        FileNotFoundError: If there is no such file, or none in the folder.
        ValueError: If the file holds no scores, no benchmark has the metric, or the folder holds the results of several
            models.

    Example:
        >>> import tempfile
        >>> file = Path(tempfile.mkdtemp(), "results.json")
        >>> _ = file.write_text('{"results": {"arc": {"alias": "arc", "acc,none": 0.6, "acc_stderr,none": 0.01}}}')
        >>> read_evaluation(file)["arc"]
        Score(value=0.6, standard_error=0.01, higher_is_better=True, metric='acc')
    """
    file = _results_file(Path(path))
    try:
        content = json.loads(read_text(file, MOST_MATRIX_BYTES))
    except (ValueError, RecursionError) as problem:
        raise ValueError(f"{file}: not valid JSON ({problem}); is it half-written?") from None
    if not isinstance(content, dict):
        raise ValueError(f"{file}: holds a {type(content).__name__}; scores stand in an object, by benchmark")
    results = content.get("results")
    if isinstance(results, dict):
        found = _harness(file, content, metric, subtasks)
    elif metric is None:
        found = _plain(file, content)
    else:
        raise ValueError(f"{file}: plain JSON, which names no metrics, so metric {metric} does not apply; leave it out")
    if not found:
        raise ValueError(f"{file}: no scores of benchmarks in it; give results of lm_eval or lighteval, or plain JSON")
    return found


def _results_file(path: Path) -> Path:
    if not path.is_dir():
        return path
    files = sorted(path.rglob("results*.json"))
    if not files:
        raise FileNotFoundError(f"{path}: no results*.json in this folder; name the file")
    folders = sorted({file.parent for file in files})
    if len(folders) > 1:
        shown = ", ".join(str(folder) for folder in folders[:4])
        raise ValueError(f"{path}: results in {len(folders)} folders ({shown}); name one of them")
    return files[-1]  # names end with the time


def _plain(file: Path, content: Mapping[str, Any]) -> dict[str, Score]:
    found = {}
    for name, value in content.items():
        try:
            found[name] = parse_score(name, value)
        except ValueError as problem:
            raise ValueError(f"{file}: {name!r} is {str(value)[:60]}; {problem}") from None
    return found


def _harness(file: Path, content: Mapping[str, Any], wanted: str | None, subtasks: bool) -> dict[str, Score]:
    results = {name: row for name, row in content["results"].items() if isinstance(row, dict)}
    if any("|" in name for name in results):  # lighteval: the mean over all benchmarks is no benchmark
        results.pop("all", None)
    if wanted is not None:
        _check_metric(file, wanted, results)
    parts = _parts(content, results)
    chosen = {name: metric for name, row in results.items() if (metric := _choose(row, wanted))}
    if subtasks:
        shown = [name for name in chosen if not any(part in chosen for part in parts[name])]
    else:
        covered = {part for name in chosen for part in parts[name]}
        shown = [name for name in chosen if name not in covered]
    found = {}
    for name in shown:
        metric, row = chosen[name], results[name]
        leaves = [part for part in parts[name] if not parts[part]] or [name]
        value = float(row[metric.key])  # `_choose` takes numbers only
        found[name] = Score(
            value,
            _number(row.get(metric.error_key)),
            higher_is_better=_higher_is_better(content, name, metric),
            metric=metric.short,
            answers=_answers(file, leaves, metric, value),
        )
    return found


def _parts(content: Mapping[str, Any], results: Mapping[str, Any]) -> dict[str, list[str]]:
    """Return the parts of each group, and the parts of these, that have results."""
    children = content.get("group_subtasks")
    children = children if isinstance(children, dict) else {}

    def descend(name: str, above: tuple[str, ...]) -> Iterator[str]:
        listed = children.get(name)
        for child in listed if isinstance(listed, list) else ():
            if isinstance(child, str) and child not in above:
                yield child
                yield from descend(child, (*above, child))

    return {name: [part for part in dict.fromkeys(descend(name, (name,))) if part in results] for name in results}


def _metrics(row: Mapping[str, Any]) -> list[_Metric]:
    """Return the metrics of a benchmark that are numbers."""
    return [
        _Metric.parse(key)
        for key, value in row.items()
        if key not in _NO_METRICS and not key.partition(",")[0].endswith("_stderr") and _number(value) is not None
    ]


def _check_metric(file: Path, wanted: str, results: Mapping[str, Any]) -> None:
    """Raise an error if no benchmark has a metric."""
    metrics = [metric for row in results.values() for metric in _metrics(row)]
    if metrics and not any(wanted in (metric.key, metric.name) for metric in metrics):
        known = ", ".join(dict.fromkeys(metric.short for metric in metrics))
        raise ValueError(f"{file}: no benchmark has the metric {wanted}; choose one of {known}")


def _choose(row: Mapping[str, Any], wanted: str | None) -> _Metric | None:
    """Return the metric to read: the wanted one, else the first with a standard error, else the first."""
    metrics = _metrics(row)
    named = [metric for metric in metrics if wanted in (metric.key, metric.name)]
    sure = [metric for metric in metrics if _number(row.get(metric.error_key)) is not None]
    return next(iter([*named, *sure, *metrics]), None)


def _higher_is_better(content: Mapping[str, Any], name: str, metric: _Metric) -> bool:
    said = content.get("higher_is_better")
    said = said.get(name) if isinstance(said, dict) else None
    said = said.get(metric.name) if isinstance(said, dict) else None
    return said if isinstance(said, bool) else not lower_is_better(metric.name)


def _answers(file: Path, tasks: list[str], metric: _Metric, value: float) -> dict[str, float]:
    """Return the score of each question of some tasks; nothing if it is not logged, or its mean is not the score."""
    time = file.stem.removeprefix("results_")
    logs = [(task, file.with_name(f"samples_{task}_{time}.jsonl")) for task in tasks]
    if not all(log.is_file() for _, log in logs):
        return {}
    found: dict[str, float] = {}
    for task, log in logs:
        for number, line in enumerate(_lines(log), 1):
            try:
                sample = json.loads(line)
                question, answer = f"{task}/{sample['doc_id']}", sample.get(metric.name)
            except (ValueError, TypeError, KeyError, AttributeError):
                raise ValueError(f"{log}: line {number} is no answer of lm_eval; is the file half-written?") from None
            if sample.get("filter", metric.filter or "none") != (metric.filter or "none"):
                continue
            if _number(answer) is None or question in found:  # of several answers to a question none is the score
                return {}
            found[question] = float(answer)
    if not found or abs(math.fsum(found.values()) / len(found) - value) > _ROUNDING:
        return {}
    return found


def _lines(file: Path) -> Iterator[str]:
    with file.open(encoding="utf-8") as stream:
        try:
            yield from (line for line in stream if line.strip())
        except UnicodeDecodeError as problem:
            raise ValueError(f"{file}: not a text file (byte {problem.start} is not UTF-8)") from None


def _number(value: Any) -> float | None:
    """Return a finite number; None for anything else, as "N/A"."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        return None
    return float(value)


def compare_files(
    paths: Sequence[Path], *, names: Sequence[str] | None = None, metric: str | None = None, subtasks: bool = False
) -> EvaluationComparison:
    """Compare evaluations that stand in files.

    Args:
        paths: Files or folders, as `read_evaluation` takes them, in the order of training.
        names: One name for each; those of the files or folders if None.
        metric: As for `read_evaluation`.
        subtasks: As for `read_evaluation`.

    Returns:
        What changed from the first to the last.

    Raises:
        ValueError: If there are fewer than two files, not as many names, or they cannot be compared.
    """
    if len(paths) < 2:
        raise ValueError(f"{len(paths)} file: give two or more, the model before and after training")
    labels = _short_names(paths) if names is None else [name.strip() for name in names]
    if len(labels) != len(paths) or len(set(labels)) < len(labels):
        raise ValueError(f"names {', '.join(labels)} for {len(paths)} files; give one to each, all different")
    read = [read_evaluation(path, metric=metric, subtasks=subtasks) for path in paths]
    found = compare_evaluations(dict(zip(labels, read, strict=True)))
    if metric is None:
        return found
    used = {name: _Metric.parse(score.metric) for name, score in zip(found.benchmarks, found.scores[0], strict=True)}
    wanted = metric.removesuffix(",none")
    return replace(found, without_metric=tuple(name for name, one in used.items() if wanted not in (one.key, one.name)))


def _short_names(paths: Sequence[Path]) -> list[str]:
    """Return the name of each file, or of its folder if the file is called results; all different.

    >>> _short_names([Path("base.json"), Path("runs/tuned/results_2026-01-01.json")])
    ['base', 'tuned']
    """
    names = [path.resolve().name if path.is_dir() else path.stem for path in paths]
    names = [
        path.resolve().parent.name if name.startswith("results") else name
        for name, path in zip(names, paths, strict=True)
    ]
    return [name if names.count(name) == 1 else f"{name} {place}" for place, name in enumerate(names, 1)]
