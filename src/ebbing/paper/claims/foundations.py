"""Lemmas, theorems, the corollary, and their consequences in the appendix and Section 5.3."""

from __future__ import annotations

import numpy as np

from ebbing import theory
from ebbing.paper.claims.examples import largest_z, random_problem
from ebbing.paper.claims.registry import Config, claim
from ebbing.problem import Problem
from ebbing.simulation import simulate, solve_task
from ebbing.theory import expect


@claim(
    "gradient descent reaches the solution nearest to its starting point",
    "Lemma 1",
    "gradient descent on one task, n=20, p=60",
)
def lemma_1(config: Config) -> tuple[str, bool]:
    rng = np.random.default_rng(config.seed)
    X, y, start = rng.standard_normal((20, 60)), rng.standard_normal(20), rng.standard_normal(60)
    w, step = start.copy(), 1 / np.linalg.norm(X, 2) ** 2
    for _ in range(2000):
        w -= step * X.T @ (X @ w - y)
    difference = np.abs(w - solve_task(start[None], X[None], y[None])[0]).max()
    return f"largest difference {difference:.1e}", bool(difference < 1e-10)


@claim("learning a task: new error = (1 - n/p) old error + n/p gap + n s^2/(p-n-1)", "Lemma 2", "{runs} runs")
def lemma_2(config: Config) -> tuple[str, bool]:
    problem = Problem.from_vectors([[1.0, 0.0], [0.5, 0.5], [-1.0, 1.0]], n=20, p=40, sigma=1.0)
    z = largest_z(simulate(problem, config.runs, config.seed).errors, expect(problem).errors)
    return f"largest |z| over the error matrix {z:.2f}", z < 4.5


@claim("the closed forms of E[F_T] and E[G_T], p >= n+2", "Theorem 1", "{problems} random problems, {runs} runs")
def theorem_1(config: Config) -> tuple[str, bool]:
    rng = np.random.default_rng(config.seed)
    worst = max(_closed_form_error(random_problem(rng)) for _ in range(config.problems))
    problem = random_problem(rng, T=5, n=20, p=50, sigma=0.5)
    z = _metric_z(problem, config)
    return f"recursion agrees to {worst:.0e}; simulation |z| <= {z:.2f}", worst < 1e-12 and z < 4.5


@claim("the closed forms of E[F_T] and E[G_T], n >= p+2", "Theorem 2", "{problems} random problems, {runs} runs")
def theorem_2(config: Config) -> tuple[str, bool]:
    rng = np.random.default_rng(config.seed)
    worst = max(
        _closed_form_error(random_problem(rng, n=40, p=int(rng.integers(8, 37)))) for _ in range(config.problems)
    )
    problem = random_problem(rng, T=5, n=40, p=20, sigma=0.5)
    last = problem.gaps[-1, :-1]
    explicit = np.array([last.mean(), last.sum() / 5 + 20 * 0.25 / (40 - 20 - 1)])  # the theorem as printed
    e = expect(problem)
    worst = max(worst, float(np.abs(explicit - [e.forgetting, e.generalization]).max()))
    z = _metric_z(problem, config)
    return f"recursion agrees to {worst:.0e}; simulation |z| <= {z:.2f}", worst < 1e-12 and z < 4.5


def _closed_form_error(problem: Problem) -> float:
    closed, recursed = (
        np.array(list(vars(t).values())) for t in (theory.theorem_terms(problem), expect(problem).terms)
    )
    return float(np.max(np.abs(closed - recursed).reshape(2, 3) / np.abs(recursed).reshape(2, 3).max(axis=1)[:, None]))


def _metric_z(problem: Problem, config: Config) -> float:
    sample, e = simulate(problem, config.runs, config.seed), expect(problem)
    pairs = ((sample.forgetting, e.forgetting), (sample.generalization, e.generalization))
    return max(largest_z(values[:, None], mean) for values, mean in pairs)


@claim("the closed forms for two tasks", "Corollary of Theorem 1", "{problems} random pairs of tasks")
def corollary_two_tasks(config: Config) -> tuple[str, bool]:
    rng = np.random.default_rng(config.seed)
    worst = 0.0
    for _ in range(config.problems):
        problem = random_problem(rng, T=2)
        e = expect(problem)
        differences = (
            theory.two_task_forgetting(problem) - e.forgetting,
            theory.two_task_generalization(problem) - e.generalization,
        )
        worst = max(worst, float(np.abs(differences).max() / e.errors.max()))
    return f"agree to {worst:.0e}", worst < 1e-13


@claim(
    "features missing from the model act as noise of variance |w_missing|^2", "footnote to Assumption 1", "{runs} runs"
)
def unmodeled_features(config: Config) -> tuple[str, bool]:
    rng = np.random.default_rng(config.seed)
    truth, missing, n, p, runs = np.eye(12)[0], 0.8, 5, 12, config.runs
    X = rng.standard_normal((runs, n, p))
    y = X @ truth + missing**0.5 * rng.standard_normal((runs, n))  # x_missing . w_missing ~ N(0, |w_missing|^2)
    errors = np.sum((solve_task(np.zeros((runs, p)), X, y) - truth) ** 2, axis=1)
    problem = Problem(gram=[[1.0]], n=n, p=p, unmodeled=missing)
    z = largest_z(errors[:, None], expect(problem).generalization)
    return f"|z| = {z:.2f}", z < 4.5


@claim(
    "the condition for negative forgetting, which is also necessary",
    "Prop. C.1 on negative forgetting, erratum E9",
    "{problems} random pairs of tasks",
)
def negative_forgetting(config: Config) -> tuple[str, bool]:
    rng = np.random.default_rng(config.seed)
    agree, negative = True, 0
    for _ in range(config.problems):
        problem = random_problem(rng, T=2)
        e, found = expect(problem), theory.negative_forgetting(problem)
        K, n, p, s2 = problem.gram, int(problem.n[0]), problem.p, float(problem.noise_variance[0])
        printed = 2 * K[0, 1] - (n / p * K[0, 0] + K[1, 1] + (p - n) * s2 / (p - n - 1))
        agree &= bool(np.isclose(found.margin, printed, rtol=1e-11, atol=1e-13 * K.max()))
        agree &= found.holds == (e.forgetting <= 0)
        negative += e.forgetting <= 0
    return (
        f"correct for all {config.problems} pairs; forgetting is negative for {negative}",
        agree and 0 < negative < config.problems,
    )


@claim("the recursion from F_t to F_{t+1}", "appendix, evolution of forgetting", "{problems} random problems")
def evolution(config: Config) -> tuple[str, bool]:
    rng = np.random.default_rng(config.seed)
    worst = 0.0
    for _ in range(config.problems):
        problem = random_problem(rng)
        e = expect(problem)
        worst = max(
            worst,
            float(np.abs(theory.forgetting_curve_by_recursion(problem) - e.forgetting_curve).max() / e.errors.max()),
        )
    return f"agrees to {worst:.0e}", worst < 1e-13


@claim(
    "error of a new task: earlier gaps have weights r^{t-i}, and noise has the factor 1 - r^t (missing in the paper)",
    "Section 5.3, erratum E3",
    "{problems} random problems",
)
def forward_transfer(config: Config) -> tuple[str, bool]:
    rng = np.random.default_rng(config.seed)
    worst = 0.0
    for _ in range(config.problems):
        problem = random_problem(rng)
        n, p, T, s2 = int(problem.n[0]), problem.p, problem.T, problem.noise_variance[0]
        r, t = 1 - n / p, np.arange(1, T + 1)
        weights = np.tril(r ** (t[:, None] - t)) * n / p
        error = r**t * problem.start + np.sum(weights * problem.gaps, axis=1) + p * s2 / (p - n - 1) * (1 - r**t)
        worst = max(worst, float(np.abs(error / theory.forward_transfer(problem).learned - 1).max()))
    return f"agrees to {worst:.0e}", worst < 1e-11


@claim(
    "forward transfer is negative where earlier tasks help (the paper: positive)", "Section 5.3, erratum E4", "6 tasks"
)
def forward_transfer_sign(config: Config) -> tuple[str, bool]:
    helped = theory.forward_transfer(Problem.identical(T=6, n=50, p=100, sigma=0.1)).difference
    hindered = theory.forward_transfer(Problem.orthogonal(T=6, n=50, p=100, sigma=0.1)).difference
    text = f"identical tasks {helped[-1]:.3f}, orthogonal tasks {hindered[-1]:+.3f}"
    return text, bool(np.all(helped[1:] < 0) and np.all(hindered[1:] > 0))
