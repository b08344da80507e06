"""The report of a comparison of methods: tables, verdicts with statistics, and files with every number."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ebbing._files import write_atomic
from ebbing.paper._decisions import decide, describe_power, format_seeds
from ebbing.paper._output import Verdict, write_csv, write_json
from ebbing.paper._statistics import PairedDifferences
from ebbing.paper.method_comparison import Comparison, Result, format_mean
from ebbing.paper.method_study import Protocol
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
        "ACC and BWT in percent: mean ± standard error over seeds. Differences have their 95% interval in brackets and "
        "the p of a paired t-test, not corrected for the number of comparisons (the verdicts are). MB per task: the "
        "memory that each task adds besides the network, on average over all tasks but the last, after which nothing "
        "needs to be protected. Every cell comes from runs."
    )
    parts = [f"# {result.study.title}\n\n{note}\n"]
    for protocol in result.study.protocols:
        title = f"## {protocol.title}\n\n"
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
        return [name, "not run", "", "", *paper]
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

    The pairs of a protocol are corrected together for their number, and so are its comparisons with the paper.

    Args:
        result: The runs of the study.

    Returns:
        Two verdicts (ACC and BWT) for each pair with at least two common seeds, two for each of TRGP+ and TRGP free
        where the paper prints values, and two for each pair whose difference the paper prints.
    """
    found = []
    for protocol in result.study.protocols:
        comparisons = [
            c for c in result.comparisons(protocol) if len(c.accuracy.differences) > 1
        ]  # one decides nothing
        pairs = []
        for c in comparisons:
            for verb, by in (("is more accurate than", c.accuracy), ("forgets less than", c.backward_transfer)):
                pairs.append(_Claim(f"{c.first} {verb} {c.second}", by, _planned(protocol, c.first, c.second)))
        found += _decided(pairs, result.study.title, protocol)
        paper = [*_reached_values(result, protocol), *_reached_gains(protocol, comparisons)]
        found += _decided(paper, result.study.title, protocol)
    return found


@dataclass(frozen=True)
class _Claim:
    """A claim with what the seeds say about it.

    Attributes:
        claim: The claim, as in `Verdict`.
        differences: One for each seed, positive where the claim is right.
        planned: The number of seeds that are planned.
        words: What to say before the differences.
    """

    claim: str
    differences: PairedDifferences
    planned: int
    words: str = ""


def _decided(claims: list[_Claim], title: str, protocol: Protocol) -> list[Verdict]:
    """Test claims together."""
    found = []
    scale = protocol.reduction or "the published protocol"
    for claim, decision in zip(claims, decide([claim.differences for claim in claims]), strict=True):
        seeds = format_seeds(len(claim.differences.differences), claim.planned)
        power = describe_power(claim.differences, claim.planned, len(claims))
        procedure = f"{protocol.title} ({scale}), {seeds}" + (f"; {power}" if power else "")
        text = claim.words + decision.to_text()
        if decision.holds is None and (interval := claim.differences.interval) is not None:
            text += f"; these seeds exclude more than {interval[1]:+.2f} and less than {interval[0]:+.2f}"
        found.append(Verdict(claim.claim, title, procedure, text, decision.holds, decision.bounds()))
    return found


def _planned(protocol: Protocol, *names: str) -> int:
    return min(len(protocol.seed_numbers(name)) for name in names)


def _reached_values(result: Result, protocol: Protocol) -> list[_Claim]:
    """Whether TRGP+ and TRGP free reach the values that the paper prints for TRGP+."""
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
            found.append(
                _Claim(claim, beyond, _planned(protocol, name), f"{format_mean(values)}; beyond the paper's: ")
            )
    return found


def _reached_gains(protocol: Protocol, comparisons: list[Comparison]) -> list[_Claim]:
    """Whether the differences between two methods are as large as those that the paper prints."""
    found = []
    for c in comparisons:
        if c.first not in protocol.paper_values or c.second not in protocol.paper_values:
            continue
        printed = zip(protocol.paper_values[c.first], protocol.paper_values[c.second], strict=True)
        gains = [round(one - other, 2) for one, other in printed]
        for what, by, gain in zip(("ACC", "BWT"), (c.accuracy, c.backward_transfer), gains, strict=True):
            if gain != 0:  # the same method in another form
                beyond = PairedDifferences(tuple(difference - gain for difference in by.differences))
                claim = f"{c.first} gains as much {what} over {c.second} as the paper prints, {gain:+.2f}"
                found.append(_Claim(claim, beyond, _planned(protocol, c.first, c.second), "beyond the paper's: "))
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
