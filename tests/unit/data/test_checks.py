"""The data cache: only validated files are used, and damaged files are replaced."""

import numpy as np
import pytest
import toy_mnist
from toy_mnist import ARRAYS, CONTENTS, IMAGES, collection, files_in, flipped

from ebbing.data import DataError
from ebbing.data._cache import load, status
from ebbing.data.mnist import read_idx

mirror, nowhere, place = toy_mnist.mirror, toy_mnist.nowhere, toy_mnist.place  # fixtures


@pytest.mark.parametrize("name", CONTENTS)
def test_read_idx_parses_idx_files(name):
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
def test_read_idx_of_other_files_raises(content, complaint):
    with pytest.raises(ValueError, match=complaint):
        read_idx(content)


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
def test_damaged_file_in_the_cache_is_replaced(damage, place, mirror):
    spoil, complaint = DAMAGES[damage]
    small = collection(mirror())
    load(small)
    (place / IMAGES).write_bytes(spoil(CONTENTS[IMAGES]))
    entry, *others = status(small)
    assert (entry.state, [other.state for other in others]) == ("damaged", ["verified"] * 3)
    assert entry.error.startswith(complaint)
    with pytest.warns(UserWarning, match=f"{IMAGES} {complaint}.*: it is damaged and will be fetched again"):
        assert load(small) == CONTENTS
    assert files_in(place) == CONTENTS
    assert load(small) == CONTENTS  # without a warning


def test_damaged_file_is_never_used(place, mirror, nowhere):
    load(collection(mirror()))
    (place / IMAGES).write_bytes(b"damaged")
    with pytest.warns(UserWarning, match="has 7 bytes"), pytest.raises(DataError) as caught:
        load(collection(nowhere))
    assert IMAGES in str(caught.value)
    assert "train-labels" not in str(caught.value)  # the other files are valid
