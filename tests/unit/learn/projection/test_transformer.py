"""Transformers: without gradients, PyTorch's fast path would skip the calls of their layers."""

import pytest
import torch
from torch import nn
from toys import SETTINGS, settings

from ebbing.learn.methods import Gpm, TrgpFree
from ebbing.learn.training.schedule import Schedule

pytestmark = pytest.mark.usefixtures("quietly")


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.TransformerEncoderLayer(16, 2, 32, batch_first=True, dropout=0.0)
        self.head = nn.Linear(16, 2)

    def forward(self, x):
        return self.head(self.encoder(x).mean(1))


def task(seed):
    inputs = torch.randn(40, 3, 16, generator=torch.Generator().manual_seed(seed))
    return inputs, (inputs[:, 0, seed] > 0).long()


@pytest.mark.parametrize("method", [Gpm, TrgpFree])
def test_transformer_outputs_agree_without_gradients(method):
    torch.manual_seed(0)
    network = Encoder()
    learner = method(**SETTINGS, per_task=("encoder.self_attn",)).start(network)
    learner.learn("a", task(0))
    inputs, labels = task(1)
    with learner.task("b", (inputs, labels)) as parameters:
        optimizer = torch.optim.SGD(parameters, 0.5)
        for _ in range(10):
            optimizer.zero_grad()
            nn.functional.cross_entropy(network(inputs), labels).backward()
            optimizer.step()
        network.eval()
        with_gradients = network(inputs)
        with torch.no_grad():
            torch.testing.assert_close(network(inputs), with_gradients.detach(), rtol=0, atol=1e-5)
    torch.testing.assert_close(learner.outputs("b", inputs), with_gradients.detach(), rtol=0, atol=1e-4)
    assert torch.backends.mha.get_fastpath_enabled()


def test_validation_loss_uses_the_trained_weights():
    """The validation loss must be that of the parametrized network; otherwise it would never decrease."""
    torch.manual_seed(0)
    network = Encoder()
    for part in (network.encoder.self_attn, network.head):
        part.requires_grad_(False)  # so that only the layers within the fast path are trained
    learner = Gpm(**settings(schedule=Schedule(0.2, epochs=12, batch_size=10, patience=12))).start(network)
    before = nn.functional.cross_entropy(learner.outputs(None, task(0)[0]), task(0)[1])
    learner.learn("a", task(0), validation=task(0))
    after = nn.functional.cross_entropy(learner.outputs("a", task(0)[0]), task(0)[1])
    assert after < 0.8 * before
