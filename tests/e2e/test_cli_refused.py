"""What the command refuses: in one line, and never with a traceback."""

import json
import subprocess
import sys

import command_line
import pytest
from command_line import ENVIRONMENT, SIZES

run = command_line.run  # a fixture

TASKS = ("--tasks", "orthogonal:2")
GIVEN = (*TASKS, *SIZES)

BAD_FILES = {
    "ok.toml": b"p = 100\nn = 50\northogonal = 8\n",
    "binary.toml": bytes(range(256)),
    "empty.toml": b"",
    "nan.toml": b"p = nan\nn = 50\northogonal = 8\n",
    "two.toml": b"p = 100\nn = 50\northogonal = 8\nidentical = 8\n",
    "unknown.toml": b"p = 100\nn = 50\northogonal = 8\nnoise = 0.3\n",
    "huge.toml": b"p = 100\nn = " + b"9" * 400 + b"\northogonal = 8\n",
    "digits.toml": b"p = 100\nn = " + b"9" * 5000 + b"\northogonal = 8\n",
    "deep.toml": b"p = 100\nn = 50\ngram = " + b"[" * 20_000 + b"]" * 20_000,
    "indefinite.toml": b"p = 100\nn = 50\ngram = [[1, 2], [2, 1]]\n",
    "ok.csv": b"1.5,2.5\n3.5,4.5\n",
    "ragged.csv": b"1.5,2.5\n3.5,4.5,5.5,6.5\n",
    "words.csv": b"a,b\nc,d\n",
    "infinite.csv": b"1.5,inf\n3.5,4.5\n",
    "blank.csv": b"\n\n",
    "binary.csv": bytes(range(256)),
    "binary.npz": bytes(range(256)),
    "broken.json": b"[[1, 2], [3",
    "outside.csv": b"150.5,2.5\n3.5,4.5\n",
}

REFUSED = [
    # predict: flags
    (("predict",), "tasks"),
    (("predict", *TASKS, "-n", "50"), "-p is missing"),
    (("predict", *TASKS, "-p", "50"), "-n is missing"),
    (("predict", *SIZES), "--tasks"),
    (("predict", "--tasks", "orthogonal", *SIZES), "give orthogonal:8, identical:8 or categories:ABAB"),
    (("predict", "--tasks", "orthogonal:-3", *SIZES), "give orthogonal:8"),
    (("predict", "--tasks", "orthogonal:0", *SIZES), "T=0: give a whole number"),
    (("predict", "--tasks", "orthogonal:10000000", "-n", "50", "-p", "100000000"), "10000000"),
    (("predict", "--tasks", "orthogonal:101", *SIZES), "span 101 dimensions"),
    (("predict", "--tasks", "categories:", *SIZES), "categories:ABAB"),
    (("predict", "--tasks", "random:3", *SIZES), "tasks 'random:3'"),
    (("predict", *TASKS, "-n", "many", "-p", "100"), "n='many': give a number"),
    (("predict", *TASKS, "-n", "50,", "-p", "100"), "n='50,': give a number"),
    (("predict", *TASKS, "-n", "50,60,70", "-p", "100"), "one for each of the 2 tasks"),
    (("predict", *TASKS, "-n", "0", "-p", "100"), "n=0: give a whole number"),
    (("predict", *TASKS, "-n", "-5", "-p", "100"), "n=-5: give a whole number"),
    (("predict", *TASKS, "-n", "nan", "-p", "100"), "finite"),
    (("predict", *TASKS, "-n", "50", "-p", "100.5"), "p=100.5: give a whole number"),
    (("predict", *TASKS, "-n", "50", "-p", "nan"), "p"),
    (("predict", *TASKS, "-n", "50", "-p", "1e400"), "p=inf: give a whole number"),
    (("predict", *TASKS, "-n", "50", "-p", "1e17"), "from 1 to 2^53"),
    (("predict", *TASKS, "-n", "50", "-p", "100,200"), "p = [100.0, 200.0]: give a whole number"),
    (("predict", *TASKS, "-n", "50", "-p", "51", "--noise", "0.3"), "the expectation is infinite when |p - n| <= 1"),
    (("predict", *TASKS, "-n", "50", "-p", "50", "--unmodeled", "0.3"), "the expectation is infinite"),
    (("predict", *GIVEN, "--noise", "-1"), "sigma=-1: must not be negative"),
    (("predict", *GIVEN, "--noise", "inf"), "sigma = inf: every entry must be finite"),
    (("predict", *GIVEN, "--noise", "nan"), "sigma = nan: every entry must be finite"),
    (("predict", *GIVEN, "--noise", "1e200"), "sigma"),
    (("predict", *GIVEN, "--unmodeled", "-1"), "unmodeled=-1: must not be negative"),
    # predict: files
    (("predict", "ok.toml", *TASKS), "--tasks"),
    (("predict", "ok.toml", "-p", "3"), "span 8 dimensions"),
    (("predict", "none.toml"), "none.toml"),
    (("predict", "folder.toml"), "folder.toml"),
    (("predict", "ok.toml/inside.toml"), "ok.toml"),
    (("predict", "x" * 5000), "too long"),
    (("predict", ""), ""),
    (("predict", "binary.toml"), "binary.toml is not a TOML file"),
    (("predict", "empty.toml"), "p is missing"),
    (("predict", "nan.toml"), "p=nan: give a whole number"),
    (("predict", "two.toml"), "in one way"),
    (("predict", "unknown.toml"), "noise is not known here"),
    (("predict", "huge.toml"), "n"),
    (("predict", "digits.toml"), "digits"),
    (("predict", "deep.toml"), "deep.toml"),
    (("predict", "indefinite.toml"), "eigenvalue -1"),
    # simulate
    (("simulate", *GIVEN, "--runs", "0"), "runs=0: give a whole number"),
    (("simulate", *GIVEN, "--runs", "-3"), "runs=-3: give a whole number"),
    (("simulate", *GIVEN, "--runs", str(2**53 + 1)), "from 1 to 2^53"),
    (("simulate", *GIVEN, "--runs", str(10**15)), "runs"),
    (("simulate", *GIVEN, "--seed", "-1"), "seed=-1: give a whole number >= 0"),
    (("simulate", "none.toml"), "none.toml"),
    # metrics
    (("metrics", "none.csv", "--kind", "error"), "none.csv: no such file"),
    (("metrics", "folder.toml", "--kind", "error"), "directory"),
    (("metrics", "ok.toml", "--kind", "error"), "the name does not tell the format"),
    (("metrics", "ok.csv", "--kind", "loss"), "kind='loss': say 'error'"),
    (("metrics", "ragged.csv", "--kind", "error"), "ragged.csv"),
    (("metrics", "words.csv", "--kind", "error"), "words.csv"),
    (("metrics", "infinite.csv", "--kind", "error"), "infinite.csv"),
    (("metrics", "blank.csv", "--kind", "error"), "no rows"),
    (("metrics", "binary.csv", "--kind", "error"), "binary.csv"),
    (("metrics", "binary.npz", "--kind", "error"), "binary.npz"),
    (("metrics", "broken.json", "--kind", "error"), "not valid JSON"),
    (("metrics", "outside.csv", "--kind", "accuracy"), "accuracies lie in [0, 1] or [0, 100]"),
]

USAGE = [
    (("forget",), "No such command 'forget'"),
    (("predict", *GIVEN, "--color"), "--color"),
    (("predict", *GIVEN, "--noise"), "--noise"),
    (("predict", "ok.toml", "ok.toml"), "unexpected extra argument"),
    (("simulate", *GIVEN, "--runs", "many"), "--runs"),
    (("simulate", *GIVEN, "--runs", "1.5"), "--runs"),
    (("simulate", *GIVEN, "--seed", "1e3"), "--seed"),
    (("metrics", "ok.csv"), "Missing option '--kind'"),
    (("metrics",), "Missing argument"),
]

# One interpreter with the command loaded; every call runs in a fork of it, as it would alone.
FORKS = """
import json, os, sys, tempfile
import ebbing.cli, ebbing.io.matrices, ebbing.printing, ebbing.io.problems, ebbing._progress

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


@pytest.fixture(scope="module")
def refusals(tmp_path_factory):
    """What the command did with each of the arguments above: (status, output, errors)."""
    folder = tmp_path_factory.mktemp("files")
    for name, content in BAD_FILES.items():
        (folder / name).write_bytes(content)
    (folder / "folder.toml").mkdir()
    calls = json.dumps([arguments for arguments, _ in (*REFUSED, *USAGE)])
    done = subprocess.run(
        [sys.executable, "-c", FORKS],
        input=calls,
        capture_output=True,
        text=True,
        cwd=folder,
        env=ENVIRONMENT,
        check=True,
    )
    return {tuple(arguments): rest for arguments, *rest in map(json.loads, done.stdout.splitlines())}


def name_of(arguments):
    return " ".join(arguments)[:70]


@pytest.mark.parametrize(("arguments", "message"), REFUSED, ids=[name_of(arguments) for arguments, _ in REFUSED])
def test_refused_in_one_line(refusals, arguments, message):
    status, output, errors = refusals[arguments]
    assert "Traceback" not in errors
    assert status == 2
    assert output == ""
    assert errors.startswith("ebbing: ")
    assert errors.count("\n") == 1
    assert message in errors


@pytest.mark.parametrize(("arguments", "message"), USAGE, ids=[name_of(arguments) for arguments, _ in USAGE])
def test_wrong_usage(refusals, arguments, message):
    status, output, errors = refusals[arguments]
    assert "Traceback" not in errors
    assert status == 2
    assert output == ""
    assert message in errors


@pytest.mark.parametrize("arguments", [("predict", *GIVEN, "--noise", "-1"), ("predict", "binary.toml"), ("forget",)])
def test_forks_tell_what_the_command_alone_tells(refusals, arguments, tmp_path, run):
    (tmp_path / "binary.toml").write_bytes(BAD_FILES["binary.toml"])
    alone = run(*arguments)
    status, output, errors = refusals[arguments]
    assert (alone.returncode, alone.stdout) == (status, output)
    assert alone.stderr.splitlines()[-1] == errors.splitlines()[-1]
