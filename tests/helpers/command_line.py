"""The command as people and programs run it, and a problem to run it on."""

import atexit
import functools
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

NETWORKS = "ebbing.order, ebbing.learn"
"""The modules of commands that load PyTorch."""

# One interpreter that has loaded the command; every call runs in a fork of it, as it would alone but for the imports,
# which take longer than most commands. A call that takes five minutes is ended.
SERVER = """
import gc, json, os, signal, sys, tempfile, traceback
import ebbing.cli, ebbing.io.error_matrices, ebbing.io.problems, ebbing._progress, MODULE

gc.freeze()  # forks share what is loaded
for line in sys.stdin:
    arguments, folder = json.loads(line)
    out, err = tempfile.TemporaryFile(), tempfile.TemporaryFile()
    child = os.fork()
    if child == 0:
        signal.alarm(300)
        os.chdir(folder)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.dup2(out.fileno(), 1)
        os.dup2(err.fileno(), 2)
        sys.argv = ["ebbing", *arguments]
        sys.path[0] = folder
        status = 0
        try:
            ebbing.cli.main()
        except SystemExit as end:
            status = end.code or 0
        except BaseException:
            traceback.print_exc()
            status = 1
        try:
            sys.stdout.flush()
            sys.stderr.flush()
        finally:
            os._exit(status)  # to free what was loaded takes longer than most commands
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    texts = []
    for file in (out, err):
        file.seek(0)
        texts.append(file.read().decode())
    print(json.dumps([status, *texts]), flush=True)
"""


@functools.cache
def _server(module):
    """The interpreter with a module loaded; it ends with the tests."""
    server = subprocess.Popen(
        [sys.executable, "-c", SERVER.replace("MODULE", module)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=ENVIRONMENT,
    )
    atexit.register(server.communicate)  # closes its input, and waits
    return server


def run_command(*arguments, folder, module="ebbing.order") -> subprocess.CompletedProcess[str]:
    """Run the command in a folder; it finds `module`, one or several, loaded."""
    server = _server(module)
    arguments = [str(argument) for argument in arguments]
    print(json.dumps([arguments, str(folder)]), file=server.stdin, flush=True)
    assert server.stdout is not None
    status, out, err = json.loads(server.stdout.readline())
    return subprocess.CompletedProcess(["ebbing", *arguments], status, out, err)


def run_alone(*arguments, folder) -> subprocess.CompletedProcess[str]:
    """Run the command in a new interpreter, which imports everything itself."""
    return subprocess.run(
        [*COMMAND, *map(str, arguments)], capture_output=True, text=True, cwd=folder, env=ENVIRONMENT, check=False
    )


@pytest.fixture
def run(tmp_path):
    return functools.partial(run_command, folder=tmp_path)


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
