"""`ebbing expect` as people and programs meet it."""

import json

import command_line
import numpy as np
import pytest
from command_line import FLAGS, PROBLEM, SIZES, parse

from ebbing import Problem, Ridge, expect, simulate
from ebbing.theory import forward_transfer

answer, run = command_line.answer, command_line.run  # fixtures


def test_expect_table(answer):
    text = answer("expect", *FLAGS)
    e = expect(PROBLEM)
    assert text.splitlines()[0] == "8 tasks, n=50, p=100, sigma=0.3: overparameterized, n/p = 0.5"
    for number in (e.forgetting, e.generalization, *vars(e.terms).values()):
        assert f"{number:.6g}" in text
    for number in (e.forgetting_std, e.generalization_std, *e.errors[-1], *e.forgetting_matrix[-1]):
        assert f"{number:.4g}" in text
    assert text.count("\ntask ") == 9  # the header and eight tasks


def test_expect_json(answer):
    content = parse(answer("expect", *FLAGS, "--json"))
    e = expect(PROBLEM)
    assert content["schema"] == "ebbing.expect/1"
    assert next(iter(content)) == "schema"
    given = {"T": 8, "gram": np.eye(8).tolist(), "n": [50] * 8, "p": 100, "sigma": [0.3] * 8, "unmodeled": [0] * 8}
    assert content["problem"] == content["problem"] | given | {"names": [f"task {i}" for i in range(1, 9)]}
    assert content["forgetting"] == {"mean": e.forgetting, "std": e.forgetting_std}
    assert content["generalization"] == {"mean": e.generalization, "std": e.generalization_std}
    assert content["terms"] == vars(e.terms)
    assert content["forgetting_curve"] == e.forgetting_curve.tolist()
    assert content["errors"] == e.errors.tolist()
    assert content["errors_std"] == e.errors_std.tolist()
    transfer = forward_transfer(PROBLEM)
    assert content["forward_transfer"] == {
        name: getattr(transfer, name).tolist() for name in ("learned", "scratch", "difference")
    }


def test_expect_from_a_file_with_flags_on_top(answer, tmp_path):
    (tmp_path / "problem.toml").write_text('p = 100\nn = 50\nsigma = 0.3\ncategories = "ABAB"\n')
    problem = Problem.categories("ABAB", n=50, p=100, sigma=0.3)
    from_file = parse(answer("expect", "problem.toml", "--json"))
    assert from_file["forgetting"]["mean"] == expect(problem).forgetting
    assert from_file["problem"]["names"] == ["A1", "B1", "A2", "B2"]
    changed = parse(answer("expect", "problem.toml", "-p", "1e3", "-n", "5,6,7,8", "--sigma", "0", "--json"))
    assert changed["problem"]["p"] == 1000
    assert changed["problem"]["n"] == [5, 6, 7, 8]
    assert changed["forgetting"]["mean"] == expect(problem.replace(p=1000, n=[5, 6, 7, 8], sigma=0)).forgetting


GRAM = [[1.0, 0.5], [0.5, 2.0]]


@pytest.mark.parametrize("command", ["expect", "simulate", "order"])
def test_ground_truths_from_matrix_files(answer, tmp_path, command):
    W = np.linalg.cholesky(np.array(GRAM))
    (tmp_path / "vectors.csv").write_text("cats,{},{}\ndogs,{},{}\n".format(*W.ravel()))
    np.save(tmp_path / "gram.npy", GRAM)
    (tmp_path / "distances.json").write_text('{"distances": [[0, 1.5], [1.5, 0]], "names": ["cats", "dogs"]}')
    sizes = ("-n", "50", "-p", "100", "--json")
    for form, file in (("--vectors", "vectors.csv"), ("--gram", "gram.npy")):
        problem = parse(answer(command, form, file, *sizes))["problem"]
        assert np.allclose(problem["gram"], GRAM, rtol=1e-14)
        assert problem["names"] == (["cats", "dogs"] if form == "--vectors" else ["task 1", "task 2"])
    problem = parse(answer(command, "--distances", "distances.json", *sizes))["problem"]
    assert problem["gaps"] == [[0, 2.25], [2.25, 0]]
    assert problem["names"] == ["cats", "dogs"]


def test_expect_infinite_variance_and_missing_features(answer):
    content = parse(answer("expect", "--tasks", "identical:2", "-n", "50", "-p", "53", "--unmodeled", "0.5", "--json"))
    assert content["forgetting"]["std"] == content["generalization"]["std"] == "inf"
    assert content["errors_std"][1:] == [["inf", "inf"]] * 2
    assert content["problem"]["unmodeled"] == [0.5, 0.5]


def test_expect_one_task(answer):
    content = parse(answer("expect", "--tasks", "orthogonal:1", "-n", "50", "-p", "100", "--json"))
    assert content["forgetting"] is None
    assert content["forgetting_curve"] == []
    assert content["terms"]["F1"] is None
    assert content["generalization"]["mean"] == 0.5
    assert "forgetting F" not in answer("expect", "--tasks", "orthogonal:1", "-n", "50", "-p", "100")


def test_expect_many_tasks_and_huge_p(answer):
    text = answer("expect", "--tasks", "orthogonal:45", "-n", "50", "-p", str(2**53))
    assert "... 5 more" in text
    assert "task 45" in text


def test_expect_from_cosines_and_norms(answer, tmp_path):
    (tmp_path / "cosines.csv").write_text("cats,dogs\n1,0.5\n0.5,1\n")
    problem = parse(answer("expect", "--cosines", "cosines.csv", "--norms", "1,2", *SIZES, "--json"))["problem"]
    assert problem["gram"] == [[1, 1], [1, 4]]
    (tmp_path / "distances.csv").write_text("cats,dogs\n0,1.5\n1.5,0\n")
    problem = parse(answer("expect", "--distances", "distances.csv", "--norms", "1", *SIZES, "--json"))["problem"]
    assert problem["gram"] == [[1, -0.125], [-0.125, 1]]


def test_moved_distances_are_said_in_one_line(run, tmp_path):
    W = np.random.default_rng(0).standard_normal((6, 2))
    D = np.round(np.linalg.norm(W[:, None] - W, axis=2), 2)
    np.savetxt(tmp_path / "distances.csv", D, delimiter=",", fmt="%.2f")
    done = run("expect", "--distances", "distances.csv", *SIZES)
    assert done.returncode == 0
    assert done.stderr.startswith("ebbing: no vectors have exactly these distances")
    assert "differ by up to" in done.stderr
    assert done.stderr.count("\n") == 1


def test_names_cannot_command_the_terminal(answer, tmp_path):
    names = ["\x1b[31mred", "[bold]b[/bold]", "\u202eabc", "猫"]
    (tmp_path / "problem.toml").write_text(f"p = 100\nn = 50\northogonal = 4\nnames = {json.dumps(names)}\n")
    text = answer("expect", "problem.toml")  # which checks that every character is printable
    for shown in (r"\x1b[31mred", "[bold]b[/bold]", r"\u202eabc", "猫"):
        assert shown in text


def test_standard_deviations_of_many_tasks_only_if_asked_for(answer):
    flags = ("expect", "--tasks", "identical:501", "-n", "50", "-p", "100")
    assert "computed on demand" in " ".join(answer(*flags).split())
    assert "standard deviation of one run" in answer(*flags, "--std")


def test_unknown_deviations_come_from_runs_and_say_so(answer):
    options = ("expect", "--tasks", "orthogonal:3", "-n", "20", "-p", "60", "--sigma", "0.3", "--learner", "ridge:5")
    text = " ".join(answer(*options).split())
    assert (
        "Standard deviation of one run, from 1,000 simulated runs (no exact formula is known): forgetting 0.1" in text
    )
    found = parse(answer(*options, "--json"))
    assert found["generalization"]["std"] is None
    problem = Problem.orthogonal(T=3, n=20, p=60, sigma=0.3)
    other = simulate(problem, runs=4000, seed=5, learner=Ridge(5)).generalization.std()
    assert found["simulated_std"]["generalization"] == pytest.approx(other, rel=0.12)
    assert found["simulated_std"]["runs"] == 1000
    assert "simulated" not in answer(*options[:-2], "--replay", "5")  # exact
