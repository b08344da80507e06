"""Causal language models: their labels are the inputs themselves, as for the loss of transformers."""

import warnings
from typing import Any

import pytest
import torch
from tiny_transformers import BERT, adamw, bert, gpt2

from ebbing.learn import FineTuning, Schedule, Trgp
from ebbing.learn.training._next_tokens import align_tokens, loss_of, predicts_next_token
from ebbing.learn.training.schedule import task_loss

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    transformers = pytest.importorskip("transformers")
    peft = pytest.importorskip("peft")

pytestmark = [pytest.mark.usefixtures("quietly"), pytest.mark.filterwarnings("ignore:::(transformers|peft)")]

WORDS, LENGTH = 12, 12  # as many words as positions: which dimension is which must not be guessed


def llama():
    sizes: dict[str, Any] = {"hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 1}
    heads: dict[str, Any] = {"num_attention_heads": 2, "num_key_value_heads": 2, "max_position_embeddings": LENGTH}
    return transformers.LlamaForCausalLM(transformers.LlamaConfig(vocab_size=WORDS, **sizes, **heads))


def language_gpt2():
    sizes: dict[str, Any] = {"n_embd": 32, "n_layer": 1, "n_head": 2, "n_positions": LENGTH}
    return transformers.GPT2LMHeadModel(
        transformers.GPT2Config(vocab_size=WORDS, bos_token_id=0, eos_token_id=0, **sizes)
    )


def adapted():
    return peft.get_peft_model(llama(), peft.LoraConfig(r=4, target_modules="all-linear", task_type="CAUSAL_LM"))


def sequences(step, n=24):
    """Return sequences that count by a step, from any number."""
    words = (torch.arange(n)[:, None] + step * torch.arange(LENGTH)) % WORDS
    return {"input_ids": words, "labels": words.clone()}


@pytest.mark.parametrize("make", [llama, language_gpt2, adapted])
def test_loss_is_that_of_transformers(make):
    torch.manual_seed(0)
    model, batch = make().eval(), sequences(1)
    batch["labels"][:, :3] = -100
    with torch.no_grad():
        found = model(**batch)
    torch.testing.assert_close(loss_of(model, task_loss)(found.logits, batch["labels"]), found.loss)
    assert abs(task_loss(found.logits, batch["labels"]) - found.loss) > 1e-3  # what it would be without a shift


def test_other_networks_and_losses_are_left_alone():
    masked = transformers.BertForMaskedLM(transformers.BertConfig(**BERT))
    xlnet = transformers.XLNetLMHeadModel(transformers.XLNetConfig(vocab_size=9, d_model=8, n_layer=1, n_head=2))
    for network in (masked, xlnet, bert(), gpt2(), torch.nn.Linear(2, 2)):
        assert not predicts_next_token(network)
        assert loss_of(network, task_loss) is task_loss
    assert loss_of(llama(), abs) is abs  # type: ignore[arg-type]
    outputs, labels = torch.zeros(4, 2), torch.zeros(4)
    assert align_tokens(llama(), outputs, labels) == (outputs, labels)


def test_language_models_learn_and_are_protected():
    schedule, accuracies = Schedule(epochs=30, batch_size=12), {}
    for method in (FineTuning(schedule), Trgp(schedule, num_examples=24)):
        torch.manual_seed(0)
        learner = method.start(llama())
        for step in (1, 5):
            learner.learn(f"by {step}", sequences(step), optimizer=adamw)
        accuracies[type(method).__name__] = [learner.accuracy(f"by {step}", sequences(step)) for step in (1, 5)]
    assert accuracies["FineTuning"][1] > 0.95
    assert accuracies["FineTuning"][0] < 0.5
    assert min(accuracies["Trgp"]) > 0.9
