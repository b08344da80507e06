"""Fashion-MNIST, and data sets that a distribution's package installs."""

import gzip
import importlib
from dataclasses import replace

import numpy as np
import pytest
import toy_mnist
from toy_mnist import ARRAYS, CONTENTS, FILES, collection, md5

from ebbing import data
from ebbing.data import DataError, _cache
from ebbing.data.fashion_mnist import FASHION_MNIST

place = toy_mnist.place  # a fixture: the cache folder


@pytest.fixture
def installed(tmp_path):
    """A folder with the files as another program compressed them, and a dataset that knows their checksums."""
    folder = tmp_path / "installed"
    folder.mkdir()
    files = []
    for file in FILES:
        packed = gzip.compress(CONTENTS[file.name], compresslevel=1, mtime=1)
        assert md5(packed) != file.gzip_md5
        (folder / f"{file.name}.gz").write_bytes(packed)
        files.append(replace(file, other_gzip_md5=md5(packed)))
    return folder, replace(collection(), files=tuple(files), folders=(str(folder),))


def test_files_of_an_installed_package_are_read(installed, place):
    _, dataset = installed
    assert _cache.load(dataset) == CONTENTS
    assert {path.name for path in place.iterdir()} == set(CONTENTS)  # kept in the cache


def test_a_damaged_package_is_refused(installed):
    folder, dataset = installed
    path = folder / f"{FILES[0].name}.gz"
    path.write_bytes(path.read_bytes()[:-1] + b"x")
    with pytest.raises(DataError, match=rf"{folder}: {FILES[0].name}\.gz has md5 .* instead of {FILES[0].gzip_md5}"):
        _cache.load(dataset)


def test_fashion_mnist_has_the_form_of_mnist(monkeypatch):
    module = importlib.import_module("ebbing.data.fashion_mnist")  # the attribute of this name is the function
    monkeypatch.setattr(module, "FASHION_MNIST", replace(FASHION_MNIST, files=FILES))
    monkeypatch.setattr(module, "load", lambda dataset, progress: CONTENTS)
    found = data.fashion_mnist()
    assert np.array_equal(found.train_images, ARRAYS["train-images-idx3-ubyte"])
    assert np.array_equal(found.test_labels, ARRAYS["t10k-labels-idx1-ubyte"])
    assert found.fingerprint != data.DATASETS["mnist"].fingerprint
