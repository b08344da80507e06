"""Padding: positions that a network ignores take no directions, and those that it uses are protected."""

from typing import Any

import pytest
import torch
from sequence_networks import LENGTH, WIDTH, MaskedDecoder, MaskedEncoder, build, real_positions, vectors
from torch import nn

from ebbing.learn import Gpm, Schedule
from ebbing.learn.projection import Threshold
from ebbing.learn.projection._padding import common_mask, unmasked

pytestmark = pytest.mark.usefixtures("quietly")

SETTINGS: dict[str, Any] = {"schedule": Schedule(0.1, epochs=1, batch_size=5), "num_examples": 20}
METHOD = Gpm(**SETTINGS, threshold=Threshold(1.0), per_task=("head",))
PADDING = torch.eye(WIDTH, dtype=torch.float64)[-1]  # the direction that only padding has


def padded_vectors(seed):
    """Return sequences whose padding has a direction of its own, and classes."""
    inputs, labels = vectors(seed)
    inputs[..., -1] = 0
    inputs[~real_positions(inputs)] = PADDING
    return inputs, labels


def protected_padding(learner):
    """Return, for each block of the first layer, how much of the direction of padding is protected."""
    return [float((block.basis.T @ PADDING).norm()) for block in learner.layers[0].blocks]


@pytest.mark.parametrize("batch_first", [True, False])
def test_padding_that_is_ignored_takes_no_directions(batch_first):
    learner = METHOD.start(build(lambda: MaskedEncoder(batch_first)))
    learner.learn("first", padded_vectors(0))
    assert protected_padding(learner) == [pytest.approx(0, abs=1e-9)]
    before = learner.outputs("first", padded_vectors(0)[0])
    learner.learn("second", vectors(1))
    torch.testing.assert_close(learner.outputs("first", padded_vectors(0)[0]), before, rtol=0, atol=1e-8)


def test_padding_that_matters_is_protected():
    learner = METHOD.start(build(lambda: MaskedEncoder(everything=True)))
    learner.learn("first", padded_vectors(0))
    assert protected_padding(learner) == [pytest.approx(1)]


def test_masked_keys_and_values_take_no_directions():
    learner = METHOD.start(build(MaskedDecoder))
    learner.learn("first", padded_vectors(0))
    assert protected_padding(learner) == pytest.approx([0, 0, 0], abs=1e-9)  # the first two tokens are real


class Average(nn.Module):
    """A network with an attention mask; without `masked`, it averages over padding as well."""

    def __init__(self, masked):
        super().__init__()
        self.inner, self.head, self.masked = nn.Linear(WIDTH, WIDTH), nn.Linear(WIDTH, 3), masked

    def forward(self, x, attention_mask):
        weights = attention_mask.to(x.dtype) if self.masked else torch.ones(x.shape[:2], dtype=x.dtype)
        return self.head((self.inner(x).tanh() * weights[..., None]).sum(1) / weights.sum(1, keepdim=True))


class LastState(nn.Module):
    """An LSTM that reads padding, too, before its last state is classified."""

    def __init__(self):
        super().__init__()
        self.inner, self.head = nn.LSTM(WIDTH, 4, batch_first=True), nn.Linear(4, 3)

    def forward(self, x, attention_mask):
        return self.head(self.inner(x)[1][0][0])


@pytest.mark.parametrize(
    ("make", "share"),
    [(lambda: Average(masked=True), 0), (lambda: Average(masked=False), 1), (LastState, 1)],
    ids=["ignored", "averaged", "last state"],
)
def test_attention_mask_counts_if_the_network_ignores_padding(make, share):
    inputs, labels = padded_vectors(0)
    learner = METHOD.start(build(make))
    learner.learn("first", ({"x": inputs, "attention_mask": real_positions(inputs).long()}, labels))
    assert protected_padding(learner) == [pytest.approx(share, abs=1e-9)]


def test_masks_of_all_types_say_the_same():
    padding = torch.tensor([[False, True]])
    additive = torch.zeros(1, 2).masked_fill(padding, -torch.inf)
    assert unmasked(padding).tolist() == unmasked(additive).tolist() == [[True, False]]


def test_masks_that_differ_are_not_used():
    one, other = torch.ones(2, LENGTH).bool(), torch.zeros(2, LENGTH).bool()
    assert common_mask([one, one.clone()]) is one
    assert common_mask([one, other]) is None
    assert common_mask([]) is None
