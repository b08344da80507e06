"""A comparison as it came out: tables, verdicts with statistics, and every number in files."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ebbing._files import write_atomic
from ebbing.paper._output import Verdict, write_csv, write_json
from ebbing.paper._statistics import Paired
from ebbing.paper.method_comparison import Comparison, Protocol, Result, spread
from ebbing.runs.streams import StreamRun


def markdown(result: Result) -> str:
    """One table for each protocol, the paper's numbers beside ours, and the comparisons seed by seed."""
    note = (
        "ACC and BWT in percent: mean ± standard error over seeds. MB a task: what a task adds to what is kept besides "
        "the network, on average over all but the last, after which nothing needs to be protected. Every cell is what "
        "runs gave."
    )
    parts = [f"# {result.study.title}\n\n{note}\n"]
    for protocol in result.study.protocols:
        title = f"## {protocol.name}\n\n"
        title += f"Less than published: {protocol.reduced}.\n" if protocol.reduced else "The published protocol.\n"
        columns = ["method", "ACC", "BWT", "MB a task", *(["paper's ACC", "paper's BWT"] if protocol.printed else [])]
        lines = ["| " + " | ".join(columns) + " |", "|---" * len(columns) + "|"]
        lines += ["| " + " | ".join(_row(result, protocol, name)) + " |" for name in protocol.names]
        pairs = result.comparisons(protocol)
        compared = ["| over the same seeds | difference in ACC | difference in BWT |", "|---|---|---|"]
        compared += [f"| {_name(c)} | {c.accuracy.text()} | {c.transfer.text()} |" for c in pairs]
        parts.append("\n".join([title, *lines, "", *(compared if pairs else []), ""]))
    return "\n".join(parts)


def _row(result: Result, protocol: Protocol, name: str) -> list[str]:
    paper = [""] * 2 if protocol.printed else []
    if name in protocol.printed:
        paper = [f"{value:.2f}" for value in protocol.printed[name]]
    accuracy, transfer = result.accuracy(protocol, name), result.transfer(protocol, name)
    unfinished = [run for run in result.runs[protocol.name, name] if not run.finished]
    note = f"; not finished: {_progress(unfinished)}" if unfinished else ""
    if not result.runs[protocol.name, name]:
        return [name, "unknown: results are found by their data, and these are not here", "", "", *paper]
    if not len(accuracy):
        return [name, f"not finished: {_progress(unfinished)}", "", "", *paper]
    memory = result.memory(protocol, name)
    return [name, spread(accuracy) + note, spread(transfer), "" if memory is None else f"{memory:.2f}", *paper]


def _progress(runs: list[StreamRun]) -> str:
    """Runs that are begun one by one, the others together."""
    begun = [f"seed {run.seed} at {run.learned} of {len(run.tasks)} tasks" for run in runs if run.learned > 0]
    waiting = [str(run.seed) for run in runs if run.learned <= 0]
    return ", ".join(begun + ([f"seed{'s' * (len(waiting) > 1)} {', '.join(waiting)} not begun"] if waiting else []))


def _name(comparison: Comparison) -> str:
    return f"{comparison.first} minus {comparison.second}"


def verdicts(result: Result) -> list[Verdict]:
    """What is claimed of each pair, on what two seeds at least have finished; and whether the paper is reached."""
    found = []
    for protocol in result.study.protocols:
        scale = protocol.reduced or "the published protocol"
        for c in result.comparisons(protocol):
            if (count := len(c.accuracy.differences)) < 2:  # nothing to be said of a single seed
                continue
            seeds = f"{protocol.name} ({scale}), {count} seeds"
            for verb, by in (("is more accurate than", c.accuracy), ("forgets less than", c.transfer)):
                claim = f"{c.first} {verb} {c.second}"
                found.append(Verdict(claim, result.study.title, seeds, by.text(), by.positive))
        found += _reaches(result, protocol)
    return found


def _reaches(result: Result, protocol: Protocol) -> list[Verdict]:
    """Whether TRGP+, and what we make of it, reach what the paper prints for TRGP+."""
    found = []
    for name in ("TRGP+", "TRGP free"):
        if "TRGP+" not in protocol.printed or name not in protocol.names:
            continue
        measured = {"ACC": result.accuracy(protocol, name), "BWT": result.transfer(protocol, name)}
        for (what, values), printed in zip(measured.items(), protocol.printed["TRGP+"], strict=True):
            if not len(values):
                continue
            # Of the paper's own spread nothing is known: its mean is taken as exact, and one run cannot be sure.
            beyond = Paired(tuple(float(value) - printed for value in values))
            claim = f"{name} reaches the paper's {what} of {printed:.2f}" + (" for TRGP+" if name != "TRGP+" else "")
            ran = f"{protocol.name}, {len(values)} seed{'s' * (len(values) > 1)}"
            text = f"{spread(values)}; {beyond.text()}"
            found.append(Verdict(claim, result.study.title, ran, text, beyond.positive))
    return found


def save(result: Result, folder: Path) -> None:
    """The study's name with .md (tables), .csv (ACC and BWT by run) and .json (every accuracy matrix)."""
    file = result.study.name
    write_atomic(folder / f"{file}.md", markdown(result))
    rows = []
    matrices = []
    for protocol in result.study.protocols:
        for method in protocol.names:
            done = zip(
                result.finished(protocol, method),
                result.accuracy(protocol, method),
                result.transfer(protocol, method),
                strict=True,
            )
            rows += [
                (protocol.name, method, run.seed, float(acc), float(bwt), run.kept_per_task) for run, acc, bwt in done
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
