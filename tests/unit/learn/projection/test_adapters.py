"""Adapters of PEFT: those that consist of layers are protected, the others are refused with a line to type."""

import re
import warnings
from typing import Any

import pytest
import torch
from tiny_transformers import EXACT, ROWS, VOCABULARY, adamw, bert, build, gpt2, texts
from torch import nn

from ebbing.learn import Copies, Gpm, Schedule

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    peft = pytest.importorskip("peft")

pytestmark = [pytest.mark.usefixtures("quietly"), pytest.mark.filterwarnings("ignore:::(transformers|peft)")]

LINEAR = ["query", "value"]


class Encoder(nn.Module):
    """A layer of PyTorch's transformers, whose fast path in evaluation ignores adapters."""

    def __init__(self):
        super().__init__()
        self.table, self.head = nn.Embedding(VOCABULARY, 96), nn.Linear(96, 2)
        self.layer = nn.TransformerEncoderLayer(96, 2, 80, batch_first=True)

    def forward(self, input_ids, attention_mask):
        return self.head(self.layer(self.table(input_ids)).mean(1))


def adapted(make, config, scale=0.1):
    """Return a network with adapters that are not zero: zeros would hide what is not protected."""
    network = peft.get_peft_model(build(make), config)
    with torch.no_grad():
        for name, parameter in network.named_parameters():
            if "lora_B" in name:
                parameter.normal_(std=scale)
    return network


def lora(**settings: Any):
    return peft.LoraConfig(**{"r": 4, "task_type": "SEQ_CLS", "target_modules": LINEAR} | settings)


def change_of_old_outputs(network, **settings):
    """Return how far outputs of a first task move while a second one is learned, and the layers that changed."""
    learner = Gpm(**EXACT | settings).start(network)
    learner.learn("a", texts(0), optimizer=adamw)
    before, free = learner.outputs("a", texts(0)[0]), [one for one in learner.layers if one.protected_share < 1]
    weights = [layer.weight.detach().clone() for layer in free]
    learner.learn("b", texts(1), optimizer=adamw)
    assert all(not torch.equal(layer.weight, old) for layer, old in zip(free, weights, strict=True))
    return float((learner.outputs("a", texts(0)[0]) - before).abs().max()), [layer.name for layer in free]


PROTECTED = {
    "LoRA": (bert, lora()),
    "all layers": (bert, lora(target_modules="all-linear")),
    "rank-stabilized": (bert, lora(use_rslora=True)),
    "dropout and biases": (bert, lora(lora_dropout=0.2, bias="all", lora_bias=True)),
    "Conv1D": (gpt2, lora(target_modules=["c_attn", "c_proj", "c_fc"], fan_in_fan_out=True)),
    "trained words": (bert, lora(modules_to_save=["classifier", "word_embeddings"])),
    "fast path": (Encoder, lora(task_type=None, target_modules=["linear1", "linear2"], modules_to_save=["head"])),
}


@pytest.mark.parametrize("name", PROTECTED)
def test_adapters_of_layers_are_protected(name):
    """What old tasks use of A and B stays: so do their outputs, whatever AdamW does."""
    change, changed = change_of_old_outputs(adapted(*PROTECTED[name]))
    assert change < 2e-6
    assert any("lora_A" in one for one in changed)


REFUSED = {
    "DoRA": (lora(use_dora=True), "norms of the whole weight", ("*.query.lora_*", "*.value.lora_*")),
    "prompt": (peft.PromptTuningConfig(task_type="SEQ_CLS", num_virtual_tokens=2), "prompt", ("prompt_encoder",)),
    "prefix": (peft.PrefixTuningConfig(task_type="SEQ_CLS", num_virtual_tokens=2), "prompt", ("prompt_encoder",)),
    "IA3": (peft.IA3Config(task_type="SEQ_CLS", target_modules=LINEAR, feedforward_modules=[]), "ia3_l", ("*.ia3_l",)),
    "words": (
        lora(target_modules=["word_embeddings", "query"]),
        "embedding_A",
        ("*.word_embeddings.lora_embedding_*",),
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_other_adapters_are_refused_with_a_line(name):
    """The line works as it is; shorter patterns mean the same."""
    config, reason, patterns = REFUSED[name]
    with pytest.raises(ValueError, match=rf"cannot be protected: .*{reason}.*Give each task a copy") as raised:
        Gpm(**EXACT).start(adapted(bert, config))
    (line,) = re.findall(r"per_task=(\(.*?\))(?=;|$)", str(raised.value))
    for per_task in (eval(line), patterns):
        assert change_of_old_outputs(adapted(bert, config), per_task=per_task)[0] < 2e-6


def test_magnitudes_of_dora_alone_are_not_enough():
    with pytest.raises(ValueError, match="norms of the whole weight"):
        Gpm(**EXACT, per_task=("*lora_magnitude_vector*",)).start(adapted(bert, lora(use_dora=True)))


def test_norms_of_dora_depend_on_directions_that_no_task_uses():
    """A change of A in a direction orthogonal to all inputs moves outputs of DoRA, and not those of LoRA."""
    inputs, free = torch.eye(96)[:ROWS], torch.eye(96)[-1]
    moved = {}
    for dora in (False, True):
        network: Any = adapted(
            lambda: nn.Sequential(nn.Linear(96, 5)), lora(task_type=None, target_modules=["0"], use_dora=dora), 1.0
        )
        with torch.no_grad():
            before = network(inputs)
            network.base_model.model[0].lora_A["default"].weight += free
            moved[dora] = float((network(inputs) - before).abs().max())
    assert moved[False] < 1e-6
    assert moved[True] > 1e-2


def test_copies_keep_an_adapter_of_dora_for_each_task():
    learner = Copies(Schedule(0.1, epochs=1, batch_size=6)).start(adapted(bert, lora(use_dora=True)))
    learner.learn("a", texts(0), optimizer=adamw)
    before = learner.outputs("a", texts(0)[0])
    learner.learn("b", texts(1), optimizer=adamw)
    assert torch.equal(learner.outputs("a", texts(0)[0]), before)


def test_merged_adapters_are_refused():
    network = adapted(bert, lora())
    learner = Gpm(**EXACT).start(network)
    network.merge_adapter()
    for start in (lambda: Gpm(**EXACT).start(network), lambda: learner.learn("a", texts(0))):
        with pytest.raises(ValueError, match=r"query' is merged into its weight.*call unmerge_adapter\(\) first"):
            start()
    network.unmerge_adapter()
    learner.learn("a", texts(0))


def test_adapters_of_attention_are_refused():
    config = lora(task_type=None, target_modules=["self_attn"], modules_to_save=["head"])
    with pytest.raises(ValueError, match=r"layer\.self_attn' \(MultiheadAttention\) replaces.*leave the layer out"):
        Gpm(**EXACT).start(adapted(Encoder, config))
