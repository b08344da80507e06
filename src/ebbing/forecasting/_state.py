"""What several models predict at one moment of learning: `State`."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ebbing._validate import Array


@dataclass(frozen=True, eq=False)
class State:
    """The predictions of several models at one moment.

    Attributes:
        predictions: f of each model (N, models, C); under the cross-entropy, its outputs.
        directions: The directions that an aligning kernel has gained (N, models, k).
    """

    predictions: Array
    directions: Array

    def chosen(self, models: np.ndarray) -> State:
        """Return some of the models, perhaps several times.

        Args:
            models: Indices of the models.

        Returns:
            Their states.
        """
        return State(self.predictions[:, models], self.directions[:, models])
