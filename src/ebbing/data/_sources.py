"""Files of datasets, how they are validated, and the folders and web mirrors that have them.

A source that cannot provide a file raises a `FetchError`.
"""

from __future__ import annotations

import gzip
import hashlib
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from http.client import HTTPException
from pathlib import Path
from typing import Any, Protocol

MIRROR_TIMEOUT = 4.0
"""Seconds in which a mirror must answer, and the longest pause while it sends."""

_COMPRESSION_MARGIN = 4096
"""Bytes by which a compressed file may be larger than the file; no more is read."""


class FetchError(Exception):
    """A source could not provide a valid file; the message says why."""


class FileSpec(Protocol):
    """The specification of a file in the cache: how it is validated, and from which archive it is extracted."""

    @property
    def name(self) -> str:
        """The file's name in the cache."""
        ...

    @property
    def md5(self) -> str:
        """The checksum that the publisher of the file gives."""
        ...

    @property
    def archive_name(self) -> str:
        """The name of the official archive that contains the file."""
        ...

    @property
    def max_archive_size(self) -> int:
        """The largest size of an archive in bytes; no more is read."""
        ...

    @property
    def description(self) -> str:
        """The names and checksums by which a user can find the file."""
        ...

    def validation_error(self, content: bytes) -> str:
        """Return what is wrong with the file's content, or an empty string if it is valid."""
        ...

    def extract(self, archive: bytes) -> bytes:
        """Return the file's content from an archive; raise a `FetchError` if the archive is not valid."""
        ...


@dataclass(frozen=True)
class GzipFileSpec:
    """The specification of a file that is published as a .gz.

    Attributes:
        name: The file's name.
        size: Its size in bytes.
        start: Its first bytes.
        md5: Its MD5 checksum.
        gzip_md5: The MD5 checksum of the official .gz.
        other_gzip_md5: The MD5 checksum of the .gz that a distribution made of the same file; empty if there is none.
    """

    name: str
    size: int
    start: bytes
    md5: str
    gzip_md5: str
    other_gzip_md5: str = ""

    @property
    def archive_name(self) -> str:
        """The name of the official .gz."""
        return f"{self.name}.gz"

    @property
    def max_archive_size(self) -> int:
        """The size of the file and a margin: compression hardly enlarges a file."""
        return self.size + _COMPRESSION_MARGIN

    @property
    def description(self) -> str:
        """The file and its .gz, with their checksums."""
        return f"{self.name} (md5 {self.md5}) or {self.archive_name} (md5 {self.gzip_md5})"

    def validation_error(self, content: bytes) -> str:
        """Return what is wrong with the file's content, or an empty string if it is valid.

        Example:
            >>> file = GzipFileSpec("digits", size=4, start=b"12", md5="81dc9bdb52d04dc20036dbd8313ed055", gzip_md5="")
            >>> file.validation_error(b"1234"), file.validation_error(b"123")
            ('', 'has 3 bytes instead of 4')
        """
        if len(content) != self.size:
            return f"has {len(content):,} bytes instead of {self.size:,}"
        if not content.startswith(self.start):
            return f"begins with {content[: len(self.start)].hex()} instead of {self.start.hex()}"
        return md5_mismatch(content, self.md5)

    def extract(self, archive: bytes) -> bytes:
        """Decompress a .gz whose checksum is known; no other is decompressed."""
        mismatch = md5_mismatch(archive, self.gzip_md5)
        if mismatch and md5(archive) != self.other_gzip_md5:
            raise FetchError(mismatch)
        return gzip.decompress(archive)


def extract_named(file: FileSpec, archive: bytes) -> bytes:
    """Return a file's content from an official archive, which error messages name."""
    try:
        return file.extract(archive)
    except FetchError as error:
        raise FetchError(f"{file.archive_name} {error}") from None


def md5(content: bytes) -> str:
    """Return the MD5 checksum, which publishers of datasets use. It detects damage, not forgery.

    Example:
        >>> md5(b"1234")
        '81dc9bdb52d04dc20036dbd8313ed055'
    """
    return hashlib.md5(content, usedforsecurity=False).hexdigest()


def md5_mismatch(content: bytes, expected: str) -> str:
    """Return a message if a content does not have the expected MD5 checksum, or an empty string.

    Example:
        >>> md5_mismatch(b"1234", "81dc9bdb52d04dc20036dbd8313ed055")
        ''
    """
    found = md5(content)
    return "" if found == expected else f"has md5 {found} instead of {expected}"


Progress = Callable[[str], None]
"""A function that is called often, with a line of text, while something is fetched."""

FetchedFiles = Iterator[tuple[FileSpec, bytes]]


class Mirror:
    """A web address below which the official archives are.

    As soon as it is created, a first file is requested in the background. Resolving a host name may take longer than
    any timeout, and several mirrors without an answer then cost the timeout only once.
    """

    def __init__(self, base: str, first: FileSpec) -> None:
        self.location = base
        self._error = f"no answer within {MIRROR_TIMEOUT:g} s"
        self._deadline = time.monotonic() + MIRROR_TIMEOUT
        self._thread = threading.Thread(target=self._probe, args=(first,), daemon=True)
        self._thread.start()

    def _probe(self, first: FileSpec) -> None:
        try:
            self._open(first).close()
            self._error = ""
        except (OSError, ValueError, HTTPException) as error:
            self._error = _error_reason(error)

    def fetch(self, files: Sequence[FileSpec], progress: Progress) -> FetchedFiles:
        """Yield the contents of files, one by one."""
        self._thread.join(max(0.0, self._deadline - time.monotonic()))
        if self._error:
            raise FetchError(self._error)
        for file in files:
            try:
                archive = self._download(file, progress)
            except (OSError, ValueError, HTTPException) as error:
                raise FetchError(f"{file.archive_name}: {_error_reason(error)}") from None
            yield file, extract_named(file, archive)

    def _download(self, file: FileSpec, progress: Progress) -> bytes:
        received, limit = bytearray(), file.max_archive_size
        with self._open(file) as answer:
            expected = int(answer.headers.get("Content-Length") or 0)
            while len(received) <= limit and (part := answer.read(1 << 16)):
                received += part
                progress(f"{self.location}{file.archive_name}, {len(received) / 1e6:.1f} of {expected / 1e6:.1f} MB")
        if len(received) > limit:
            raise OSError(f"has more than {limit:,} bytes")
        if len(received) < expected:
            raise OSError(f"ended after {len(received):,} of {expected:,} bytes")
        return bytes(received)

    def _open(self, file: FileSpec) -> Any:
        return urllib.request.urlopen(f"{self.location}{file.archive_name}", timeout=MIRROR_TIMEOUT)


def _error_reason(error: Exception) -> str:
    reason = getattr(error, "reason", None)  # of a URLError: another error, or (HTTP) a text without its number
    cause = reason if isinstance(reason, OSError) else error
    return getattr(cause, "strerror", None) or str(cause) or type(cause).__name__


class LocalArchives:
    """Archives that a user put into the cache, or a distribution's package into a folder of its own."""

    def __init__(self, folder: Path) -> None:
        self.location = str(folder)

    def fetch(self, files: Sequence[FileSpec], progress: Progress) -> FetchedFiles:
        for file in files:
            archive = read_file(Path(self.location) / file.archive_name)
            if archive is not None:
                progress(file.archive_name)
                yield file, extract_named(file, archive)


def read_file(path: Path) -> bytes | None:
    """Return the content of a file, or None if there is none."""
    try:
        return path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return None
