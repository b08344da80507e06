"""Inputs of recurrent layers: the arguments of a call count by their names."""

from typing import Any

import pytest
import torch
from torch import nn

from ebbing.learn.projection._recurrent import cell_inputs, recurrent_inputs

BATCH, STEPS, WIDTH, HIDDEN = 3, 4, 5, 2


@pytest.mark.parametrize("kind", [nn.LSTM, nn.GRU, nn.RNN])
def test_keywords_of_a_layer_may_come_in_any_order(kind):
    torch.manual_seed(0)
    module, x = kind(WIDTH, HIDDEN, batch_first=True), torch.randn(BATCH, STEPS, WIDTH)
    h = torch.randn(1, BATCH, HIDDEN)
    state = (h, torch.randn_like(h)) if kind is nn.LSTM else h
    module(hx=state, input=x)  # a call that PyTorch allows
    expected: dict[str, Any] = recurrent_inputs(module, (x, state), {})
    assert torch.equal(expected["weight_hh_l0"][:, 0], h[0])
    for keywords in ({"input": x, "hx": state}, {"hx": state, "input": x}):
        found: dict[str, Any] = recurrent_inputs(module, (), keywords)
        assert found.keys() == expected.keys()
        assert all(torch.equal(found[name], expected[name]) for name in found)


def test_keywords_of_a_cell_may_come_in_any_order():
    x, h = torch.randn(BATCH, WIDTH), torch.randn(BATCH, HIDDEN)
    found: dict[str, Any] = cell_inputs(nn.GRUCell(WIDTH, HIDDEN), (), {"hx": h, "input": x})
    assert torch.equal(found["weight_ih"], x)
    assert torch.equal(found["weight_hh"], h)
