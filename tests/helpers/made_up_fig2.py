"""Made-up measurements for Figure 2, on which every verdict is known."""

from typing import Any

import numpy as np

from ebbing.paper import fig2

AGREES = {
    "a": (0.50, 0.40, 0.30, 0.20, 0.10, 0.05),
    "b": (0.10, 0.20, 0.30, 0.40),
    "c": (0.20, 0.10, 0.21, 0.22, 0.23, 0.50),
    "d": (0.11, 0.10, 0.30, 0.31, 0.29, 0.32),
}
"""Forgetting along the axis of each panel that agrees with the paper's conclusions."""


def matrix(sequence, forgetting, generalization):
    """Return an error matrix of given F_T and G_T."""
    T = len(sequence)
    errors = np.full((T + 1, T), 0.01)
    errors[T, :-1] += forgetting
    errors[T, -1] = T * generalization - errors[T, :-1].sum()
    return errors


def by_seed(values, seeds=3):
    """Return values (seeds, places) that differ between seeds by a constant and a little noise."""
    noise = 1e-4 * np.random.default_rng(0).standard_normal((3, 6))
    return np.array(values) + 0.001 * np.arange(seeds)[:, None] + noise[:seeds, : len(values)]


def made_up(changes=(), seeds=3, fits=()) -> Any:
    """Return a result that agrees with every claim except for `changes`.

    `changes` has F_T by place, or by seed and place, for each (panel, setup); `fits` has the training error for each
    (sequence, seed, place).
    """
    changes, fits = dict(changes), dict(fits)
    matrices, fitted = {}, {}
    for panel, setups in fig2.SETUPS.items():
        for setup, members in setups.items():
            F = np.array(changes.get((panel, setup), AGREES[panel]))
            F = F if F.ndim == 2 else by_seed(F, seeds)
            for x, sequence in enumerate(members):
                matrices[sequence] = np.stack([matrix(sequence, F[k, x], F[k, x]) for k in range(seeds)])
                fitted[sequence] = np.full((seeds, len(sequence)), 0.001)
    for (sequence, seed, place), fit in fits.items():
        fitted[sequence][seed, place] = fit
    return fig2.Result(fig2.Config(seeds=seeds), matrices, fitted, {"commit": "abc"})
