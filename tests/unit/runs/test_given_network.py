"""A network that is measured is recognized by all that it computes with, not by its weights alone."""

import numpy as np
import torch
from torch import nn

from ebbing.learn import Sgd
from ebbing.runs import measure


class Scaled(nn.Module):
    def __init__(self, scale: float) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.first, self.last, self.scale = nn.Linear(6, 8), nn.Linear(8, 2), scale

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        return self.last(torch.relu(self.scale * self.first(inputs)))


def test_results_of_another_network_are_not_reused(tmp_path):
    random = np.random.default_rng(0)
    inputs = random.standard_normal((2, 40, 6)).astype(np.float32)
    tasks = {name: (x, (x @ random.standard_normal(6) > 0).astype(int)) for name, x in zip("ab", inputs, strict=True)}

    def errors(scale: float, store: str):
        return measure(Scaled(scale), tasks, method=Sgd(0.5, 5), store=tmp_path / store, orders=[("a", "b")]).errors

    small = errors(0.1, "one")
    large = errors(5.0, "one")
    assert not np.array_equal(large, small)
    assert np.array_equal(large, errors(5.0, "another"))
    assert np.array_equal(small, errors(0.1, "one"))
