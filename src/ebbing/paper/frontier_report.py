"""The report on accuracy against memory: a table, where each method is best, and verdicts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from ebbing.paper import method_report
from ebbing.paper._decisions import describe_power, format_seeds
from ebbing.paper._output import Verdict
from ebbing.paper.frontier_points import PLAIN, PROJECTION, Duel, Point, duels, family, pareto, points
from ebbing.paper.method_comparison import Result, format_mean
from ebbing.paper.method_study import Protocol


def markdown(result: Result) -> str:
    """Return the report in Markdown.

    Args:
        result: The runs of the study.

    Returns:
        For each protocol where each method is best, a table of all settings, and the runs that are missing.
    """
    note = (
        "ACC in percent: mean ± standard error over seeds. MB per task: the memory that each task adds besides the "
        "network, on average over all tasks but the last. MB in all: the network and what all tasks but the last add. "
        "A setting is on the frontier if no other has as little memory per task and a higher mean ACC. Plainer methods "
        "are fine-tuning, copies of the network, copies of narrower networks, and low-rank updates. Every number comes "
        "from runs. In the figure, the threshold, width or rank stands beside a point; a point without one has the "
        "paper's thresholds. Settings that are much less accurate than most are outside the figure."
    )
    parts = [f"# {result.study.title}\n\n{note}\n\n![ACC against memory per task]({result.study.name}.png)\n"]
    for protocol in result.study.protocols:
        found = points(result, protocol)
        scale = f"Smaller than published: {protocol.reduction}." if protocol.reduction else "The published protocol."
        missing = [name for name in protocol.names if name not in {point.name for point in found}]
        lines = [f"## {protocol.title}\n", scale, ""]
        lines += [*(f"- {sentence}" for sentence in findings(found)), "", *_table(found), ""] if found else []
        lines += [f"Not run: {'; '.join(missing)}.\n"] if missing else []
        parts.append("\n".join(lines))
    return "\n".join(parts)


def _table(found: Sequence[Point]) -> list[str]:
    front = {point.name for point in pareto(found)}
    lines = ["| setting | MB per task | MB in all | ACC | on the frontier |", "|---|---|---|---|---|"]
    for point in found:
        accuracy = format_mean([*point.accuracy.values()])
        cells = [point.name, f"{point.memory:.3f}", f"{point.total:.2f}", accuracy, "yes" * (point.name in front)]
        lines.append(f"| {' | '.join(cells)} |")
    return lines


def findings(found: Sequence[Point]) -> list[str]:
    """Say in sentences where each method is best.

    Args:
        found: The points of a protocol.

    Returns:
        One sentence on the frontier, one for each family of gradient projection, and one on the memory in all.
    """
    front = pareto(found)
    steps = [f"{point.name} from {_megabytes(point.memory)} ({point.mean:.2f})" for point in front]
    sentences = [f"The most accurate at each memory per task: {'; '.join(steps)}."]
    fought = duels(found)
    by_family = {name: [duel for duel in fought if family(duel.point.name) == name] for name in PROJECTION}
    sentences += [_judge(name, mine) for name, mine in by_family.items() if any(duel.rival for duel in mine)]
    if alone := [name for name, mine in by_family.items() if mine and not any(duel.rival for duel in mine)]:
        sentences.append(f"No plainer method was run that needs as little memory per task as {', '.join(alone)}.")
    names = {family(point.name) for point in pareto(found, total=True)}
    kept = [name for name in (*PLAIN, *PROJECTION) if name in names]
    sentences.append(f"Counting memory in all instead of per task, the frontier consists of {', '.join(kept)}.")
    return sentences


def _megabytes(memory: float) -> str:
    """Three digits of a memory in megabytes; 0 for the few bytes of a task's name."""
    return "0 MB" if memory < 1e-4 else f"{memory:.3g} MB"


def _judge(name: str, mine: Sequence[Duel]) -> str:
    """Say in how many settings a family wins and loses against plainer methods with no more memory."""
    fought = [duel for duel in mine if duel.rival is not None]
    counts = {won: sum(duel.won is won for duel in fought) for won in (True, False, None)}
    words = {True: "more accurate", False: "less accurate", None: "undecided"}
    said = [", ".join(f"{words[won]} in {count}" for won, count in counts.items() if count)]
    gains = [duel.gain for duel in fought if duel.gain is not None]
    ends = dict.fromkeys(f"{gain:+.2f}" for gain in (min(gains), max(gains))) if gains else {}
    said += [f"the difference is {' to '.join(ends)} points"] if gains else []
    alone = len(mine) - len(fought)
    said += [f"no plainer method as small as {alone} of them was run"] if alone else []
    return (
        f"{name}, {_count(len(mine))}, against the most accurate plainer method that needs no more memory per task: "
        f"{'; '.join(said)}."
    )


def _count(settings: int) -> str:
    return f"{settings} setting{'s' * (settings > 1)}"


def verdicts(result: Result) -> list[Verdict]:
    """Return the verdicts of the study.

    Args:
        result: The runs of the study.

    Returns:
        For each protocol and family of gradient projection, whether it is worth its memory; and whether a plainer
        method wins everywhere.
    """
    made = []
    for protocol in result.study.protocols:
        fought = duels(points(result, protocol))
        if not fought or not any(family(point.name) in PLAIN for point in points(result, protocol)):
            continue
        for name in PROJECTION:
            mine = [duel for duel in fought if family(duel.point.name) == name]
            made += (
                [_verdict(result, protocol, f"{name} is worth its memory", mine, won=_any_won(mine))] if mine else []
            )
        lost = _any_won(fought)
        claim = "a plainer method wins against gradient projection everywhere"
        made.append(_verdict(result, protocol, claim, fought, won=None if lost is None else not lost, for_plain=True))
    return made


def _any_won(fought: Sequence[Duel]) -> bool | None:
    """Return whether gradient projection wins in some setting (True), loses in all (False), or neither."""
    outcomes = [duel.won for duel in fought]
    return True if True in outcomes else None if None in outcomes else False


def _verdict(
    result: Result,
    protocol: Protocol,
    claim: str,
    fought: Sequence[Duel],
    *,
    won: bool | None,
    for_plain: bool = False,
) -> Verdict:
    """The verdict on a claim; `for_plain` if it says that plainer methods are better."""
    # A setting that wins decides, even if another one leads by more with fewer seeds.
    best = max(fought, key=lambda duel: (duel.won is True, -np.inf if duel.gain is None else duel.gain))
    text, power, bounds = "all plainer methods that were run need more memory", "", ""
    if best.rival is not None and best.decision is not None:
        pair = " minus ".join(f"{point.name} ({_megabytes(point.memory)})" for point in (best.point, best.rival))
        text = f"most favorable: {pair}: {best.decision.to_text()}"
        power = describe_power(best.decision.differences, protocol.seeds, best.decision.comparisons)
        sides = (best.rival, best.point) if for_plain else (best.point, best.rival)
        bounds = replace(best.decision, differences=sides[0].minus(sides[1])).bounds()
    procedure = (
        f"{protocol.title}, {_seeds(fought, protocol.seeds)}, {_count(len(fought))} against the best of "
        "fine-tuning, copies, narrower copies and low-rank updates with no more memory per task"
    )
    procedure += f"; {power}" if power else ""
    return Verdict(claim, result.study.title, procedure, text, won, bounds)


def _seeds(fought: Sequence[Duel], planned: int) -> str:
    """Say how many seeds the settings have."""
    counts = sorted({len(duel.point.accuracy) for duel in fought})
    if len(counts) == 1:
        return format_seeds(counts[0], planned)
    of_planned = f" of {planned} planned" if counts[0] < planned else ""
    return f"{counts[0]} to {counts[-1]}{of_planned} seeds"


def save(result: Result, folder: Path) -> None:
    """Write the study's name with .md (the report), .csv (ACC, BWT and memory by run) and .json (accuracy matrices).

    Args:
        result: The runs of the study.
        folder: The folder of the files.
    """
    method_report.save(result, folder, text=markdown(result))
