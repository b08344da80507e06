"""Tiny models of transformers, and tasks of texts for them."""

import os
import warnings
from typing import Any

import pytest
import torch

from ebbing.learn import Schedule
from ebbing.learn.projection import Threshold

os.environ.setdefault("HF_HUB_OFFLINE", "1")
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    transformers = pytest.importorskip("transformers")
    from transformers import (
        BertConfig,
        BertForSequenceClassification,
        DistilBertConfig,
        DistilBertForSequenceClassification,
        GPT2Config,
        GPT2ForSequenceClassification,
    )

VOCABULARY, LENGTH, ROWS = 40, 8, 12
SCHEDULE = Schedule(0.1, epochs=1, batch_size=6)
EXACT: dict[str, Any] = {"schedule": SCHEDULE, "threshold": Threshold(1.0), "num_examples": ROWS}
SIZES: dict[str, Any] = {"vocab_size": VOCABULARY, "max_position_embeddings": 10}
BERT: dict[str, Any] = {
    "hidden_size": 96,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "intermediate_size": 80,
} | SIZES


def texts(task, mask=True):
    """Return texts of words that are typical of the task, padded to one length."""
    generator = torch.Generator().manual_seed(task)
    words = torch.randint(8 * task + 1, 8 * task + 12, (ROWS, LENGTH), generator=generator)
    lengths = torch.randint(3, LENGTH + 1, (ROWS,), generator=generator)
    real = (torch.arange(LENGTH)[None] < lengths[:, None]).long()
    inputs = {"input_ids": words * real} | ({"attention_mask": real} if mask else {})
    return inputs, (words[:, 0] % 2).long()


def bert():
    return BertForSequenceClassification(BertConfig(**BERT))


def distilbert():
    sizes: dict[str, Any] = {"dim": 96, "n_layers": 1, "n_heads": 2, "hidden_dim": 80}
    return DistilBertForSequenceClassification(DistilBertConfig(**sizes, **SIZES))


def gpt2():
    sizes: dict[str, Any] = {"n_embd": 96, "n_layer": 1, "n_head": 2, "vocab_size": VOCABULARY, "n_positions": 10}
    tokens: dict[str, Any] = {"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 1}
    return GPT2ForSequenceClassification(GPT2Config(**sizes, **tokens))


def adamw(parameters):
    return torch.optim.AdamW(parameters, 0.01, weight_decay=0.1)


def build(make):
    torch.manual_seed(0)
    return make()
