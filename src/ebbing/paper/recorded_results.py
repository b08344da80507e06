"""Results of the studies of networks, made from records alone: nothing is trained, no store is needed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ebbing.paper import fig2, sensitivity
from ebbing.paper.forecasts.report import Study as ForecastStudy
from ebbing.paper.method_comparison import Result as ComparisonResult
from ebbing.paper.method_study import Study
from ebbing.paper.records import Record, RecordError
from ebbing.runs import StreamRun


def fig2_result(records: Sequence[Record]) -> fig2.Result:
    """Return the result of Figure 2 from its records.

    Args:
        records: One record for each seed, at least one.

    Returns:
        The error matrices of all sequences and seeds.
    """
    ordered = _by_seed(records, "fig2")
    matrices, fits = (_stack(ordered, key) for key in ("matrices", "training_errors"))
    seeds = tuple(record.seed for record in ordered)
    return fig2.Result(fig2.Config(seeds=len(ordered)), matrices, fits, _provenance(ordered), seeds)


def sensitivity_result(records: Sequence[Record]) -> sensitivity.Result:
    """Return the result of the sensitivity study from its records.

    Args:
        records: For each variant, one record for each seed, at least one.

    Returns:
        The error matrices of all variants, sequences and seeds.
    """
    config = sensitivity.Config()
    ordered = {
        name: _by_seed([record for record in records if record.name == name], f"sensitivity, {name}")
        for name in config.variants
    }
    matrices, fits = (
        {name: _stack(found, key) for name, found in ordered.items()} for key in ("matrices", "training_errors")
    )
    seeds = {name: tuple(record.seed for record in found) for name, found in ordered.items()}
    return sensitivity.Result(config, matrices, fits, _provenance(list(records)), seeds)


def comparison_result(study: Study, records: Sequence[Record]) -> ComparisonResult:
    """Return the result of a comparison of methods from its records.

    Args:
        study: The study, which says which runs belong to which protocol.
        records: Records of its runs, any number of seeds for each.

    Returns:
        The recorded runs of the study.

    Raises:
        RecordError: If a record belongs to no protocol and method of the study.
    """
    runs: dict[tuple[str, str], list[StreamRun]] = {}
    names = {f"{p.name} / {name}": (p, name) for p in study.protocols for name in p.names}
    if unknown := sorted({record.name for record in records} - set(names)):
        raise RecordError(f"{study.name}: the study has no run called {unknown[0]!r}")
    for label, (protocol, name) in names.items():
        found = sorted((record for record in records if record.name == label), key=lambda record: record.seed)
        runs[protocol.name, name] = [_stream_run(record, protocol.stream.names) for record in found]
    return ComparisonResult(study, runs, _provenance(list(records)))


def forecast_study(records: Sequence[Record]) -> ForecastStudy:
    """Return the study of forecasts from its records.

    Args:
        records: Records of runs and of forecasts.

    Returns:
        The task sets of which a run is recorded.
    """
    return ForecastStudy.read(records, _provenance(list(records)))


def _stream_run(record: Record, tasks: Sequence[str]) -> StreamRun:
    size = record.result["bytes_per_task"]
    sizes = () if size is None else (0, size, None)  # the growth per task is all that is recorded of them
    return StreamRun(record.seed, tuple(tasks), np.array(record.result["accuracies"], dtype=float), 0, sizes)


def _by_seed(records: Sequence[Record], what: str) -> list[Record]:
    if not records:
        raise RecordError(f"{what}: no seed is recorded, and at least one is needed")
    return sorted(records, key=lambda record: record.seed)


def _stack(ordered: Sequence[Record], key: str) -> dict[tuple[str, ...], Any]:
    sequences = ordered[0].result[key]
    return {tuple(s.split(" ")): np.array([r.result[key][s] for r in ordered], dtype=float) for s in sequences}


def _provenance(records: Sequence[Record]) -> dict[str, Any]:
    """Where recorded results come from; the same for the same records, whenever and wherever it is asked."""
    return {
        "records": len(records),
        "commits": sorted({commit for record in records if (commit := record.provenance.get("commit"))}),
        "imported": sum("imported_from" in record.provenance for record in records),
        "versions": [
            dict(items) for items in sorted({tuple(sorted(r.provenance.get("versions", {}).items())) for r in records})
        ],
    }
