"""Table 1 as it came out: the table, verdicts with statistics, and every number in files."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ebbing.paper.record import Verdict, write_atomically, write_csv, write_json
from ebbing.paper.table1 import PAPER, Comparison, Protocol, Result, spread
from ebbing.runs.stream import StreamRun


def markdown(result: Result) -> str:
    """One table for each protocol, the paper's numbers beside ours, and the comparisons seed by seed."""
    parts = ["# Table 1\n\nACC and BWT in percent: mean ± standard error over seeds. Every cell is what runs gave.\n"]
    for protocol in result.config.protocols:
        title = f"## {protocol.name}\n\n"
        title += f"Less than published: {protocol.reduced}.\n" if protocol.reduced else "The published protocol.\n"
        lines = ["| method | ACC | BWT | paper's ACC | paper's BWT |", "|---|---|---|---|---|"]
        lines += ["| " + " | ".join(_row(result, protocol, method)) + " |" for method in protocol.methods]
        pairs = result.comparisons(protocol)
        compared = ["| over the same seeds | difference in ACC | difference in BWT |", "|---|---|---|"]
        compared += [f"| {_name(c)} | {c.text('accuracy')} | {c.text('transfer')} |" for c in pairs]
        parts.append("\n".join([title, *lines, "", *(compared if pairs else []), ""]))
    return "\n".join(parts)


def _row(result: Result, protocol: Protocol, method: str) -> list[str]:
    # The paper's numbers come from code that does what "as published" does.
    printed = PAPER[protocol.benchmark].get(method.removesuffix(" as published")) if not protocol.reduced else None
    paper = [f"{value:.2f}" for value in printed] if printed else ["", ""]
    accuracy, transfer = result.accuracy(protocol, method), result.transfer(protocol, method)
    unfinished = [run for run in result.runs[protocol.name, method] if not run.finished]
    note = f"; not finished: {_progress(unfinished)}" if unfinished else ""
    if not len(accuracy):
        return [method, f"not finished: {_progress(unfinished)}", "", *paper]
    return [method, spread(accuracy) + note, spread(transfer), *paper]


def _progress(runs: list[StreamRun]) -> str:
    return ", ".join(f"seed {run.seed} at {max(run.learnt, 0)} of {len(run.tasks)} tasks" for run in runs)


def _name(comparison: Comparison) -> str:
    return f"{comparison.better} minus {comparison.worse}"


def verdicts(result: Result) -> list[Verdict]:
    """The paper's claims on Table 1, on what has been finished."""
    found = []
    for protocol in result.config.protocols:
        scale = protocol.reduced or "the published protocol"
        for c in result.comparisons(protocol):
            seeds = f"{protocol.name} ({scale}), {len(c.accuracy)} seed{'s' * (len(c.accuracy) > 1)}"
            if c.better.split(maxsplit=1)[0] == "TRGP+":
                claims = (("is more accurate than", "accuracy"), ("forgets less than", "transfer"))
            else:
                claims = (("is more accurate than", "accuracy"),)
            for verb, what in claims:
                claim = f"{c.better} {verb} {c.worse}"
                found.append(Verdict(claim, "Table 1", seeds, c.text(what), c.supported(what)))
        if not protocol.reduced:
            found += _reaches(result, protocol)
    return found


def _reaches(result: Result, protocol: Protocol) -> list[Verdict]:
    """Whether TRGP+ reaches what the paper prints."""
    if "TRGP+" not in protocol.methods or not len(accuracy := result.accuracy(protocol, "TRGP+")):
        return []
    ACC, BWT = PAPER[protocol.benchmark]["TRGP+"]
    ran = f"{protocol.name}, {len(accuracy)} seed{'s' * (len(accuracy) > 1)}"
    transfer = result.transfer(protocol, "TRGP+")
    return [
        Verdict(
            f"TRGP+ reaches the paper's ACC of {ACC:.2f}",
            "Table 1",
            ran,
            spread(accuracy),
            bool(accuracy.mean() >= ACC),
        ),
        Verdict(
            f"TRGP+ reaches the paper's BWT of {BWT:.2f}",
            "Table 1",
            ran,
            spread(transfer),
            bool(transfer.mean() >= BWT),
        ),
    ]


def save(result: Result, folder: Path) -> None:
    """table1.md, table1.csv (ACC and BWT by run), table1.json (every accuracy matrix)."""
    write_atomically(folder / "table1.md", markdown(result))
    rows = []
    matrices = []
    for protocol in result.config.protocols:
        for method in protocol.methods:
            done = zip(
                result.finished(protocol, method),
                result.accuracy(protocol, method),
                result.transfer(protocol, method),
                strict=True,
            )
            rows += [(protocol.name, method, run.seed, float(acc), float(bwt)) for run, acc, bwt in done]
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
    write_csv(folder / "table1.csv", ("protocol", "method", "seed", "ACC", "BWT"), rows)
    write_json(folder / "table1.json", {"provenance": result.provenance, "runs": matrices})
