"""The command as people and programs meet it: what it prints, what it refuses, and that it never shows a traceback."""

import contextlib
import importlib.metadata
import json
import os
import pty
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import ebbing
from ebbing import Problem, expect, expect_grid, metrics, simulate_metrics
from ebbing.simulation import Estimate
from ebbing.theory import forward_transfer

COMMAND = [sys.executable, "-m", "ebbing.cli"]
FLAGS = ("--tasks", "orthogonal:8", "-n", "50", "-p", "100", "--noise", "0.3")
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


# ---------------------------------------------------------------- predict


def test_predict_table(answer):
    text = answer("predict", *FLAGS)
    e = expect(PROBLEM)
    assert text.splitlines()[0] == "8 tasks, n=50, p=100, noise 0.3: overparameterized, r = 0.5"
    for number in (e.forgetting, e.generalization, *vars(e.terms).values()):
        assert f"{number:.6g}" in text
    for number in (e.forgetting_std, e.generalization_std, *e.errors[-1], *e.lost[-1]):
        assert f"{number:.4g}" in text
    assert text.count("\ntask ") == 9  # the header and eight tasks


def test_predict_json(answer):
    content = parse(answer("predict", *FLAGS, "--json"))
    e = expect(PROBLEM)
    assert content["schema"] == "ebbing.predict/1"
    assert next(iter(content)) == "schema"
    given = {"T": 8, "gram": np.eye(8).tolist(), "n": [50] * 8, "p": 100, "sigma": [0.3] * 8, "unmodelled": [0] * 8}
    assert content["problem"] == content["problem"] | given | {"names": [f"task {i}" for i in range(1, 9)]}
    assert content["forgetting"] == {"mean": e.forgetting, "std": e.forgetting_std}
    assert content["generalization"] == {"mean": e.generalization, "std": e.generalization_std}
    assert content["terms"] == vars(e.terms)
    assert content["forgetting_curve"] == e.forgetting_curve.tolist()
    assert content["errors"] == e.errors.tolist()
    assert content["errors_std"] == e.errors_std.tolist()
    transfer = forward_transfer(PROBLEM)
    assert content["forward_transfer"] == {
        name: getattr(transfer, name).tolist() for name in ("learnt", "scratch", "difference")
    }


def test_predict_from_a_file_with_flags_on_top(answer, tmp_path):
    (tmp_path / "problem.toml").write_text('p = 100\nn = 50\nsigma = 0.3\ncategories = "ABAB"\n')
    problem = Problem.categories("ABAB", n=50, p=100, sigma=0.3)
    from_file = parse(answer("predict", "problem.toml", "--json"))
    assert from_file["forgetting"]["mean"] == expect(problem).forgetting
    assert from_file["problem"]["names"] == ["A1", "B1", "A2", "B2"]
    changed = parse(answer("predict", "problem.toml", "-p", "1e3", "-n", "5,6,7,8", "--noise", "0", "--json"))
    assert changed["problem"]["p"] == 1000
    assert changed["problem"]["n"] == [5, 6, 7, 8]
    assert changed["forgetting"]["mean"] == expect(problem.replace(p=1000, n=[5, 6, 7, 8], sigma=0)).forgetting


def test_predict_infinite_variance_and_missing_features(answer):
    content = parse(
        answer("predict", "--tasks", "identical:2", "-n", "50", "-p", "53", "--unmodelled", "0.5", "--json")
    )
    assert content["forgetting"]["std"] == content["generalization"]["std"] == "inf"
    assert content["errors_std"][1:] == [["inf", "inf"]] * 2
    assert content["problem"]["unmodelled"] == [0.5, 0.5]


def test_predict_one_task(answer):
    content = parse(answer("predict", "--tasks", "orthogonal:1", "-n", "50", "-p", "100", "--json"))
    assert content["forgetting"] is None
    assert content["forgetting_curve"] == []
    assert content["terms"]["F1"] is None
    assert content["generalization"]["mean"] == 0.5
    assert "forgetting F" not in answer("predict", "--tasks", "orthogonal:1", "-n", "50", "-p", "100")


def test_predict_many_tasks_and_huge_p(answer):
    text = answer("predict", "--tasks", "orthogonal:45", "-n", "50", "-p", str(2**53))
    assert "... 5 more" in text
    assert "task 45" in text


# ---------------------------------------------------------------- simulate


def test_simulate_json(answer):
    content = parse(answer("simulate", *FLAGS, "--runs", "200", "--seed", "7", "--json"))
    sample, e = simulate_metrics(PROBLEM, 200, 7), expect(PROBLEM)
    assert content["schema"] == "ebbing.simulate/1"
    assert (content["runs"], content["seed"]) == (200, 7)
    for name in ("forgetting", "generalization"):
        estimate = Estimate.of(getattr(sample, name))
        z = (estimate.mean - getattr(e, name)) / estimate.standard_error
        assert content[name] == vars(estimate) | {
            "theory": getattr(e, name),
            "theory_std": getattr(e, f"{name}_std"),
            "z": pytest.approx(z, rel=1e-12),
        }
    assert content["mean_errors"] == sample.mean_errors.tolist()


def test_simulate_table(answer):
    text = answer("simulate", *FLAGS)
    sample = simulate_metrics(PROBLEM, 300, 0)
    assert text.splitlines()[0].endswith("; 300 runs")
    for number in (sample.forgetting.mean(), expect(PROBLEM).forgetting, sample.generalization.mean()):
        assert f"{number:.6g}" in text
    assert f"{Estimate.of(sample.forgetting).standard_error:.2g}" in text


def test_simulate_is_reproducible(answer):
    first, again, other = (answer("simulate", *FLAGS, "--runs", "50", "--seed", seed) for seed in ("1", "1", "2"))
    assert first == again
    assert first != other


def test_simulate_where_the_expectation_is_infinite(answer):
    flags = ("simulate", "--tasks", "orthogonal:2", "-n", "50", "-p", "51", "--noise", "1")
    content = parse(answer(*flags, "--json"))
    assert content["forgetting"]["theory"] is None
    assert content["forgetting"]["z"] is None
    text = answer(*flags)
    assert "infinite" in text
    assert "not to be trusted" in text


def test_simulate_one_task(answer):
    content = parse(answer("simulate", "--tasks", "identical:1", "-n", "50", "-p", "100", "--json"))
    assert content["forgetting"] is None
    assert content["generalization"]["theory"] == 0.5


def test_one_run_has_no_standard_error_and_no_z(answer):
    content = parse(answer("simulate", *FLAGS, "--runs", "1", "--json"))
    for name in ("forgetting", "generalization"):
        assert content[name]["standard_error"] is None
        assert content[name]["z"] is None


def test_z_is_no_rounding_error_where_nothing_varies(answer, tmp_path):
    """Underparameterized and without noise every run is the same: sample and theory agree to the last digits."""
    W = np.random.default_rng(7).standard_normal((4, 3))
    (tmp_path / "problem.toml").write_text(f"p = 20\nn = 50\nvectors = {W.tolist()}\n")
    content = parse(answer("simulate", "problem.toml", "--json"))
    for name in ("forgetting", "generalization"):
        assert content[name]["theory_std"] == 0
        assert content[name]["mean"] == pytest.approx(content[name]["theory"], rel=1e-12)
        assert content[name]["z"] is None or abs(content[name]["z"]) < 4


def test_an_infinite_variance_of_forgetting_alone_is_told(answer):
    """The last task wipes the first one's infinite variance out of G, but F keeps it."""
    text = answer("simulate", "--tasks", "orthogonal:3", "-n", "52,500,600", "-p", "50", "--noise", "1")
    assert "not to be trusted" in text


def test_long_work_is_silent_without_a_terminal(answer):
    assert parse(answer("simulate", *FLAGS, "--runs", "300000", "--json"))["runs"] == 300_000


def test_long_work_shows_progress_on_a_terminal_and_keeps_output_clean(tmp_path):
    main, terminal = pty.openpty()
    process = subprocess.Popen(
        [*COMMAND, "simulate", *FLAGS, "--runs", "500000", "--json"],
        stdout=subprocess.PIPE,
        stderr=terminal,
        cwd=tmp_path,
        env=ENVIRONMENT | {"TERM": "xterm"},
    )
    os.close(terminal)
    shown = b""
    with contextlib.suppress(OSError):  # the terminal's end
        while piece := os.read(main, 65536):
            shown += piece
    os.close(main)
    output, _ = process.communicate()
    assert process.returncode == 0
    assert b"simulating" in shown
    assert b"%" in shown
    assert parse(output.decode())["runs"] == 500_000


# ---------------------------------------------------------------- metrics

ACCURACIES = [[10, 20, 30], [60, 25, 30], [80, 70, 40], [70, 90, 50]]


@pytest.fixture
def matrices(tmp_path):
    np.savez(tmp_path / "matrix.npz", accuracies=np.array(ACCURACIES))
    np.save(tmp_path / "matrix.npy", np.array(ACCURACIES))
    (tmp_path / "matrix.json").write_text(json.dumps({"accuracies": ACCURACIES}))
    rows = "\n".join(",".join(f"{value}.0" for value in row) for row in ACCURACIES)
    (tmp_path / "matrix.csv").write_text(rows)


@pytest.mark.usefixtures("matrices")
@pytest.mark.parametrize("kind", ["csv", "json", "npz", "npy"])
def test_metrics_of_every_format(answer, kind):
    content = parse(answer("metrics", f"matrix.{kind}", "--kind", "accuracy", "--json"))
    expected = metrics.summary(ACCURACIES, kind="accuracy")
    assert content["schema"] == "ebbing.metrics/1"
    assert (content["kind"], content["tasks"]) == ("accuracy", 3)
    values = {name: None if value is None else value.tolist() for name, value in expected.values.items()}
    assert content["metrics"] == values
    assert content["missing"] == expected.reasons
    assert content["metrics"]["forgetting"] == -15
    assert content["metrics"]["generalization_error"] is None


@pytest.mark.usefixtures("matrices")
def test_metrics_table(answer):
    text = answer("metrics", "matrix.csv", "--kind", "accuracy")
    assert text.startswith("3 tasks, accuracies")
    for name, value in metrics.summary(ACCURACIES, kind="accuracy").values.items():
        assert name in text
        if value is not None:
            assert f"{np.atleast_1d(value)[0]:.5g}" in text


def test_metrics_of_the_simulated_matrix(answer, tmp_path):
    np.save(tmp_path / "errors.npy", expect(PROBLEM).errors)
    content = parse(answer("metrics", "errors.npy", "--kind", "error", "--json"))
    assert content["metrics"]["forgetting"] == pytest.approx(expect(PROBLEM).forgetting, rel=1e-13)
    assert content["metrics"]["generalization_error"] == pytest.approx(expect(PROBLEM).generalization, rel=1e-14)


# ---------------------------------------------------------------- what is refused

TASKS = ("--tasks", "orthogonal:2")
SIZES = ("-n", "50", "-p", "100")
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
    (("predict", *TASKS, "-n", "50", "-p", "50", "--unmodelled", "0.3"), "the expectation is infinite"),
    (("predict", *GIVEN, "--noise", "-1"), "sigma=-1: must not be negative"),
    (("predict", *GIVEN, "--noise", "inf"), "sigma = inf: every entry must be finite"),
    (("predict", *GIVEN, "--noise", "nan"), "sigma = nan: every entry must be finite"),
    (("predict", *GIVEN, "--noise", "1e200"), "sigma"),
    (("predict", *GIVEN, "--unmodelled", "-1"), "unmodelled=-1: must not be negative"),
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
    (("predict", *GIVEN, "--colour"), "--colour"),
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
import ebbing.cli, ebbing.matrixfile, ebbing.printing, ebbing.problemfile, ebbing.progress

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


# ---------------------------------------------------------------- the rest of the world


def test_help_and_version(answer, run):
    assert answer("--version") == f"{ebbing.__version__}\n"
    text = answer("--help")
    for command in ("predict", "simulate", "metrics"):
        assert command in text
        assert "Example: ebbing" in answer(command, "--help")
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
        (("predict", *FLAGS), "head -1", "8 tasks, n=50"),
        (("predict", "--tasks", "orthogonal:100", *SIZES, "--json"), "head -c 10", '{"schema":'),  # beyond a pipe
        (("predict", *FLAGS, "--json"), "true", ""),
    ],
    ids=["head", "much output", "nobody reads"],
)
def test_readers_that_stop_early(arguments, reader, first):
    line = f"{shlex.join([*COMMAND, *arguments])} | {reader}"
    done = subprocess.run(["bash", "-c", line], capture_output=True, text=True, env=ENVIRONMENT, check=False)
    assert done.stdout.startswith(first)
    assert done.stderr == ""


def test_a_full_disk_is_no_traceback():
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [*COMMAND, "predict", *FLAGS], stdout=full, stderr=subprocess.PIPE, text=True, env=ENVIRONMENT, check=False
        )
    assert done.returncode not in (0, 2)
    assert "Traceback" not in done.stderr
    assert "No space left" in done.stderr


def test_the_table_says_what_the_grid_says(answer):
    """One number along three ways: the command, `expect` and `expect_grid`."""
    grid = expect_grid(PROBLEM, p=[100, 200])
    for k, p in enumerate(("100", "200")):
        content = parse(answer("predict", *FLAGS[:4], "-p", p, *FLAGS[6:], "--json"))
        assert content["forgetting"]["mean"] == pytest.approx(grid.forgetting[k], rel=1e-14)
        assert content["forgetting"]["std"] == pytest.approx(grid.forgetting_std[k], rel=1e-12)
