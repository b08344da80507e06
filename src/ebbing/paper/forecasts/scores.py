"""How well forecasts rank the orders of a task set, beside rules, theory and training: `Scores`.

========================  ==========================================================================================
score                     meaning
========================  ==========================================================================================
rank correlation          of predicted with measured forgetting, over orders
orders better             the share of orders that were better than the one that is advised
regret                    what the advised order loses, in units of (mean order - best order)
========================  ==========================================================================================

Measured forgetting is the mean over seeds. What one seed's runs tell is judged by the mean of the other seeds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ebbing._ranks import rank_correlation
from ebbing._validate import Array


@dataclass(frozen=True)
class Scores:
    """How good a prediction is.

    Attributes:
        rank_correlation: Over orders; None for a rule that only gives one order.
        orders_better: The share of orders that were better than the advised one.
        regret: What the advised order loses.
    """

    rank_correlation: float | None
    orders_better: float
    regret: float

    @classmethod
    def of(cls, predicted: Array, measured: Array) -> Scores:
        """Compare a prediction with a measurement.

        Args:
            predicted: Predicted forgetting of each order (orders,).
            measured: Measured forgetting (orders,).

        Returns:
            The scores.

        Example:
            >>> Scores.of(np.array([1.0, 2.0, 3.0]), np.array([2.0, 1.0, 3.0]))
            Scores(rank_correlation=0.5, orders_better=0.3333333333333333, regret=1.0)
        """
        better, regret = cls._of_choice(int(predicted.argmin()), measured)
        return cls(rank_correlation(predicted, measured), better, regret)

    @classmethod
    def of_order(cls, chosen: int, measured: Array) -> Scores:
        """Judge a single order.

        Args:
            chosen: Its place among the orders.
            measured: Measured forgetting (orders,).

        Returns:
            The scores.
        """
        return cls(None, *cls._of_choice(chosen, measured))

    @staticmethod
    def _of_choice(chosen: int, measured: Array) -> tuple[float, float]:
        loss = float(measured[chosen] - measured.min())
        stake = float(measured.mean() - measured.min())
        better = float(np.mean(measured < measured[chosen] - 1e-12))
        return better, loss / stake if stake > 0 else 0.0

    @classmethod
    def mean(cls, some: Sequence[Scores]) -> Scores:
        """Return the mean of scores.

        Args:
            some: The scores, at least one.

        Returns:
            Their means.
        """
        correlations = [one.rank_correlation for one in some if one.rank_correlation is not None]
        return cls(
            float(np.mean(correlations)) if len(correlations) == len(some) else None,
            float(np.mean([one.orders_better for one in some])),
            float(np.mean([one.regret for one in some])),
        )
