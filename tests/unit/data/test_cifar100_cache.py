"""CIFAR-100 in the cache: damage is noticed, folders may be shared, and no file is half taken."""

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
from toy_cifar100 import ARCHIVE, NPZ, WANTED

from ebbing import data
from ebbing.data import DataError
from ebbing.data.cifar100 import KEYS, CifarFile

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
    else:  # well-formed, and its checksum is that of other content
        buffer = io.BytesIO()
        with np.load(io.BytesIO(content)) as held:
            wrong: dict[str, Any] = {key: held[key] for key in KEYS} | {"sha256": np.array("0" * 64)}
            np.savez(buffer, **wrong)
        content = buffer.getvalue()
    path.write_bytes(content)


@pytest.mark.parametrize(
    ("how", "fault"),
    [
        ("bit", "is damaged or no .npz"),
        ("cut", "is damaged or no .npz"),
        ("empty", "is damaged or no .npz"),
        ("no checksum", "has no checksum of its own"),
        ("checksum", "has an sha256 other than the one it holds"),
    ],
)
def test_a_damaged_cache_is_noticed_and_replaced(how, fault, given, place):
    file = given(NPZ)
    data.cifar100(file)
    whole = (place / "cifar100.npz").read_bytes()
    spoil(place / "cifar100.npz", how)
    (entry,) = data.status("cifar100")
    assert entry.state == "damaged"
    assert entry.fault.startswith(fault)
    with pytest.warns(UserWarning, match=f"{fault}.*: damaged, and fetched again"):
        data.cifar100(file)
    assert (place / "cifar100.npz").read_bytes() == whole
    data.cifar100()  # and no warning any more


def test_a_cache_that_cannot_be_written(given, monkeypatch):
    if sys.platform == "win32":
        pytest.skip("needs permission bits")
    folder, me, file = Path(tempfile.mkdtemp()), os.geteuid(), given(NPZ)
    monkeypatch.setenv("EBBING_DATA", str(folder))
    monkeypatch.setattr(CifarFile, "unpacked", lambda *_: pytest.fail("read in vain"))
    folder.chmod(0o755 if me == 0 else 0o555)
    try:
        if me == 0:
            os.seteuid(65534)
        with pytest.raises(DataError, match=r"cannot write into .*: Permission denied; set EBBING_DATA to a folder"):
            data.cifar100(file)
        with pytest.raises(DataError, match="cannot write into"):  # concerns all data: no other is tried
            data.fetch()
    finally:
        os.seteuid(me)
        folder.chmod(0o755)
        shutil.rmtree(folder)


SCRIPT = """
import importlib, json, os, sys, time, warnings
from ebbing import data
from ebbing.data._cache import Collection
module = importlib.import_module("ebbing.data.cifar100")
task = json.loads(sys.argv[1])
wanted = module.CifarFile(**{k: tuple(v) if isinstance(v, list) else v for k, v in task["wanted"].items()})
module.CIFAR100 = Collection("cifar100", (wanted,), variable="EBBING_CIFAR100")
warnings.simplefilter("ignore")
while time.time() < task["start"]:
    pass
for folder in task["folders"]:
    os.environ["EBBING_DATA"] = folder
    print(data.cifar100(task["file"]).identity)
"""


def test_processes_that_convert_at_once_do_no_harm(given, tmp_path):
    folders = [tmp_path / "caches" / str(i) for i in range(20)]
    for folder in folders[::3]:
        (folder / "cifar100").mkdir(parents=True)
        (folder / "cifar100" / "cifar100.npz").write_bytes(b"damaged")
    task = {"wanted": dataclasses.asdict(WANTED), "folders": list(map(str, folders)), "start": time.time() + 1.0}
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
        assert WANTED.fault((folder / "cifar100" / "cifar100.npz").read_bytes()) == ""
