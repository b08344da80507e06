"""`ebbing reproduce`: runs the paper's figures, tables and claims, and writes everything into one folder.

results/
  verdicts.md, verdicts.json    every claim: what was run, what came out
  fig1.png .svg .csv .json      figures with their data and provenance
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict
from pathlib import Path

from ebbing.paper import claims, fig1, rules, tables
from ebbing.paper.record import Verdict, verdict_markdown, write_atomically, write_json

Progress = Callable[[float], None]


def _fig1(folder: Path, progress: Progress) -> list[Verdict]:
    result = fig1.run(progress=progress)
    fig1.save(result, folder)
    return result.verdicts()


def _claims(folder: Path, progress: Progress) -> list[Verdict]:
    result = claims.run(progress=progress)
    content = {"provenance": result.provenance, "verdicts": [asdict(verdict) for verdict in result.verdicts]}
    write_json(folder / "claims.json", content)
    return list(result.verdicts)


def _tables(folder: Path, progress: Progress) -> list[Verdict]:
    result = tables.run()
    progress(1.0)
    write_atomically(folder / "tables.txt", tables.to_text(result) + "\n")
    write_atomically(folder / "tables.json", tables.to_json(result) + "\n")
    for name, text in tables.to_csv(result).items():
        write_atomically(folder / f"tables_{name}.csv", text)
    ran = "exact polynomials in r, positivity proved on (0, 1)"
    return [Verdict(s.name, "task order", ran, s.proved, s.holds) for s in result.statements]


def _rules(folder: Path, progress: Progress) -> list[Verdict]:
    result = rules.run(progress=progress)
    rules.save(result, folder)
    return result.verdicts()


TARGETS: dict[str, Callable[[Path, Progress], list[Verdict]]] = {
    "claims": _claims,
    "fig1": _fig1,
    "tables": _tables,
    "rules": _rules,
}


def reproduce(
    targets: Sequence[str], folder: Path, progress: Callable[[str], AbstractContextManager[Progress]]
) -> list[Verdict]:
    """Run some or (if none is named) all targets; `progress` opens a progress bar with the target's name."""
    unknown = sorted(set(targets) - set(TARGETS))
    if unknown:
        raise ValueError(f"nothing called {', '.join(unknown)} to reproduce; there is {', '.join(TARGETS)}")
    folder.mkdir(parents=True, exist_ok=True)
    verdicts: list[Verdict] = []
    for name in targets or TARGETS:
        with progress(name) as report:
            verdicts += TARGETS[name](folder, report)
    write_json(folder / "verdicts.json", {"verdicts": [asdict(verdict) for verdict in verdicts]})
    write_atomically(folder / "verdicts.md", "# Verdicts\n\n" + verdict_markdown(verdicts))
    return verdicts
