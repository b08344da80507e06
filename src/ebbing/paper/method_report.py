"""The report of a comparison of methods: tables, verdicts with statistics, and files with every number."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ebbing._files import write_atomic
from ebbing.paper._output import Verdict, write_csv, write_json
from ebbing.paper._statistics import PairedDifferences
from ebbing.paper.method_comparison import Comparison, Protocol, Result, format_mean
from ebbing.runs.streams import StreamRun


def markdown(result: Result) -> str:
    """Return the tables of a study in Markdown.

    Args:
        result: The runs of the study.

    Returns:
        For each protocol a table of ACC, BWT and memory, with the paper's values if there are any, and a table of the
        differences seed by seed.
    """
    note = (
        "ACC and BWT in percent: mean ± standard error over seeds. MB per task: the memory that each task adds besides "
        "the network, on average over all tasks but the last, after which nothing needs to be protected. Every cell "
        "comes from runs."
    )
    parts = [f"# {result.study.title}\n\n{note}\n"]
    for protocol in result.study.protocols:
        title = f"## {protocol.name}\n\n"
        title += (
            f"Smaller than published: {protocol.reduction}.\n" if protocol.reduction else "The published protocol.\n"
        )
        columns = ["method", "ACC", "BWT", "MB per task"]
        columns += ["paper's ACC", "paper's BWT"] if protocol.paper_values else []
        lines = ["| " + " | ".join(columns) + " |", "|---" * len(columns) + "|"]
        lines += ["| " + " | ".join(_row(result, protocol, name)) + " |" for name in protocol.names]
        pairs = result.comparisons(protocol)
        compared = ["| same seeds | difference in ACC | difference in BWT |", "|---|---|---|"]
        compared += [f"| {_name(c)} | {c.accuracy.to_text()} | {c.backward_transfer.to_text()} |" for c in pairs]
        parts.append("\n".join([title, *lines, "", *(compared if pairs else []), ""]))
    return "\n".join(parts)


def _row(result: Result, protocol: Protocol, name: str) -> list[str]:
    paper = [""] * 2 if protocol.paper_values else []
    if name in protocol.paper_values:
        paper = [f"{value:.2f}" for value in protocol.paper_values[name]]
    accuracy, transfer = result.accuracy(protocol, name), result.backward_transfer(protocol, name)
    unfinished = [run for run in result.runs[protocol.name, name] if not run.finished]
    note = f"; not finished: {_progress(unfinished)}" if unfinished else ""
    if not result.runs[protocol.name, name]:
        return [name, "unknown: results are found by their data, which are missing", "", "", *paper]
    if not len(accuracy):
        return [name, f"not finished: {_progress(unfinished)}", "", "", *paper]
    memory = result.memory_per_task(protocol, name)
    cells = [format_mean(accuracy) + note, format_mean(transfer), "" if memory is None else f"{memory:.2f}"]
    return [name, *cells, *paper]


def _progress(runs: list[StreamRun]) -> str:
    """Describe unfinished runs: the started ones singly, the others together."""
    begun = [f"seed {run.seed} at {run.num_learned} of {len(run.tasks)} tasks" for run in runs if run.num_learned > 0]
    waiting = [str(run.seed) for run in runs if run.num_learned <= 0]
    return ", ".join(begun + ([f"seed{'s' * (len(waiting) > 1)} {', '.join(waiting)} not started"] if waiting else []))


def _name(comparison: Comparison) -> str:
    return f"{comparison.first} minus {comparison.second}"


def verdicts(result: Result) -> list[Verdict]:
    """Return the verdicts on the pairs of a study, and on whether the paper's values are reached.

    Args:
        result: The runs of the study.

    Returns:
        Two verdicts (ACC and BWT) for each pair with at least two common seeds, and two for each of TRGP+ and TRGP free
        where the paper prints values.
    """
    found = []
    for protocol in result.study.protocols:
        scale = protocol.reduction or "the published protocol"
        for c in result.comparisons(protocol):
            if (count := len(c.accuracy.differences)) < 2:  # a single seed decides nothing
                continue
            procedure = f"{protocol.name} ({scale}), {count} seeds"
            for verb, by in (("is more accurate than", c.accuracy), ("forgets less than", c.backward_transfer)):
                claim = f"{c.first} {verb} {c.second}"
                found.append(Verdict(claim, result.study.title, procedure, by.to_text(), by.is_positive))
        found += _paper_verdicts(result, protocol)
    return found


def _paper_verdicts(result: Result, protocol: Protocol) -> list[Verdict]:
    """Test whether TRGP+ and TRGP free reach the values that the paper prints for TRGP+."""
    found = []
    for name in ("TRGP+", "TRGP free"):
        if "TRGP+" not in protocol.paper_values or name not in protocol.names:
            continue
        measured = {"ACC": result.accuracy(protocol, name), "BWT": result.backward_transfer(protocol, name)}
        for (what, values), printed in zip(measured.items(), protocol.paper_values["TRGP+"], strict=True):
            if not len(values):
                continue
            # The paper does not print its standard errors: its mean is taken as exact.
            beyond = PairedDifferences(tuple(float(value) - printed for value in values))
            claim = f"{name} reaches the paper's {what} of {printed:.2f}" + (" for TRGP+" if name != "TRGP+" else "")
            procedure = f"{protocol.name}, {len(values)} seed{'s' * (len(values) > 1)}"
            text = f"{format_mean(values)}; {beyond.to_text()}"
            found.append(Verdict(claim, result.study.title, procedure, text, beyond.is_positive))
    return found


def save(result: Result, folder: Path, *, text: str | None = None) -> None:
    """Write the study's name with .md (tables), .csv (ACC and BWT by run) and .json (every accuracy matrix).

    Args:
        result: The runs of the study.
        folder: The folder of the files.
        text: The content of the .md file, if it is not that of `markdown`.
    """
    file = result.study.name
    write_atomic(folder / f"{file}.md", markdown(result) if text is None else text)
    rows = []
    matrices = []
    for protocol in result.study.protocols:
        for method in protocol.names:
            done = zip(
                result.finished_runs(protocol, method),
                result.accuracy(protocol, method),
                result.backward_transfer(protocol, method),
                strict=True,
            )
            rows += [
                (protocol.name, method, run.seed, float(acc), float(bwt), run.bytes_per_task) for run, acc, bwt in done
            ]
            matrices += [
                {
                    "protocol": protocol.name,
                    "method": method,
                    "seed": run.seed,
                    "finished": run.finished,
                    "accuracies": [[None if np.isnan(a) else a for a in row] for row in run.accuracies.tolist()],
                }
                for run in result.runs[protocol.name, method]
            ]
    write_csv(folder / f"{file}.csv", ("protocol", "method", "seed", "ACC", "BWT", "bytes_per_task"), rows)
    write_json(folder / f"{file}.json", {"provenance": result.provenance, "runs": matrices})
