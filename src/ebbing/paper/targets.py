"""The targets of `ebbing reproduce`: each runs a figure, a table or a study, and writes it into a folder."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from ebbing._files import write_atomic
from ebbing._progress import Progress
from ebbing._validate import check_count
from ebbing.paper._output import Verdict, write_json
from ebbing.paper.records import Record, RecordError, read_records

if TYPE_CHECKING:
    from ebbing.paper.method_comparison import Result as ComparisonResult
    from ebbing.paper.method_study import Study
    from ebbing.runs import Resources


@dataclass(frozen=True)
class Options:
    """The options of the targets that train networks. All other targets run at the paper's scale.

    Attributes:
        scale: "paper" trains as the paper does, for hours, and adds a record of every finished run to the folder;
            "quick" takes minutes: Figure 2 with two seeds and 30 epochs of small batches, Table 1 and the ablations
            with two seeds of four small tasks, the study of forecasts on two small tables. The sensitivity study has
            one scale, the paper's.
        seeds: The number of seeds; None for the default of the scale.
        workers: The number of processes on this machine.
        cluster: The address of a Dask scheduler to train on instead.
        device: The device of PyTorch: "cpu" or "cuda".
        from_records: Whether to make figures, tables and verdicts from the records in the folder, and train nothing.
            At paper scale they are made from the records as well, after the runs that are missing.
    """

    scale: Literal["quick", "paper"] = "quick"
    seeds: int | None = None
    workers: int = 2
    cluster: str | None = None
    device: str = "cpu"
    from_records: bool = False

    def __post_init__(self) -> None:
        if self.scale not in ("quick", "paper"):
            raise ValueError(f"scale={self.scale!r}: give 'quick' or 'paper'")
        for name in ("seeds", "workers"):
            if (value := getattr(self, name)) is not None:
                check_count(name, value)

    @property
    def at_paper_scale(self) -> bool:
        """Whether networks are trained as the paper does, or their records are read."""
        return self.scale == "paper" or self.from_records

    @property
    def resources(self) -> Resources:
        """Where networks are trained: processes of this machine, or a cluster."""
        from ebbing.runs import Resources  # loads PyTorch

        return Resources(self.workers, self.cluster, self.device)


def _fig1(folder: Path, progress: Progress, options: Options) -> list[Verdict]:
    from ebbing.paper import fig1
    from ebbing.paper.figures.fig1 import save_fig1

    result = fig1.run(progress=progress)
    fig1.save(result, folder)
    save_fig1(result, folder)
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
    return [Verdict(s.name, order_report.place_of(s.name), procedure, s.proved, s.holds) for s in result.statements]


def _rules(folder: Path, progress: Progress, options: Options) -> list[Verdict]:
    from ebbing.paper import rule_comparison, rule_report
    from ebbing.paper.figures.rule_comparison import save_rule_comparison

    result = rule_comparison.run(progress=progress)
    rule_report.save(result, folder)
    save_rule_comparison(result, folder)
    return result.verdicts()


def _fig2(folder: Path, progress: Progress, options: Options) -> list[Verdict]:
    from ebbing.learn import Sgd
    from ebbing.paper import fig2, fig2_verdicts, recorded_results
    from ebbing.paper.figures.fig2 import save_fig2
    from ebbing.runs import Store

    if options.at_paper_scale:
        result = recorded_results.fig2_result(_records("fig2", folder, progress, options))
    else:
        config = fig2.Config(seeds=options.seeds or 2, method=Sgd(epochs=30, batch_size=25))
        result = fig2.run(config, Store(folder / "runs"), progress=progress, resources=options.resources)
    fig2.save(result, folder)
    fig2_verdicts.save_predictions(result, folder)
    save_fig2(result, folder)
    return fig2_verdicts.verdicts(result)


def _sensitivity(folder: Path, progress: Progress, options: Options) -> list[Verdict]:
    from ebbing.paper import recorded_results, sensitivity
    from ebbing.paper.figures.sensitivity import save_sensitivity

    result = recorded_results.sensitivity_result(_records("sensitivity", folder, progress, options))
    sensitivity.save(result, folder)
    save_sensitivity(result, folder)
    return result.verdicts()


def _table1(folder: Path, progress: Progress, options: Options) -> list[Verdict]:
    from ebbing.paper import table1

    study = table1.TABLE1 if options.at_paper_scale else table1.TABLE1_QUICK
    return _compare_methods(study, folder, progress, options)


def _ablations(folder: Path, progress: Progress, options: Options) -> list[Verdict]:
    from ebbing.paper import ablations

    study = ablations.ABLATIONS if options.at_paper_scale else ablations.ABLATIONS_QUICK
    _compare_methods(study, folder, progress, options)
    return []  # ablations make no claims; the differences are in the table


def _frontier(folder: Path, progress: Progress, options: Options) -> list[Verdict]:
    from ebbing.paper import frontier, frontier_report
    from ebbing.paper.figures.frontier import save_frontier

    def report(result: ComparisonResult, folder: Path) -> list[Verdict]:
        frontier_report.save(result, folder)
        save_frontier(result, folder)
        return frontier_report.verdicts(result)

    study = frontier.FRONTIER if options.at_paper_scale else frontier.FRONTIER_QUICK
    return _compare_methods(study, folder, progress, options, report)


def _forecast(folder: Path, progress: Progress, options: Options) -> list[Verdict]:
    from ebbing.paper import recorded_results
    from ebbing.paper.figures.forecast_study import save_forecast_study
    from ebbing.paper.forecasts.predictions import record_forecasts
    from ebbing.paper.forecasts.task_sets import QUICK, task_sets

    planned = (
        [] if options.from_records else [one for one in task_sets() if options.at_paper_scale or one.name in QUICK]
    )
    for k, one in enumerate(planned):

        def report(share: float, k: int = k) -> None:
            progress((k + share) / len(planned))

        record_forecasts([one], folder)  # before the set is trained, so that nobody can fit the method to it
        _records("forecast", folder, report, options, [one.name])
    study = recorded_results.forecast_study(_records("forecast", folder, progress, options, []))
    study.save(folder)
    save_forecast_study(study, folder)
    return study.verdicts()


def _report_methods(result: ComparisonResult, folder: Path) -> list[Verdict]:
    from ebbing.paper import method_report
    from ebbing.paper.figures.method_comparison import save_method_comparison

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

    if options.at_paper_scale:
        result = recorded_results.comparison_result(study, _records(study.name, folder, progress, options))
    else:
        study, store = study.with_seeds(options.seeds), Store(folder / "runs")
        result = method_comparison.run(study, store, progress=progress, resources=options.resources)
    return report(result, folder)


def _records(
    target: str, folder: Path, progress: Progress, options: Options, only: Sequence[str] | None = None
) -> list[Record]:
    """Return all records of a target, after the runs (or only some) that are missing, unless nothing is trained."""
    if not options.from_records:
        from ebbing.paper.planned_runs import planned_runs
        from ebbing.paper.recording import record_runs

        planned = [runs for runs in planned_runs(target, options.seeds) if only is None or runs.name in only]
        record_runs(planned, folder, resources=options.resources, progress=progress)
    if not (records := read_records(folder, target)):
        raise RecordError(
            f"{folder}: no run of {target} is recorded there; name the folder of records by --out, or train: "
            f"ebbing reproduce {target} --scale paper"
        )
    return records


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
    "forecast": _forecast,
}
"""The function behind each target: it writes files into a folder, reports progress and returns verdicts."""

TITLES = {
    "claims": "Theorems, lemmas, propositions and corollaries",
    "fig1": "Figure 1: theory and simulation",
    "tables": "Task order: exact polynomials and certificates",
    "rules": "Simple rules for the order of tasks",
    "fig2": "Figure 2: networks on MNIST",
    "table1": "Table 1: methods that protect",
    "sensitivity": "Figure 2 under other choices",
    "ablations": "Ablations of the methods",
    "frontier": "Accuracy against memory per task",
    "forecast": "Forecasts against training",
}
"""The title of each target in tables of verdicts and in the report."""

NETWORKS = {"fig2", "table1", "ablations", "frontier"}
"""The targets that train networks, on a small scale unless `Options.scale` is "paper"."""

RECORDED = ("fig2", "table1", "sensitivity", "ablations", "frontier", "forecast")
"""The targets that can be made from records."""

ON_REQUEST = ("sensitivity", "ablations", "frontier", "forecast")
"""The targets that run only when named: they take long, and the paper does not have them."""
