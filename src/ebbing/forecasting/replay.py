"""How much old data a model needs: forgetting against the share of old data that is replayed: `ReplayForecast`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ebbing._tables import Table, Tabular, format_number, to_frame
from ebbing._validate import Array
from ebbing.order._tables import join_names

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

SHARES = (0.0, 0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 1.0)
"""The shares of each old task's data that a replay curve is computed for."""

NEGLIGIBLE = 0.01
"""Replay is not advised if it saves less than this share of the generalization error."""

ENOUGH = 0.9
"""The part of what the best share saves that the advised share must save."""


@dataclass(frozen=True, eq=False, repr=False)
class ReplayForecast(Tabular):
    """Predicted errors when every step also learns a share of each old task's data.

    Attributes:
        names: The tasks, in the order of learning.
        shares: The share of each old task's examples that is learned again in every later step (shares,).
        counts: The number of examples of each old task that this is, on average (shares,).
        forgetting: F_T for each share (shares,).
        generalization: G_T for each share (shares,).
        train_size: Training examples of each task, on average.
    """

    names: tuple[str, ...]
    shares: Array
    counts: Array
    forgetting: Array
    generalization: Array
    train_size: float

    @property
    def share(self) -> float:
        """The share to use: the smallest that saves nine tenths of the generalization error that the best share saves.

        Forgetting does not decide: a model that learns new tasks badly forgets little.
        """
        saved = self.generalization[0] - self.generalization
        if saved.max() <= NEGLIGIBLE * self.generalization.max() + 1e-12:
            return 0.0
        return float(self.shares[np.argmax(saved >= ENOUGH * saved.max())])

    def to_frame(self) -> pd.DataFrame:
        """Return the curve as a pandas DataFrame.

        Returns:
            One row per share with the columns `share`, `examples`, `forgetting` and `generalization`.
        """
        return to_frame(
            {
                "share": self.shares,
                "examples": self.counts,
                "forgetting": self.forgetting,
                "generalization": self.generalization,
            }
        )

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw forgetting and generalization error against the share of old data.

        Args:
            ax: The axes to draw on; a new figure if None.

        Returns:
            The axes.
        """
        from ebbing.plot.forecasts import plot_replay

        return plot_replay(self, ax=ax)

    def _answer(self) -> str:
        if self.share == 0:
            return "Mix in no old data: it hardly reduces the error at the end that is predicted."
        at = int(np.argmin(abs(np.asarray(self.shares) - self.share)))
        error, without, lost, lost_without = (
            format_number(float(values[k]), ".2g") for values in (self.generalization, self.forgetting) for k in (at, 0)
        )
        return (
            f"Mix {self.share:.0%} of each old task's data into every later step: the predicted error at the end is "
            f"{error} instead of {without}, and forgetting {lost} instead of {lost_without}."
        )

    def _tables(self) -> Sequence[Table]:
        rows = [
            [f"{share:.0%}", format_number(count, ".4g"), format_number(f, ".4g"), format_number(g, ".4g")]
            for share, count, f, g in zip(self.shares, self.counts, self.forgetting, self.generalization, strict=True)
        ]
        heading = f"Replay {self.share:.0%} of each old task's data in every later step."
        if self.share == 0:
            heading = "Replay does not help here: it hardly reduces the error at the end that is predicted."
        note = (
            f"Order: {join_names(self.names)}. Examples are those of each old task, of {self.train_size:.4g} that "
            f"train it; the same stored ones in every step. The advised share is the smallest that saves {ENOUGH:.0%} "
            "of the generalization error that the best share saves."
        )
        return (Table(heading, ["old data", "examples", "forgetting", "generalization error"], rows, [note]),)

    def __repr__(self) -> str:
        return f"ReplayForecast(share={self.share:g}, forgetting={self.forgetting.round(4).tolist()})"
