"""Expected traces of Wishart matrices: sixty digits, moments, and learners that use them."""

from decimal import Decimal, localcontext

import numpy as np
import plain_steps
import plain_wishart
import pytest

from ebbing import Curriculum, GradientFlow, GradientSteps, MinimumNorm, Problem, Ridge, expect
from ebbing.theory import _wishart, expectation_if_finite
from ebbing.theory._laguerre import panels
from ebbing.theory._rare_eigenvalues import _log_density, rare_traces
from ebbing.theory._step_rates import StepRates, functions_of, tail_of
from ebbing.theory._wishart import expected_traces, spectrum


def traces(learner, N, p):
    return expected_traces(functions_of(learner), N, p, tail_of(learner))[[0, 2, 3, 4, 5]]


@pytest.mark.parametrize("k", [1, 2, 3, 10, 11, 60, 301])
@pytest.mark.parametrize("alpha", [0, 1, 2, 49, 50, 1e6, 1e12])
def test_moments_of_the_spectrum_are_exact(k, alpha):
    x, weights = spectrum(k, float(alpha))
    n = k + alpha
    assert weights.sum() == pytest.approx(k, rel=1e-13)
    assert weights @ x == pytest.approx(k * n, rel=1e-13)
    assert weights @ x**2 == pytest.approx(k * n * (n + k + 1), rel=1e-13)
    assert weights @ x**3 == pytest.approx(k * n * (n**2 + k**2 + 3 * n * k + 3 * (n + k) + 4), rel=1e-13)
    if alpha > 1:
        assert weights @ (1 / x) == pytest.approx(k / (alpha - 1), rel=1e-11)


def random_sizes(rng, most):
    small = int(rng.integers(1, most))
    large = small + int(rng.integers(3)) if rng.random() < 0.5 else int(10 ** rng.uniform(np.log10(most), 6))
    return (small, large) if rng.random() < 0.5 else (large, small)


def test_ridge_has_twelve_digits():
    rng = np.random.default_rng(0)
    for most in (20, 20, 20, 20, 3000, 3000):
        N, p = random_sizes(rng, most)
        penalty = float(10 ** rng.uniform(-2, 1) * (np.sqrt(N) + np.sqrt(p)) ** 2)
        assert traces(Ridge(penalty), N, p) == pytest.approx(plain_wishart.ridge(penalty, N, p), rel=1e-12, abs=0)


def test_gradient_flow_has_twelve_digits():
    rng = np.random.default_rng(1)
    for _ in range(5):
        N, p = random_sizes(rng, 12)
        time = float(10 ** rng.uniform(-2, 1) / (np.sqrt(N) + np.sqrt(p)) ** 2)
        exact = plain_wishart.gradient_flow(time, N, p)
        assert traces(GradientFlow(time), N, p) == pytest.approx(exact, rel=1e-12, abs=0)


def test_gradient_steps_have_twelve_digits():
    rng = np.random.default_rng(2)
    for _ in range(5):
        N, p = random_sizes(rng, 20)
        rate, steps = float(rng.uniform(0.1, 1.5) / (np.sqrt(N) + np.sqrt(p)) ** 2), int(rng.integers(1, 9))
        exact = plain_wishart.gradient_steps(rate, steps, N, p)
        assert traces(GradientSteps(rate, steps), N, p) == pytest.approx(exact, rel=1e-12, abs=0)


def test_interpolation_in_size_equals_the_density(monkeypatch):
    learners = (Ridge(200.0), GradientFlow(0.002), GradientSteps(0.0002, 20))
    found = [traces(learner, 1500, 1700) for learner in learners]
    monkeypatch.setattr(_wishart, "EXACT", 1500)
    for learner, interpolated in zip(learners, found, strict=True):
        exact = traces(learner, 1500, 1700)
        assert interpolated == pytest.approx(exact, rel=1e-11, abs=0)
        assert not np.array_equal(interpolated, exact)  # there were two ways


@pytest.mark.parametrize(("N", "p"), [(10_000, 30_000), (20_000, 8_000)])
def test_training_long_enough_equals_training_to_the_end(N, p):
    """What is left to learn vanishes, and has no digits of its own."""
    problem = Problem.orthogonal(T=2, n=N, p=p, sigma=0.3)
    found, end = expect(problem, learner=GradientFlow(1.0)), expect(problem)
    assert found.errors == pytest.approx(end.errors, rel=1e-13, abs=0)
    assert found.forgetting == pytest.approx(end.forgetting, rel=1e-13, abs=0)


def test_interpolation_where_hardly_anything_is_left(monkeypatch):
    """Its relative error is 5e-7."""
    learner = GradientFlow(25 / (np.sqrt(4500) - np.sqrt(1500)) ** 2)
    found = traces(learner, 1500, 4500)
    monkeypatch.setattr(_wishart, "EXACT", 1500)
    exact = traces(learner, 1500, 4500)
    f, unfinished, _, noise, slope = exact
    assert 0 < unfinished < 1e-12 * f
    assert found[[0, 2, 3]] == pytest.approx(exact[[0, 2, 3]], rel=1e-12, abs=0)
    assert found[1] == pytest.approx(unfinished, rel=0, abs=1e-18 * f)
    assert found[4] == pytest.approx(slope, rel=0, abs=1e-16 * noise)


def test_digits_that_are_not_reached_are_refused(monkeypatch):
    """A tiny penalty next to N = p: the eigenvalues next to zero are not resolved at moderate sizes."""
    monkeypatch.setattr(_wishart, "_SIZES", _wishart._SIZES[:1])  # the larger ones would take seconds
    problem = Problem.orthogonal(T=2, n=500_000, p=500_000, sigma=0.3)
    with pytest.raises(ValueError, match=r"with N=500000 .* relative error .* use a larger penalty, .* or simulate"):
        expect(problem, learner=Ridge(0.001))
    assert expectation_if_finite(problem, learner=Ridge(0.001)) is None


def test_rare_eigenvalues_at_moderate_sizes_are_named():
    problem = Problem.orthogonal(T=2, n=10_000, p=30_000, sigma=0.3)
    with pytest.raises(ValueError, match=r"that hardly ever occur make it too large at sizes .* or fewer steps"):
        expect(problem, learner=GradientSteps(1e-5, 10_000))


@pytest.mark.parametrize(
    ("rate", "steps", "N", "p"),
    [
        (0.043, 103, 7, 9),  # of size 10^178
        (0.0803, 115, 1, 4),  # 10^240, about
        (0.0149, 100, 1, 4),  # next to the other eigenvalues nothing is seen of the rare ones
        (0.0116, 61, 12, 11),
        (0.0395, 79, 350, 6),
        (0.0669, 56, 1, 3),
        (1.9e-6, 40, 4, 10**6),
    ],
)
def test_rare_eigenvalues_are_counted(rate, steps, N, p):
    """Beyond 2 / rate gradient steps diverge: with few samples such eigenvalues are not rare enough for many steps."""
    rate = min(rate, 1.99 / (np.sqrt(N) + np.sqrt(p)) ** 2)
    exact = plain_wishart.gradient_steps(rate, steps, N, p)
    assert traces(GradientSteps(rate, steps), N, p) == pytest.approx(exact, rel=1e-12, abs=0)


def test_rare_eigenvalues_count_beyond_the_largest_number():
    exact = plain_wishart.gradient_steps_in_digits(0.07275, 141, 2, 5)
    found, exponents = rare_traces(0.07275, 141, 2, 3.0)
    assert exponents.max() > 710
    with localcontext() as context:
        context.prec = 60
        scales = [Decimal(exponent).exp() for exponent in exponents[2:].tolist()]
        ratios = [float(Decimal(a) * c / b) for a, c, b in zip(found[2:].tolist(), scales, exact[1:], strict=True)]
    assert ratios == pytest.approx([1.0] * 4, rel=1e-12)


def test_density_of_rare_eigenvalues_continues_the_spectrum():
    for k, alpha in [(1, 0.0), (2, 0.5), (7, 2.0), (60, 50.0), (301, 400.0)]:
        start = np.sqrt(k + alpha) + np.sqrt(k)
        x, weights = spectrum(k, alpha)
        beyond = x > (start + 9) ** 2
        offset, widths = panels(np.linspace(start + 9, start + 10, 4) - np.sqrt(alpha))
        _, density = _log_density(k, alpha, offset)
        assert np.exp(density) @ widths == pytest.approx(weights[beyond].sum(), rel=0.3)


def test_expectation_of_rare_eigenvalues_warns():
    problem = Problem.orthogonal(T=2, n=7, p=9, sigma=0.3)
    with pytest.warns(
        UserWarning,
        match=r"above 2 / learning_rate = 47.62, which are rare.* use a smaller learning rate or fewer steps",
    ):
        assert expect(problem, learner=GradientSteps(0.042, 60)).generalization > 1e100


@pytest.mark.filterwarnings("ignore:.*which are rare")
@pytest.mark.parametrize("steps", [300, 103], ids=["in the first step", "in the second step"])
def test_expectations_above_the_largest_number_are_refused(steps):
    problem = Problem.orthogonal(T=2, n=7, p=9, sigma=0.3)
    with pytest.raises(
        ValueError, match=r"too large to compute, above 1e280; use a smaller learning rate or fewer steps"
    ):
        expect(problem, learner=GradientSteps(0.043, steps))


def test_diverging_rates_name_the_eigenvalue():
    problem = Problem.orthogonal(T=2, n=50, p=200)
    with pytest.raises(
        ValueError, match=r"above 2 / learning_rate = 400, .* \(sqrt.* = 450; use a learning rate below 0.004444"
    ):
        expect(problem, learner=GradientSteps(0.005, 3))


@pytest.mark.parametrize("learner", [Ridge(3.0), GradientSteps(0.02, 5), GradientFlow(0.1)], ids=str)
@pytest.mark.parametrize("last", [{2: 2, 1: 3, 0: 1}, {1: 9, 2: 15}, {1: 6, 0: 6}], ids=["N < p", "N > p", "N = p"])
def test_filters_agree_with_drawn_features(learner, last):
    p, sigma, plan = 12, np.array([0.3, 1.5, 0.6]), Curriculum([{0: 4}, last])
    W = np.random.default_rng(4).standard_normal((3, 3))
    problem = Problem.from_vectors(W, n=5, p=p, sigma=sigma)
    rng = np.random.default_rng(6)
    sample = plain_steps.draw_errors(rng, W, plan.samples(problem), p, sigma, learner=learner, runs=4000)
    e = expect(problem, plan, learner=learner)
    assert np.abs(plain_steps.z_scores(sample, e.errors)).max() < 4.5
    assert np.abs(plain_steps.z_scores(sample[:, -1].mean(axis=1), e.generalization - e.terms.G4)) > 6
    other = expect(problem, plan, learner=MinimumNorm() if len(last) > 2 else Ridge(1.5)).errors
    assert np.abs(plain_steps.z_scores(sample, other)).max() > 6


@pytest.mark.parametrize("N", [1, 5, 30])
def test_filters_end_at_minimum_norm(N):
    end = StepRates.of(np.array([N]), 12, MinimumNorm())
    for learner in (Ridge(1e-9), GradientFlow(1e9)):
        near = StepRates.of(np.array([N]), 12, learner)
        for name in ("retained", "replaced", "unfinished", "conflict", "noise"):
            assert getattr(near, name) == pytest.approx(getattr(end, name), rel=1e-7, abs=1e-8), name


def test_no_penalty_is_minimum_norm_to_the_last_bit():
    problem = Problem.orthogonal(T=3, n=50, p=200, sigma=0.3)
    assert np.array_equal(expect(problem, learner=Ridge(0)).errors, expect(problem).errors)


def test_ridge_is_finite_where_minimum_norm_is_not():
    problem = Problem.orthogonal(T=2, n=50, p=50, sigma=0.3)
    assert expectation_if_finite(problem) is None
    assert np.isfinite(expect(problem, learner=Ridge(0.1)).errors).all()
