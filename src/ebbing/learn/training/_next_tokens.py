"""Causal language models of transformers: outputs at a position are compared with the label of the next position."""

from __future__ import annotations

from typing import Any

from torch import Tensor, nn

from ebbing.learn.training.schedule import Loss, task_loss

_WITHOUT_SHIFT = ("XLNetLMHeadModel", "WithLMHeadModel")
"""Ends of names of language models that predict the word at the same position."""


def predicts_next_token(network: nn.Module) -> bool:
    """Return whether a network is a causal language model of transformers, with adapters of PEFT or without.

    These take `labels=input_ids`, and compare the outputs at a position with the label of the next one.
    """
    base: Any = network.get_base_model() if hasattr(network, "get_base_model") else network  # type: ignore[operator]
    names = [kind.__name__ for kind in type(base).__mro__ if kind.__module__.startswith("transformers.")]
    found = [name for name in names if name.endswith(("ForCausalLM", "LMHeadModel"))]
    return bool(found) and not found[0].endswith(_WITHOUT_SHIFT)


def align_tokens(network: nn.Module, outputs: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
    """Return outputs and labels that belong together: of a causal language model, (n, words, length - 1) and shifted.

    Args:
        network: The network.
        outputs: Its outputs, (n, length, words) of a language model.
        labels: The labels, (n, length) for a language model.

    Returns:
        Outputs and labels; the same ones of any other network.
    """
    if outputs.ndim == 3 and labels.shape == outputs.shape[:2] and predicts_next_token(network):
        return outputs[:, :-1].movedim(-1, 1), labels[:, 1:]
    return outputs, labels


def loss_of(network: nn.Module, loss: Loss) -> Loss:
    """Return the loss of a network's outputs and labels; the default one takes the next tokens of a language model."""
    if loss is not task_loss or not predicts_next_token(network):
        return loss
    return lambda outputs, labels: task_loss(*align_tokens(network, outputs, labels))
