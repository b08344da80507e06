"""The commit that results are recorded with: that of the package, not of a repository in which it is installed."""

import shutil
import subprocess
from pathlib import Path

import pytest

from ebbing import _versions

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="needs git")


@pytest.fixture
def repository(tmp_path, monkeypatch):
    """A repository with the package in a folder that it ignores, as `.venv`; returns a function that calls git."""

    def git(*arguments: str) -> str:
        author = ("-c", "user.name=A", "-c", "user.email=a@example.org")
        return subprocess.run(
            ["git", *author, *arguments], cwd=tmp_path, capture_output=True, text=True, check=True
        ).stdout

    file = tmp_path / ".venv" / "_versions.py"
    file.parent.mkdir()
    shutil.copy(Path(_versions.__file__), file)
    git("init", "--quiet")
    git("commit", "--quiet", "--allow-empty", "-m", "first")
    monkeypatch.setattr(_versions, "__file__", str(file))
    _versions.commit.cache_clear()
    yield git
    _versions.commit.cache_clear()


def test_a_repository_that_uses_the_package_is_not_its_checkout(repository):
    assert _versions.commit() is None


def test_commit_of_a_checkout_tells_of_changes(repository):
    repository("add", ".venv")
    repository("commit", "--quiet", "-m", "package")
    head = repository("rev-parse", "HEAD").strip()
    assert _versions.commit() == head
    _versions.commit.cache_clear()
    Path(_versions.__file__).write_text("")
    assert _versions.commit() == f"{head}+changes"
