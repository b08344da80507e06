"""CIFAR-100: only official pickles are read, and invalid files raise errors."""

import dataclasses
import pickle
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
import toy_cifar100
from toy_cifar100 import ARCHIVE, NPZ, SPEC, X_TEST, X_TRAIN, Y_TEST, Y_TRAIN, archive, md5, npz, use

from ebbing import data
from ebbing.data import DataError, _cache
from ebbing.data._sources import FetchError

given, place = toy_cifar100.given, toy_cifar100.place  # fixtures


# ---------------------------------------------------------------- pickles


@dataclasses.dataclass
class Trap:
    """Leaves a file behind when it is unpickled."""

    path: str

    def __reduce__(self):
        return Path.touch, (Path(self.path),)


@pytest.mark.parametrize("known_archive", [False, True])
def test_unknown_pickle_is_never_read(known_archive, given, tmp_path, monkeypatch):
    trap = pickle.dumps(Trap(str(tmp_path / "ran")))
    pickle.loads(trap)
    assert (tmp_path / "ran").exists()  # the trap works
    (tmp_path / "ran").unlink()
    content = archive(train=trap)
    if known_archive:  # its md5 alone is not enough
        use(monkeypatch, wanted=dataclasses.replace(SPEC, md5=md5(content)))
    with pytest.raises(DataError, match=f"given has a cifar-100-python/train that has md5 {md5(trap)} instead of"):
        data.cifar100(given(content))
    assert not (tmp_path / "ran").exists()
    assert data.status("cifar100")[0].state == "missing"


def test_pickle_with_the_right_md5_calls_nothing(given, tmp_path, monkeypatch):
    trap = pickle.dumps(Trap(str(tmp_path / "ran")))
    use(monkeypatch, wanted=dataclasses.replace(SPEC, pickle_md5s=(md5(trap), SPEC.pickle_md5s[1])))
    with pytest.raises(DataError, match="has a pickle that calls "):
        data.cifar100(given(archive(train=trap)))
    assert not (tmp_path / "ran").exists()


def test_pickled_arrays_in_an_npz_raise(given, tmp_path):
    with pytest.raises(DataError, match=r"Object arrays cannot be loaded when allow_pickle=False"):
        data.cifar100(given(npz(y_train=np.array([Trap(str(tmp_path / "ran"))] * 20, object))))
    assert not (tmp_path / "ran").exists()


def test_repacked_archive_with_official_pickles_is_accepted(given):
    content = archive(folder="./cifar-100-python", more=b"something else")
    assert md5(content) != SPEC.md5
    assert len(data.cifar100(given(content)).train_labels) == 20


# ---------------------------------------------------------------- invalid files


BROKEN = {
    "empty": (b"", "begins with nothing: neither a .tar.gz nor an .npz"),
    "a page": (b"<html>please log in", "begins with 3c68746d6c3e706c: neither"),
    "half an npz": (NPZ[: len(NPZ) // 2], "is damaged or not an .npz: File is not a zip file"),
    "an npz with a wrong bit": (NPZ[:9000] + bytes([NPZ[9000] ^ 1]) + NPZ[9001:], "is damaged or not an .npz: "),
    "half an archive": (ARCHIVE[: len(ARCHIVE) // 2], "is damaged: "),
    "an archive with a wrong bit": (ARCHIVE[:9000] + bytes([ARCHIVE[9000] ^ 1]) + ARCHIVE[9001:], ""),
    "a few bytes of an archive": (ARCHIVE[:12], "is damaged: "),
    "no archive": (b"\x1f\x8bhello", "is damaged: "),
    "no test data": (archive(test=None), "has no cifar-100-python/test"),
    "another folder": (archive(folder="cifar-10"), "has no cifar-100-python/train"),
    "no labels": (npz(y_train=None, y_test=None), "has no y_train, y_test; it has x_train, x_test"),
    "other keys": (npz(x_train=None, images=X_TRAIN), "has no x_train; it has y_train, x_test, y_test, images"),
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
def test_invalid_file_raises_with_a_reason(broken, given, place, monkeypatch):
    use(monkeypatch, "https://nowhere.invalid/")
    monkeypatch.setattr(_cache, "_sources", lambda *_: pytest.fail("went elsewhere"))
    content, reason = BROKEN[broken]
    with pytest.raises(DataError, match=f"given {reason}") as caught:
        data.cifar100(given(content))
    assert str(caught.value).endswith(
        "; give the official cifar-100-python.tar.gz, or an .npz with x_train, y_train, x_test, y_test"
    )
    assert list(place.iterdir()) == []


def test_damage_never_raises_another_error():
    """Bytes flipped and cut anywhere in a small .npz and a small archive: an error, or no effect."""
    random = np.random.default_rng(1)
    good = SPEC.extract(NPZ)
    for content in (NPZ, ARCHIVE, good):
        for _ in range(150):
            spoilt = bytearray(content)
            near = int(random.choice([200, len(content)]))
            where = random.integers(len(content) - near, len(content), 3) if random.random() < 0.7 else [0, 30, 60]
            for at in where:
                spoilt[int(at)] = int(random.integers(256))
            cut = bytes(spoilt[: int(random.integers(1, len(spoilt)))]) if random.random() < 0.2 else bytes(spoilt)
            with suppress(FetchError):
                assert SPEC.extract(cut) == good
            assert isinstance(SPEC.validation_error(cut), str)


def test_unreadable_file_raises(tmp_path):
    with pytest.raises(DataError, match=r"nothing\.npz cannot be read: No such file or directory; give the official"):
        data.cifar100(tmp_path / "nothing.npz")
    with pytest.raises(DataError, match=r"cannot be read: Is a directory"):
        data.cifar100(tmp_path)
