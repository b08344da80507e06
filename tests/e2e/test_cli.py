"""The installed command: its help, and readers that stop early."""

import importlib.metadata
import shlex
import subprocess
import sys
from pathlib import Path

import command_line
import pytest
from command_line import COMMAND, ENVIRONMENT, FLAGS, PROBLEM, SIZES, parse

import ebbing
from ebbing import expect_grid

answer, run = command_line.answer, command_line.run  # fixtures


def test_help_and_version(answer, run):
    assert answer("--version") == f"{ebbing.__version__}\n"
    text = answer("--help")
    for command in ("expect", "simulate", "order", "metrics", "train", "runs", "data", "reproduce"):
        assert command in text
        assert "Example: ebbing" in answer(command, "--help")
    assert "and measure trains it to see" in " ".join(text.split())
    nothing = run()
    assert "Usage:" in nothing.stdout + nothing.stderr
    assert "Traceback" not in nothing.stderr


def test_the_command_is_installed():
    [script] = importlib.metadata.entry_points(group="console_scripts", name="ebbing")
    assert script.value == "ebbing.cli:main"
    done = subprocess.run(
        [Path(sys.executable).with_name("ebbing"), "--version"], capture_output=True, text=True, check=True
    )
    assert done.stdout == f"{ebbing.__version__}\n"


@pytest.mark.parametrize(
    ("arguments", "reader", "first"),
    [
        (("expect", *FLAGS), "head -1", "8 tasks, n=50"),
        (("expect", "--tasks", "orthogonal:100", *SIZES, "--json"), "head -c 10", '{"schema":'),  # beyond a pipe
        (("expect", *FLAGS, "--json"), "true", ""),
    ],
    ids=["head", "much output", "nobody reads"],
)
def test_readers_that_stop_early(arguments, reader, first):
    line = f"{shlex.join([*COMMAND, *arguments])} | {reader}"
    done = subprocess.run(["bash", "-c", line], capture_output=True, text=True, env=ENVIRONMENT, check=False)
    assert done.stdout.startswith(first)
    assert done.stderr == ""


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_full_disk_is_no_traceback(unbuffered):
    environment = {**ENVIRONMENT, "PYTHONUNBUFFERED": unbuffered}
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [*COMMAND, "expect", *FLAGS], stdout=full, stderr=subprocess.PIPE, text=True, env=environment, check=False
        )
    assert done.returncode not in (0, 2)
    said = "ebbing: standard output cannot be written (No space left on device); free space, or send it elsewhere\n"
    assert done.stderr == said


def test_the_table_says_what_the_grid_says(answer):
    """One number along three ways: the command, `expect` and `expect_grid`."""
    grid = expect_grid(PROBLEM, p=[100, 200])
    for k, p in enumerate(("100", "200")):
        content = parse(answer("expect", *FLAGS[:4], "-p", p, *FLAGS[6:], "--json"))
        assert content["forgetting"]["mean"] == pytest.approx(grid.forgetting[k], rel=1e-14)
        assert content["forgetting"]["std"] == pytest.approx(grid.forgetting_std[k], rel=1e-12)
