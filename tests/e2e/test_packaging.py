"""The sdist and the wheel build, and the wheel works in an empty environment.

Needs a package index and about half a minute. All that is installed goes into temporary directories.
"""

import os
import re
import subprocess
import sys
import tarfile
import tomllib
import venv
import zipfile
from email import message_from_bytes
from pathlib import Path

import pytest

import ebbing

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def run(*command: str | Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([str(part) for part in command], cwd=cwd, capture_output=True, text=True, check=False)


def pip(*arguments: str | Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    return run(sys.executable, "-m", "pip", "--disable-pip-version-check", *arguments, cwd=cwd)


def build(folder: Path) -> tuple[Path, Path]:
    """The sdist, and the wheel that is built from it in an isolated environment."""
    index = pip("download", "--no-deps", "--dest", folder / "index", "hatchling", cwd=folder)
    if index.returncode:
        assert "CI" not in os.environ, index.stderr
        pytest.skip("no package index: pip cannot download hatchling")
    done = run(sys.executable, "-m", "build", "--outdir", folder, ROOT, cwd=folder)
    assert done.returncode == 0, done.stdout + done.stderr
    return next(folder.glob("*.tar.gz")), next(folder.glob("*.whl"))


def readme_example() -> str:
    """The first Python example of the README that needs no extra."""
    examples = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.DOTALL)
    return next(example for example in examples if not re.search(r"torch|ebbing\.learn", example))


def check_version(*archives: Path) -> None:
    assert "version" not in PROJECT
    for file in archives:
        assert file.name.startswith(f"ebbing-{ebbing.__version__}")
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert re.findall(r"^version: (.*)$", citation, re.MULTILINE) == [ebbing.__version__]


def check_wheel(wheel: Path) -> None:
    """The package and nothing else."""
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        metadata = message_from_bytes(archive.read(next(name for name in names if name.endswith("/METADATA"))))
    package = (ROOT / "src" / "ebbing").rglob("*")
    files = [file for file in package if file.is_file() and "__pycache__" not in file.parts]
    sources = {str(file.relative_to(ROOT / "src")) for file in files}
    assert {"ebbing/py.typed", "ebbing/explorer/page.html.j2", "ebbing/report/style.css"} <= sources
    assert {name for name in names if name.startswith("ebbing/")} == sources
    assert {name.split("/")[0] for name in names} == {"ebbing", f"ebbing-{ebbing.__version__}.dist-info"}
    assert not [name for name in names if "__pycache__" in name]
    assert set(metadata.get_all("Provides-Extra", [])) == set(PROJECT["optional-dependencies"])


def check_sdist(sdist: Path) -> None:
    """All that `make test` needs."""
    with tarfile.open(sdist) as archive:
        names = {name.split("/", 1)[1] for name in archive.getnames() if "/" in name}
    assert {"Makefile", "constraints.txt", "LICENSE", "tests/conftest.py", "docs/conf.py", ".ci/run"} <= names
    assert not [name for name in names if ".venv" in name or "__pycache__" in name]


def check_installation(wheel: Path, folder: Path) -> None:
    """The command and the README's example run where nothing but the wheel and its requirements is installed."""
    venv.create(folder / "empty")  # without pip: that of this environment installs there, too
    python = folder / "empty" / "bin" / "python"
    constraints = ROOT / "constraints.txt"
    done = pip("--python", python, "install", "--quiet", "--no-compile", "-c", constraints, wheel, cwd=folder)
    assert done.returncode == 0, done.stderr
    missing = run(python, "-c", "import numba", cwd=folder)
    assert "ModuleNotFoundError" in missing.stderr  # no extra is installed
    (folder / "readme.txt").write_text(readme_example(), encoding="utf-8")
    done = run(python, "-W", "error", "-m", "doctest", "-o", "NORMALIZE_WHITESPACE", "readme.txt", cwd=folder)
    assert done.returncode == 0, done.stdout + done.stderr
    command = folder / "empty" / "bin" / "ebbing"
    assert run(command, "--version", cwd=folder).stdout.strip() == ebbing.__version__
    done = run(command, "order", "--tasks", "categories:AABB", "-n", "50", "-p", "100", cwd=folder)
    assert "plain Python; pip install 'ebbing[fast]'" in " ".join(done.stdout.split())
    for name, extra in {"explore": "explorer", "train": "learn"}.items():
        done = run(command, name, cwd=folder)
        assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
        assert f"pip install 'ebbing[{extra}]'" in done.stderr


def test_archives_build_install_and_run_the_readme(tmp_path):
    sdist, wheel = build(tmp_path)
    check_version(sdist, wheel)
    check_wheel(wheel)
    check_sdist(sdist)
    check_installation(wheel, tmp_path)
