"""Results of the studies of networks, made from records alone: nothing is trained, no store is needed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ebbing.paper import fig2, sensitivity
from ebbing.paper.method_comparison import Result as ComparisonResult
from ebbing.paper.method_comparison import Study
from ebbing.paper.records import Record, RecordError
from ebbing.runs import StreamRun


def fig2_result(records: Sequence[Record]) -> fig2.Result:
    """Return the result of Figure 2 from its records.

    Args:
        records: One record for each seed, from seed 0 on.

    Returns:
        The error matrices of all sequences and seeds.
    """
    ordered = _by_seed(records, "fig2")
    matrices, fits = (_stack(ordered, key) for key in ("matrices", "training_errors"))
    return fig2.Result(fig2.Config(seeds=len(ordered)), matrices, fits, _provenance(ordered))


def sensitivity_result(records: Sequence[Record]) -> sensitivity.Result:
    """Return the result of the sensitivity study from its records.

    Args:
        records: For each variant, one record for each seed, from seed 0 on; as many for every variant.

    Returns:
        The error matrices of all variants, sequences and seeds.

    Raises:
        RecordError: If a variant has no records, or fewer than another.
    """
    variants = {name: [record for record in records if record.name == name] for name in sensitivity.Config().variants}
    ordered = {name: _by_seed(found, f"sensitivity, {name}") for name, found in variants.items()}
    counts = {len(found) for found in ordered.values()}
    if len(counts) != 1:
        raise RecordError(f"sensitivity: the variants have {sorted(counts)} seeds; record as many for each")
    matrices, fits = (
        {name: _stack(found, key) for name, found in ordered.items()} for key in ("matrices", "training_errors")
    )
    config = sensitivity.Config(seeds=counts.pop())
    return sensitivity.Result(config, matrices, fits, _provenance(list(records)))


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


def _stream_run(record: Record, tasks: Sequence[str]) -> StreamRun:
    size = record.result["bytes_per_task"]
    sizes = () if size is None else (0, size, None)  # the growth per task is all that is recorded of them
    return StreamRun(record.seed, tuple(tasks), np.array(record.result["accuracies"], dtype=float), 0, sizes)


def _by_seed(records: Sequence[Record], what: str) -> list[Record]:
    ordered = sorted(records, key=lambda record: record.seed)
    if not ordered or [record.seed for record in ordered] != list(range(len(ordered))):
        seeds = ", ".join(str(record.seed) for record in ordered) or "none"
        raise RecordError(f"{what}: recorded seeds are {seeds}; all from 0 on are needed, and at least one")
    return ordered


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
