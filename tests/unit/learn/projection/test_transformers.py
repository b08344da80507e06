"""Models of transformers, tiny and without a download: they are protected at the first try."""

import copy
import os
import re
import warnings
from dataclasses import replace
from typing import Any

import pytest
import torch
from tiny_transformers import BERT, EXACT, ROWS, SCHEDULE, VOCABULARY, adamw, bert, build, distilbert, gpt2, texts
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence
from toys import IDS, METHODS, assert_same

from ebbing.learn import Copies, FineTuning, Gpm, LowRank
from ebbing.learn.projection import _activations as activations
from ebbing.learn.projection._layer_kinds import TransposedLinearKind
from ebbing.learn.projection._tied import TiedLayer

os.environ.setdefault("HF_HUB_OFFLINE", "1")
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    transformers = pytest.importorskip("transformers")
    from transformers import (
        BertConfig,
        BertForMaskedLM,
        ViTConfig,
        ViTForImageClassification,
    )

pytestmark = [pytest.mark.usefixtures("quietly"), pytest.mark.filterwarnings("ignore:::(transformers|peft)")]


@pytest.mark.parametrize("number", [0, 2, 4], ids=[IDS[i] for i in (0, 2, 4)])
@pytest.mark.parametrize("make", [bert, distilbert, gpt2])
def test_models_learn_and_keep_old_tasks_with_adamw(make, number):
    """All inputs of the examples are protected: outputs stay, whatever AdamW does; fine-tuning moves them."""
    learner = replace(METHODS[number], **EXACT).start(build(make))
    plain = FineTuning(SCHEDULE).start(build(make))
    before = {}
    for one in (learner, plain):
        one.learn("a", texts(0), optimizer=adamw)
        before[one] = one.outputs("a", texts(0)[0])
        if one is learner:  # no layer is protected completely
            assert all(0 < share < 0.9 for name, share in learner.protected.items() if "type" not in name)
        one.learn("b", texts(1), optimizer=adamw, clip_norm=1.0)
    assert (learner.outputs("a", texts(0)[0]) - before[learner]).abs().max() < 2e-5
    assert (plain.outputs("a", texts(0)[0]) - before[plain]).abs().max() > 1e-2
    with learner.evaluating("a") as network:
        logits = network(**texts(0)[0]).logits
    torch.testing.assert_close(logits.detach(), learner.outputs("a", texts(0)[0]), rtol=0, atol=1e-5)


@pytest.mark.parametrize("method", [Copies(SCHEDULE), LowRank(SCHEDULE, rank=2)], ids=["copies", "low-rank"])
@pytest.mark.parametrize("make", [bert, gpt2])
def test_models_learn_by_other_methods(make, method):
    learner = method.start(build(make))
    learner.learn("a", texts(0), optimizer=adamw)
    before = learner.outputs("a", texts(0)[0])
    learner.learn("b", texts(1), optimizer=adamw)
    assert torch.equal(learner.outputs("a", texts(0)[0]), before)


def test_conv1d_of_transformers_is_a_linear_layer():
    learner = Gpm(**EXACT).start(build(gpt2))
    kinds = {layer.name: type(layer.kind) for layer in learner.layers}
    assert kinds["transformer.h.0.attn.c_attn"] is TransposedLinearKind
    assert learner.layers[2].weights[0].shape == (288, 96)


def test_masked_language_model_has_a_tied_table():
    def words(task):
        inputs, _ = texts(task)
        return inputs, inputs["input_ids"].masked_fill(inputs["attention_mask"] == 0, -100)

    learner = Gpm(**EXACT).start(build(lambda: BertForMaskedLM(BertConfig(**BERT))))
    assert isinstance(learner.layers[0], TiedLayer)
    assert "cls.predictions.bias" in learner._task_specific  # the decoder has the same one
    learner.learn("a", words(0), optimizer=adamw)
    before = learner.outputs("a", texts(0)[0])
    learner.learn("b", words(1), optimizer=adamw)
    real = texts(0)[0]["attention_mask"].bool()
    assert (learner.outputs("a", texts(0)[0]) - before)[real].abs().max() < 2e-5
    assert 0 <= learner.accuracy("a", words(0)) <= 1


def test_vision_transformer_says_once_what_to_type():
    def images(task):
        generator = torch.Generator().manual_seed(task)
        return {"pixel_values": torch.randn(ROWS, 3, 8, 8, generator=generator)}, torch.arange(ROWS) % 2

    sizes: dict[str, Any] = {
        "hidden_size": 32,
        "num_hidden_layers": 1,
        "num_attention_heads": 2,
        "intermediate_size": 24,
    }
    network = build(lambda: ViTForImageClassification(ViTConfig(**sizes, image_size=8, patch_size=4)))
    line = r"per_task=\('vit.embeddings.cls_token', 'vit.embeddings.position_embeddings'\)"
    with pytest.raises(ValueError, match=f"these 2 parts cannot be protected.*{line}"):
        Gpm(**EXACT).start(network)
    per_task = ("vit.embeddings.cls_token", "vit.embeddings.position_embeddings")
    learner = Gpm(**EXACT, per_task=per_task).start(network)
    learner.learn("a", images(0), optimizer=adamw)
    before = learner.outputs("a", images(0)[0])
    learner.learn("b", images(1), optimizer=adamw)
    assert (learner.outputs("a", images(0)[0]) - before).abs().max() < 2e-5


# LoRA


def test_adapters_alone_are_protected_and_kept():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        peft = pytest.importorskip("peft")

    def adapted():
        settings = peft.LoraConfig(task_type="SEQ_CLS", r=2, target_modules=["query", "value"])
        return peft.get_peft_model(bert(), settings)

    network = build(adapted)
    trained = {name for name, parameter in network.named_parameters() if parameter.requires_grad}
    copies, learner = Copies(SCHEDULE).start(network), Gpm(**EXACT).start(build(adapted))
    for one in (copies, learner):
        for task, name in enumerate("ab"):
            one.learn(name, texts(task), optimizer=adamw)
    kept = {name.removeprefix("copy.1.") for name in copies.state() if name.startswith("copy.1.")}
    assert kept == trained
    size = sum(value.nbytes for name, value in copies.state().items() if name.startswith("copy.1."))
    assert size < 0.1 * sum(parameter.nbytes for parameter in network.parameters())
    assert {layer.weight_name for layer in learner.layers} <= trained
    own = {re.sub(r"^own\.1\.", "", name) for name in learner.state() if name.startswith("own.1.")}
    assert own == {"base_model.model.classifier.modules_to_save.default.bias"}


# Padding


def test_padding_is_not_protected():
    """Other words at padded positions give the same protection; without a mask they do not."""
    bases = {}
    for mask in (True, False):
        for filler in (0, 5):
            inputs, labels = texts(0, mask)
            real = texts(0)[0]["attention_mask"]
            inputs["input_ids"] = torch.where(real == 1, inputs["input_ids"], filler)
            learner = Gpm(SCHEDULE, threshold=0.9, num_examples=ROWS).start(build(bert))
            with learner.task("a", (inputs, labels)) as parameters, torch.no_grad():
                parameters[3].add_(1e-3)
            bases[mask, filler] = learner.layers[3].blocks[0].basis  # the query of the first layer
    torch.testing.assert_close(bases[True, 0] @ bases[True, 0].T, bases[True, 5] @ bases[True, 5].T, rtol=0, atol=1e-5)
    shapes = bases[False, 0].shape, bases[False, 5].shape
    difference = bases[False, 0] @ bases[False, 0].T - bases[False, 5] @ bases[False, 5].T
    assert shapes[0] != shapes[1] or difference.abs().max() > 1e-2


def test_many_tokens_are_summed_to_the_same_basis(monkeypatch):
    learners = [Gpm(SCHEDULE, threshold=0.9, num_examples=ROWS).start(build(bert)) for _ in range(2)]
    torch.manual_seed(1)  # of dropout
    learners[0].learn("a", texts(0))
    monkeypatch.setattr(activations, "MAX_TOKEN_BYTES", 0)
    monkeypatch.setattr(activations, "TOKEN_BATCH_SIZE", 3)
    torch.manual_seed(1)
    learners[1].learn("a", texts(0))
    for one, other in zip(*(learner.layers[3:] for learner in learners), strict=True):
        a, b = one.blocks[0].basis, other.blocks[0].basis
        torch.testing.assert_close(a @ a.T, b @ b.T, rtol=0, atol=1e-4)


# Texts of different lengths


class Packed(nn.Module):
    """An LSTM of packed sequences."""

    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(VOCABULARY, 6)
        self.inner = nn.LSTM(6, 5, num_layers=2, bidirectional=True, batch_first=True)
        self.head = nn.Linear(10, 2)

    def forward(self, input_ids, attention_mask):
        lengths = attention_mask.sum(1).cpu()
        packed = pack_padded_sequence(self.table(input_ids), lengths, batch_first=True, enforce_sorted=False)
        _, (hidden, _) = self.inner(packed)
        return self.head(torch.cat([hidden[-2], hidden[-1]], 1))


@pytest.mark.filterwarnings("ignore:task .* has little room")  # at a threshold of 1, on purpose
def test_packed_sequences_are_protected():
    learner = Gpm(**EXACT).start(build(Packed).double())
    learner.learn("a", texts(0), optimizer=adamw)
    before = learner.outputs("a", texts(0)[0])
    learner.learn("b", texts(1), optimizer=adamw)
    torch.testing.assert_close(learner.outputs("a", texts(0)[0]), before, rtol=0, atol=1e-9)


def test_loaders_may_pad_batches_to_different_lengths():
    inputs, labels = texts(0)
    batches = []
    for rows in torch.arange(ROWS).split(4):
        length = int(inputs["attention_mask"][rows].sum(1).max())
        part = {name: value[rows, :length] for name, value in inputs.items()}
        batches.append(part | {"labels": labels[rows]})
    learner = Gpm(**EXACT).start(build(bert))
    learner.learn("a", batches, optimizer=adamw)
    assert learner.accuracy("a", batches) == learner.accuracy("a", (inputs, labels))


def test_learner_of_a_model_is_saved_and_copied():
    learner = Gpm(**EXACT).start(build(bert))
    learner.learn("a", texts(0), optimizer=adamw)
    other = copy.deepcopy(learner)
    assert_same(other.state(), learner.state())
    for one in (learner, other):
        torch.manual_seed(1)  # of dropout
        one.learn("b", texts(1), optimizer=adamw)
    assert_same(other.state(), learner.state())
