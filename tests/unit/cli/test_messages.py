"""Messages on standard error: line breaks of our own are printed, text of others cannot move the cursor."""

import pickle

import pytest

from ebbing import cli, data
from ebbing.cli._messages import print_message
from ebbing.data import DataError, DatasetFiles
from ebbing.data.mnist import idx_file
from ebbing.paper.reproduction import ReproductionError

HOSTILE = "a\x1b[2J\nebbing: all is well"
SHOWN = "a\\x1b[2J\\nebbing: all is well"


@pytest.fixture
def run(monkeypatch, capsys):
    """What the command prints on standard error, and its status."""

    def run(*arguments):
        monkeypatch.setattr("sys.argv", ["ebbing", *arguments])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        return capsys.readouterr().err, ended.value.code

    return run


@pytest.fixture
def datasets(monkeypatch, tmp_path):
    """Two datasets that no source has."""
    monkeypatch.setenv("EBBING_DATA", str(tmp_path / HOSTILE))
    sets = {}
    for name in ("first", "second"):
        file = idx_file(f"{name}.bin", (2,), md5="0" * 32, gzip_md5="1" * 32)
        sets[name] = DatasetFiles(name, (file,), (f"file://{tmp_path}/{name}\x07/",))
    monkeypatch.setattr(data, "DATASETS", sets)


def check_lines(printed, name):
    lines = printed.splitlines()
    assert lines[0].endswith(f"{name} is not in the cache and could not be fetched. Tried:")
    assert SHOWN in lines[1]
    assert f"{name}\\x07/" in lines[2]
    assert lines[3].startswith("Put these files into ")
    assert lines[4].startswith(f"  {name}.bin (md5 ")
    assert "\x1b" not in printed
    return lines[5:]


def test_data_that_cannot_be_fetched_are_listed_in_lines(run, datasets):
    printed, status = run("data", "first", "--fetch")
    assert status == 2
    assert printed.startswith("ebbing: first is not in the cache")
    assert check_lines(printed, "first") == []


def test_every_dataset_that_failed_has_its_lines(run, datasets):
    printed, _ = run("data", "--fetch")
    assert check_lines("\n".join(check_lines(printed, "first")), "second") == []


def test_dataset_that_failed_beside_another_has_its_lines(run, datasets, monkeypatch):
    monkeypatch.setitem(data.DATASETS, "empty", DatasetFiles("empty", ()))
    monkeypatch.delitem(data.DATASETS, "second")
    printed, status = run("data", "--fetch")
    assert status == 0
    assert check_lines(printed, "first") == []


def test_failed_target_of_a_reproduction_has_its_lines(run, monkeypatch, tmp_path):
    def fail(*_):
        raise ReproductionError(
            {"fig2": DataError("no data. Tried:", f"  {HOSTILE}"), "rules": ValueError(HOSTILE)}, []
        )

    monkeypatch.setattr("ebbing.paper.reproduction.reproduce", fail)
    printed, status = run("reproduce", "fig2", "rules", "--out", str(tmp_path))
    assert status == 1
    assert printed == f"ebbing: fig2 failed: no data. Tried:\n  {SHOWN}\nebbing: rules failed: {SHOWN}\n"


@pytest.mark.parametrize("message", [HOSTILE, ValueError(HOSTILE), UserWarning(HOSTILE)])
def test_line_breaks_in_other_messages_are_escaped(message, capsys):
    print_message(message)
    assert capsys.readouterr().err == f"ebbing: {SHOWN}\n"


def test_error_without_words_has_its_name(capsys):
    print_message(RuntimeError())
    assert capsys.readouterr().err == "ebbing: RuntimeError\n"


def test_lines_survive_another_process():
    error = pickle.loads(pickle.dumps(DataError("no data", "  put it there")))
    assert (error.lines, str(error)) == (("no data", "  put it there"), "no data\n  put it there")
