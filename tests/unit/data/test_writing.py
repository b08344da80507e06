"""The data cache: atomic writes, concurrent processes, and read-only folders."""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest
import toy_mnist
from toy_mnist import CONTENTS, FILES, IMAGES, collection, files_in

from ebbing.data import DataError, _cache
from ebbing.data._cache import load, remove, status

mirror, place = toy_mnist.mirror, toy_mnist.place  # fixtures


@pytest.mark.parametrize("step", ["fsync", "replace"])
@pytest.mark.parametrize("interrupt", [KeyboardInterrupt, OSError])
def test_interrupted_write_leaves_nothing(step, interrupt, place, mirror, monkeypatch):
    small = collection(mirror())

    def interrupted(*_):
        assert files_in(place)  # a partial file
        raise interrupt(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os if step == "fsync" else Path, step, interrupted)
        with pytest.raises(DataError if interrupt is OSError else KeyboardInterrupt) as caught:
            load(small)
    if interrupt is OSError:
        assert str(caught.value).startswith(f"cannot write into {place}: No space left on device; set EBBING_DATA")
        assert caught.value.errno == 28  # type: ignore[union-attr]
    assert files_in(place) == {}
    assert load(small) == CONTENTS


SCRIPT = """
import json, os, signal, sys, time, warnings
from pathlib import Path
from ebbing.data._cache import DatasetFiles, load
from ebbing.data._sources import GzipFileSpec
task = json.loads(sys.argv[1])
files = tuple(GzipFileSpec(n, s, bytes.fromhex(start), m, p) for n, s, start, m, p in task["files"])
small = DatasetFiles("small", files, (task["mirror"],))
if task["kill"]:
    Path.replace = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
warnings.simplefilter("ignore")
while time.time() < task["start"]:
    pass
for folder in task["folders"]:
    os.environ["EBBING_DATA"] = folder
    load(small)
"""


def process(mirror, folders, start=0.0, kill=False):
    files = [(f.name, f.size, f.start.hex(), f.md5, f.gzip_md5) for f in FILES]
    task = {"files": files, "mirror": mirror, "folders": folders, "start": start, "kill": kill}
    return subprocess.Popen([sys.executable, "-c", SCRIPT, json.dumps(task)], stderr=subprocess.PIPE, text=True)


def test_processes_may_fetch_concurrently(mirror, tmp_path):
    """Thirty times, a third with a damaged file: processes start at the same time on the same empty folders."""
    folders = [tmp_path / "caches" / str(i) for i in range(30)]
    for folder in folders[::3]:
        (folder / "small").mkdir(parents=True)
        (folder / "small" / IMAGES).write_bytes(b"damaged")
    address, start = mirror(), time.time() + 1.0
    running = [process(address, [str(folder) for folder in folders], start) for _ in range(3)]
    for child in running:
        assert (child.communicate()[1], child.returncode) == ("", 0)
    for folder in folders:
        assert files_in(folder / "small") == CONTENTS


@pytest.mark.skipif(sys.platform == "win32", reason="needs SIGKILL")
def test_killed_process_leaves_no_partial_file(mirror, place, tmp_path):
    address = mirror()
    child = process(address, [str(tmp_path / "cache")], kill=True)
    child.communicate()
    assert child.returncode == -signal.SIGKILL
    (left,) = files_in(place)
    assert left.endswith(".unfinished")
    small = collection(address)
    assert {entry.state for entry in status(small)} == {"missing"}
    assert load(small) == CONTENTS
    assert remove(small) == sum(map(len, CONTENTS.values())) + len(CONTENTS[IMAGES])
    assert not place.exists()


@pytest.fixture
def read_only(monkeypatch):
    """A folder that can be read but not written, for root as well (who then acts as another user)."""
    if sys.platform == "win32":
        pytest.skip("needs permission bits")
    folder = Path(tempfile.mkdtemp())
    monkeypatch.setenv("EBBING_DATA", str(folder))
    me = os.geteuid()
    (folder / "small").mkdir()

    def close() -> Path:
        (folder / "small").chmod(0o555)
        folder.chmod(0o755 if me == 0 else 0o555)
        if me == 0:
            os.seteuid(65534)
        return folder

    yield close
    os.seteuid(me)
    folder.chmod(0o755)
    (folder / "small").chmod(0o755)
    shutil.rmtree(folder)


def test_incomplete_read_only_cache_raises_before_fetching(read_only, monkeypatch):
    monkeypatch.setattr(_cache, "_sources", lambda *_: pytest.fail("fetched in vain"))
    folder = read_only()
    with pytest.raises(DataError) as caught:
        load(collection("https://nowhere.invalid/"))
    assert str(caught.value) == (
        f"cannot write into {folder / 'small'}: Permission denied; set EBBING_DATA to a writable folder"
    )


def test_complete_read_only_cache_is_used(read_only):
    for name, content in CONTENTS.items():
        (_cache.cache_folder() / "small" / name).write_bytes(content)
    read_only()
    assert load(collection()) == CONTENTS


def test_file_in_place_of_the_cache_raises(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("EBBING_DATA", str(tmp_path / "file"))
    assert {entry.state for entry in status(collection())} == {"missing"}
    assert remove(collection()) == 0
    with pytest.raises(DataError, match=r"cannot write into .*; set EBBING_DATA"):
        load(collection())
