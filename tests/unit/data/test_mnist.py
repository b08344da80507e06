"""MNIST for users: the cache folder, reading, fetching, printing and removing."""

import importlib
import io
import json
import sys
from pathlib import Path

import numpy as np
import pytest
import toy_mnist
from rich.console import Console
from toy_mnist import ARRAYS, CONTENTS, FILES, IMAGES, SHAPES, collection, files_in

from ebbing import data
from ebbing.cli._data_table import print_data
from ebbing.data import DataError, _cache
from ebbing.data._cache import DatasetFiles
from ebbing.data._sources import FetchError
from ebbing.data.mnist import idx_file
from ebbing.io.schema import data_json

mirror, place = toy_mnist.mirror, toy_mnist.place  # fixtures


# ---------------------------------------------------------------- cache folder


def test_cache_folder_follows_the_platform(monkeypatch, tmp_path):
    def folder(platform: str, **environment: str) -> Path:
        with monkeypatch.context() as patch:
            for name in ("EBBING_DATA", "XDG_CACHE_HOME", "LOCALAPPDATA"):
                patch.delenv(name, raising=False)
            for name, value in environment.items():
                patch.setenv(name, value)
            patch.setattr(sys, "platform", platform)
            patch.setattr(Path, "home", lambda: tmp_path)
            return _cache.cache_folder()

    assert folder("linux") == tmp_path / ".cache" / "ebbing"
    assert folder("linux", XDG_CACHE_HOME=str(tmp_path / "x")) == tmp_path / "x" / "ebbing"
    assert folder("linux", XDG_CACHE_HOME="relative") == tmp_path / ".cache" / "ebbing"  # as the standard requires
    assert folder("darwin") == tmp_path / "Library" / "Caches" / "ebbing"
    assert folder("win32", LOCALAPPDATA=str(tmp_path / "local")) == tmp_path / "local" / "ebbing"
    assert folder("win32") == tmp_path / "AppData" / "Local" / "ebbing"
    for platform in ("linux", "darwin", "win32"):
        assert folder(platform, EBBING_DATA=str(tmp_path / "mine"), XDG_CACHE_HOME="/x") == tmp_path / "mine"
        assert folder(platform, EBBING_DATA="near") == Path.cwd() / "near"
    assert folder("linux", EBBING_DATA="") == tmp_path / ".cache" / "ebbing"


def test_cache_folder_without_a_home_raises(monkeypatch):
    def no_home():
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(Path, "home", no_home)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.delenv("EBBING_DATA")
    with pytest.raises(DataError, match=r"no folder for the data: .*; set EBBING_DATA to one"):
        _cache.cache_folder()


# ---------------------------------------------------------------- public functions


@pytest.fixture
def small_mnist(mirror, monkeypatch):
    """`ebbing.data` with the small files for MNIST, and without other data."""
    small = DatasetFiles("mnist", FILES, (mirror(),))
    monkeypatch.setattr(importlib.import_module("ebbing.data.mnist"), "MNIST", small)
    monkeypatch.setattr(data, "DATASETS", {"mnist": small})
    return small


def test_mnist_returns_read_only_arrays(small_mnist):
    found = data.mnist()
    np.testing.assert_array_equal(found.train_images, ARRAYS["train-images-idx3-ubyte"])
    np.testing.assert_array_equal(found.train_labels, ARRAYS["train-labels-idx1-ubyte"])
    np.testing.assert_array_equal(found.test_images, ARRAYS["t10k-images-idx3-ubyte"])
    np.testing.assert_array_equal(found.test_labels, ARRAYS["t10k-labels-idx1-ubyte"])
    assert found.fingerprint == small_mnist.fingerprint
    with pytest.raises(ValueError, match="read-only"):
        found.train_images[0] = 0


def test_fingerprint_depends_on_the_content():
    other = idx_file(IMAGES, SHAPES[IMAGES], md5="0" * 32, gzip_md5="")
    assert collection().fingerprint == collection("https://elsewhere.invalid/").fingerprint
    assert DatasetFiles("small", (other, *FILES[1:])).fingerprint != collection().fingerprint


def test_status_fetch_and_remove(small_mnist):
    assert {(entry.state, entry.size) for entry in data.status()} == {("missing", None)}
    data.fetch("mnist")
    entries = data.status("mnist")
    assert [(e.dataset, e.state, e.path, e.size) for e in entries] == [
        ("mnist", "verified", data.cache_folder() / "mnist" / name, len(content)) for name, content in CONTENTS.items()
    ]
    (small_mnist.folder / "notes.txt").write_text("the user's own")
    assert data.remove("mnist") == sum(map(len, CONTENTS.values()))
    assert set(files_in(small_mnist.folder)) == {"notes.txt"}
    assert data.remove("mnist") == 0


@pytest.mark.parametrize("function", [data.status, data.fetch, data.remove])
def test_unknown_dataset_raises(function):
    with pytest.raises(ValueError, match="'minst': no such dataset; give one of mnist"):
        function("minst")


def test_print_data_shows_the_cache(small_mnist):
    def shown() -> str:
        out = io.StringIO()
        print_data(data.status(), Console(file=out, width=100))
        return out.getvalue()

    assert shown().count("missing") == 4 + 1
    assert "ebbing data mnist --fetch" in shown()
    data.fetch()
    assert shown().count("verified") == 4
    assert "--fetch" not in shown()
    (small_mnist.folder / IMAGES).write_bytes(b"damaged")
    assert f"{small_mnist.folder / IMAGES} has 7 bytes instead of 112" in shown()
    content = json.loads(json.dumps(data_json(data.cache_folder(), data.status())))
    assert content["folder"] == str(data.cache_folder())
    first, second = content["files"][:2]
    assert first == {
        "dataset": "mnist",
        "path": str(small_mnist.folder / IMAGES),
        "size": 7,
        "state": "damaged",
        "error": "has 7 bytes instead of 112",
    }
    assert (second["state"], second["error"]) == ("verified", None)


def test_fetch_error_is_not_shown_to_users():
    assert not issubclass(FetchError, OSError | ValueError)
