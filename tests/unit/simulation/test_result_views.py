"""Simulations as text and frames, beside theory."""

import re

import numpy as np
import pytest

from ebbing.curriculum import Curriculum
from ebbing.problem import Problem
from ebbing.simulation import MeanEstimate, simulate, simulate_metrics
from ebbing.theory import expect

PROBLEM = Problem.orthogonal(T=8, n=50, p=100, sigma=0.3)


def row(text, label):
    return re.split(r"\s{2,}", next(line for line in text.split("\n") if line.startswith(label)))[1:]


@pytest.mark.parametrize("sampler", [simulate, simulate_metrics])
def test_summary_compares_with_theory(sampler):
    sample, e = sampler(PROBLEM, 300, 1), expect(PROBLEM)
    text = sample.summary()
    assert text.startswith("8 tasks, n=50, p=100, sigma=0.3: overparameterized, n/p = 0.5; 300 runs\nModel: linear")
    F, G = MeanEstimate.of(sample.forgetting), MeanEstimate.of(sample.generalization)
    assert row(text, "mean of the runs") == [f"{F.mean:.6g}", f"{G.mean:.6g}"]
    assert row(text, "standard error") == [f"{F.standard_error:.2g}", f"{G.standard_error:.2g}"]
    assert row(text, "theory: expected") == [f"{e.forgetting:.6g}", f"{e.generalization:.6g}"]
    assert row(text, "theory: standard") == [f"{e.forgetting_std:.4g}", f"{e.generalization_std:.4g}"]
    z = ((F.mean - e.forgetting) / F.standard_error, (G.mean - e.generalization) / G.standard_error)
    assert row(text, "z-score") == [f"{x:+.2f}" for x in z]
    assert "not to be trusted" not in text


def test_summary_of_one_run_has_no_nan():
    text = simulate_metrics(PROBLEM, 1).summary()
    assert "nan" not in text.lower()
    assert "One run has no standard error" in text
    assert "z-score of the mean" not in text
    assert "; 1 run\n" in text


def test_summary_where_expectations_are_infinite():
    runs = simulate(PROBLEM.replace(p=51), 20)
    text = runs.summary()
    assert row(text, "theory: expected") == ["not finite", "not finite"]
    medians = [float(np.median(runs.forgetting)), float(np.median(runs.generalization))]
    assert row(text, "median of the runs") == [f"{median:.6g}" for median in medians]
    assert "The expectation is infinite here: the mean of the runs does not converge; read the median." in text
    assert "The variance is infinite" not in text
    assert runs._answer() == f"In half of 20 runs, at most {medians[0]:.4g} is forgotten."
    text = simulate(PROBLEM.replace(p=53), 20).summary()
    assert row(text, "theory: standard") == ["infinite", "infinite"]
    assert "not to be trusted" in text


def test_summary_where_the_expectation_is_not_known():
    mixed = Curriculum([{0: 50}, {1: 50}, {0: 50}], stored=True)
    text = simulate(PROBLEM, 20, curriculum=mixed).summary()
    assert row(text, "theory: expected") == ["not known", "not known"]
    assert "infinite" not in text


def test_summary_without_spread_has_no_negative_zero():
    text = simulate(Problem.orthogonal(T=2, n=50, p=20), 10).summary()
    assert row(text, "z-score") == ["0.00", "0.00"]
    assert not re.search(r"-0(?![.\d])", text)


def test_summary_of_one_task():
    text = simulate_metrics(Problem.orthogonal(T=1, n=5, p=20), 10).summary()
    assert "forgetting F" not in text
    assert "nan" not in text


def test_summary_warns_of_tasks_hardly_learned():
    assert "hardly learned" in simulate_metrics(Problem.orthogonal(T=2, n=5, p=10**6), 10).summary()


def test_frame_of_a_simulation_has_every_error():
    sample = simulate(PROBLEM, 3)
    frame = sample.to_frame()
    assert frame.columns.tolist() == ["run", "step", "task", "place", "error"]
    assert np.array_equal(frame["error"].to_numpy().reshape(sample.errors.shape), sample.errors)
    some = frame.query("run == 1 and step == 8 and task == 'task 3'")
    assert some["error"].tolist() == [sample.errors[1, 8, 2]]


def test_frame_of_metrics_has_a_row_per_run():
    sample = simulate_metrics(PROBLEM, 5)
    frame = sample.to_frame()
    assert frame["run"].tolist() == [0, 1, 2, 3, 4]
    assert np.array_equal(frame["forgetting"], sample.forgetting)
    assert np.array_equal(frame["generalization"], sample.generalization)


def test_repr_is_short():
    assert repr(simulate(PROBLEM, 5)) == "Simulation(T=8, runs=5)"
    assert repr(simulate_metrics(PROBLEM, 5)) == "SimulatedMetrics(T=8, runs=5)"


@pytest.mark.parametrize(
    ("estimate", "expected", "z"),
    [
        (MeanEstimate(2.0, 0.5, 5.0), 1.0, 2.0),
        (MeanEstimate(1.0, 0.0, 0.0), 1.0, 0.0),
        (MeanEstimate(1.0, 0.0, 0.0), 2.0, -np.inf),
        (MeanEstimate(1.0, np.nan, np.nan), 2.0, np.nan),
    ],
)
def test_z_score(estimate, expected, z):
    assert estimate.z_score(expected) == pytest.approx(z, nan_ok=True)


def test_mean_estimates_take_lists_of_at_least_one_value():
    assert MeanEstimate.of([1, 3]).mean == 2.0
    with pytest.raises(ValueError, match=r"sample has shape \(0,\); give one value per run"):
        MeanEstimate.of([])


def test_answer_has_as_many_digits_as_its_error():
    runs = simulate(Problem.categories("AABB", n=50, p=100, sigma=0.3), 300)
    assert runs._answer() == "On average over 300 runs, 0.6800 ± 0.0071 is forgotten. Theory expects 0.6879."
