"""CIFAR-100: two forms, one content; no pickle is read unless it is the official one, and no file half taken.

The set here is small: four classes, five images of each to train with and two to test with, in the same formats.
"""

import dataclasses
import hashlib
import importlib
import io
import json
import os
import pickle
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from rich.console import Console
from typer.testing import CliRunner

from ebbing import cli, data, printing_data
from ebbing.data import DataError, cache
from ebbing.data.cache import Collection
from ebbing.data.cifar100 import CIFAR100, KEYS, CifarFile
from ebbing.data.sources import SourceError

module = importlib.import_module("ebbing.data.cifar100")
RNG = np.random.default_rng(0)
CLASSES, TRAIN, TEST = 4, 5, 2
X_TRAIN = RNG.integers(0, 256, (CLASSES * TRAIN, 32, 32, 3), np.uint8)
X_TEST = RNG.integers(0, 256, (CLASSES * TEST, 32, 32, 3), np.uint8)
Y_TRAIN = RNG.permutation(np.repeat(np.arange(CLASSES), TRAIN))
Y_TEST = RNG.permutation(np.repeat(np.arange(CLASSES), TEST))
X_TRAIN[1:5, 0, 0], X_TEST[:, 0, 0] = 7, 0  # ties at the first bytes, and bytes that end a C string


def md5(content):
    return hashlib.md5(content).hexdigest()


# ---------------------------------------------------------------- the two forms


def npz(**replaced) -> bytes:
    """The set as an .npz, with some arrays replaced (None: absent)."""
    arrays = {"x_train": X_TRAIN, "y_train": Y_TRAIN, "x_test": X_TEST, "y_test": Y_TEST} | replaced
    buffer = io.BytesIO()
    held: dict[str, Any] = {key: array for key, array in arrays.items() if array is not None}
    np.savez_compressed(buffer, **held)
    return buffer.getvalue()


class Python2(pickle._Pickler):
    """Writes as Python 2 and its NumPy did: text as bytes, truth as 0 or 1, `_reconstruct` in its old module."""

    dispatch: ClassVar[Any] = dict(pickle._Pickler.dispatch)  # type: ignore[attr-defined]
    write: Any

    def save_bytes(self, text):
        self.write(pickle.BINSTRING + len(text).to_bytes(4, "little") + text)

    def save_text(self, text):
        self.save_bytes(text.encode("latin1"))

    def save_truth(self, value):
        self.write(pickle.BININT1 + bytes([value]))

    dispatch[bytes], dispatch[str], dispatch[bool] = save_bytes, save_text, save_truth


def batch(images, labels, **more) -> bytes:
    """One of the archive's pickles: a row of all red, all green, all blue for each image."""
    rows = images.transpose(0, 3, 1, 2).reshape(len(images), -1)
    content = {"data": rows, "fine_labels": labels.tolist(), "coarse_labels": [0] * len(labels), "filenames": ["a.png"]}
    buffer = io.BytesIO()
    Python2(buffer, protocol=2).dump(content | more)
    return buffer.getvalue().replace(b"cnumpy._core.multiarray\n", b"cnumpy.core.multiarray\n")


PICKLES = {"train": batch(X_TRAIN, Y_TRAIN), "test": batch(X_TEST, Y_TEST)}


def archive(folder="cifar-100-python", **replaced: bytes | None) -> bytes:
    """The set as the archive, with some of its pickles replaced (None: absent)."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as tar:
        for name, content in ({"meta": b"never read"} | PICKLES | replaced).items():
            if content is not None:
                entry = tarfile.TarInfo(f"{folder}/{name}")
                entry.size = len(content)
                tar.addfile(entry, io.BytesIO(content))
    return buffer.getvalue()


NPZ, ARCHIVE = npz(), archive()
SUMS = tuple(int(X_TRAIN[..., colour].astype(int).sum()) for colour in range(3))
WANTED = CifarFile(
    md5=md5(ARCHIVE), pickles=(md5(PICKLES["train"]), md5(PICKLES["test"])), classes=CLASSES, train=TRAIN, test=TEST
)
WANTED = dataclasses.replace(WANTED, sums=SUMS)  # type: ignore[arg-type]


@pytest.fixture(autouse=True)
def place(tmp_path, monkeypatch):
    """Where the small set is cached; `ebbing.data` takes it for CIFAR-100."""
    monkeypatch.setenv("EBBING_DATA", str(tmp_path / "cache"))
    monkeypatch.delenv("EBBING_CIFAR100", raising=False)
    use(monkeypatch)
    return tmp_path / "cache" / "cifar100"


def use(monkeypatch, *mirrors: str, wanted: CifarFile = WANTED) -> Collection:
    small = dataclasses.replace(CIFAR100, files=(wanted,), mirrors=mirrors)
    monkeypatch.setattr(module, "CIFAR100", small)
    monkeypatch.setitem(data.COLLECTIONS, "cifar100", small)
    return small


@pytest.fixture
def given(tmp_path):
    """A function that writes a file for users to name."""

    def given(content: bytes, name="given") -> Path:
        (tmp_path / name).write_bytes(content)
        return tmp_path / name

    return given


def arrays(found: data.Cifar100):
    return found.train_images, found.train_labels, found.test_images, found.test_labels


def plainly_sorted():
    """The reference: Python's own order of labels and bytes."""
    found = []
    for images, labels in ((X_TRAIN, Y_TRAIN), (X_TEST, Y_TEST)):
        rows = sorted((int(label), image.tobytes()) for image, label in zip(images, labels, strict=True))
        found.append(np.array([np.frombuffer(image, np.uint8).reshape(32, 32, 3) for _, image in rows]))
        found.append(np.array([label for label, _ in rows], np.uint8))
    return found


@pytest.mark.parametrize("form", ["npz", "archive"])
def test_either_form_gives_the_set_in_order(form, given):
    found = data.cifar100(given(NPZ if form == "npz" else ARCHIVE))
    for array, expected in zip(arrays(found), plainly_sorted(), strict=True):
        assert array.dtype == np.uint8
        np.testing.assert_array_equal(array, expected)
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0


def test_both_forms_and_any_order_of_rows_have_one_identity_and_one_file(given, place, monkeypatch, tmp_path):
    shuffle = RNG.permutation(len(X_TRAIN))
    other = npz(x_train=X_TRAIN[shuffle], y_train=Y_TRAIN[shuffle].astype(np.uint8)[:, None], classes=list("abcd"))
    found = set()
    for i, content in enumerate((NPZ, ARCHIVE, other)):
        monkeypatch.setenv("EBBING_DATA", str(tmp_path / str(i)))
        identity = data.cifar100(given(content)).identity
        assert identity.startswith("cifar100-")
        found.add((identity, (tmp_path / str(i) / "cifar100" / "cifar100.npz").read_bytes()))
    assert len(found) == 1


@pytest.mark.parametrize("change", ["pixel", "label", "split"])
def test_other_content_has_another_identity(change, given, monkeypatch, tmp_path):
    use(monkeypatch, wanted=dataclasses.replace(WANTED, sums=None))
    before = data.cifar100(given(NPZ)).identity
    x_train, y_train, x_test = X_TRAIN.copy(), Y_TRAIN.copy(), X_TEST.copy()
    if change == "pixel":
        x_test[3, 4, 5, 1] ^= 1
    elif change == "label":
        i, j = np.flatnonzero(y_train == 0)[0], np.flatnonzero(y_train == 1)[0]
        y_train[[i, j]] = y_train[[j, i]]
    else:
        i, j = np.flatnonzero(y_train == 0)[0], np.flatnonzero(Y_TEST == 0)[0]
        x_train[i], x_test[j] = X_TEST[j], X_TRAIN[i]
    monkeypatch.setenv("EBBING_DATA", str(tmp_path / "other"))
    assert data.cifar100(given(npz(x_train=x_train, y_train=y_train, x_test=x_test))).identity != before


def test_the_pickles_of_these_tests_are_like_the_official_ones():
    assert PICKLES["train"].startswith(b"\x80\x02}")
    content = pickle.loads(PICKLES["train"].replace(b"cnumpy.core.", b"cnumpy._core."), encoding="bytes")
    assert set(content) == {b"data", b"fine_labels", b"coarse_labels", b"filenames"}
    assert content[b"data"].shape == (20, 3072)
    np.testing.assert_array_equal(content[b"data"][0, :1024].reshape(32, 32), X_TRAIN[0, :, :, 0])


# ---------------------------------------------------------------- pickles


@dataclasses.dataclass
class Trap:
    """Leaves a file behind when it is unpickled."""

    path: str

    def __reduce__(self):
        return Path.touch, (Path(self.path),)


@pytest.mark.parametrize("known_archive", [False, True])
def test_an_unknown_pickle_is_never_read(known_archive, given, tmp_path, monkeypatch):
    trap = pickle.dumps(Trap(str(tmp_path / "ran")))
    pickle.loads(trap)
    assert (tmp_path / "ran").exists()  # the trap works
    (tmp_path / "ran").unlink()
    content = archive(train=trap)
    if known_archive:  # its md5 alone convinces nobody
        use(monkeypatch, wanted=dataclasses.replace(WANTED, md5=md5(content)))
    with pytest.raises(DataError, match=f"given has a cifar-100-python/train that has md5 {md5(trap)} instead of"):
        data.cifar100(given(content))
    assert not (tmp_path / "ran").exists()
    assert data.status("cifar100")[0].state == "missing"


def test_even_a_pickle_of_the_right_md5_calls_nothing(given, tmp_path, monkeypatch):
    trap = pickle.dumps(Trap(str(tmp_path / "ran")))
    use(monkeypatch, wanted=dataclasses.replace(WANTED, pickles=(md5(trap), WANTED.pickles[1])))
    with pytest.raises(DataError, match="has a pickle that calls "):
        data.cifar100(given(archive(train=trap)))
    assert not (tmp_path / "ran").exists()


def test_pickled_arrays_in_an_npz_are_refused(given, tmp_path):
    with pytest.raises(DataError, match=r"Object arrays cannot be loaded when allow_pickle=False"):
        data.cifar100(given(npz(y_train=np.array([Trap(str(tmp_path / "ran"))] * 20, object))))
    assert not (tmp_path / "ran").exists()


def test_a_repacked_archive_with_the_official_pickles_is_fine(given):
    content = archive(folder="./cifar-100-python", more=b"something else")
    assert md5(content) != WANTED.md5
    assert len(data.cifar100(given(content)).train_labels) == 20


# ---------------------------------------------------------------- files that are not right

BROKEN = {
    "empty": (b"", "begins with nothing: neither a .tar.gz nor an .npz"),
    "a page": (b"<html>please log in", "begins with 3c68746d6c3e706c: neither"),
    "half an npz": (NPZ[: len(NPZ) // 2], "is damaged or no .npz: File is not a zip file"),
    "an npz with a wrong bit": (NPZ[:9000] + bytes([NPZ[9000] ^ 1]) + NPZ[9001:], "is damaged or no .npz: "),
    "half an archive": (ARCHIVE[: len(ARCHIVE) // 2], "is damaged: "),
    "an archive with a wrong bit": (ARCHIVE[:9000] + bytes([ARCHIVE[9000] ^ 1]) + ARCHIVE[9001:], ""),
    "a few bytes of an archive": (ARCHIVE[:12], "is damaged: "),
    "no archive": (b"\x1f\x8bhello", "is damaged: "),
    "no test data": (archive(test=None), "has no cifar-100-python/test"),
    "another folder": (archive(folder="cifar-10"), "has no cifar-100-python/train"),
    "no labels": (npz(y_train=None, y_test=None), "has no y_train, y_test; there is x_train, x_test"),
    "other keys": (npz(x_train=None, images=X_TRAIN), "has no x_train; there is y_train, x_test, y_test, images"),
    "floats": (
        npz(x_train=X_TRAIN.astype(np.float32)),
        r"has x_train of type float32 and shape \(20, 32, 32, 3\) instead of uint8 of shape \(20, 32, 32, 3\)",
    ),
    "channels first": (
        npz(x_test=X_TEST.transpose(0, 3, 1, 2)),
        r"has x_test of type uint8 and shape \(8, 3, 32, 32\)",
    ),
    "fewer images": (npz(x_train=X_TRAIN[1:]), r"has x_train of type uint8 and shape \(19, 32, 32, 3\) instead of"),
    "fewer labels": (npz(y_train=Y_TRAIN[1:]), r"has y_train of type int64 and shape \(19,\) instead of whole numbers"),
    "labels with nan": (npz(y_test=np.full(8, np.nan)), "has y_test of type float64"),
    "one-hot labels": (npz(y_test=np.eye(4, dtype=int)[Y_TEST]), r"has y_test of type int64 and shape \(8, 4\)"),
    "labels from 1": (npz(y_train=Y_TRAIN + 1), "has y_train from 1 to 4 instead of fine labels from 0 to 3"),
    "negative labels": (npz(y_test=Y_TEST - 1), "has y_test from -1 to 2 instead of"),
    "coarse labels": (npz(y_train=Y_TRAIN // 2), "has 10 images of class 0 in x_train instead of 5"),
    "other class order": (npz(classes=list("bacd")), "has classes that are not in alphabetical order: its labels are"),
    "other images": (npz(x_train=X_TRAIN ^ 1), r"has other images: x_train sums to \("),
    "blue, green, red": (npz(x_train=X_TRAIN[..., ::-1]), "has other images"),
}


@pytest.mark.parametrize("broken", BROKEN)
def test_a_file_that_is_not_right_is_refused_with_a_reason(broken, given, place, monkeypatch):
    use(monkeypatch, "https://nowhere.invalid/")
    monkeypatch.setattr(cache, "_sources", lambda *_: pytest.fail("went elsewhere"))
    content, reason = BROKEN[broken]
    with pytest.raises(DataError, match=f"given {reason}") as caught:
        data.cifar100(given(content))
    assert str(caught.value).endswith(
        "; name the official cifar-100-python.tar.gz, or an .npz with x_train, y_train, x_test, y_test"
    )
    assert list(place.iterdir()) == []


def test_no_damage_ends_in_another_error():
    """Bytes flipped and cut anywhere, in a small .npz and a small archive: refused, or it was without effect."""
    random = np.random.default_rng(1)
    good = WANTED.unpacked(NPZ)
    for content in (NPZ, ARCHIVE, good):
        for _ in range(150):
            spoilt = bytearray(content)
            near = int(random.choice([200, len(content)]))
            where = random.integers(len(content) - near, len(content), 3) if random.random() < 0.7 else [0, 30, 60]
            for at in where:
                spoilt[int(at)] = int(random.integers(256))
            cut = bytes(spoilt[: int(random.integers(1, len(spoilt)))]) if random.random() < 0.2 else bytes(spoilt)
            with suppress(SourceError):
                assert WANTED.unpacked(cut) == good
            assert isinstance(WANTED.fault(cut), str)


def test_a_file_that_cannot_be_read(tmp_path):
    with pytest.raises(DataError, match=r"nothing\.npz cannot be read: No such file or directory; name the official"):
        data.cifar100(tmp_path / "nothing.npz")
    with pytest.raises(DataError, match=r"cannot be read: Is a directory"):
        data.cifar100(tmp_path)


# ---------------------------------------------------------------- where it comes from


@pytest.fixture
def offline(monkeypatch):
    monkeypatch.setattr(cache, "_sources", lambda *_: pytest.fail("fetched what is here"))


@pytest.mark.usefixtures("offline")
def test_named_once_then_from_the_cache(given, place):
    file = given(NPZ)
    lines = []
    first = data.cifar100(file, lines.append)
    assert lines == [str(file)]
    assert [path.name for path in place.iterdir()] == ["cifar100.npz"]
    file.unlink()
    second = data.cifar100()
    assert second.identity == first.identity
    for array, other in zip(arrays(first), arrays(second), strict=True):
        np.testing.assert_array_equal(array, other)
    data.cifar100(file)  # what is in the cache need not be there any more


@pytest.mark.usefixtures("offline")
def test_named_by_the_environment(given, monkeypatch):
    monkeypatch.setenv("EBBING_CIFAR100", str(given(ARCHIVE)))
    with pytest.raises(DataError, match=r"other cannot be read"):  # what a call says comes first
        data.cifar100("other")
    assert len(data.cifar100().test_labels) == 8


def test_an_empty_variable_is_none(monkeypatch, tmp_path):
    monkeypatch.setenv("EBBING_CIFAR100", "")
    use(monkeypatch, f"{tmp_path.as_uri()}/")
    with pytest.raises(DataError, match="could not be fetched"):
        data.cifar100()


@pytest.mark.usefixtures("offline")
def test_a_home_is_expanded(given, monkeypatch, tmp_path):
    given(NPZ, "mine.npz")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    assert len(data.cifar100("~/mine.npz").test_labels) == 8


def test_from_the_official_address_or_by_hand(given, monkeypatch, tmp_path, place):
    (tmp_path / "mirror").mkdir()
    given(ARCHIVE, "mirror/cifar-100-python.tar.gz")
    use(monkeypatch, f"{(tmp_path / 'mirror').as_uri()}/")
    from_mirror = data.cifar100()
    data.remove("cifar100")
    use(monkeypatch)
    place.mkdir()
    shutil.copy(tmp_path / "mirror" / "cifar-100-python.tar.gz", place)
    assert data.cifar100().identity == from_mirror.identity
    assert data.remove("cifar100") == len(WANTED.unpacked(NPZ))
    assert [path.name for path in place.iterdir()] == ["cifar-100-python.tar.gz"]  # the user's own


def test_what_cannot_be_had_is_explained(given, monkeypatch, tmp_path, place):
    (tmp_path / "bad").mkdir()
    given(ARCHIVE[:-300], "bad/cifar-100-python.tar.gz")
    bad, nowhere = (f"{(tmp_path / name).as_uri()}/" for name in ("bad", "nowhere"))
    use(monkeypatch, bad, nowhere)
    with pytest.raises(DataError) as caught:
        data.cifar100()
    first, *lines = str(caught.value).splitlines()
    assert first == "cifar100 is not in the cache and could not be fetched. Tried:"
    assert lines[0] == f"  {place}: no cifar100.npz"
    assert lines[1].startswith(f"  {bad}: cifar-100-python.tar.gz is damaged: ")
    assert lines[2].startswith(f"  {nowhere}: ")
    assert lines[3].startswith(f"Way out: put these files into {place} (or set EBBING_DATA")
    assert lines[4:] == [
        f"  cifar-100-python.tar.gz (md5 {WANTED.md5})",
        "or set EBBING_CIFAR100 to the official cifar-100-python.tar.gz, "
        "or an .npz with x_train, y_train, x_test, y_test",
    ]


def test_a_mirror_that_goes_on_is_cut_off(given, monkeypatch, tmp_path):
    (tmp_path / "mirror").mkdir()
    given(bytes(WANTED.limit + 10**6), "mirror/cifar-100-python.tar.gz")
    use(monkeypatch, f"{(tmp_path / 'mirror').as_uri()}/")
    with pytest.raises(DataError, match=f"goes on after {WANTED.limit:,} bytes"):
        data.cifar100()


# ---------------------------------------------------------------- the cache


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
from ebbing.data.cache import Collection
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


# ---------------------------------------------------------------- the public face


def test_the_official_set_is_described():
    (official,) = CIFAR100.files
    assert isinstance(official, CifarFile)
    assert (official.classes, official.train, official.test) == (100, 500, 100)
    assert official.md5 == "eb9058c3a382ffc7106e4002c42a8d85"
    means = [total / (50_000 * 1024 * 255) for total in official.sums or ()]
    np.testing.assert_allclose(means, [0.5070751592371323, 0.48654887331495095, 0.4409178433670343], rtol=1e-15)
    assert official.limit > 2 * 169_001_437  # the archive's size
    assert CIFAR100.mirrors == ("https://www.cs.toronto.edu/~kriz/",)


@pytest.fixture
def with_mnist(monkeypatch, tmp_path):
    """A stand-in for MNIST that can be had (True) or not (False)."""

    def with_mnist(can_be_had: bool) -> None:
        (tmp_path / "mnist").mkdir()
        if can_be_had:
            (tmp_path / "mnist" / "cifar-100-python.tar.gz").write_bytes(ARCHIVE)
        mnist = Collection("mnist", (WANTED,), (f"{(tmp_path / 'mnist').as_uri()}/",))
        monkeypatch.setitem(data.COLLECTIONS, "mnist", mnist)

    return with_mnist


def test_all_data_what_cannot_be_had_does_not_stop_the_rest(with_mnist, given):
    with_mnist(True)
    (failure,) = data.fetch()
    assert str(failure).startswith("cifar100 is not in the cache and could not be fetched")
    assert [(entry.collection, entry.state) for entry in data.status()] == [
        ("mnist", "verified"),
        ("cifar100", "missing"),
    ]
    with pytest.raises(DataError, match="cifar100 is not in the cache"):  # asked for by name
        data.fetch("cifar100")
    assert data.fetch("cifar100", file=given(NPZ)) == ()
    assert data.fetch() == ()
    assert {entry.state for entry in data.status()} == {"verified"}


def test_all_data_and_none_can_be_had(with_mnist):
    with_mnist(False)
    with pytest.raises(DataError, match=r"(?s)mnist is not in the cache.*cifar100 is not in the cache"):
        data.fetch()


def test_a_file_needs_data_that_can_come_from_one(given):
    with pytest.raises(ValueError, match=r"file='.*given': say which data it holds: cifar100"):
        data.fetch(file=given(NPZ))
    with pytest.raises(ValueError, match=r"file='.*given': mnist is not taken from a single file; leave it out"):
        data.fetch("mnist", file=given(NPZ))


def test_the_command(given, with_mnist):
    with_mnist(True)

    def run(*words: str):
        return CliRunner().invoke(cli.app, ["data", *words])

    shown = run()
    assert "ebbing data cifar100 --fetch" in shown.output
    done = run("--fetch")
    assert done.exit_code == 0
    assert "ebbing: cifar100 is not in the cache and could not be fetched" in done.stderr
    assert done.stdout.count("verified") == 1
    assert isinstance(run("cifar100", "--fetch").exception, DataError)
    assert isinstance(run("--file", str(given(NPZ))).exception, ValueError)
    done = run("cifar100", "--file", str(given(NPZ)), "--json")  # --fetch goes without saying
    assert [file["state"] for file in json.loads(done.stdout)["files"]] == ["verified"]


def test_how_it_is_shown(given):
    def shown() -> str:
        out = io.StringIO()
        printing_data.print_data(data.status("cifar100"), Console(file=out, width=120))
        return out.getvalue()

    assert "To get what is missing or damaged: ebbing data cifar100 --fetch" in shown()
    assert "To get it from a file that you have: ebbing data cifar100 --file PATH" in shown()
    data.fetch("cifar100", file=given(NPZ))
    assert shown().count("verified") == 1
    assert "--fetch" not in shown()
