"""`ebbing reproduce`: runs the paper's figures, tables and claims, and writes everything into one folder.

results/
  verdicts.md, verdicts.json    every claim: what was run, what came out
  fig1.png .svg .csv .json      figures with their data and provenance
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from ebbing._files import write_atomic
from ebbing._validate import count
from ebbing.paper import claims, fig1, order_tables, rule_comparison
from ebbing.paper._output import Verdict, verdict_markdown, write_json

if TYPE_CHECKING:
    from ebbing.paper.method_comparison import Study
    from ebbing.runs import Resources

Progress = Callable[[float], None]


@dataclass(frozen=True)
class Options:
    """How much of the networks' training to do, and where. Everything else always runs at the paper's scale.

    scale: "paper" trains as the paper does (hours); "quick" takes minutes: Figure 2 with two seeds and a quarter of the
    epochs, Table 1 and the ablations with two seeds of four small tasks. The sensitivity of Figure 2 has one scale.
    """

    scale: Literal["quick", "paper"] = "quick"
    seeds: int | None = None
    workers: int = 2
    cluster: str | None = None
    device: str = "cpu"
    stored: bool = False  # Table 1, ablations: report what has been trained so far, and train nothing

    def __post_init__(self) -> None:
        if self.scale not in ("quick", "paper"):
            raise ValueError(f"scale={self.scale!r}: give quick or paper")
        for name in ("seeds", "workers"):
            if (value := getattr(self, name)) is not None:
                count(name, value)

    @property
    def resources(self) -> Resources:
        """Who trains."""
        from ebbing.runs import Resources  # which loads PyTorch

        return Resources(self.workers, self.cluster, self.device)


def _fig1(folder: Path, progress: Progress, options: Options) -> list[Verdict]:
    result = fig1.run(progress=progress)
    fig1.save(result, folder)
    return result.verdicts()


def _claims(folder: Path, progress: Progress, options: Options) -> list[Verdict]:
    result = claims.run(progress=progress)
    content = {"provenance": result.provenance, "verdicts": [asdict(verdict) for verdict in result.verdicts]}
    write_json(folder / "claims.json", content)
    return list(result.verdicts)


def _tables(folder: Path, progress: Progress, options: Options) -> list[Verdict]:
    result = order_tables.run()
    progress(1.0)
    write_atomic(folder / "tables.txt", order_tables.to_text(result) + "\n")
    write_atomic(folder / "tables.json", order_tables.to_json(result) + "\n")
    for name, text in order_tables.to_csv(result).items():
        write_atomic(folder / f"tables_{name}.csv", text)
    ran = "exact polynomials in r, positivity proved on (0, 1)"
    return [Verdict(s.name, "task order", ran, s.proved, s.holds) for s in result.statements]


def _rules(folder: Path, progress: Progress, options: Options) -> list[Verdict]:
    result = rule_comparison.run(progress=progress)
    rule_comparison.save(result, folder)
    return result.verdicts()


def _fig2(folder: Path, progress: Progress, options: Options) -> list[Verdict]:
    from ebbing.learn import Sgd  # PyTorch is loaded for this target only
    from ebbing.paper import fig2, fig2_verdicts
    from ebbing.plot import fig2 as fig2_plot
    from ebbing.runs import Store

    config = fig2.Config(seeds=options.seeds or 3)
    if options.scale == "quick":
        config = fig2.Config(seeds=options.seeds or 2, method=Sgd(epochs=150))
    result = fig2.run(config, Store(folder / "runs"), progress=progress, resources=options.resources)
    fig2.save(result, folder)
    fig2_plot.save(result, folder)
    return fig2_verdicts.verdicts(result)


def _sensitivity(folder: Path, progress: Progress, options: Options) -> list[Verdict]:
    from ebbing.paper import sensitivity
    from ebbing.runs import Store

    config = sensitivity.Config(seeds=options.seeds or 3)
    result = sensitivity.run(config, Store(folder / "runs"), progress=progress, resources=options.resources)
    sensitivity.save(result, folder)
    return result.verdicts()


def _table1(folder: Path, progress: Progress, options: Options) -> list[Verdict]:
    from ebbing.paper import table1

    return _compared(table1.TABLE1 if options.scale == "paper" else table1.TABLE1_QUICK, folder, progress, options)


def _ablations(folder: Path, progress: Progress, options: Options) -> list[Verdict]:
    from ebbing.paper import ablations

    _compared(ablations.ABLATIONS if options.scale == "paper" else ablations.ABLATIONS_QUICK, folder, progress, options)
    return []  # nobody claims anything of them: the differences are in the table


def _compared(study: Study, folder: Path, progress: Progress, options: Options) -> list[Verdict]:
    from ebbing.paper import method_comparison, method_report
    from ebbing.plot import method_comparison as method_plot
    from ebbing.runs import Store

    study, store = study.with_seeds(options.seeds), Store(folder / "runs")
    result = method_comparison.run(
        study, store, progress=progress, stored_only=options.stored, resources=options.resources
    )
    method_report.save(result, folder)
    method_plot.save(result, folder)
    return method_report.verdicts(result)


TARGETS: dict[str, Callable[[Path, Progress, Options], list[Verdict]]] = {
    "claims": _claims,
    "fig1": _fig1,
    "tables": _tables,
    "rules": _rules,
    "fig2": _fig2,
    "table1": _table1,
    "sensitivity": _sensitivity,
    "ablations": _ablations,
}

NETWORKS = {"fig2", "table1", "ablations"}
"""What is done on a small scale unless asked for more."""

ON_REQUEST = ("sensitivity", "ablations")
"""Not of the paper, and long: run only when named."""


def reproduce(
    targets: Sequence[str],
    folder: Path,
    progress: Callable[[str], AbstractContextManager[Progress]],
    options: Options = Options(),  # noqa: B008 (frozen)
) -> list[Verdict]:
    """Run some targets or, if none is named, all of the paper's; `progress` opens a progress bar with a name."""
    unknown = sorted(set(targets) - set(TARGETS))
    if unknown:
        raise ValueError(f"nothing called {', '.join(unknown)} to reproduce; there is {', '.join(TARGETS)}")
    if options.stored and not (targets and set(targets) <= {"table1", "ablations"}):
        raise ValueError("stored: only table1 and ablations report what is trained so far; name one of them or both")
    folder.mkdir(parents=True, exist_ok=True)
    verdicts: list[Verdict] = []
    for name in targets or [name for name in TARGETS if name not in ON_REQUEST]:
        with progress(name) as report:
            new = TARGETS[name](folder, report, options)
        verdicts += new
        _record(name, new, folder)
    return verdicts


def _record(target: str, verdicts: list[Verdict], folder: Path) -> None:
    """Put a target's verdicts beside those of the others that were run into this folder before."""
    known = _known(folder / "verdicts.json") | {target: verdicts}
    known = {name: known[name] for name in TARGETS if name in known}
    entries = [{"target": name} | asdict(verdict) for name, found in known.items() for verdict in found]
    write_json(folder / "verdicts.json", {"verdicts": entries})
    everything = [verdict for found in known.values() for verdict in found]
    write_atomic(folder / "verdicts.md", "# Verdicts\n\n" + verdict_markdown(everything))


def _known(path: Path) -> dict[str, list[Verdict]]:
    """Verdicts by target; none if the file is missing, damaged or of another form: they can be made again."""
    known: dict[str, list[Verdict]] = {}
    try:
        for entry in json.loads(path.read_text())["verdicts"]:
            known.setdefault(entry.pop("target"), []).append(Verdict(**entry))
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return {}
    return known
