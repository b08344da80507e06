"""Measure what a sequence of Trainer runs forgets, and learn the same tasks under GPM, with and without PEFT.

A small BERT, which stands for yours, learns three tasks: is the first token of a sequence in a set of tokens? Every
task has another set.

    python examples/forgetting_transformers.py                    # a quarter of a minute
    python examples/forgetting_transformers.py --sequences 200    # a few seconds
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path
from typing import Any

import torch
from peft import LoraConfig, get_peft_model
from torch.utils.data import Dataset
from transformers import BertConfig, BertForSequenceClassification, Trainer, TrainingArguments

from ebbing.integrations.transformers import ForgettingCallback, ProtectedTrainer
from ebbing.learn import Gpm, Threshold

TOKENS, LENGTH = 30, 6


class Sequences(Dataset):
    """Random sequences, as dictionaries of inputs and a label, which every Trainer takes."""

    def __init__(self, task: int, size: int, seed: int) -> None:
        self.tokens = torch.randint(TOKENS, (size, LENGTH), generator=torch.Generator().manual_seed(seed))
        positive = torch.rand(TOKENS, generator=torch.Generator().manual_seed(1000 + task)) < 0.5
        self.labels = positive[self.tokens[:, 0]].long()

    def __len__(self) -> int:
        return len(self.tokens)

    def __getitem__(self, index: int) -> dict[str, torch.Tensor]:
        return {"input_ids": self.tokens[index], "labels": self.labels[index]}


def make_model() -> BertForSequenceClassification:
    torch.manual_seed(0)
    sizes: dict[str, Any] = {
        "vocab_size": TOKENS,
        "num_labels": 2,
        "hidden_size": 32,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "intermediate_size": 64,
    }
    return BertForSequenceClassification(BertConfig(**sizes))


def accuracy(prediction) -> dict[str, float]:
    return {"accuracy": float((prediction.predictions.argmax(-1) == prediction.label_ids).mean())}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sequences", type=int, default=400, help="training sequences of each task")
    size = parser.parse_args().sequences
    folder = Path(tempfile.mkdtemp())
    arguments = TrainingArguments(
        str(folder), num_train_epochs=6, learning_rate=5e-3, per_device_train_batch_size=32,
        per_device_eval_batch_size=200, save_strategy="no", logging_strategy="no", report_to=[],
    )  # fmt: skip
    names = ("first", "second", "third")
    train = {name: Sequences(k, size, seed=k) for k, name in enumerate(names)}
    test = {name: Sequences(k, 200, seed=100 + k) for k, name in enumerate(names)}

    # 1. Your own loop over tasks, with one line more: attach.
    model, forgetting = make_model(), ForgettingCallback(test, folder / "forgetting.json")
    for name, data in train.items():
        trainer = Trainer(model, arguments, train_dataset=data, compute_metrics=accuracy)
        forgetting.attach(trainer, name)
        trainer.train()
    print("Fine-tuning\n")
    print(forgetting.matrix.summary())

    # 2. The same under GPM: every task has its own classifier; whatever else is trained is protected. Adapters have few
    # input directions, and all of them matter: a higher share of them has to be protected. After two tasks hardly any
    # is left, and a warning says so: the third task learns nothing there.
    adapters = get_peft_model(make_model(), LoraConfig(r=8, target_modules="all-linear", task_type="SEQ_CLS"))
    for title, model, share in (("GPM", make_model(), 0.97), ("GPM on adapters", adapters, 0.999)):
        learner = Gpm(threshold=Threshold(share), per_task=("*classifier*",)).start(model)
        protected = ForgettingCallback(test)
        for name, data in train.items():
            trainer = ProtectedTrainer(learner, name, args=arguments, train_dataset=data, compute_metrics=accuracy)
            protected.attach(trainer, name)
            trainer.train()
        learner.save(folder / "learner.safetensors")
        print(f"\n{title}: forgetting {protected.matrix.forgetting:.3f}, accuracy {protected.matrix.final:.3f}")


if __name__ == "__main__":
    main()
