"""Versions of the software that produced a result."""

from __future__ import annotations

import platform
import subprocess
from functools import cache
from importlib import metadata
from pathlib import Path


def software_versions(*packages: str) -> dict[str, str | None]:
    """Return the commit of this package, and the versions of Python, of this package and of some others.

    Args:
        packages: Names of other packages.

    Returns:
        Versions by name.

    Example:
        >>> sorted(software_versions("numpy"))
        ['commit', 'ebbing', 'numpy', 'python']
    """
    return {"commit": commit(), "python": platform.python_version()} | versions("ebbing", *packages)


def versions(*packages: str) -> dict[str, str]:
    """Return the versions of packages.

    Args:
        packages: Names of packages.

    Returns:
        Versions by name; "not installed" for those that are not.
    """
    return {package: _version(package) for package in packages}


@cache  # every stored result names versions, and to look one up takes milliseconds
def _version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "not installed"


@cache
def commit() -> str | None:
    """Return the commit of the checkout that contains this package.

    Returns:
        The commit, with "+changes" if tracked files of the package differ from it; None outside a checkout, also if
        the package is installed in a folder of another repository, such as its `.venv`.
    """
    file = Path(__file__)

    def git(*arguments: str) -> str:
        return subprocess.run(
            ["git", *arguments], cwd=file.parent, capture_output=True, text=True, check=True
        ).stdout.strip()

    try:
        git("ls-files", "--error-unmatch", file.name)
        return git("rev-parse", "HEAD") + (
            "+changes" if git("status", "--porcelain", "--untracked-files=no", ".") else ""
        )
    except (OSError, subprocess.CalledProcessError):
        return None
