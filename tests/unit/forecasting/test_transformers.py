"""Real transformers and low-rank adapters: only what is trained counts, inputs by name, padded or not."""

import warnings

import numpy as np
import pytest
import torch

import ebbing
from ebbing.forecasting import kernel_cost, tangent_kernel, tangent_kernel_reference

transformers, peft = pytest.importorskip("transformers"), pytest.importorskip("peft")


@pytest.fixture(scope="module")
def tokens():
    generator = torch.Generator().manual_seed(0)
    ids = torch.randint(1, 40, (12, 6), generator=generator)
    mask = (torch.arange(6) < torch.randint(2, 7, (12, 1), generator=generator)).to(torch.int64)
    return {"input_ids": ids * mask, "attention_mask": mask}


def bert(labels=1):
    torch.manual_seed(0)
    config = transformers.BertConfig(
        vocab_size=40, hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=24
    )
    config.num_labels = labels
    return transformers.BertForSequenceClassification(config).double()


def with_adapters(model):
    config = peft.LoraConfig(r=2, lora_alpha=4, target_modules=["query", "value"], task_type="SEQ_CLS")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # of peft's use of transformers
        adapted = peft.get_peft_model(model, config).double()
    for name, value in adapted.named_parameters():
        if "lora_B" in name:  # as after some training: with B = 0 the gradient of A is 0
            torch.nn.init.normal_(value, std=0.1)
    return adapted


@pytest.mark.parametrize("labels", [1, 3])
def test_kernel_of_a_transformer_equals_explicit_jacobians(tokens, labels):
    model = bert(labels)
    ours, plain = tangent_kernel(model, tokens), tangent_kernel_reference(model, tokens)
    np.testing.assert_allclose(ours, plain, rtol=1e-9, atol=1e-9 * np.abs(plain).max())


def test_only_adapters_and_head_count(tokens):
    adapted = with_adapters(bert())
    trained = sum(value.numel() for value in adapted.parameters() if value.requires_grad)
    ours, plain = tangent_kernel(adapted, tokens), tangent_kernel_reference(adapted, tokens)
    np.testing.assert_allclose(ours, plain, rtol=1e-9, atol=1e-9 * np.abs(plain).max())
    assert not np.allclose(ours, tangent_kernel(bert(), tokens))
    assert not kernel_cost(adapted, tokens).explicit  # adapters are plain linear layers
    labels = torch.arange(12) % 2
    tasks = {"a": (tokens, labels), "b": (tokens, labels)}
    before = {name: value.clone() for name, value in adapted.state_dict().items()}
    found = ebbing.forecast(adapted, tasks, train_size=8, test_size=4)
    assert f"{trained:,} trained parameters" in found.source
    assert found.similarity[0, 1] == pytest.approx(1.0)
    assert all(torch.equal(before[name], value) for name, value in adapted.state_dict().items())


def test_padding_does_not_change_a_forecast(tokens):
    model = bert()
    longer = {name: torch.nn.functional.pad(value, (0, 3)) for name, value in tokens.items()}
    np.testing.assert_allclose(tangent_kernel(model, longer), tangent_kernel(model, tokens), rtol=1e-6)
