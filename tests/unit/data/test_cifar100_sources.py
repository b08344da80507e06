"""CIFAR-100: its sources, and the errors if none of them works."""

import shutil

import numpy as np
import pytest
import toy_cifar100
from toy_cifar100 import ARCHIVE, NPZ, SPEC, arrays, use

from ebbing import data
from ebbing.data import DataError, _cache

given, place = toy_cifar100.given, toy_cifar100.place  # fixtures


@pytest.fixture
def offline(monkeypatch):
    monkeypatch.setattr(_cache, "_sources", lambda *_: pytest.fail("fetched what is here"))


@pytest.mark.usefixtures("offline")
def test_file_is_needed_only_once(given, place):
    file = given(NPZ)
    lines = []
    first = data.cifar100(file, lines.append)
    assert lines == [str(file)]
    assert [path.name for path in place.iterdir()] == ["cifar100.npz"]
    file.unlink()
    second = data.cifar100()
    assert second.fingerprint == first.fingerprint
    for array, other in zip(arrays(first), arrays(second), strict=True):
        np.testing.assert_array_equal(array, other)
    data.cifar100(file)  # the file is not needed any more


@pytest.mark.usefixtures("offline")
def test_file_from_the_environment_variable(given, monkeypatch):
    monkeypatch.setenv("EBBING_CIFAR100", str(given(ARCHIVE)))
    with pytest.raises(DataError, match=r"other cannot be read"):  # the argument takes precedence
        data.cifar100("other")
    assert len(data.cifar100().test_labels) == 8


def test_empty_environment_variable_is_ignored(monkeypatch, tmp_path):
    monkeypatch.setenv("EBBING_CIFAR100", "")
    use(monkeypatch, f"{tmp_path.as_uri()}/")
    with pytest.raises(DataError, match="could not be fetched"):
        data.cifar100()


@pytest.mark.usefixtures("offline")
def test_home_folder_is_expanded(given, monkeypatch, tmp_path):
    given(NPZ, "mine.npz")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    assert len(data.cifar100("~/mine.npz").test_labels) == 8


def test_archive_from_the_mirror_or_put_into_the_cache(given, monkeypatch, tmp_path, place):
    (tmp_path / "mirror").mkdir()
    given(ARCHIVE, "mirror/cifar-100-python.tar.gz")
    use(monkeypatch, f"{(tmp_path / 'mirror').as_uri()}/")
    from_mirror = data.cifar100()
    data.remove("cifar100")
    use(monkeypatch)
    place.mkdir()
    shutil.copy(tmp_path / "mirror" / "cifar-100-python.tar.gz", place)
    assert data.cifar100().fingerprint == from_mirror.fingerprint
    assert data.remove("cifar100") == len(SPEC.extract(NPZ))
    assert [path.name for path in place.iterdir()] == ["cifar-100-python.tar.gz"]  # the user's archive


def test_failed_fetch_lists_what_was_tried(given, monkeypatch, tmp_path, place):
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
    assert lines[3].startswith(f"Put these files into {place} (or set EBBING_DATA")
    assert lines[4:] == [
        f"  cifar-100-python.tar.gz (md5 {SPEC.md5})",
        "or set EBBING_CIFAR100 to the official cifar-100-python.tar.gz, "
        "or an .npz with x_train, y_train, x_test, y_test",
    ]


def test_mirror_that_sends_too_much_is_stopped(given, monkeypatch, tmp_path):
    (tmp_path / "mirror").mkdir()
    given(bytes(SPEC.max_archive_size + 10**6), "mirror/cifar-100-python.tar.gz")
    use(monkeypatch, f"{(tmp_path / 'mirror').as_uri()}/")
    with pytest.raises(DataError, match=f"has more than {SPEC.max_archive_size:,} bytes"):
        data.cifar100()
