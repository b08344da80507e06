"""`ebbing predict` as people and programs meet it."""

import command_line
import numpy as np
from command_line import FLAGS, PROBLEM, parse

from ebbing import Problem, expect
from ebbing.theory import forward_transfer

answer, run = command_line.answer, command_line.run  # fixtures


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
    content = parse(answer("predict", "--tasks", "identical:2", "-n", "50", "-p", "53", "--unmodeled", "0.5", "--json"))
    assert content["forgetting"]["std"] == content["generalization"]["std"] == "inf"
    assert content["errors_std"][1:] == [["inf", "inf"]] * 2
    assert content["problem"]["unmodeled"] == [0.5, 0.5]


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
