"""CIFAR-100: two formats with the same content, order and fingerprint."""

import dataclasses
import pickle

import numpy as np
import pytest
import toy_cifar100
from toy_cifar100 import ARCHIVE, NPZ, PICKLES, RNG, SPEC, X_TEST, X_TRAIN, Y_TEST, Y_TRAIN, arrays, npz, use

from ebbing import data

given, place = toy_cifar100.given, toy_cifar100.place  # fixtures


def plainly_sorted():
    """The reference: the order of Python's sorted."""
    found = []
    for images, labels in ((X_TRAIN, Y_TRAIN), (X_TEST, Y_TEST)):
        rows = sorted((int(label), image.tobytes()) for image, label in zip(images, labels, strict=True))
        found.append(np.array([np.frombuffer(image, np.uint8).reshape(32, 32, 3) for _, image in rows]))
        found.append(np.array([label for label, _ in rows], np.uint8))
    return found


@pytest.mark.parametrize("form", ["npz", "archive"])
def test_both_formats_give_sorted_arrays(form, given):
    found = data.cifar100(given(NPZ if form == "npz" else ARCHIVE))
    for array, expected in zip(arrays(found), plainly_sorted(), strict=True):
        assert array.dtype == np.uint8
        np.testing.assert_array_equal(array, expected)
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0


def test_formats_and_orders_have_the_same_fingerprint(given, place, monkeypatch, tmp_path):
    shuffle = RNG.permutation(len(X_TRAIN))
    other = npz(x_train=X_TRAIN[shuffle], y_train=Y_TRAIN[shuffle].astype(np.uint8)[:, None], classes=list("abcd"))
    found = set()
    for i, content in enumerate((NPZ, ARCHIVE, other)):
        monkeypatch.setenv("EBBING_DATA", str(tmp_path / str(i)))
        identity = data.cifar100(given(content)).fingerprint
        assert identity.startswith("cifar100-")
        found.add((identity, (tmp_path / str(i) / "cifar100" / "cifar100.npz").read_bytes()))
    assert len(found) == 1


@pytest.mark.parametrize("change", ["pixel", "label", "split"])
def test_other_content_has_another_fingerprint(change, given, monkeypatch, tmp_path):
    use(monkeypatch, wanted=dataclasses.replace(SPEC, color_sums=None))
    before = data.cifar100(given(NPZ)).fingerprint
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
    assert data.cifar100(given(npz(x_train=x_train, y_train=y_train, x_test=x_test))).fingerprint != before


def test_toy_pickles_have_the_official_opcodes():
    assert PICKLES["train"].startswith(b"\x80\x02}")
    content = pickle.loads(PICKLES["train"].replace(b"cnumpy.core.", b"cnumpy._core."), encoding="bytes")
    assert set(content) == {b"data", b"fine_labels", b"coarse_labels", b"filenames"}
    assert content[b"data"].shape == (20, 3072)
    np.testing.assert_array_equal(content[b"data"][0, :1024].reshape(32, 32), X_TRAIN[0, :, :, 0])
