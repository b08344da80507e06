"""Bad input of the command: one line that says what to do, and never a traceback."""

import pytest
from command_line import SIZES, run_alone, run_command

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
    "distances.csv": b"cats,dogs\n0,1.5\n1.5,0\n",
    "my distances.npy": bytes(range(256)),
    "matrix.json": b"[[0, 1.5], [1.5, 0]]",
    "file": b"",
    "ragged.csv": b"1.5,2.5\n3.5,4.5,5.5,6.5\n",
    "words.csv": b"a,b\nc,d\n",
    "infinite.csv": b"1.5,inf\n3.5,4.5\n",
    "blank.csv": b"\n\n",
    "binary.csv": bytes(range(256)),
    "binary.npz": bytes(range(256)),
    "broken.json": b"[[1, 2], [3",
    "negative.csv": b"a,b\n0,0\n-1,0\n",
    "empty_cell.csv": b"a,b\n0,\n1,0\n",
    "keys.toml": b"".join(b"k%d = 1\n" % i for i in range(101)),
    "dots.toml": b"a" + b".a" * 20_000 + b" = 1",
    "outside.csv": b"150.5,2.5\n3.5,4.5\n",
}

ERRORS = [
    # expect: flags
    (("expect",), "tasks"),
    (("expect", *TASKS, "-n", "50"), "-p is missing"),
    (("expect", *TASKS, "-p", "50"), "-n is missing"),
    (("expect", *SIZES), "--tasks"),
    (("expect", *TASKS, "--gram", "ok.csv", *SIZES), "give the tasks once"),
    (("simulate", "--vectors", "ok.csv", "--gram", "ok.csv", *SIZES), "give the tasks once"),
    (("expect", "--tasks", "orthogonal", *SIZES), "give orthogonal:8, identical:8 or categories:ABAB"),
    (("expect", "--tasks", "orthogonal:-3", *SIZES), "give orthogonal:8"),
    (("expect", "--tasks", "orthogonal:0", *SIZES), "T=0: give a whole number"),
    (("expect", "--tasks", "orthogonal:10000000", "-n", "50", "-p", "100000000"), "10000000"),
    (("expect", "--tasks", "orthogonal:101", *SIZES), "span 101 dimensions"),
    (("expect", "--tasks", "categories:", *SIZES), "categories:ABAB"),
    (("expect", "--tasks", "random:3", *SIZES), "--tasks 'random:3'"),
    (("expect", *TASKS, "-n", "many", "-p", "100"), "-n 'many': give a number"),
    (("expect", *TASKS, "-n", "50,", "-p", "100"), "-n '50,': give a number"),
    (("expect", *TASKS, "-n", "50,60,70", "-p", "100"), "-n [50, 60, 70]: 3 numbers for 2 tasks; give one number, or"),
    (("expect", *GIVEN, "--sigma", "0.1,0.2,0.3"), "--sigma [0.1, 0.2, 0.3]: 3 numbers for 2 tasks"),
    (("expect", "--tasks", "AABB", *SIZES), "(did you mean categories:AABB?); other ground truths come from a file"),
    (("expect", "--tasks", "AABB", *SIZES), "--gram, --distances or --cosines"),
    (("expect", *TASKS, "-n", "0", "-p", "100"), "-n 0: give a whole number"),
    (("expect", *TASKS, "-n", "-5", "-p", "100"), "-n -5: give a whole number"),
    (("expect", *TASKS, "-n", "nan", "-p", "100"), "finite"),
    (("expect", *TASKS, "-n", "50", "-p", "100.5"), "-p 100.5: give a whole number"),
    (("expect", *TASKS, "-n", "50", "-p", "nan"), "p"),
    (("expect", *TASKS, "-n", "50", "-p", "1e400"), "-p inf: give a whole number"),
    (("expect", *TASKS, "-n", "50", "-p", "1e17"), "from 1 to 2^53"),
    (("expect", *TASKS, "-n", "50", "-p", "100,200"), "p = [100.0, 200.0]: give a whole number"),
    (("expect", *TASKS, "-n", "50", "-p", "51", "--sigma", "0.3"), "the expectation is infinite when |p - n| <= 1"),
    (("expect", *TASKS, "-n", "50", "-p", "50", "--unmodeled", "0.3"), "the expectation is infinite"),
    (("expect", *GIVEN, "--sigma", "-1"), "--sigma -1: must not be negative"),
    (("expect", *GIVEN, "--sigma", "inf"), "--sigma inf: give a finite number"),
    (("expect", *GIVEN, "--sigma", "nan"), "--sigma nan: give a finite number"),
    (("expect", *GIVEN, "--sigma", "1e200"), "sigma"),
    (("expect", *GIVEN, "--unmodeled", "-1"), "--unmodeled -1: must not be negative"),
    # expect: files
    (("expect", "ok.toml", *TASKS), "--tasks"),
    (("expect", "ok.toml", "-p", "3"), "span 8 dimensions"),
    (("expect", "none.toml"), "none.toml: no such file"),
    (("expect", "folder.toml"), "folder.toml: this is a directory; name a TOML file in it"),
    (("expect", "ok.toml/inside.toml"), "ok.toml"),
    (("expect", "x" * 5000), "too long"),
    (("expect", ""), ""),
    (("expect", "binary.toml"), "binary.toml is not a TOML file"),
    (("expect", "empty.toml"), "p is missing"),
    (("expect", "nan.toml"), "p=nan: give a whole number"),
    (("expect", "two.toml"), "in one way"),
    (("expect", "unknown.toml"), "noise is not known here"),
    (("expect", "huge.toml"), "n"),
    (("expect", "digits.toml"), "digits"),
    (("expect", "deep.toml"), "deep.toml"),
    (("expect", "indefinite.toml"), "eigenvalue -1"),
    # matrix files
    (("expect", "distances.csv"), "type: ebbing expect --distances distances.csv -n 50 -p 100; use --cosines"),
    (("order", "distances.csv", "-n", "20", "-p", "30"), "type: ebbing order --distances distances.csv -n 20 -p 30"),
    (("simulate", "my distances.npy"), "type: ebbing simulate --distances 'my distances.npy' -n 50 -p 100"),
    (("expect", "matrix.json"), "matrix.json is a matrix, and a problem is a TOML file"),
    (("expect", "none.csv"), "none.csv: no such file"),
    (("expect", "--gram", "none.csv", *SIZES), "none.csv: no such file"),
    (("expect", "--gram", "ok.csv"), "-n is missing"),
    (("expect", "--gram", "ok.csv", *SIZES), "gram is not symmetric"),
    (("expect", "--gram", "ragged.csv", *SIZES), "ragged.csv: 2 rows and 4 columns"),
    (("expect", "--vectors", "words.csv", *SIZES), "words.csv"),
    (("expect", "--vectors", "infinite.csv", *SIZES), "infinite.csv: line 1, cell 2"),
    (("expect", "--distances", "ok.toml", *SIZES), "the name does not tell the format"),
    (("expect", "--distances", "negative.csv", *SIZES), "negative.csv: line 3, cell 1: distances[1, 0] = -1"),
    (("expect", "--distances", "empty_cell.csv", *SIZES), "empty_cell.csv: line 2, cell 2: distances[0, 1] = nan"),
    (("expect", "--gram", "ok.csv", "--norms", "1", *SIZES), "norms goes with distances or cosines"),
    (("expect", "--cosines", "distances.csv", *SIZES), "distances.csv: line 2, cell 1: cosines[0, 0] = 0"),
    (("expect", "ok.toml", "--norms", "1"), "--norms goes with a matrix file"),
    (("expect", "--distances", "distances.csv", "--tolerance", "-1", *SIZES), "--tolerance -1: must not be negative"),
    (("expect", "--distances", "escape\x1b[31m.csv", *SIZES), r"escape\x1b[31m.csv: no such file"),
    (("expect", "/dev/zero"), "/dev/zero: more than 2,000,000 bytes"),
    (("expect", "keys.toml"), "keys.toml: more than 100 keys"),
    (("expect", "dots.toml"), "dots.toml: more than 100 keys, or parts of a key"),
    # folders
    (("train", "--out", "file"), "--out file: this is a file; name a folder"),
    (("train", "--out", "file/in"), "is a file, not a folder; name another place"),
    (("order", *GIVEN, "--plot", "file/in.png"), "is a file, not a folder; name another place"),
    (("order", *GIVEN, "--plot", "folder.png"), "--plot folder.png: this is a directory; name a file in it"),
    (("reproduce", "claims", "--out", "file"), "--out file: this is a file; name a folder"),
    (("train", "--save", "folder.toml"), "--save folder.toml: this is a directory; name a file in it"),
    # simulate
    (("simulate", *GIVEN, "--runs", "0"), "--runs 0: give a whole number"),
    (("simulate", *GIVEN, "--runs", "-3"), "--runs -3: give a whole number"),
    (("simulate", *GIVEN, "--runs", str(2**53 + 1)), "from 1 to 2^53"),
    (("simulate", *GIVEN, "--runs", str(10**15)), "runs"),
    (("simulate", *GIVEN, "--seed", "-1"), "--seed -1: give a whole number >= 0"),
    (("simulate", "none.toml"), "none.toml"),
    # metrics
    (("metrics", "none.csv", "--kind", "error"), "none.csv: no such file"),
    (("metrics", "folder.toml", "--kind", "error"), "directory"),
    (("metrics", "ok.toml", "--kind", "error"), "the name does not tell the format"),
    (("metrics", "ok.csv", "--kind", "loss"), "--kind 'loss': say 'error'"),
    (("metrics", "ragged.csv", "--kind", "error"), "ragged.csv"),
    (("metrics", "words.csv", "--kind", "error"), "words.csv"),
    (("metrics", "infinite.csv", "--kind", "error"), "infinite.csv"),
    (("metrics", "blank.csv", "--kind", "error"), "no rows"),
    (("metrics", "binary.csv", "--kind", "error"), "binary.csv"),
    (("metrics", "binary.npz", "--kind", "error"), "binary.npz"),
    (("metrics", "broken.json", "--kind", "error"), "not valid JSON"),
    (("metrics", "outside.csv", "--kind", "accuracy"), "outside.csv: line 1, cell 1: matrix[0, 0] is 150.5"),
    (("metrics", "ok.csv"), "--kind is missing: say --kind error"),
    (("metrics", "ok.csv", "--kind", "error", "--plot", "picture.gif"), "ends in .png, .svg or .pdf"),
]

USAGE = [
    (("forget",), "No such command 'forget'"),
    (("expect", *GIVEN, "--color"), "--color"),
    (("expect", *GIVEN, "--sigma"), "--sigma"),
    (("expect", "ok.toml", "ok.toml"), "unexpected extra argument"),
    (("simulate", *GIVEN, "--runs", "many"), "--runs"),
    (("simulate", *GIVEN, "--runs", "1.5"), "--runs"),
    (("simulate", *GIVEN, "--seed", "1.5"), "'1.5' is not a whole number; write 1000 or 1e3"),
    (("metrics",), "Missing argument"),
    (("forecast", "--lr", "0.1"), "--learning-rate"),
    (("forecast", "--train", "100"), "--train-size"),
    (("train", "--num-tasks", "0"), "--num-tasks 0: give a whole number"),
    (("train", "--trust-weights", "1,2", "--method", "gpm"), "--trust-weights or --recency for method 'gpm'"),
    (("compare", "broken.json", "broken.json"), "broken.json: not valid JSON"),
    (("compare", "broken.json"), "1 file: give two or more"),
    (("compare", "none.json", "none.json"), "none.json: no such file"),
]


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """What the command did with each of the arguments above."""
    folder = tmp_path_factory.mktemp("files")
    for name, content in BAD_FILES.items():
        (folder / name).write_bytes(content)
    (folder / "folder.toml").mkdir()
    (folder / "folder.png").mkdir()
    return {arguments: run_command(*arguments, folder=folder) for arguments, _ in (*ERRORS, *USAGE)}


def name_of(arguments):
    return " ".join(arguments)[:70]


def check_one_line(done, message):
    assert "Traceback" not in done.stderr
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("ebbing: ")
    assert done.stderr.count("\n") == 1
    assert message in done.stderr


@pytest.mark.parametrize(("arguments", "message"), ERRORS, ids=[name_of(arguments) for arguments, _ in ERRORS])
def test_bad_input_gives_one_line(results, arguments, message):
    check_one_line(results[arguments], message)


@pytest.mark.parametrize(("arguments", "message"), USAGE, ids=[name_of(arguments) for arguments, _ in USAGE])
def test_wrong_usage(results, arguments, message):
    check_one_line(results[arguments], message)


@pytest.mark.parametrize("arguments", [("expect", *GIVEN, "--sigma", "-1"), ("expect", "binary.toml"), ("forget",)])
def test_forks_print_what_the_command_alone_prints(results, arguments, tmp_path):
    (tmp_path / "binary.toml").write_bytes(BAD_FILES["binary.toml"])
    alone, fork = run_alone(*arguments, folder=tmp_path), results[arguments]
    assert (alone.returncode, alone.stdout) == (fork.returncode, fork.stdout)
    assert alone.stderr.splitlines()[-1] == fork.stderr.splitlines()[-1]


def test_forks_answer_what_the_command_alone_answers(tmp_path):
    arguments = ("order", *GIVEN, "--sigma", "0.3", "--json")
    alone, fork = run_alone(*arguments, folder=tmp_path), run_command(*arguments, folder=tmp_path)
    assert (alone.returncode, alone.stdout, alone.stderr) == (0, fork.stdout, fork.stderr)
