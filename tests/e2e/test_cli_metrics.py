"""`ebbing metrics` as people and programs meet it."""

import json

import command_line
import numpy as np
import pytest
from command_line import PROBLEM, parse

from ebbing import expect, metrics

answer, run = command_line.answer, command_line.run  # fixtures

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


def test_metrics_name_tasks_as_the_file_does(answer, tmp_path):
    (tmp_path / "named.csv").write_text("after,cats,dogs\ncats,0.9,\ndogs,0.6,0.8\n")
    text = answer("metrics", "named.csv", "--kind", "accuracy", "--plot", "forgotten.svg")
    assert "On average 0.3 was forgotten; most of cats, from 0.9 to 0.6." in text
    assert (tmp_path / "forgotten.svg").read_text().startswith("<?xml")
    content = parse(answer("metrics", "named.csv", "--kind", "accuracy", "--json"))
    assert (content["names"], content["just_learned"]) == (["cats", "dogs"], [0.9, 0.8])
    assert content["forgotten"] == pytest.approx([0.3, 0.0])


@pytest.mark.usefixtures("matrices")
@pytest.mark.parametrize("kind", ["json", "npz"])
def test_metrics_take_the_kind_from_the_file(answer, kind):
    assert answer("metrics", f"matrix.{kind}").startswith("3 tasks, accuracies")


def test_metrics_of_the_simulated_matrix(answer, tmp_path):
    np.save(tmp_path / "errors.npy", expect(PROBLEM).errors)
    content = parse(answer("metrics", "errors.npy", "--kind", "error", "--json"))
    assert content["metrics"]["forgetting"] == pytest.approx(expect(PROBLEM).forgetting, rel=1e-13)
    assert content["metrics"]["generalization_error"] == pytest.approx(expect(PROBLEM).generalization, rel=1e-14)


def test_zeros_above_the_diagonal_get_one_line(run, answer, tmp_path):
    (tmp_path / "errors.csv").write_text("0.02,0,0\n0.09,0.03,0\n0.28,0.1,0.04\n")
    done = run("metrics", "errors.csv", "--kind", "error", "--json")
    assert done.returncode == 0
    assert done.stderr.count("\n") == 1
    assert done.stderr.startswith(
        "ebbing: errors.csv: all entries above the diagonal are exactly 0 and count as measured"
    )
    assert done.stderr.endswith("if they were not measured, say --unmeasured 0\n")
    content = parse(answer("metrics", "errors.csv", "--kind", "error", "--unmeasured", "0", "--json"))
    assert content["metrics"]["best_minus_last"] == pytest.approx(0.165)
    assert content["metrics"]["upper_triangle_mean"] is None


def test_minus_one_for_unmeasured_gets_its_way_out(run, answer, tmp_path):
    (tmp_path / "accuracies.csv").write_text("0.9,-1\n0.6,0.8\n")
    done = run("metrics", "accuracies.csv", "--kind", "accuracy")
    assert done.returncode == 2
    way_out = "(if -1 means that, say --unmeasured -1, or in Python read_matrix(file, unmeasured=-1))\n"
    assert done.stderr.endswith(way_out)
    assert "most of task 1" in answer("metrics", "accuracies.csv", "--kind", "accuracy", "--unmeasured", "-1")
    (tmp_path / "accuracies.csv").write_text("0.9,0.1\n-1,0.8\n")  # not above the diagonal
    assert "--unmeasured" not in run("metrics", "accuracies.csv", "--kind", "accuracy").stderr


def test_accuracies_in_two_units_get_one_line(run, tmp_path):
    (tmp_path / "accuracies.csv").write_text("98,12,10\n91,97,11\n0.72,90,96\n")
    done = run("metrics", "accuracies.csv", "--kind", "accuracy", "--unmeasured", "0")
    message = (
        "accuracies.csv: the accuracy after task 3, on task 1 is 0.72, and others are 10 to 98: fractions and percent?"
    )
    assert (done.returncode, done.stderr.count("\n")) == (0, 1)
    assert done.stderr.startswith(f"ebbing: {message}")
