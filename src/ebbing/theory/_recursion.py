"""The recursion that gives both theorems. Arrays are (T, *grid), see `Rates`.

L_t denotes row t of the error matrix, L_t[i] = |w_t - w*_i|^2, and d the gaps |w*_i - w*_j|^2. By Lemma 2

    E L_t = retained_t E L_{t-1} + replaced_t d_t + noise_error_t.

The errors split into the contributions of the initial model, the gaps and the noise, as Theorem 1 splits into F1,
F2, F3 and G1, G2, G3. Forgetting L_t[i] - L_i[i] has a recursion of its own and is never formed as a
difference of two errors: at p = 10^12 it is 10^-10 of the errors and would keep only six digits.
"""

from __future__ import annotations

import numpy as np

from ebbing._validate import Array
from ebbing.theory._rates import Rates


def column(values: Array, rates: Rates) -> Array:
    """Return values (T,) as (T, 1, ..., 1), to broadcast against arrays of shape (T, *grid)."""
    return values.reshape(len(values), *[1] * (rates.retained.ndim - 1))


class ExpectedErrors:
    """The expected errors after `learned` tasks; `learn_next` updates them in place by the next task."""

    def __init__(self, gaps: Array, rates: Rates) -> None:
        shape = rates.retained.shape
        self._gaps, self._rates = gaps, rates
        self.learned = 0
        # The errors, in three parts.
        self.kept = np.ones(shape[1:])  # times |w*_i - w_0|^2    (*grid)
        self.gaps = np.zeros(shape)  # (T, *grid)
        self.noise = np.zeros(shape[1:])  # the same for every task     (*grid)
        # The forgetting of each learned task, in the same parts; zero for tasks still to come.
        self.forgetting_start, self.forgetting_gaps, self.forgetting_noise = (
            np.zeros(shape),
            np.zeros(shape),
            np.zeros(shape),
        )
        self._kept_when_learned, self._gaps_when_learned = np.zeros(shape), np.zeros(shape)
        self._below_floor = rates.noise_floor[0]  # noise_floor_t - noise

    def learn_next(self) -> None:
        """Learn one more task."""
        t, old = self.learned, slice(0, self.learned)
        retained, replaced, gap = self._rates.retained[t], self._rates.replaced[t], column(self._gaps[t], self._rates)
        # F_t[i] = retained F_{t-1}[i] + replaced (d_ti - L_i[i]) + noise_error_t, part by part.
        self.forgetting_start[old] *= retained
        self.forgetting_start[old] -= replaced * self._kept_when_learned[old]
        self.forgetting_gaps[old] *= retained
        self.forgetting_gaps[old] += replaced * (gap[old] - self._gaps_when_learned[old])
        # noise_error_t - replaced noise = replaced (noise_floor_t - noise): with equal floors the difference shrinks by
        # `retained` and no digit is lost; formed from its two terms it would cancel when r is small.
        if t:
            self._below_floor = self._below_floor + (self._rates.noise_floor[t] - self._rates.noise_floor[t - 1])
        self.forgetting_noise[old] += replaced * self._below_floor
        self._below_floor = retained * self._below_floor

        self.kept = retained * self.kept
        self.gaps *= retained
        self.gaps += replaced * gap
        # A task that retains nothing removes even an infinite error; 0 * inf would be nan.
        self.noise = np.where(retained > 0, retained * self.noise, 0.0) + self._rates.noise_error[t]
        self._kept_when_learned[t], self._gaps_when_learned[t] = self.kept, self.gaps[t]
        self.learned = t + 1

    def errors(self, start: Array) -> Array:
        """Return E L_t (T, *grid), with `start` (T, 1, ..., 1)."""
        return self.kept * start + self.gaps + self.noise

    def forgetting(self, start: Array) -> Array:
        """Return E (L_t[i] - L_i[i]) for tasks learned, else 0 (T, *grid)."""
        return self.forgetting_start * start + self.forgetting_gaps + self.forgetting_noise

    def parts(self, start: Array) -> tuple[Array, ...]:
        """Return F1, F2, F3, G1, G2, G3 when all tasks are learned (*grid); F is nan for a single task."""
        old = slice(0, self.learned - 1)
        earlier = self.learned - 1 or np.nan
        forgetting = (self.forgetting_start * start, self.forgetting_gaps, self.forgetting_noise)
        return (
            *(part[old].sum(axis=0) / earlier for part in forgetting),
            self.kept * start.mean(axis=0),
            self.gaps.mean(axis=0),
            self.noise,
        )
