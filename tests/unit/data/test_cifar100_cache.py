"""CIFAR-100 in the cache: damaged files, unwritable folders, and concurrent processes."""

import dataclasses
import io
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import toy_cifar100
from toy_cifar100 import ARCHIVE, NPZ, SPEC

from ebbing import data
from ebbing.data import DataError
from ebbing.data.cifar100 import KEYS, CifarFileSpec

given, place = toy_cifar100.given, toy_cifar100.place  # fixtures


def spoil(path: Path, how: str) -> None:
    content = path.read_bytes()
    if how == "bit":
        at = len(content) // 2
        content = content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :]
    elif how == "cut":
        content = content[:-100]
    elif how == "empty":
        content = b""
    elif how == "no checksum":
        content = NPZ
    else:  # valid, but with the checksum of other content
        buffer = io.BytesIO()
        with np.load(io.BytesIO(content)) as held:
            wrong: dict[str, Any] = {key: held[key] for key in KEYS} | {"sha256": np.array("0" * 64)}
            np.savez(buffer, **wrong)
        content = buffer.getvalue()
    path.write_bytes(content)


@pytest.mark.parametrize(
    ("how", "fault"),
    [
        ("bit", "is damaged or not an .npz"),
        ("cut", "is damaged or not an .npz"),
        ("empty", "is damaged or not an .npz"),
        ("no checksum", "contains no checksum"),
        ("checksum", "has another sha256 than it contains"),
    ],
)
def test_damaged_file_in_the_cache_is_replaced(how, fault, given, place):
    file = given(NPZ)
    data.cifar100(file)
    whole = (place / "cifar100.npz").read_bytes()
    spoil(place / "cifar100.npz", how)
    (entry,) = data.status("cifar100")
    assert entry.state == "damaged"
    assert entry.error.startswith(fault)
    with pytest.warns(UserWarning, match=f"{fault}.*: it is damaged and will be fetched again"):
        data.cifar100(file)
    assert (place / "cifar100.npz").read_bytes() == whole
    data.cifar100()  # without a warning


def test_unwritable_cache_raises(given, monkeypatch):
    if sys.platform == "win32":
        pytest.skip("needs permission bits")
    folder, me, file = Path(tempfile.mkdtemp()), os.geteuid(), given(NPZ)
    monkeypatch.setenv("EBBING_DATA", str(folder))
    monkeypatch.setattr(CifarFileSpec, "extract", lambda *_: pytest.fail("read in vain"))
    folder.chmod(0o755 if me == 0 else 0o555)
    try:
        if me == 0:
            os.seteuid(65534)
        with pytest.raises(
            DataError, match=r"cannot write into .*: Permission denied; set EBBING_DATA to a writable folder"
        ):
            data.cifar100(file)
        with pytest.raises(DataError, match="cannot write into"):  # concerns all datasets: no other one is tried
            data.fetch()
    finally:
        os.seteuid(me)
        folder.chmod(0o755)
        shutil.rmtree(folder)


SCRIPT = """
import importlib, json, os, sys, time, warnings
from ebbing import data
from ebbing.data._cache import DatasetFiles
module = importlib.import_module("ebbing.data.cifar100")
task = json.loads(sys.argv[1])
wanted = module.CifarFileSpec(**{k: tuple(v) if isinstance(v, list) else v for k, v in task["wanted"].items()})
module.CIFAR100 = DatasetFiles("cifar100", (wanted,), environment_variable="EBBING_CIFAR100")
warnings.simplefilter("ignore")
while time.time() < task["start"]:
    pass
for folder in task["folders"]:
    os.environ["EBBING_DATA"] = folder
    print(data.cifar100(task["file"]).fingerprint)
"""


def test_processes_may_convert_concurrently(given, tmp_path):
    folders = [tmp_path / "caches" / str(i) for i in range(20)]
    for folder in folders[::3]:
        (folder / "cifar100").mkdir(parents=True)
        (folder / "cifar100" / "cifar100.npz").write_bytes(b"damaged")
    task = {"wanted": dataclasses.asdict(SPEC), "folders": list(map(str, folders)), "start": time.time() + 1.0}
    running = [
        subprocess.Popen(
            [sys.executable, "-c", SCRIPT, json.dumps(task | {"file": str(given(content, name))})],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for name, content in (("one", NPZ), ("two", ARCHIVE), ("three", NPZ))
    ]
    said = [child.communicate() for child in running]
    assert [child.returncode for child in running] == [0, 0, 0], said
    assert len({line for out, _ in said for line in out.split()}) == 1
    for folder in folders:
        assert [path.name for path in (folder / "cifar100").iterdir()] == ["cifar100.npz"]
        assert SPEC.validation_error((folder / "cifar100" / "cifar100.npz").read_bytes()) == ""
