"""Measure what a language model with LoRA forgets, task after task: in its loss, and in the tokens that it predicts.

A small Llama, which stands for yours, learns to count: by ones, then by threes, then by sevens.

    python examples/forgetting_language_model.py            # a quarter of a minute
"""

from __future__ import annotations

import argparse
import tempfile
from typing import Any

import torch
from peft import LoraConfig, get_peft_model
from torch.utils.data import Dataset
from transformers import LlamaConfig, LlamaForCausalLM, Trainer, TrainingArguments

from ebbing.integrations.transformers import ForgettingCallback

WORDS, LENGTH = 50, 12


class Numbers(Dataset):
    """Sequences that count by a step; a language model's labels are its inputs."""

    def __init__(self, step: int, size: int, seed: int) -> None:
        start = torch.randint(WORDS, (size, 1), generator=torch.Generator().manual_seed(seed))
        self.tokens = (start + step * torch.arange(LENGTH)) % WORDS

    def __len__(self) -> int:
        return len(self.tokens)

    def __getitem__(self, index: int) -> dict[str, torch.Tensor]:
        return {"input_ids": self.tokens[index], "labels": self.tokens[index]}


def make_model() -> Any:
    torch.manual_seed(0)
    sizes: dict[str, Any] = {
        "vocab_size": WORDS,
        "hidden_size": 32,
        "intermediate_size": 64,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "num_key_value_heads": 2,
        "initializer_range": 0.3,
    }
    model = LlamaForCausalLM(LlamaConfig(**sizes))
    return get_peft_model(model, LoraConfig(r=8, target_modules="all-linear", task_type="CAUSAL_LM"))


def predict_tokens(logits, labels):
    return logits.argmax(-1)


def token_accuracy(evaluation) -> dict[str, float]:
    # each token predicts the next
    predicted, labels = evaluation.predictions[:, :-1], evaluation.label_ids[:, 1:]
    return {"accuracy": float((predicted == labels)[labels != -100].mean())}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--epochs", type=int, default=10)
    arguments = TrainingArguments(
        tempfile.mkdtemp(), num_train_epochs=parser.parse_args().epochs, learning_rate=1e-2,
        per_device_train_batch_size=16, per_device_eval_batch_size=50, save_strategy="no", logging_strategy="no",
        report_to=[],
    )  # fmt: skip
    steps = {"by ones": 1, "by threes": 3, "by sevens": 7}
    train = {name: Numbers(step, 200, seed=step) for name, step in steps.items()}
    test = {name: Numbers(step, 50, seed=100 + step) for name, step in steps.items()}

    # 1. The loss needs nothing but the callback.
    model, forgetting = make_model(), ForgettingCallback(test, metric="loss")
    for name, data in train.items():
        trainer = Trainer(model, arguments, train_dataset=data)
        forgetting.attach(trainer, name)
        trainer.train()
    print(forgetting.matrix.summary())

    # 2. The share of tokens that are predicted: two small functions more.
    model, forgetting = make_model(), ForgettingCallback(test)
    for name, data in train.items():
        trainer = Trainer(
            model, arguments, train_dataset=data, compute_metrics=token_accuracy,
            preprocess_logits_for_metrics=predict_tokens,
        )  # fmt: skip
        forgetting.attach(trainer, name)
        trainer.train()
    print(f"\nTokens: forgetting {forgetting.matrix.forgetting:.3f}, accuracy {forgetting.matrix.final:.3f}")


if __name__ == "__main__":
    main()
