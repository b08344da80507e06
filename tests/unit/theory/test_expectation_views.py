"""Expectations as text, HTML and frames."""

import re
from typing import Any

import numpy as np
import pytest

from ebbing._limits import TASKS_WITH_DEVIATIONS
from ebbing.io.schema import expectation_json
from ebbing.problem import Problem
from ebbing.theory import _covariance, expect, expect_grid, forward_transfer
from ebbing.theory._rates import Rates

PROBLEM = Problem.orthogonal(T=8, n=50, p=100, sigma=0.3)


def test_summary_line_by_line():
    lines = expect(PROBLEM).summary().split("\n")
    assert lines[:10] == [
        "8 tasks, n=50, p=100, sigma=0.3: overparameterized, n/p = 0.5",
        "Model: linear, isotropic Gaussian features, each task learned to interpolation (minimum norm).",
        "",
        "                                    forgetting F_8  generalization error G_8",
        "expected                                   1.02141                   1.93003",
        "standard deviation of one run               0.1523                    0.1317",
        "  from the initial model (F1, G1)        -0.137835                0.00390625",
        "  from gaps between tasks (F2, G2)         1.13393                   1.74316",
        "  from noise (F3, G3)                    0.0253166                  0.182956",
        "",
    ]
    assert lines[10] == "task    initial error  just learned  at the end  forgetting  forward transfer"
    assert lines[11] == "task 1              1        0.5918       2.171       1.579                 0"
    assert lines[18] == "task 8              1         1.179       1.179           0            0.5872"
    assert not any("hardly" in line for line in lines)


def test_summary_shows_every_task_of_the_problem():
    problem = Problem.from_vectors(np.random.default_rng(0).standard_normal((5, 3)), n=20, p=50, sigma=0.2)
    e, transfer = expect(problem), forward_transfer(problem).difference
    text = e.summary()
    for i, name in enumerate(problem.names):
        row = re.split(r"\s{2,}", next(line for line in text.split("\n") if line.startswith(name)))
        numbers = (e.errors[0, i], e.errors[i + 1, i], e.errors[-1, i], e.forgetting_matrix[-1, i], transfer[i])
        assert row[1:] == [f"{x:.4g}" if x else "0" for x in numbers]


@pytest.mark.parametrize(
    ("n", "learned"),
    [
        (50, "each task learned to interpolation (minimum norm)."),
        (500, "each task learned by least squares (n >= p)."),
        ([50, 500], "tasks with n < p learned to interpolation (minimum norm), tasks with n >= p by least squares."),
    ],
)
def test_summary_names_the_model(n, learned):
    text = " ".join(expect(Problem.orthogonal(T=2, n=n, p=100)).summary().split())
    assert f"Model: linear, isotropic Gaussian features, {learned}" in text


def test_summary_warns_of_tasks_hardly_learned():
    e = expect(Problem.orthogonal(T=3, n=5000, p=110_000_000, sigma=0.3))
    text = " ".join(e.summary().split())
    assert "The tasks are hardly learned: n/p is 4.55e-05" in text
    assert "changes its error from 1.00005 to 1.00001 on average" in text
    assert "a small F does not mean that knowledge is kept" in text
    gain = -np.diff(e.errors, axis=0).diagonal()[:-1].mean()  # L[t-1, t] - L[t, t] of the tasks but the last
    share = int(re.search(r"F is (\d+)% of the error that learning a task removes", text)[1])  # type: ignore[index]
    assert share == pytest.approx(100 * e.forgetting / gain, abs=1)


def test_summary_counts_the_tasks_hardly_learned():
    text = expect(Problem.orthogonal(T=3, n=[50, 2, 60], p=100)).summary()
    assert "1 of the 3 tasks are hardly learned: n/p is 0.02" in text
    assert "hardly" not in expect(Problem.orthogonal(T=3, n=5, p=100)).summary()  # n/p = 0.05


def test_summary_of_one_task_has_no_forgetting():
    text = expect(Problem.orthogonal(T=1, n=2, p=100)).summary()
    assert "forgetting F" not in text
    assert "nan" not in text
    assert "(G1)" in text


def test_summary_never_shows_a_negative_zero():
    for problem in (Problem.identical(T=3, n=200, p=100), Problem.orthogonal(T=3, n=200, p=100), PROBLEM):
        assert not re.search(r"-0(?![.\d])", expect(problem).summary())


def test_summary_of_many_tasks_is_abridged():
    text = expect(Problem.orthogonal(T=45, n=50, p=100)).summary()
    assert "... 5 more" in text
    assert "task 45" in text
    assert "task 44" not in text


def test_summary_and_html_escape_names():
    problem = Problem.orthogonal(T=2, n=50, p=100, names=["\x1b[2J", "<script>"])
    e = expect(problem)
    assert "\x1b" not in e.summary()
    assert "\\x1b[2J" in e.summary()
    assert "<script>" not in e._repr_html_()
    assert "&lt;script&gt;" in e._repr_html_()
    assert "Model: linear" in e._repr_html_()


def test_frame_is_the_error_matrix():
    e = expect(PROBLEM)
    frame = e.to_frame()
    assert frame.shape == (9 * 8, 6)
    wide = frame.pivot(index="step", columns="place", values="error")
    assert np.array_equal(wide.to_numpy(), e.errors)
    assert np.array_equal(frame["error_std"], e.errors_std.ravel())
    assert np.array_equal(frame.query("step == 8")["forgetting"], e.forgetting_matrix[-1])
    assert frame.query("place == 3")["task"].unique().tolist() == ["task 3"]


def test_repr_is_short():
    assert repr(expect(PROBLEM)) == "Expectation(T=8, forgetting=1.02141, generalization=1.93003)"
    assert repr(expect_grid(PROBLEM, p=[60, 70])) == "ExpectationGrid(T=8, shape=(2,))"


def test_grid_knows_its_coordinates():
    grid = expect_grid(PROBLEM, p=[[20], [100]], sigma=[0.1, 0.3, 0.5])
    assert grid.p.tolist() == [[20] * 3, [100] * 3]
    assert grid.n.shape == grid.sigma.shape == (8, 2, 3)
    frame: Any = grid.to_frame()
    assert frame.columns.tolist()[:5] == ["p", "n", "sigma", "forgetting", "generalization"]
    for point in frame.itertuples():
        e = expect(PROBLEM.replace(p=point.p, n=point.n, sigma=point.sigma))
        assert (point.forgetting, point.F2) == pytest.approx((e.forgetting, e.terms.F2), rel=1e-12)


def test_grid_of_unequal_tasks_has_a_column_per_task():
    frame = expect_grid(PROBLEM.replace(n=range(50, 58)), p=[100, 200]).to_frame()
    assert frame.columns.tolist()[:9] == ["p", *(f"n {i}" for i in range(1, 9))]
    assert frame["n 8"].tolist() == [57, 57]


def test_grid_summary_line_by_line():
    lines = expect_grid(PROBLEM, p=[20, 10_000], sigma=0.1).summary().split("\n")
    assert lines[0] == "8 tasks at 2 points"
    assert lines[4:7] == [
        "    p   n  sigma  forgetting F_8  generalization error G_8",
        "   20  50    0.1               2                    1.7569",
        "10000  50    0.1       0.0198998                   1.02988",
    ]
    assert "Where n/p is below 0.05 a task is hardly learned" in lines[7]
    assert "hardly" not in expect_grid(PROBLEM, p=[60, 70]).summary()


# ---------------------------------------------------------------- many tasks


def test_standard_deviations_of_many_tasks_on_demand():
    e = expect(Problem.identical(TASKS_WITH_DEVIATIONS + 1, n=50, p=100, sigma=0.3))
    text, content = " ".join(e.summary().split()), expectation_json(e)
    assert "standard deviation of one run" not in text
    assert "computed on demand" in text
    assert content["forgetting"] == {"mean": e.forgetting, "std": None}
    assert content["errors_std"] is None
    assert not e.has_std
    assert "_standard_deviations" not in vars(e)


def test_standard_deviations_report_their_progress():
    problem = Problem.orthogonal(4, n=50, p=100, sigma=0.3)
    e, fractions = expect(problem), []
    e.compute_std(fractions.append)
    assert fractions == [0.25, 0.5, 0.75, 1.0]
    e.compute_std(lambda _: pytest.fail("computed twice"))
    assert e.forgetting_std == expect(problem).forgetting_std


def test_covariances_by_blocks_are_the_same(monkeypatch):
    W = np.random.default_rng(0).standard_normal((11, 4))
    problem = Problem.from_vectors(W, n=np.arange(5, 16), p=30, sigma=0.3)
    arguments = problem.start, problem.gaps, Rates.of(problem)
    whole = _covariance.standard_deviations(*arguments)
    monkeypatch.setattr(_covariance, "_ENTRIES_AT_ONCE", 30)  # two rows at a time
    blocks = _covariance.standard_deviations(*arguments)
    assert np.array_equal(whole[0], blocks[0])
    assert whole[1] == pytest.approx(blocks[1], rel=1e-14)
    assert whole[2] == blocks[2]


def test_one_task_has_no_columns_about_others():
    text = expect(Problem.orthogonal(1, n=50, p=100)).summary()
    assert "One task forgets nothing" in text
    assert "at the end" not in text


def test_a_grid_says_why_forgetting_is_missing():
    problem = Problem.orthogonal(2, n=50, p=100, sigma=0.3)
    assert "|p - n| <= 1" in " ".join(expect_grid(problem, p=[51, 100]).summary().split())
    assert "|p - n| <= 1" not in expect_grid(problem, p=[60, 100]).summary()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"sigma": 1e200}, "sigma has an entry of 1e[+]200"),
        ({"p": [[1], [1, 2]]}, "p is not an array of numbers"),
        ({"p": np.full((100_000, 1), 100), "n": np.full((1, 100_000), 50)}, "at 10,000,000,000 points take"),
    ],
)
def test_a_grid_checks_its_numbers_before_work(change, message):
    with pytest.raises(ValueError, match=message):
        expect_grid(Problem.orthogonal(2, n=50, p=100), **change)
    with pytest.raises(ValueError, match="problem is an int"):
        expect_grid(5)  # type: ignore[arg-type]
