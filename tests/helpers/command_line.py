"""The command as people and programs run it, and a problem to run it on."""

import json
import os
import subprocess
import sys

import pytest

from ebbing import Problem

COMMAND = [sys.executable, "-m", "ebbing"]
FLAGS = ("--tasks", "orthogonal:8", "-n", "50", "-p", "100", "--sigma", "0.3")
SIZES = ("-n", "50", "-p", "100")
PROBLEM = Problem.orthogonal(T=8, n=50, p=100, sigma=0.3)
ENVIRONMENT = {key: os.environ[key] for key in os.environ if key not in ("COLUMNS", "FORCE_COLOR", "NO_COLOR", "TERM")}


@pytest.fixture
def run(tmp_path):
    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*COMMAND, *arguments], capture_output=True, text=True, cwd=tmp_path, env=ENVIRONMENT, check=False
        )

    return run


@pytest.fixture
def answer(run):
    """Standard output of a command that succeeds without a word on standard error."""

    def answer(*arguments: str) -> str:
        done = run(*arguments)
        assert (done.returncode, done.stderr) == (0, ""), done.stderr
        assert all(character == "\n" or character.isprintable() for character in done.stdout)
        return done.stdout

    return answer


def no_constant(name):
    raise AssertionError(f"{name} is not JSON")


def parse(text):
    assert text.count("\n") == 1
    return json.loads(text, parse_constant=no_constant)


# One interpreter with the command loaded; every call runs in a fork of it, as it would alone.
FORKS = """
import json, os, sys, tempfile
import ebbing.cli, ebbing.io.matrices, ebbing.io.problems, ebbing._progress, MODULE

for arguments in json.load(sys.stdin):
    out, err = tempfile.TemporaryFile(), tempfile.TemporaryFile()
    child = os.fork()
    if child == 0:
        os.dup2(out.fileno(), 1)
        os.dup2(err.fileno(), 2)
        sys.argv = ["ebbing", *arguments]
        ebbing.cli.main()
        sys.exit(0)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    texts = []
    for file in (out, err):
        file.seek(0)
        texts.append(file.read().decode())
    print(json.dumps([arguments, status, *texts]), flush=True)
"""


def run_forks(calls, folder, module="ebbing"):
    """What the command does with each of many arguments, from one process that has loaded it and a module already.

    Returns (status, output, errors) by arguments.
    """
    done = subprocess.run(
        [sys.executable, "-c", FORKS.replace("MODULE", module)],
        input=json.dumps(calls),
        capture_output=True,
        text=True,
        cwd=folder,
        env=ENVIRONMENT,
        check=True,
    )
    return {tuple(arguments): rest for arguments, *rest in map(json.loads, done.stdout.splitlines())}
