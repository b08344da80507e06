"""Exact standard deviations over steps that learn mixtures of tasks, to the end or averaged with the weights before.

With x = w - c, g_i = w*_i - c and the letters of `_mixture_moments`, a step to the end has (docs/theory/steps.md, 6)

    Cov(L'_i, L'_j | w) = spread u_i u_j + 4 transverse (|x|^2 <g_i,g_j> - <x,g_i> <x,g_j>) + Var |e|^2
                          + 4 shared (|x|^2 D1 / p - x'Hx) - 2 q_i - 2 q_j + 4 E <e,g_i> <e,g_j>
    u_i = L_i - |g_i|^2,    q_i = Cov(|e|^2, <(I-P)x + e, g_i>)

which is quadratic in L. Averaging with weight a multiplies it by a^4 and replaces g_i by (g_i - (1-a) x) / a.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ebbing._validate import Array
from ebbing.curriculum import learned_before
from ebbing.learners import Averaged, MinimumNorm
from ebbing.problem import Problem
from ebbing.theory._covariance import _difference
from ebbing.theory._mixture_moments import MixtureMoments
from ebbing.theory._step_rates import StepRates

Counts = npt.NDArray[np.int64]


@dataclass(frozen=True)
class _Step:
    """What a step learns, in units of the largest error.

    Attributes:
        shares: n_j / N (T,).
        samples: n_j (T,).
        products: <g_i, g_j> (T, T).
        p: Parameters.
        N: Samples.
        variance: Noise variances (T,).
        dispersion: D1 / N.
        moments: The coefficients; None if there is neither disagreement nor noise, or the variance is infinite.
        infinite: Whether Var |e|^2 is infinite.
    """

    shares: Array
    samples: Array
    products: Array
    p: int
    N: int
    variance: Array
    dispersion: float
    moments: MixtureMoments | None
    infinite: bool

    @classmethod
    def of(cls, samples: Counts, gaps: Array, variance: Array, p: int) -> _Step:
        N = int(samples.sum())
        shares = samples / N
        mean_gaps = shares @ gaps
        dispersion = float(shares @ mean_gaps) / 2
        lengths = mean_gaps - dispersion  # |g_i|^2
        lengths[samples == N] = 0.0
        disagrees, noisy = dispersion > 0, bool((samples * variance).any())
        infinite = abs(p - N) <= 3 and (noisy or (disagrees and p > 1))
        return cls(
            shares=shares,
            samples=samples.astype(float),
            products=(lengths[:, None] + lengths[None, :] - gaps) / 2,
            p=p,
            N=N,
            variance=variance,
            dispersion=dispersion,
            moments=MixtureMoments.of(N, p) if (disagrees or noisy) and not infinite else None,
            infinite=infinite,
        )

    def fresh(self, mean: Array, C: Array, weight: float) -> Array:
        """Return E Cov(L' | L) (T, T) for row means (T,) and covariances (T, T), without what is infinite."""
        s, K, N, p, b = self.shares, self.products, self.N, self.p, 1 - weight
        lengths = np.diagonal(K)
        C_s = C @ s
        between = float(s @ C_s)  # Var |x|^2
        length = float(s @ mean) - self.dispersion  # E |x|^2
        along = (length + lengths - mean) / 2  # E <x, g_i>
        cov_along = (between - C_s[:, None] - C_s[None, :] + C) / 4  # Cov(<x, g_i>, <x, g_j>)
        total = np.zeros_like(C)
        if p > N:
            spread = 2 * (N / p) * ((p - N) / p) / (p + 2)
            transverse = (N / p) * ((p - N) / (p - 1)) / (p + 2)
            u = b * length + mean - lengths
            total += spread * (u[:, None] * u + C + b * (C_s[:, None] + C_s) + b**2 * between)
            total += 4 * transverse * (_difference(length * K, along[:, None] * along) - cov_along)
            total *= weight**2
        if self.moments is None:
            return total
        m, n, variance = self.moments, self.samples, self.variance
        own = np.flatnonzero(n)
        n, K_own, variance, along_own = n[own], K[own], variance[own], along[own]  # (k,), (k, T), (k,), (k,)
        D1, S1 = N * self.dispersion, float(n @ variance)
        squares = lengths[own]
        x_H_x = float(n @ (along_own**2 + np.diagonal(cov_along)[own]))
        # <h_k, g_i - b x> for the tasks k of the step, in expectation
        toward = K_own - b * along_own[:, None]
        x_H_g = (n * along_own) @ K_own - b * x_H_x  # x'H(g_i - bx)
        q = 2 * m.shared * (D1 / p * (along - b * length) - x_H_g)
        q += (n * (m.third * squares + m.third_noise * variance)) @ toward
        constant = (
            m.dd * D1**2
            + m.fourth * float(n @ squares**2)
            + m.crossed * float(n @ (K_own[:, own] ** 2) @ n)
            + m.ds * D1 * S1
            + m.both * float(n @ (variance * squares))
            + m.ss * S1**2
            + m.noisy * float(n @ variance**2)
            + 4 * m.shared * (length * D1 / p - x_H_x)
        )
        shifted = K - b * (along[:, None] + along) + b**2 * length
        H = (n[:, None] * toward).T @ toward + b**2 * float(n @ np.diagonal(cov_along)[own])
        total += 4 * weight**2 * ((m.even * D1 + m.even_noise * S1) * shifted + m.along * H)
        total += weight**4 * constant - 2 * weight**3 * (q[:, None] + q)
        return total


def mixture_deviations(
    problem: Problem,
    samples: Counts,
    first_steps: Counts,
    errors: Array,
    learner: MinimumNorm | Averaged,
    *,
    progress: Callable[[float], None] | None = None,
) -> tuple[Array, float, float]:
    """Return the standard deviations of every L[s, i] (S+1, T), of F and of G; inf where infinite.

    Args:
        problem: The tasks.
        samples: n_sj, fresh in each step (S, T).
        first_steps: The step, from 1, in which each task is first learned; 0 for never (T,).
        errors: The expected errors (S+1, T).
        learner: How each step learns.
        progress: Called with the finished fraction, 0 to 1.

    Returns:
        The three; F is zero for a single step.
    """
    unit = float(max(errors.max(), problem.gaps.max())) or 1.0
    gaps, variance, means = problem.gaps / unit, problem.noise_variance / unit, errors / unit
    S, T = samples.shape
    C, deviations, F = np.zeros((T, T)), np.zeros((S + 1, T)), 0.0
    weight = learner.weight if isinstance(learner, Averaged) else 1.0
    rates = StepRates.of(samples.sum(axis=1), problem.p, learner)
    weights = _weights_of_any_steps(rates, samples, first_steps)
    infinite = ever_infinite = False
    for s, row in enumerate(samples):
        step, retained, unfinished = _Step.of(row, gaps, variance, problem.p), rates.retained[s], rates.unfinished[s]
        fresh = step.fresh(means[s], C, weight)
        F += weights[s] @ fresh @ weights[s]
        taken = unfinished * (C @ step.shares)
        C = retained**2 * C - retained * (taken[:, None] + taken) + unfinished * float(step.shares @ taken) + fresh
        infinite = step.infinite or (infinite and retained > 0)
        ever_infinite |= step.infinite and bool(weights[s].any())
        deviations[s + 1] = np.inf if infinite else np.diagonal(C)
        if progress is not None:
            progress((s + 1) / S)
    G = np.inf if infinite else C.sum() / T**2
    F = np.inf if ever_infinite else F
    # Rounding may leave a variance that is zero at -1e-33.
    deviations, F, G = (unit * np.sqrt(np.maximum(value, 0.0)) for value in (deviations, F, G))
    return deviations, float(F), float(G)


def weights_of_forgetting(retained: Array, replaced: Array, first_steps: Counts) -> Array:
    """Return a_s (S, T): what the randomness of step s adds to F per unit of each error, if steps retain r_s of all.

    With R(s, e) = prod_{v=s+1..e} r_v and f the first step of task i, a_s[i] is R(s, S) for f < s, and
    R(s, S) - R(s, f) for f >= s, over the number of tasks first learned before step S; zero for the other tasks.
    """
    S = len(retained)
    counted = learned_before(first_steps, S)
    a = np.zeros((S, len(first_steps)))
    upto = np.zeros(len(first_steps))  # R(s, f)
    lost = np.zeros(len(first_steps))  # 1 - R(f, S)
    to_end, lost_to_end = 1.0, 0.0  # R(s, S), and 1 minus it, formed without cancellation
    for s in range(S, 0, -1):
        if s < S:
            upto *= retained[s]
            to_end *= retained[s]
            lost_to_end = replaced[s] + retained[s] * lost_to_end
        new = first_steps == s
        upto[new], lost[new] = 1.0, lost_to_end
        a[s - 1] = np.where(counted, np.where(first_steps < s, to_end, -upto * lost), 0.0)
    return a / max(np.count_nonzero(counted), 1)


def _weights_of_any_steps(rates: StepRates, samples: Counts, first_steps: Counts) -> Array:
    """Return a_s (S, T): what the randomness of step s adds to F per unit of each error.

    With M the map of errors in a step, a_s is the sum over tasks i of e_i' (M_S ... M_{s+1}) if i was learned before s,
    else of e_i' (M_S ... M_{f+1} - I) M_f ... M_{s+1}, f its first step. The difference is formed as a sum of M - I.
    """
    S, T = samples.shape
    shares = samples / samples.sum(axis=1, keepdims=True)
    counted = learned_before(first_steps, S)
    if not rates.unfinished.any():
        return weights_of_forgetting(rates.retained, rates.replaced, first_steps)
    a = np.zeros((S, T))
    kept, lost, waiting = np.eye(T), np.zeros((T, T)), np.zeros((1, T))  # e_i'M..M, e_i'(M..M - I), sum of those f > s
    for s in range(S, 0, -1):
        waiting = waiting + lost[counted & (first_steps == s)].sum(axis=0)
        a[s - 1] = kept[counted & (first_steps < s)].sum(axis=0) + waiting[0]
        taken = rates.unfinished[s - 1] * shares[s - 1]
        kept, lost, waiting = (
            rates.retained[s - 1] * rows - rows.sum(axis=1, keepdims=True) * taken for rows in (kept, lost, waiting)
        )
        lost -= rates.replaced[s - 1] * np.eye(T) + taken
    return a / max(np.count_nonzero(counted), 1)
