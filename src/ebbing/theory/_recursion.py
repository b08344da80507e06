"""The one recursion for both theorems. Arrays are (T, *grid), see `Rates`.

L_t denotes row t of the error matrix, L_t[i] = |w_t - w*_i|^2, and d the gaps |w*_i - w*_j|^2. By Lemma 2

    E L_t = keep_t E L_{t-1} + learn_t d_t + noise_t.

The errors split into what the start, the gaps and the noise contribute, which is the split of Theorem 1 into F1,
F2, F3 and G1, G2, G3. Forgetting L_t[i] - L_i[i] is carried along by its own recursion and never formed as a
difference of two errors: at p = 10^12 it is 10^-10 of the errors and would keep only six digits.
"""

from __future__ import annotations

import numpy as np

from ebbing._validate import Array
from ebbing.theory._rates import Rates


def column(values: Array, rates: Rates) -> Array:
    """(T,) as (T, 1, ..., 1), to meet arrays of shape (T, *grid)."""
    return values.reshape(len(values), *[1] * (rates.retained.ndim - 1))


class ExpectedErrors:
    """Expectations after `learned` tasks; `learn_next` goes on to the next task, in place."""

    def __init__(self, gaps: Array, rates: Rates) -> None:
        shape = rates.retained.shape
        self._gaps, self._rates = gaps, rates
        self.learned = 0
        # The errors, in three parts.
        self.kept = np.ones(shape[1:])  # times |w*_i - w_0|^2    (*grid)
        self.gaps = np.zeros(shape)  # (T, *grid)
        self.noise = np.zeros(shape[1:])  # the same for every task     (*grid)
        # What each learned task has lost since, in the same parts; zero for tasks still to come.
        self.lost_kept, self.lost_gaps, self.lost_noise = np.zeros(shape), np.zeros(shape), np.zeros(shape)
        self._kept_when_learned, self._gaps_when_learned = np.zeros(shape), np.zeros(shape)
        self._room = rates.noise_floor[0]  # level_t - noise

    def learn_next(self) -> None:
        """Learn one more task."""
        t, old = self.learned, slice(0, self.learned)
        retained, replaced, gap = self._rates.retained[t], self._rates.replaced[t], column(self._gaps[t], self._rates)
        # lost_t[i] = keep lost_{t-1}[i] + learn (d_ti - L_i[i]) + noise_t, part by part.
        self.lost_kept[old] *= retained
        self.lost_kept[old] -= replaced * self._kept_when_learned[old]
        self.lost_gaps[old] *= retained
        self.lost_gaps[old] += replaced * (gap[old] - self._gaps_when_learned[old])
        # noise_t - learn noise = learn (level_t - noise): with equal levels the room shrinks by `retained` and no digit
        # is lost; the difference itself would cancel when r is small.
        if t:
            self._room = self._room + (self._rates.noise_floor[t] - self._rates.noise_floor[t - 1])
        self.lost_noise[old] += replaced * self._room
        self._room = retained * self._room

        self.kept = retained * self.kept
        self.gaps *= retained
        self.gaps += replaced * gap
        # A task that keeps nothing wipes out even an infinite error; 0 * inf would be nan.
        self.noise = np.where(retained > 0, retained * self.noise, 0.0) + self._rates.noise_error[t]
        self._kept_when_learned[t], self._gaps_when_learned[t] = self.kept, self.gaps[t]
        self.learned = t + 1

    def errors(self, start: Array) -> Array:
        """E L_t (T, *grid), with `start` (T, 1, ..., 1)."""
        return self.kept * start + self.gaps + self.noise

    def lost(self, start: Array) -> Array:
        """E (L_t[i] - L_i[i]) for tasks learned, else 0 (T, *grid)."""
        return self.lost_kept * start + self.lost_gaps + self.lost_noise

    def parts(self, start: Array) -> tuple[Array, ...]:
        """F1, F2, F3, G1, G2, G3 when all tasks are learned (*grid); F is nan for a single task."""
        old = slice(0, self.learned - 1)
        earlier = self.learned - 1 or np.nan
        lost = (self.lost_kept * start, self.lost_gaps, self.lost_noise)
        return (
            *(part[old].sum(axis=0) / earlier for part in lost),
            self.kept * start.mean(axis=0),
            self.gaps.mean(axis=0),
            self.noise,
        )
