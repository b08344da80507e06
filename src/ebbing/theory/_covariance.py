"""Exact standard deviations of errors, forgetting and generalization error. New: the paper has expectations only.

Given row t-1 of the error matrix, with x = w_{t-1} - w*_t and g_i = w*_i - w*_t (derived in docs/theory/variances.md),

    Cov(L_t[i], L_t[j]) = spread u_i u_j + noise_error_std^2
                          + 4 transverse (|x|^2 <g_i,g_j> - <x,g_i><x,g_j>) + 4 noise_error / p <g_i,g_j>
    u_i = L_{t-1}[i] - d_ti,  |x|^2 = L_{t-1}[t],  <x,g_i> = (|x|^2 - u_i) / 2,  <g_i,g_j> = (d_ti + d_tj - d_ij) / 2

This is quadratic in L_{t-1}, so means and covariances of a row determine those of the next: O(T^2) a step.
Covariances are propagated, not second moments: at p = 10^9 a variance is 10^-16 of the squared mean, about n / p^2.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ebbing._validate import Array
from ebbing.theory._rates import Rates
from ebbing.theory._recursion import column

_ENTRIES_AT_ONCE = 2**16
"""Entries of the covariance matrix that are updated together: all of them up to T = 256."""


class Covariances:
    """The covariances after `learned` tasks, updated by `learn_next`. Infinities are flagged, not added."""

    def __init__(self, start: Array, gaps: Array, rates: Rates) -> None:
        shape = rates.retained.shape
        T, grid = shape[0], shape[1:]
        self._gaps, self._rates = gaps, rates
        self._mean = column(start, rates) * np.ones(shape)  # E L_t
        self.learned = 0
        self.total = np.zeros((T, T, *grid))  # Cov(L_t)
        self.infinite = np.zeros(grid, dtype=bool)  # whether Var(L_t) is infinite

    def learn_next(self, weights: Array) -> Array:
        """Learn one more task; return a' E[Cov(L_t | L_{t-1})] a (*grid), with a = `weights` (T, *grid).

        The matrix is updated some rows at a time, so that the work arrays stay in a core's cache.
        """
        t, rates, C, mean = self.learned, self._rates, self.total, self._mean
        retained, replaced, gap = rates.retained[t], rates.replaced[t], column(self._gaps[t], rates)
        pairs = self._gaps.reshape(*self._gaps.shape, *[1] * (rates.retained.ndim - 1))
        u = mean - gap
        along = (mean[t] - u) / 2  # E <x, g_i>
        infinite = np.isinf(rates.noise_error_std[t])
        noise = np.where(np.isinf(rates.noise_error[t]), 0.0, rates.noise_error[t])
        noise_variance = np.where(infinite, 0.0, rates.noise_error_std[t]) ** 2
        of_task = C[t].copy()  # Cov(L_t[t], L_t[j]), before the update
        added = np.zeros(mean.shape[1:])
        at_once = max(1, _ENTRIES_AT_ONCE // mean.size)
        for first in range(0, len(mean), at_once):
            i = slice(first, first + at_once)
            between = (gap[i, None] + gap[None, :] - pairs[i]) / 2  # <g_i, g_j>
            cov_along = (of_task[t] - of_task[i, None] - of_task[None, :] + C[i]) / 4  # Cov(<x, g_i>, <x, g_j>)
            across = _difference(mean[t] * between, along[i, None] * along[None, :]) - cov_along
            fresh = (  # E Cov(L_t | L_{t-1}): what this task adds
                rates.spread[t] * (u[i, None] * u[None, :] + C[i])
                + noise_variance
                + 4 * rates.transverse[t] * across
                + 4 * (noise / rates.parameters[t]) * between
            )
            C[i] = retained**2 * C[i] + fresh
            added += np.einsum("i...,ij...,j...->...", weights[i], fresh, weights)
        self.infinite = infinite | (self.infinite & (retained > 0))
        self._mean = retained * mean + replaced * gap + noise
        self.learned = t + 1
        return added


def standard_deviations(start: Array, gaps: Array, rates: Rates) -> tuple[Array, Array, Array]:
    """Return the standard deviations of every L[t, i] (T+1, T, *grid), of F_T and of G_T (*grid); inf where infinite.

    F_T is a sum over tasks of the fresh randomness that each brings, weighted by the share that later tasks retain.
    These are martingale differences, hence uncorrelated, and nothing cancels between times:

        Var F_T = sum_t a_t' E[Cov(L_t | L_{t-1})] a_t,
        a_t[i] = (prod_{s=t+1..T} r_s - [i >= t] prod_{s=t+1..i} r_s) / (T-1)   for i < T,  a_t[T] = 0.

    An infinite variance anywhere makes Var F_T infinite. If a later task with r = 0 removes it, it is left in some
    L_i[i]; if none does, the randomness of the last task multiplies it (docs/theory/variances.md, section 4.4).
    """
    unit = _largest(start, gaps, rates)
    start, gaps, rates = start / unit, gaps / unit, _in_units(rates, unit)
    T, grid = rates.retained.shape[0], rates.retained.shape[1:]
    errors, F = np.zeros((T + 1, T, *grid)), np.zeros(grid)
    ever_infinite = np.zeros(grid, dtype=bool)
    weights = _weights_of_forgetting(rates)
    row = Covariances(start, gaps, rates)
    for t in range(T):
        F += row.learn_next(weights[t])
        errors[t + 1] = np.where(row.infinite, np.inf, np.einsum("ii...->i...", row.total))
        ever_infinite |= row.infinite
    G = np.where(row.infinite, np.inf, row.total.sum(axis=(0, 1)) / T**2)
    F = np.where(ever_infinite, np.inf, F)
    for variance in (errors, F, G):
        np.maximum(variance, 0.0, out=variance)  # rounding may leave a variance that is zero at -1e-33
        np.sqrt(variance, out=variance)
    errors *= unit
    return errors, unit * F, unit * G


def _largest(start: Array, gaps: Array, rates: Rates) -> float:
    """Return the scale of the errors: variances in this unit neither underflow nor overflow."""
    noise = rates.noise_error[np.isfinite(rates.noise_error)]
    return float(max(start.max(), gaps.max(), noise.max(initial=0.0))) or 1.0


def _in_units(rates: Rates, unit: float) -> Rates:
    return replace(
        rates,
        noise_error=rates.noise_error / unit,
        noise_floor=rates.noise_floor / unit,
        noise_error_std=rates.noise_error_std / unit,
    )


def _weights_of_forgetting(rates: Rates) -> Array:
    """Return a_t of `standard_deviations` (T, T, *grid), computed from the last task backwards."""
    shape = rates.retained.shape
    T, grid = shape[0], shape[1:]
    a = np.zeros((T, *shape))
    upto = np.zeros(shape)  # prod_{s=t+1..i} r_s, for i >= t
    to_end = np.ones(grid)  # prod_{s=t+1..T} r_s
    replaced = np.zeros(shape)  # 1 - prod_{s=i+1..T} r_s, formed without cancellation
    for t in reversed(range(T)):
        if t < T - 1:
            upto[t + 1 :] *= rates.retained[t + 1]
            to_end = rates.retained[t + 1] * to_end
            replaced[t] = rates.replaced[t + 1] + rates.retained[t + 1] * replaced[t + 1]
        upto[t] = 1.0
        a[t, :t] = to_end
        a[t, t : T - 1] = -upto[t : T - 1] * replaced[t : T - 1]
        a[t, T - 1] = 0.0
    a /= max(T - 1, 1)
    return a


def _difference(a: Array, b: Array) -> Array:
    """Return a - b, and zero where that is below rounding.

    |x|^2 |g|^2 - <x,g>^2 vanishes when x and g are parallel; a remainder of 1e-16 would become 1e-8 in a standard
    deviation that is exactly zero.
    """
    return np.where(np.abs(a - b) <= 4 * np.finfo(float).eps * (np.abs(a) + np.abs(b)), 0.0, a - b)
