"""Fifty-digit references. Errors are positive sums and compared one by one. F and G can cancel, so their error is
measured against the largest of their three terms (F1, F2, F3 or G1, G2, G3) in absolute value."""

import math

import mpmath as mp
import numpy as np
import pytest

from ebbing.problem import Problem
from ebbing.theory import expect, expect_grid, theorem_terms

mp.mp.dps = 50
TOLERANCE = 1e-12


def exact_rates(n, p, variance):
    n, p, variance = mp.mpf(int(n)), mp.mpf(int(p)), mp.mpf(float(variance))
    if n < p:
        return 1 - n / p, (variance * n / (p - n - 1) if variance else mp.mpf(0))
    return mp.mpf(0), (variance * p / (n - p - 1) if variance else mp.mpf(0))


def exact_terms(problem):
    """F1, F2, F3, G1, G2, G3 and the error matrix by Lemma 2 in fifty digits, one source of error at a time."""
    T = problem.T
    zero = [[mp.mpf(0)] * T for _ in range(T)]
    d = [[mp.mpf(float(x)) for x in row] for row in problem.gaps]
    start = [mp.mpf(float(x)) for x in problem.start]
    rates = [exact_rates(n, problem.p, v) for n, v in zip(problem.n, problem.noise_variance, strict=True)]

    def matrix(start, gaps, noisy):
        rows = [list(start)]
        for t, (r, q) in enumerate(rates):
            rows.append([r * rows[-1][i] + (1 - r) * gaps[t][i] + (q if noisy else 0) for i in range(T)])
        return rows

    parts = [matrix(start, zero, False), matrix([mp.mpf(0)] * T, d, False), matrix([mp.mpf(0)] * T, zero, True)]
    F = [sum(L[T][i] - L[i + 1][i] for i in range(T - 1)) / (T - 1) for L in parts]
    G = [sum(L[T]) / T for L in parts]
    errors = [[sum(L[t][i] for L in parts) for i in range(T)] for t in range(T + 1)]
    return F, G, errors


def random_problem(rng, *, uniform):
    T = int(rng.integers(2, 7))
    vectors = rng.standard_normal((T, int(rng.integers(1, 6)))) * 10.0 ** rng.uniform(-2, 2, size=(T, 1))
    p = int(10 ** rng.uniform(1.1, 12))

    def samples():
        match rng.integers(4):
            case 0:  # n/p from 1e-9 upwards
                return max(1, round(p * 10 ** rng.uniform(-9, 0)))
            case 1:  # n/p up to 1 - 1e-9
                return max(1, p - max(2, round(p * 10 ** rng.uniform(-9, 0))))
            case 2:  # underparameterized
                return p + max(2, round(p * 10 ** rng.uniform(-9, 1)))
            case _:
                return max(1, int(rng.integers(1, p - 1)))

    def usable(n):
        return n if abs(n - p) > 1 else p + 2

    n = usable(samples()) if uniform else [usable(samples()) for _ in range(T)]
    size = None if uniform else T
    sigma = rng.choice([0.0, 1.0], p=[0.3, 0.7]) * 10.0 ** rng.uniform(-3, 2, size=size)
    return Problem.from_vectors(vectors, n=n, p=p, sigma=sigma)


def assert_matches(terms, F, G):
    for names, exact in ((("F1", "F2", "F3"), F), (("G1", "G2", "G3"), G)):
        largest = max(abs(value) for value in exact)
        for name, value in zip(names, exact, strict=True):
            assert abs(getattr(terms, name) - value) <= TOLERANCE * largest, (name, value)


@pytest.mark.parametrize("uniform", [True, False], ids=["equal tasks", "unequal tasks"])
def test_expectations_on_random_problems(uniform):
    rng = np.random.default_rng(11)
    for _ in range(1000):
        problem = random_problem(rng, uniform=uniform)
        F, G, errors = exact_terms(problem)
        e = expect(problem)
        assert_matches(e.terms, F, G)
        assert abs(e.forgetting - sum(F)) <= TOLERANCE * max(map(abs, F)), problem
        assert abs(e.generalization - sum(G)) <= TOLERANCE * max(map(abs, G)), problem
        for row, exact_row in zip(e.errors.tolist(), errors, strict=True):
            for value, exact in zip(row, exact_row, strict=True):
                assert abs(value - exact) <= TOLERANCE * exact


def test_closed_form_on_random_problems():
    rng = np.random.default_rng(12)
    for _ in range(500):
        problem = random_problem(rng, uniform=True)
        F, G, _ = exact_terms(problem)
        assert_matches(theorem_terms(problem), F, G)


def test_grid_on_random_problems():
    rng = np.random.default_rng(13)
    for _ in range(30):
        problem = random_problem(rng, uniform=False)
        p = np.unique(np.geomspace(problem.T + 20, 1e12, 40).astype(np.int64))
        n = int(rng.integers(1, 10))
        grid = expect_grid(problem, p=p, n=n, sigma=0.5)
        for k, size in enumerate(p.tolist()):
            point = problem.replace(p=size, n=n, sigma=0.5)
            F, G, _ = exact_terms(point)
            assert abs(grid.forgetting[k] - sum(F)) <= TOLERANCE * max(map(abs, F))
            assert abs(grid.generalization[k] - sum(G)) <= TOLERANCE * max(map(abs, G))


@pytest.mark.parametrize(("n", "p"), [(50, 10**12), (999, 1000 * 10**6), (3, 10), (10**9 - 3, 10**9)])
def test_two_thousand_tasks(n, p):
    T = 2000
    rng = np.random.default_rng(14)
    problem = Problem.from_vectors(rng.standard_normal((T, 3)), n=n, p=p, sigma=0.5)
    r, q = exact_rates(n, p, 0.25)
    powers = [mp.mpf(1)]
    for _ in range(T):
        powers.append(powers[-1] * r)
    d = problem.gaps
    # sum_{i<j} c_ij d_ij with c_ij = (1-r)(r^{T-i} - r^{j-i} + r^{T-j}): grouped by power of r; math.fsum rounds once.
    row_sums = [mp.mpf(math.fsum(row.tolist())) for row in d]
    linear = mp.fsum(powers[T - 1 - i] * s for i, s in enumerate(row_sums))
    paths = mp.fsum(powers[m] * math.fsum(np.diagonal(d, m).tolist()) for m in range(1, T))
    starts = [mp.mpf(float(x)) for x in problem.start]
    F = [
        mp.fsum((powers[T] - powers[i]) * starts[i - 1] for i in range(1, T)) / (T - 1),
        (1 - r) * (linear - paths) / (T - 1),
        q / (1 - r) * mp.fsum(powers[i] - powers[T] for i in range(1, T)) / (T - 1),
    ]
    G = [powers[T] * mp.fsum(starts) / T, (1 - r) * linear / T, q * (1 - powers[T]) / (1 - r)]
    assert_matches(expect(problem).terms, F, G)
    assert_matches(theorem_terms(problem), F, G)


# ---------------------------------------------------------------- standard deviations


def exact_deviations(problem):
    """Var L, Var F, Var G from raw second moments of phi = (|w|^2, <w, w*_1>, ..., <w, w*_T>) in many digits.

    Another route than the program's (which propagates covariances of the errors): the moments of one task as they
    come from the Beta law, E|y|^2 <y,g> and so on, in the coordinates shifted to the task's ground truth.
    """
    T, p = problem.T, mp.mpf(problem.p)
    K = [[mp.mpf(float(x)) for x in row] for row in problem.gram]
    m = [mp.mpf(0)] * (T + 1)
    M = [[mp.mpf(0)] * (T + 1) for _ in range(T + 1)]
    index = range(T + 1)

    def shift(m, M, t, sign):
        """phi about w*_t (sign 1) or back (sign -1): phi' = A phi + c."""
        A = mp.eye(T + 1)
        A[0, t + 1] = -2 * sign
        c = [K[t][t]] + [-sign * K[t][j] for j in range(T)]
        new_m = [sum(A[i, k] * m[k] for k in index) + c[i] for i in index]
        AM = [[sum(A[i, k] * M[k][j] for k in index) for j in index] for i in index]
        second = [[sum(AM[i][k] * A[j, k] for k in index) for j in index] for i in index]
        Am = [new_m[i] - c[i] for i in index]
        new_M = [[second[i][j] + Am[i] * c[j] + c[i] * Am[j] + c[i] * c[j] for j in index] for i in index]
        return new_m, new_M

    moments = []  # after each task: mean, second moment
    keeps = []
    for t in range(T):
        n, s2 = mp.mpf(int(problem.n[t])), mp.mpf(float(problem.noise_variance[t]))
        if n < p:
            m1, m2, bb = (p - n) / p, (p - n) * (p - n + 2) / (p * (p + 2)), n * (p - n) / (p * (p + 2))
            q1 = s2 * n / (p - n - 1) if s2 else mp.mpf(0)
            q2 = s2**2 * n * (n + 2) / ((p - n - 1) * (p - n - 3)) if s2 else mp.mpf(0)
            side = bb / (p - 1)
        else:
            m1 = m2 = side = mp.mpf(0)
            q1 = s2 * p / (n - p - 1) if s2 else mp.mpf(0)
            q2 = s2**2 * p * (p + 2) / ((n - p - 1) * (n - p - 3)) if s2 else mp.mpf(0)
        x, X = shift(m, M, t, 1)
        y = [m1 * x[0] + q1] + [m1 * x[i] for i in range(1, T + 1)]
        Y = [[mp.mpf(0)] * (T + 1) for _ in index]
        Y[0][0] = m2 * X[0][0] + 2 * m1 * q1 * x[0] + q2
        for i in range(1, T + 1):
            Y[0][i] = Y[i][0] = m2 * X[0][i] + q1 * m1 * x[i]
            for j in range(1, T + 1):
                gh = K[i - 1][j - 1]
                Y[i][j] = m2 * X[i][j] + side * (x[0] * gh - X[i][j]) + q1 / p * gh
        m, M = shift(y, Y, t, -1)
        moments.append((m, M))
        keeps.append(m1)

    def loss(i):  # L[., i] = |w|^2 - 2 <w, w*_i> + K_ii
        v = [mp.mpf(0)] * (T + 1)
        v[0], v[i + 1] = mp.mpf(1), mp.mpf(-2)
        return v

    def between(s, v, t, u):
        """Cov(v . phi_s, u . phi_t) for s <= t: the errors' mean map is multiplication by keep."""
        m, M = moments[s]
        cov = sum(v[a] * (M[a][b] - m[a] * m[b]) * u[b] for a in index for b in index if v[a] and u[b])
        return cov * mp.fprod(keeps[s + 1 : t + 1])

    var_L = [[between(t, loss(i), t, loss(i)) for i in range(T)] for t in range(T)]
    var_G = sum(between(T - 1, loss(i), T - 1, loss(j)) for i in range(T) for j in range(T)) / T**2
    pieces = [(T - 1, i, 1) for i in range(T - 1)] + [(i, i, -1) for i in range(T - 1)]
    var_F = (
        sum(
            a * b * (between(s, loss(i), t, loss(j)) if s <= t else between(t, loss(j), s, loss(i)))
            for s, i, a in pieces
            for t, j, b in pieces
        )
        / (T - 1) ** 2
    )
    return var_L, var_F, var_G


def test_standard_deviations_on_random_problems():
    rng = np.random.default_rng(15)
    with mp.workdps(90):
        for k in range(60):
            T = int(rng.integers(2, 5))
            p = int(10 ** rng.uniform(1.2, 9)) if k % 3 else 10**9
            n = [int(x) if abs(int(x) - p) > 3 else p + 4 for x in np.minimum(10 ** rng.uniform(0, 9.3, T), 3.0 * p)]
            sigma = rng.choice([0.0, 1.0], size=T) * 10.0 ** rng.uniform(-1, 1, T)
            problem = Problem(gram=_integer_gram(rng, T), n=n, p=p, sigma=sigma)
            var_L, var_F, var_G = exact_deviations(problem)
            e = expect(problem)
            for value, variance in [(e.forgetting_std, var_F), (e.generalization_std, var_G)]:
                assert_close(value, variance)
            for row, variances in zip(e.errors_std[1:].tolist(), var_L, strict=True):
                for value, variance in zip(row, variances, strict=True):
                    assert_close(value, variance)


def assert_close(std, variance):
    """To 1e-9; a reference of 1e-45 is a zero in ninety digits."""
    exact = mp.sqrt(abs(variance))
    assert abs(std - exact) <= 1e-9 * exact + 1e-30, (std, exact)


def _integer_gram(rng, T):
    """Exact in floats, so that the reference and the program see the same problem."""
    vectors = rng.integers(-5, 6, size=(T, T)).astype(float)
    return vectors @ vectors.T + np.eye(T)
