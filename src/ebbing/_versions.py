"""With what a result was made: the commit of the code, and the versions of packages."""

from __future__ import annotations

import platform
import subprocess
from functools import cache
from importlib import metadata
from pathlib import Path


def software_versions(*packages: str) -> dict[str, str | None]:
    """The commit, and the versions of Python, of this package and of those named.

    >>> sorted(software_versions("numpy"))
    ['commit', 'ebbing', 'numpy', 'python']
    """
    return {"commit": commit(), "python": platform.python_version()} | versions("ebbing", *packages)


def versions(*packages: str) -> dict[str, str]:
    """The version of each package that is installed."""
    return {package: _version(package) for package in packages}


def _version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "not installed"


@cache
def commit() -> str | None:
    """The checkout's commit, with "+changes" if files differ from it; None outside a checkout."""

    def git(*arguments: str) -> str:
        folder = Path(__file__).parent
        return subprocess.run(
            ["git", *arguments], cwd=folder, capture_output=True, text=True, check=True
        ).stdout.strip()

    try:
        return git("rev-parse", "HEAD") + ("+changes" if git("status", "--porcelain", "--untracked-files=no") else "")
    except (OSError, subprocess.CalledProcessError):
        return None
