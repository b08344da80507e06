"""CIFAR-100 for users: its specification, fetching, files of users, and the command."""

import io
import json

import numpy as np
import pytest
import toy_cifar100
from rich.console import Console
from toy_cifar100 import ARCHIVE, NPZ, SPEC
from typer.testing import CliRunner

from ebbing import cli, data
from ebbing.cli._data_table import print_data
from ebbing.data import DataError
from ebbing.data._cache import DatasetFiles
from ebbing.data.cifar100 import CIFAR100, CifarFileSpec

given, place = toy_cifar100.given, toy_cifar100.place  # fixtures


def test_specification_of_the_official_dataset():
    (official,) = CIFAR100.files
    assert isinstance(official, CifarFileSpec)
    assert (official.classes, official.train, official.test) == (100, 500, 100)
    assert official.md5 == "eb9058c3a382ffc7106e4002c42a8d85"
    means = [total / (50_000 * 1024 * 255) for total in official.color_sums or ()]
    np.testing.assert_allclose(means, [0.5070751592371323, 0.48654887331495095, 0.4409178433670343], rtol=1e-15)
    assert official.max_archive_size > 2 * 169_001_437  # the archive's size
    assert CIFAR100.mirrors == ("https://www.cs.toronto.edu/~kriz/",)


@pytest.fixture
def with_mnist(monkeypatch, tmp_path):
    """A toy MNIST that can be fetched (True) or not (False)."""

    def with_mnist(can_be_had: bool) -> None:
        (tmp_path / "mnist").mkdir()
        if can_be_had:
            (tmp_path / "mnist" / "cifar-100-python.tar.gz").write_bytes(ARCHIVE)
        mnist = DatasetFiles("mnist", (SPEC,), (f"{(tmp_path / 'mnist').as_uri()}/",))
        monkeypatch.setitem(data.DATASETS, "mnist", mnist)
        monkeypatch.delitem(data.DATASETS, "fashion-mnist")

    return with_mnist


def test_fetching_all_returns_errors_of_some(with_mnist, given):
    with_mnist(True)
    (failure,) = data.fetch()
    assert str(failure).startswith("cifar100 is not in the cache and could not be fetched")
    assert [(entry.dataset, entry.state) for entry in data.status()] == [
        ("mnist", "verified"),
        ("cifar100", "missing"),
    ]
    with pytest.raises(DataError, match="cifar100 is not in the cache"):  # requested by name
        data.fetch("cifar100")
    assert data.fetch("cifar100", file=given(NPZ)) == ()
    assert data.fetch() == ()
    assert {entry.state for entry in data.status()} == {"verified"}


def test_fetching_all_raises_if_none_can_be_fetched(with_mnist):
    with_mnist(False)
    with pytest.raises(DataError, match=r"(?s)mnist is not in the cache.*cifar100 is not in the cache"):
        data.fetch()


def test_file_for_the_wrong_dataset_raises(given):
    with pytest.raises(ValueError, match=r"file='.*given': say which dataset it contains: cifar100"):
        data.fetch(file=given(NPZ))
    with pytest.raises(ValueError, match=r"file='.*given': mnist cannot be read from a single file; leave it out"):
        data.fetch("mnist", file=given(NPZ))


def test_data_command_fetches_from_a_file(given, with_mnist):
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
    done = run("cifar100", "--file", str(given(NPZ)), "--json")  # implies --fetch
    assert [file["state"] for file in json.loads(done.stdout)["files"]] == ["verified"]


def test_print_data_shows_the_state(given):
    def shown() -> str:
        out = io.StringIO()
        print_data(data.status("cifar100"), Console(file=out, width=120))
        return out.getvalue()

    assert "To get what is missing or damaged: ebbing data cifar100 --fetch" in shown()
    assert "To get it from a file that you have: ebbing data cifar100 --file PATH" in shown()
    data.fetch("cifar100", file=given(NPZ))
    assert shown().count("verified") == 1
    assert "--fetch" not in shown()
