"""Records: finished runs at paper scale, kept as data in the repository.

A record says what was run (target, name, seed, settings), what came out (error or accuracy matrices), and with what
(commit, versions, machine, time). It holds no weights. Figures, tables and verdicts are made from records alone.

    reproduced/records/fig2.jsonl       one record per line, sorted by name and seed
    reproduced/records/table1.jsonl

Every line carries the SHA-256 of its content, so that damage is noticed. Records are only ever added: the same run
recorded twice must agree to the last bit in its result, and otherwise an error says so.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from ebbing._files import write_atomic

FOLDER = "records"


class RecordError(ValueError):
    """A record is damaged, or contradicts one that is there already."""


@dataclass(frozen=True)
class Record:
    """One finished run.

    Attributes:
        target: What it belongs to, a target of `ebbing reproduce`: "fig2", "sensitivity", "table1", "ablations",
            "frontier" or "forecast".
        name: Which run of the target, such as "pmnist / TRGP+"; with the seed it identifies the run.
        seed: The seed of the run.
        settings: All settings that determine the result.
        result: What came out: matrices and numbers by name, as JSON can hold them.
        provenance: How it was made: commit, versions, machine, when, the seconds of training on one thread, and how
            many networks were trained now or found in the store. Of a run imported from an earlier report
            only the report is known: `commit` is None, and `reported` says how the report was written. `copied_from`
            names the run of another target that this one is.
    """

    target: str
    name: str
    seed: int
    settings: dict[str, Any]
    result: dict[str, Any]
    provenance: dict[str, Any] = field(default_factory=dict)

    @property
    def identity(self) -> tuple[str, int]:
        """The name and the seed, which identify the run within its target.

        Returns:
            A pair that no other record of the target has.
        """
        return self.name, self.seed

    def to_line(self) -> str:
        """Return the record as one line of JSON that ends with its checksum.

        Returns:
            A line without its line break.
        """
        content = asdict(self)
        return json.dumps(content | {"sha256": _checksum(content)}, allow_nan=False, sort_keys=False)

    @classmethod
    def from_line(cls, line: str) -> Record:
        """Read a line that `to_line` wrote.

        Args:
            line: One line of JSON.

        Returns:
            The record.

        Raises:
            RecordError: If the line is no record, or its checksum does not match.
        """
        try:
            content = json.loads(line)
            stated = content.pop("sha256")
            record = cls(**content)
        except (ValueError, KeyError, TypeError, AttributeError) as fault:
            raise RecordError(f"this line is not a record: {fault}") from None
        if stated != _checksum(content):
            raise RecordError(f"record {record.name!r}, seed {record.seed}: its checksum does not match its content")
        return record


def records_size(folder: str | Path, target: str) -> int:
    """Return the size of the records of a target.

    Args:
        folder: The folder of a reproduction.
        target: Whose records.

    Returns:
        Bytes; 0 if there are none.
    """
    path = _path(folder, target)
    return path.stat().st_size if path.exists() else 0


def recorded_targets(folder: str | Path) -> list[str]:
    """Return the targets that have records.

    Args:
        folder: The folder of a reproduction.

    Returns:
        Their names, sorted.
    """
    return sorted(path.stem for path in (Path(folder) / FOLDER).glob("*.jsonl"))


def read_records(folder: str | Path, target: str) -> list[Record]:
    """Read all records of a target.

    Args:
        folder: The folder of a reproduction, such as `reproduced`.
        target: Whose records to read.

    Returns:
        The records, sorted by name and seed; none if there is no file. A run that is there twice, as after a merge of
        two branches, counts once.

    Raises:
        RecordError: If a line is damaged, belongs to another target or contradicts an earlier one; the message names
            the file and the line.
    """
    path = _path(folder, target)
    if not path.exists():
        return []
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except UnicodeDecodeError as fault:
        raise RecordError(f"{path}: not a file of records ({fault}); restore it from version control") from None
    records: dict[tuple[str, int], Record] = {}
    for number, line in enumerate(lines, start=1):
        try:
            record = Record.from_line(line)
        except RecordError as fault:
            raise RecordError(f"{path}, line {number}: {fault}; restore the file from version control") from None
        if record.target != target:
            raise RecordError(f"{path}, line {number}: a record of {record.target}; move the line to that file")
        if (there := records.setdefault(record.identity, record)) is not record:
            try:
                _check_agreement(there, record)
            except RecordError as fault:
                raise RecordError(f"{path}, line {number}: {fault}") from None
    return [records[identity] for identity in sorted(records)]


def add_records(folder: str | Path, new: list[Record]) -> int:
    """Add records to those of their targets.

    Records that are there stay; one that comes again with the same settings and result is left as it is. Several
    processes may add records at the same time.

    Args:
        folder: The folder of a reproduction, such as `reproduced`.
        new: Records of any targets.

    Returns:
        How many records were added.

    Raises:
        RecordError: If a record contradicts one that is there: the same name and seed, but other settings or results.
            Nothing is written then.
    """
    with locked(Path(folder) / FOLDER):
        return _add(folder, new)


def _add(folder: str | Path, new: list[Record]) -> int:
    added = 0
    files: dict[Path, str] = {}
    for target in dict.fromkeys(record.target for record in new):
        known = {record.identity: record for record in read_records(folder, target)}
        before = len(known)
        for record in (record for record in new if record.target == target):
            there = known.setdefault(record.identity, record)
            _check_agreement(there, record)
        added += len(known) - before
        lines = [known[identity].to_line() for identity in sorted(known)]
        if len(known) > before:
            files[_path(folder, target)] = "\n".join(lines) + "\n"
    for path, content in files.items():
        write_atomic(path, content)
    return added


def check_settings(there: Record, settings: dict[str, Any]) -> None:
    """Check that a recorded run had the settings with which it would be run now.

    Args:
        there: The record.
        settings: The settings of the run, as JSON can hold them.

    Raises:
        RecordError: If they differ.
    """
    if _canonical(there.settings) != _canonical(settings):
        raise RecordError(
            f"record {there.name!r}, seed {there.seed}: recorded with other settings ({_origin(there)}): "
            f"{_difference(there.settings, settings)}; a record is never replaced: restore the settings, or give the "
            "new run another name"
        )


def _check_agreement(there: Record, new: Record) -> None:
    check_settings(there, new.settings)
    if _canonical(there.result) != _canonical(new.result):
        raise RecordError(
            f"record {new.name!r}, seed {new.seed}: two runs with the same settings gave different results, one with "
            f"{_origin(there)}, recorded already, and one with {_origin(new)}; the same run must give the same record: "
            "find out what changed before you record it under another name"
        )


def _origin(record: Record) -> str:
    """With what a record was made, in words."""
    made = record.provenance.get("reported", record.provenance)
    versions = made.get("versions", {})
    words = [f"commit {str(made['commit'])[:12]}" if made.get("commit") else "an unknown commit"]
    words += [f"{name} {versions[name]}" for name in ("python", "torch") if name in versions]
    return ", ".join([*words, *([made["when"]] if "when" in made else [])])


def _difference(old: Any, new: Any, name: str = "") -> str:
    """The first setting that differs, with both values."""
    if isinstance(old, dict) and isinstance(new, dict):
        for key in {**old, **new}:
            if _canonical(old.get(key)) != _canonical(new.get(key)):
                return _difference(old.get(key), new.get(key), f"{name}.{key}" if name else key)
    return f"{name} was {json.dumps(old)} and is {json.dumps(new)}"


def _canonical(value: Any) -> str:
    return json.dumps(value, sort_keys=True)


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Keep other processes of this machine from writing into a folder; a killed process releases it.

    Args:
        folder: The folder; it is made if it is missing.

    Yields:
        Nothing.
    """
    folder.mkdir(parents=True, exist_ok=True)
    try:
        import fcntl
    except ImportError:  # Windows: one process at a time
        yield
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def _path(folder: str | Path, target: str) -> Path:
    return Path(folder) / FOLDER / f"{target}.jsonl"


def _checksum(content: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
