"""`ebbing order` and `ebbing reproduce` as a newcomer meets them."""

import json
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from command_line import run_command

from ebbing import Problem, best_order, expect

DISTANCES = "cats,dogs,cars,boats\n0,1,2,2.2\n1,0,2.1,2\n2,2.1,0,0.8\n2.2,2,0.8,0\n"
PNG = b"\x89PNG"
INTERRUPT = """
import os, signal, sys, threading
import ebbing.cli
signal.signal(signal.SIGINT, signal.default_int_handler)
timer = threading.Timer(float(sys.argv.pop(1)), os.kill, (os.getpid(), signal.SIGINT))
timer.daemon = True
def report_then(start):
    import ebbing._progress
    from contextlib import contextmanager
    @contextmanager
    def status_line(description):
        lines = []
        def report(line):
            if line.startswith("best") and not lines:
                lines.append(line)
                start()
        yield report
    ebbing._progress.status_line = status_line
timer.start()
ebbing.cli.main()
"""


def ebbing(*arguments, cwd="."):
    return run_command(*arguments, folder=Path(cwd).absolute())


@pytest.fixture
def distances(tmp_path):
    file = tmp_path / "distances.csv"
    file.write_text(DISTANCES)
    return file


def test_order_by_name_with_certificate_and_picture(distances, tmp_path):
    picture = tmp_path / "new" / "folder" / "order.png"
    done = ebbing("order", "--distances", distances, "-n", 50, "-p", 100, "--sigma", 0.1, "--plot", picture)
    assert done.returncode == 0, done.stderr
    assert done.stderr.endswith(f"there is no folder {picture.parent}; it will be made\n")
    for words in ("boats", "Proved: no order of these tasks", "as given", "worst order", "all orders", "Each task"):
        assert words in done.stdout
    assert picture.read_bytes().startswith(PNG)


def test_json_equals_the_library(distances):
    done = ebbing("order", "--distances", distances, "-n", 50, "-p", 100, "--sigma", 0.1, "--json")
    result = json.loads(done.stdout)
    D = [[float(x) for x in line.split(",")] for line in DISTANCES.splitlines()[1:]]
    problem = Problem.from_distances(D, n=50, p=100, sigma=0.1, names=DISTANCES.splitlines()[0].split(","))
    plan = best_order(problem)
    assert result["schema"] == "ebbing.order/1"
    assert result["names"] == list(plan.names)
    assert result["value"] == plan.value == expect(problem.reordered(plan.order)).forgetting
    assert result["proved"] is True
    assert result["ties"] == plan.ties
    assert result["given"] == expect(problem).forgetting
    assert result["worst"]["value"] >= result["random"]["mean"] >= result["value"]


def test_problem_file_mix_and_front(tmp_path):
    file = tmp_path / "problem.toml"
    file.write_text("p = 100\nn = [50, 40, 60, 50]\nsigma = 0.1\nvectors = [[1, 0], [0, 1], [1, 1], [-1, 0.5]]\n")
    mix = json.loads(ebbing("order", file, "--objective", "0.3", "--json").stdout)
    assert mix["value"] == pytest.approx(0.3 * mix["forgetting"] + 0.7 * mix["generalization"], rel=1e-12)
    front = json.loads(ebbing("order", file, "--front", "--json").stdout)
    assert front["schema"] == "ebbing.front/1"
    assert front["complete"] is True
    forgetting = [point["forgetting"] for point in front["front"]]
    assert forgetting == sorted(forgetting)
    assert "no order lies below" in " ".join(ebbing("order", file, "--front").stdout.split())


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("0,1\n2,0\n", "not symmetric"),
        ("0,1,9\n1,0,1\n9,1,0\n", "Euclidean"),
        ("0,nan\nnan,0\n", "finite"),
        ("0,\n1,0\n", "finite"),
        ("a,a\n0.0,1.5\n1.5,0.0\n", "names must differ"),
        ("0,1\n1,2\n", "distance 0 from itself"),
        ("0,-1\n-1,0\n", "line 1, cell 2: distances[0, 1] = -1 is negative"),
        ("0,1.5,2\n1.5,0,1\n", "2 rows and 3 columns"),
        ("", "bytes"),
    ],
)
def test_bad_distances_give_one_line(tmp_path, text, words):
    file = tmp_path / "d.csv"
    file.write_text(text)
    done = ebbing("order", "--distances", file, "-n", 50, "-p", 100)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert any(word in done.stderr for word in words.split("|")), done.stderr


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--tasks", "categories:AABB", "-n", "50"], "-p is missing"),
        (["--tasks", "categories:AABB", "-n", "50", "-p", "51", "--sigma", "0.1"], "infinite"),
        (["--tasks", "categories:AABB", "-n", "50", "-p", "100", "--objective", "fun"], "objective"),
        (["--tasks", "categories:AABB", "-n", "50", "-p", "100", "--objective", "1.5"], "objective"),
        (["--tasks", "categories:AABB", "-n", "50", "-p", "100", "--plot", "x.gif"], ".png"),
        (["--tasks", "orthogonal:1", "-n", "50", "-p", "100"], "at least two tasks"),
        (["--tasks", "categories:AABB", "--distances", "d.csv", "-n", "50", "-p", "100"], "once"),
        ([], "give the tasks once"),
    ],
)
def test_bad_options_of_order(arguments, words, tmp_path):
    done = ebbing("order", *arguments, cwd=tmp_path)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert words in done.stderr


@pytest.mark.parametrize("seconds", ["0", "-1", "nan", "soon"])
def test_time_that_is_no_time_gives_an_error(seconds, tmp_path):
    done = ebbing("order", "--tasks", "categories:AABB", "-n", 50, "-p", 100, "--seconds", seconds, cwd=tmp_path)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert "seconds" in done.stderr


@pytest.mark.parametrize("delay", [0.2, 0.6, 1.5])
def test_ctrl_c_ends_the_command_with_or_without_an_answer(delay, tmp_path):
    """While packages are imported nothing is known yet; from then on the best order is shown."""
    order = ("order", "--tasks", "orthogonal:30", "-n", "50", "-p", "100", "--sigma", "0.3", "--seconds", "3000")
    command = [sys.executable, "-c", INTERRUPT, str(delay), *order]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False, cwd=tmp_path)
    if "recommended order" not in done.stdout:
        assert done.stderr == "ebbing: interrupted\n"
        assert done.returncode in (-signal.SIGINT, 130)


@pytest.mark.parametrize("delay", [0.0, 0.05, 0.15, 0.4])
def test_ctrl_c_while_the_command_starts_prints_one_line(delay, tmp_path):
    """The clock starts with the first import of ebbing; before it, Python itself is starting."""
    script = f"""
import os, runpy, signal, sys, threading
class Watch:
    def find_spec(self, name, path=None, target=None):
        if name == "ebbing.metrics":  # the first import after those of the start
            threading.Timer({delay}, os.kill, (os.getpid(), signal.SIGINT)).start()
sys.meta_path.insert(0, Watch())
sys.argv = ["ebbing", "simulate", "--tasks", "orthogonal:8", "-n", "50", "-p", "100", "--runs", "5000000"]
from ebbing.cli import main
main()
"""
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False, cwd=tmp_path)
    assert (done.stdout, done.stderr) == ("", "ebbing: interrupted\n")
    assert done.returncode in (-signal.SIGINT, 130)  # to a shell both are 130


def test_ctrl_c_in_a_long_search_shows_the_best_order(tmp_path):
    np.save(tmp_path / "w.npy", np.random.default_rng(0).standard_normal((60, 5)))
    script = INTERRUPT.replace("timer.start()", "report_then(timer.start)")
    order = ("order", "--vectors", "w.npy", "-n", "50", "-p", "100", "--seconds", "3000")
    command = [sys.executable, "-c", script, "0.2", *order]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert "The search was interrupted." in " ".join(done.stdout.split())


def test_reproduce_tables_and_claims(tmp_path):
    done = ebbing("reproduce", "tables", "claims", "--out", tmp_path / "out", "--json")
    result = json.loads(done.stdout)
    assert done.returncode == 0
    claims = {verdict["claim"]: verdict["holds"] for verdict in result["verdicts"]}
    assert claims["Prop. order2: the alternating order is best, T = 6"] is True
    assert claims["Proof of Prop. order2: 10 orders besides the alternating one"] is False
    for name in ("verdicts.md", "verdicts.json", "tables.txt", "tables.json", "tables_two.csv", "claims.json"):
        assert (tmp_path / "out" / name).stat().st_size > 0


def test_reproduce_fig1_writes_pictures_with_their_data(tmp_path):
    done = ebbing("reproduce", "fig1", "--out", tmp_path)
    assert done.returncode == 0, done.stderr
    assert "5 of 5 claims hold" in done.stdout
    assert (tmp_path / "fig1.png").read_bytes().startswith(PNG)
    assert b"<svg" in (tmp_path / "fig1.svg").read_bytes()
    content = json.loads((tmp_path / "fig1.json").read_text())
    assert len(content["markers"]) == 4 * 3 * 19
    assert {"commit", "config", "versions"} <= set(content["provenance"])
    assert len((tmp_path / "fig1.csv").read_text().splitlines()) == 1 + 4 * 3 * 19


@pytest.mark.parametrize("arguments", [["fig9"], ["fig2", "--scale", "huge"], ["fig2", "--seeds", "0"]])
def test_bad_targets_of_reproduce(arguments, tmp_path):
    done = ebbing("reproduce", *arguments, "--out", tmp_path / "out")
    assert done.returncode == 2
    assert "Traceback" not in done.stderr


def test_a_warning_of_several_pictures_is_printed_once(tmp_path):
    pytest.importorskip("matplotlib")
    (tmp_path / "names.csv").write_text("\U00012000 cats,dogs\n0,1\n1,0\n", encoding="utf-8")
    numbers = ("-n", "5", "-p", "20", "--plot", "one.png", "--html", "two.html")
    result = ebbing("order", "--distances", "names.csv", *numbers, cwd=tmp_path)
    assert result.returncode == 0
    assert result.stderr.count("the font of matplotlib lacks some characters") == 1
