"""The targets of `ebbing reproduce`: run the paper's figures, tables and claims, and write them into one folder.

The folder then has

    verdicts.md, verdicts.json    every claim: what was run, and the result
    fig1.png .svg .csv .json      figures with their data and provenance
    runs/                         trained networks, from which an interrupted target continues
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from ebbing._files import write_atomic
from ebbing._validate import check_count
from ebbing.paper._output import Verdict, verdict_markdown, write_json
from ebbing.paper.records import read_records

if TYPE_CHECKING:
    from ebbing.paper.method_comparison import Result as ComparisonResult
    from ebbing.paper.method_comparison import Study
    from ebbing.runs import Resources

Progress = Callable[[float], None]


@dataclass(frozen=True)
class Options:
    """The options of the targets that train networks. All other targets run at the paper's scale.

    Attributes:
        scale: "paper" trains as the paper does, for hours; "quick" takes minutes: Figure 2 with two seeds and a quarter
            of the epochs, Table 1 and the ablations with two seeds of four small tasks. The sensitivity study has one
            scale.
        seeds: The number of seeds; None for the default of the scale.
        workers: The number of processes on this machine.
        cluster: The address of a Dask scheduler to train on instead.
        device: The device of PyTorch: "cpu" or "cuda".
        stored: Whether Table 1 and the ablations report what has been trained so far, and train nothing.
        from_records: Whether to make figures, tables and verdicts from the records in the folder, and train nothing.
    """

    scale: Literal["quick", "paper"] = "quick"
    seeds: int | None = None
    workers: int = 2
    cluster: str | None = None
    device: str = "cpu"
    stored: bool = False
    from_records: bool = False

    def __post_init__(self) -> None:
        if self.scale not in ("quick", "paper"):
            raise ValueError(f"scale={self.scale!r}: give 'quick' or 'paper'")
        for name in ("seeds", "workers"):
            if (value := getattr(self, name)) is not None:
                check_count(name, value)

    @property
    def resources(self) -> Resources:
        """Where networks are trained: processes of this machine, or a cluster."""
        from ebbing.runs import Resources  # loads PyTorch

        return Resources(self.workers, self.cluster, self.device)


def _fig1(folder: Path, progress: Progress, options: Options) -> list[Verdict]:
    from ebbing.paper import fig1

    result = fig1.run(progress=progress)
    fig1.save(result, folder)
    return result.verdicts()


def _claims(folder: Path, progress: Progress, options: Options) -> list[Verdict]:
    from ebbing.paper import claims

    result = claims.run(progress=progress)
    content = {"provenance": result.provenance, "verdicts": [asdict(verdict) for verdict in result.verdicts]}
    write_json(folder / "claims.json", content)
    return list(result.verdicts)


def _tables(folder: Path, progress: Progress, options: Options) -> list[Verdict]:
    from ebbing.paper import order_report, order_tables

    result = order_tables.run()
    progress(1.0)
    write_atomic(folder / "tables.txt", order_report.to_text(result) + "\n")
    write_atomic(folder / "tables.json", order_report.to_json(result) + "\n")
    for name, text in order_report.to_csv(result).items():
        write_atomic(folder / f"tables_{name}.csv", text)
    procedure = "exact polynomials in r, positivity proved on (0, 1)"
    return [Verdict(s.name, "task order", procedure, s.proved, s.holds) for s in result.statements]


def _rules(folder: Path, progress: Progress, options: Options) -> list[Verdict]:
    from ebbing.paper import rule_comparison

    result = rule_comparison.run(progress=progress)
    rule_comparison.save(result, folder)
    return result.verdicts()


def _fig2(folder: Path, progress: Progress, options: Options) -> list[Verdict]:
    from ebbing.learn import Sgd
    from ebbing.paper import fig2, fig2_verdicts, recorded_results
    from ebbing.plot.fig2 import save_fig2
    from ebbing.runs import Store

    if options.from_records:
        result = recorded_results.fig2_result(read_records(folder, "fig2"))
    else:
        config = fig2.Config(seeds=options.seeds or 3)
        if options.scale == "quick":
            config = fig2.Config(seeds=options.seeds or 2, method=Sgd(epochs=150))
        result = fig2.run(config, Store(folder / "runs"), progress=progress, resources=options.resources)
    fig2.save(result, folder)
    save_fig2(result, folder)
    return fig2_verdicts.verdicts(result)


def _sensitivity(folder: Path, progress: Progress, options: Options) -> list[Verdict]:
    from ebbing.paper import recorded_results, sensitivity
    from ebbing.runs import Store

    if options.from_records:
        result = recorded_results.sensitivity_result(read_records(folder, "sensitivity"))
    else:
        config = sensitivity.Config(seeds=options.seeds or 3)
        result = sensitivity.run(config, Store(folder / "runs"), progress=progress, resources=options.resources)
    sensitivity.save(result, folder)
    return result.verdicts()


def _table1(folder: Path, progress: Progress, options: Options) -> list[Verdict]:
    from ebbing.paper import table1

    paper_scale = options.scale == "paper" or options.from_records
    study = table1.TABLE1 if paper_scale else table1.TABLE1_QUICK
    return _compare_methods(study, folder, progress, options)


def _ablations(folder: Path, progress: Progress, options: Options) -> list[Verdict]:
    from ebbing.paper import ablations

    paper_scale = options.scale == "paper" or options.from_records
    study = ablations.ABLATIONS if paper_scale else ablations.ABLATIONS_QUICK
    _compare_methods(study, folder, progress, options)
    return []  # ablations make no claims; the differences are in the table


def _frontier(folder: Path, progress: Progress, options: Options) -> list[Verdict]:
    from ebbing.paper import frontier, frontier_report
    from ebbing.plot.frontier import save_frontier

    def report(result: ComparisonResult, folder: Path) -> list[Verdict]:
        frontier_report.save(result, folder)
        save_frontier(result, folder)
        return frontier_report.verdicts(result)

    paper_scale = options.scale == "paper" or options.from_records
    study = frontier.FRONTIER if paper_scale else frontier.FRONTIER_QUICK
    return _compare_methods(study, folder, progress, options, report)


def _report_methods(result: ComparisonResult, folder: Path) -> list[Verdict]:
    from ebbing.paper import method_report
    from ebbing.plot.method_comparison import save_method_comparison

    method_report.save(result, folder)
    save_method_comparison(result, folder)
    return method_report.verdicts(result)


def _compare_methods(
    study: Study,
    folder: Path,
    progress: Progress,
    options: Options,
    report: Callable[[ComparisonResult, Path], list[Verdict]] = _report_methods,
) -> list[Verdict]:
    from ebbing.paper import method_comparison, recorded_results
    from ebbing.runs import Store

    if options.from_records:
        result = recorded_results.comparison_result(study, read_records(folder, study.name))
    else:
        study, store = study.with_seeds(options.seeds), Store(folder / "runs")
        result = method_comparison.run(
            study, store, progress=progress, stored_only=options.stored, resources=options.resources
        )
        if options.stored and not any(run.finished for runs in result.runs.values() for run in runs):
            raise ValueError(
                f"stored: {folder / 'runs'} has no finished run of {study.name}, and an empty table would replace the "
                "one in the folder; train first, or give --from-records"
            )
    return report(result, folder)


TARGETS: dict[str, Callable[[Path, Progress, Options], list[Verdict]]] = {
    "claims": _claims,
    "fig1": _fig1,
    "tables": _tables,
    "rules": _rules,
    "fig2": _fig2,
    "table1": _table1,
    "sensitivity": _sensitivity,
    "ablations": _ablations,
    "frontier": _frontier,
}
"""The function behind each target: it writes files into a folder, reports progress and returns verdicts."""

NETWORKS = {"fig2", "table1", "ablations", "frontier"}
"""The targets that train networks, on a small scale unless `Options.scale` is "paper"."""

RECORDED = ("fig2", "table1", "sensitivity", "ablations", "frontier")
"""The targets that can be made from records."""

ON_REQUEST = ("sensitivity", "ablations", "frontier")
"""The targets that run only when named: they take long, and the paper does not have them."""


def reproduce(
    targets: Sequence[str],
    folder: Path,
    progress: Callable[[str], AbstractContextManager[Progress]],
    options: Options = Options(),  # noqa: B008 (frozen)
) -> list[Verdict]:
    """Run targets and record their verdicts.

    Args:
        targets: Names in `TARGETS`; an empty sequence runs all but those in `ON_REQUEST`, or all of `RECORDED` if
            `options.from_records` is set.
        folder: Where figures, data and verdicts are written. Verdicts of targets that ran before stay.
        progress: A context manager that opens a progress bar with a name.
        options: The options of the targets that train networks.

    Returns:
        The verdicts of the targets that ran.

    Raises:
        ValueError: If a target is unknown, or if an option does not go with it.
    """
    unknown = sorted(set(targets) - set(TARGETS))
    if unknown:
        raise ValueError(f"targets: nothing is called {', '.join(unknown)}; give some of {', '.join(TARGETS)}")
    if options.stored and not (targets and set(targets) <= {"table1", "ablations", "frontier"}):
        raise ValueError("stored: only table1, ablations and frontier report stored runs; name some of them")
    if options.from_records and (others := sorted(set(targets) - set(RECORDED))):
        raise ValueError(
            f"from_records: {', '.join(others)} is computed, not recorded; records are of {', '.join(RECORDED)}"
        )
    if options.from_records and not targets:
        targets = RECORDED
    folder.mkdir(parents=True, exist_ok=True)
    verdicts: list[Verdict] = []
    for name in targets or [name for name in TARGETS if name not in ON_REQUEST]:
        with progress(name) as report:
            new = TARGETS[name](folder, report, options)
        verdicts += new
        _record(name, new, folder)
    return verdicts


def _record(target: str, verdicts: list[Verdict], folder: Path) -> None:
    """Add a target's verdicts to those of the other targets in the folder, or replace its former ones."""
    known = _read_verdicts(folder / "verdicts.json") | {target: verdicts}
    known = {name: known[name] for name in TARGETS if name in known}
    entries = [{"target": name} | asdict(verdict) for name, found in known.items() for verdict in found]
    write_json(folder / "verdicts.json", {"verdicts": entries})
    everything = [verdict for found in known.values() for verdict in found]
    write_atomic(folder / "verdicts.md", "# Verdicts\n\n" + verdict_markdown(everything))


def _read_verdicts(path: Path) -> dict[str, list[Verdict]]:
    """Return the recorded verdicts by target; none if the file is missing, damaged or of another form."""
    known: dict[str, list[Verdict]] = {}
    try:
        for entry in json.loads(path.read_text())["verdicts"]:
            known.setdefault(entry.pop("target"), []).append(Verdict(**entry))
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return {}
    return known
