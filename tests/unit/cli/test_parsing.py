"""Values of the command line: short forms of tasks, numbers with commas, whole numbers with exponents."""

import os
from pathlib import Path

import pytest
import typer

from ebbing.cli._html import check_html
from ebbing.cli.parsing import (
    check_output_file,
    check_output_folder,
    parse_number,
    parse_numbers,
    parse_objective,
    parse_tasks,
    parse_whole,
)
from ebbing.io import parse_problem


@pytest.mark.parametrize(
    ("text", "content"),
    [
        ("orthogonal:8", {"orthogonal": 8}),
        ("identical:1", {"identical": 1}),
        ("categories:ABAB", {"categories": "ABAB"}),
        ("categories:A:B", {"categories": "A:B"}),
        ("orthogonal:008", {"orthogonal": 8}),
    ],
)
def test_tasks(text, content):
    assert parse_tasks(text) == content


@pytest.mark.parametrize(
    "text",
    [
        *("", ":", "8", "orthogonal", "orthogonal:", "orthogonal:x", "orthogonal:-8", "orthogonal:8.0", "orthogonal:²"),
        *("Orthogonal:8", "orthogonal 8", "categories", "categories:", "gram:8", "vectors:[[1]]", "file.toml"),
    ],
)
def test_no_tasks(text):
    with pytest.raises(ValueError, match=r"--tasks .*: give orthogonal:8, identical:8 or categories:ABAB; .* TOML"):
        parse_tasks(text)


def test_no_task_at_all_is_left_to_the_problem():
    with pytest.raises(ValueError, match="T=0: give a whole number"):
        parse_problem({"p": 100, "n": 50} | parse_tasks("orthogonal:0"))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("50", 50.0),
        ("5e1", 50.0),
        (" 50 ", 50.0),
        ("-1", -1.0),
        ("50,60", [50.0, 60.0]),
        ("50, 60", [50.0, 60.0]),
        ("0.1,0.2,0.3", [0.1, 0.2, 0.3]),
    ],
)
def test_numbers(text, value):
    assert parse_numbers("-n", text) == value


@pytest.mark.parametrize(
    ("text", "way"),
    [("12%", "write 0.12"), ("0,12", "write with a point: 0.12"), ("much", "write it as 0.12"), ("x%", "write it as")],
)
def test_no_number(text, way):
    with pytest.raises(typer.BadParameter, match=f"{text!r} is not a number; {way}"):
        parse_number(text)


@pytest.mark.parametrize("text", ["", ",", "50,", ",50", "x", "50;60", "50 60", "[50]", "0x10", "1/2", "50%"])
def test_no_numbers(text):
    with pytest.raises(ValueError, match=r"-n .*: give a number, or one per task separated by commas"):
        parse_numbers("-n", text)


@pytest.mark.parametrize("text", ["nan", "inf", "-inf", "1e999"])
def test_infinite_numbers_are_left_to_the_problem(text):
    with pytest.raises(ValueError, match=r"n=.*: give a finite number"):
        parse_problem({"p": 100, "n": parse_numbers("-n", text), "orthogonal": 2})


@pytest.mark.parametrize(
    ("text", "value"),
    [("0", 0), ("-1", -1), ("1e3", 1000), ("1000.0", 1000), (str(2**70), 2**70), (7, 7), ("1e300", int(1e300))],
)
def test_whole_numbers(text, value):
    assert parse_whole(text) == value


@pytest.mark.parametrize("text", ["", "many", "1.5", "1e-3", "inf", "nan", "1e999", "1,2"])
def test_no_whole_numbers(text):
    with pytest.raises(typer.BadParameter, match="is not a whole number; write 1000 or 1e3"):
        parse_whole(text)


@pytest.mark.parametrize("text", ["fun", "1.5", "-0.1", "nan", ""])
def test_no_objective(text):
    with pytest.raises(ValueError, match="give forgetting, generalization, or a weight of forgetting from 0 to 1"):
        parse_objective(text)


def test_output_folders_may_be_new_but_not_files(tmp_path):
    (tmp_path / "file").write_text("")
    assert check_output_folder(tmp_path / "new") == tmp_path / "new"
    with pytest.raises(ValueError, match=r"--out .*file: this is a file; name a folder"):
        check_output_folder(tmp_path / "file")


def test_file_where_none_can_be_made_is_refused_before_work():
    with pytest.raises(ValueError, match=r"^--html /proc/x\.html: no file can be made in /proc \(.*\); name another"):
        check_output_file("--html", Path("/proc/x.html"))


def test_devices_fifos_and_links_may_be_written(tmp_path, capsys):
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "link").symlink_to(tmp_path / "new.html")
    for path in (tmp_path / "fifo", tmp_path / "link", Path(os.devnull)):
        assert check_output_file("--html", path) == path
    assert sorted(os.listdir(tmp_path)) == ["fifo", "link"]
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("name", ["data.csv", "figure.png", "page"])
def test_pages_do_not_overwrite_other_kinds_of_files(tmp_path, name):
    for _ in range(2):
        with pytest.raises(ValueError, match=rf"^--html .*{name}: a page's name ends in \.html or \.htm; give it such"):
            check_html(tmp_path / name)
        (tmp_path / name).write_text("kept")  # the second time it exists


def test_pages_may_have_either_ending_or_be_devices(tmp_path):
    for path in (tmp_path / "page.htm", tmp_path / "PAGE.HTML", Path(os.devnull), None):
        check_html(path)


def test_links_in_a_circle_are_refused(tmp_path):
    (tmp_path / "link").symlink_to(tmp_path / "link")
    with pytest.raises(ValueError, match=r"--html .*link: .*symbolic links; name another place"):
        check_output_file("--html", tmp_path / "link")


def test_folder_that_will_be_made_is_told(tmp_path, capsys):
    check_output_file("--plot", tmp_path / "typo" / "x.png")
    said = f"ebbing: --plot {tmp_path}/typo/x.png: there is no folder {tmp_path}/typo; it will be made\n"
    assert capsys.readouterr().err == said
    assert not (tmp_path / "typo").exists()
