"""Runs the paper's figures, tables and claims (`ebbing reproduce`), and writes them into one folder.

The folder then has

    verdicts.md, verdicts.json    every claim: what was run, and the result
    fig1.png .svg .csv .json      figures with their data and provenance
    records/                      the finished runs at paper scale, from which everything about networks is made
    runs/                         trained networks, from which an interrupted target continues
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from ebbing._extras import check_installed
from ebbing._files import write_atomic
from ebbing._validate import check_count
from ebbing.paper._output import Verdict, verdict_markdown, write_json
from ebbing.paper.records import RecordError, locked, read_records, recorded_targets, records_size
from ebbing.paper.targets import NETWORKS, ON_REQUEST, RECORDED, TARGETS, TITLES, Options, Progress

if TYPE_CHECKING:
    from ebbing.paper.run_progress import RunProgress


UNDRAWN = frozenset({"claims", "tables"})
"""Targets without a figure: they need no extra."""


class ReproductionError(Exception):
    """Some targets failed, while others ran.

    Args:
        failures: Why each target failed, by name.
        verdicts: The verdicts of the targets that ran.

    Attributes:
        failures: Why each target failed, by name.
        verdicts: The verdicts of the targets that ran.
    """

    failures: dict[str, Exception]
    verdicts: list[Verdict]

    def __init__(self, failures: dict[str, Exception], verdicts: list[Verdict]) -> None:
        super().__init__("; ".join(f"{name} failed: {error}" for name, error in failures.items()))
        self.failures, self.verdicts = failures, verdicts


def reproduce(
    targets: Sequence[str],
    folder: Path,
    progress: Callable[[str], AbstractContextManager[Progress]],
    options: Options = Options(),  # noqa: B008 (frozen)
) -> list[Verdict]:
    """Run targets and record their verdicts.

    Args:
        targets: Names in `TARGETS`; an empty sequence runs all but those in `ON_REQUEST`, or all that the folder has
            records of if `options.from_records` is set.
        folder: Where figures, data and verdicts are written. Verdicts of targets that ran before stay.
        progress: Opens the progress bar of a target.
        options: The options of the targets that train networks.

    Returns:
        The verdicts of the targets that ran.

    Raises:
        ValueError: If a target is unknown, if an option does not go with it, or if the verdicts in the folder are
            damaged.
        RecordError: If everything is to be made from records, and the folder has none.
        ReproductionError: If some of several targets failed; the others ran. A single target raises its own error.
        ModuleNotFoundError: If a target needs a package that is not installed; nothing has run then.
    """
    targets = chosen_targets(targets, folder, options)
    _check_packages(targets)
    if not options.at_paper_scale:
        for name in NETWORKS.intersection(targets):
            if read_records(folder, name):
                raise ValueError(
                    f"scale='quick': {folder} has the records of {name} at paper scale, whose figures and verdicts "
                    "would be replaced by those of a small run; name another folder by --out, or give --scale paper"
                )
    folder.mkdir(parents=True, exist_ok=True)
    _read_verdicts(folder / "verdicts.json")  # a damaged file raises its error before hours of work
    verdicts: list[Verdict] = []
    failures: dict[str, Exception] = {}
    with _runner(targets, folder, options) as run:
        for name in targets:
            try:
                with progress(name) as report:
                    new = run(name, report)
            except Exception as error:
                if len(targets) == 1:
                    raise
                failures[name] = error
                continue
            verdicts += new
            _record(name, new, folder)
    if failures:
        raise ReproductionError(failures, verdicts)
    return verdicts


@contextmanager
def _runner(
    targets: Sequence[str], folder: Path, options: Options
) -> Iterator[Callable[[str, Progress], list[Verdict]]]:
    """Give a function that runs a target; what is made from records is made in several processes."""
    if not options.from_records or options.workers == 1 or len(targets) == 1:
        yield lambda name, report: TARGETS[name](folder, report, options)
        return
    from ebbing._workers import open_workers  # loads PyTorch

    by_size = sorted(targets, key=lambda name: records_size(folder, name), reverse=True)  # the longest work first
    with open_workers(min(options.workers, len(targets))) as workers:
        futures = {name: workers.call(_run_target, name, folder, options) for name in by_size}
        yield lambda name, report: workers.result(futures[name])


def _run_target(name: str, folder: Path, options: Options) -> list[Verdict]:
    return TARGETS[name](folder, lambda share: None, options)


def _check_packages(targets: Sequence[str]) -> None:
    """Raise an error before hours of work if figures cannot be drawn, or networks not be trained, at its end."""
    if drawn := [name for name in targets if name not in UNDRAWN]:
        check_installed("matplotlib", f"the figure of {drawn[0]}")
    if trained := [name for name in targets if name in NETWORKS]:
        check_installed("torch", trained[0])


def checked_out_folder() -> Path | None:
    """Return the folder of the recorded results of a checkout.

    Returns:
        The folder `reproduced` of the working directory; None if it has no records.
    """
    folder = Path("reproduced")
    return folder if recorded_targets(folder) else None


def default_folder(*, recorded: bool) -> Path:
    """Return the folder of a reproduction if none is named.

    Args:
        recorded: Whether recorded runs are asked for.

    Returns:
        `results`; for recorded runs that of the checkout, if there is one.
    """
    return (checked_out_folder() if recorded else None) or Path("results")


def chosen_targets(targets: Sequence[str], folder: Path, options: Options) -> Sequence[str]:
    """Return the targets that `reproduce` runs.

    Args:
        targets: Names in `TARGETS`; an empty sequence for the default of the options.
        folder: The folder of the reproduction.
        options: The options of the targets that train networks.

    Returns:
        The names, in the order in which they run.

    Raises:
        ValueError: If a target is unknown, or if an option does not go with it.
        RecordError: If everything is to be made from records, and the folder has none.
    """
    unknown = sorted(set(targets) - set(TARGETS))
    if unknown:
        raise ValueError(f"targets: nothing is called {', '.join(unknown)}; give some of {', '.join(TARGETS)}")
    if options.from_records and (others := sorted(set(targets) - set(RECORDED))):
        raise ValueError(
            f"from_records: {', '.join(others)} is computed, not recorded; records are of {', '.join(RECORDED)}"
        )
    if options.from_records and not targets:
        if found := [name for name in RECORDED if name in recorded_targets(folder)]:
            return found
        raise RecordError(
            f"from_records: {folder} has no records; name their folder by --out, or train with --scale paper"
        )
    return targets or [name for name in TARGETS if name not in ON_REQUEST]


def progress(targets: Sequence[str], folder: Path, seeds: int | None = None) -> list[RunProgress]:
    """Say how far the runs of networks at paper scale are; nothing is trained.

    Args:
        targets: Names in `RECORDED`; an empty sequence stands for all of them.
        folder: The folder of the reproduction.
        seeds: The number of seeds; None for the planned numbers.

    Returns:
        The progress of each planned run.

    Raises:
        ValueError: If a target trains no networks at paper scale.
    """
    from ebbing.paper.run_progress import run_progress  # loads PyTorch

    if unknown := sorted(set(targets) - set(RECORDED)):
        raise ValueError(f"progress: {', '.join(unknown)} has no long runs; give some of {', '.join(RECORDED)}")
    if seeds is not None:
        check_count("seeds", seeds)
    return run_progress(targets or RECORDED, folder, seeds)


def _record(target: str, verdicts: list[Verdict], folder: Path) -> None:
    """Add a target's verdicts to those of the other targets in the folder, or replace its former ones."""
    with locked(folder):
        known = _read_verdicts(folder / "verdicts.json") | {target: verdicts}
        known = {name: known[name] for name in TARGETS if name in known}
        entries = [{"target": name} | asdict(verdict) for name, found in known.items() for verdict in found]
        write_json(folder / "verdicts.json", {"verdicts": entries})
        tables = [f"## {TITLES.get(name, name)}\n\n{verdict_markdown(found)}" for name, found in known.items() if found]
        write_atomic(folder / "verdicts.md", "\n".join(["# Verdicts\n", *tables]))


def _read_verdicts(path: Path) -> dict[str, list[Verdict]]:
    """Return the recorded verdicts by target; none if there is no file."""
    known: dict[str, list[Verdict]] = {}
    try:
        for entry in json.loads(path.read_text(encoding="utf-8"))["verdicts"]:
            known.setdefault(entry.pop("target"), []).append(Verdict(**entry))
    except FileNotFoundError:
        return {}
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ValueError(
            f"{path}: not a file of verdicts ({type(error).__name__}: {error}); restore it from version control, or "
            "remove it and reproduce all targets again"
        ) from None
    return known
