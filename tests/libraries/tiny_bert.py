"""A transformer of two thousand weights, and tasks of token sequences for it."""

from typing import Any

import torch
from torch.utils.data import Dataset
from transformers import BertConfig, BertForSequenceClassification, TrainingArguments

TOKENS = 30


class Sequences(Dataset):
    """Sequences of six tokens; the first one tells the label, in another way in every task."""

    def __init__(self, task, n, seed=0):
        generator = torch.Generator().manual_seed(100 * task + seed)
        self.tokens = torch.randint(5, TOKENS, (n, 6), generator=generator)
        self.labels = (self.tokens[:, 0] + task) % 2

    def __len__(self):
        return len(self.tokens)

    def __getitem__(self, index):
        mask = torch.ones(6, dtype=torch.long)
        return {"input_ids": self.tokens[index], "attention_mask": mask, "labels": self.labels[index]}


def make_model(seed=0, **changed):
    torch.manual_seed(seed)
    sizes: dict[str, Any] = {
        "vocab_size": TOKENS,
        "num_labels": 2,
        "hidden_size": 16,
        "num_hidden_layers": 1,
        "num_attention_heads": 2,
        "intermediate_size": 32,
    }
    return BertForSequenceClassification(BertConfig(**sizes | changed))


def make_arguments(folder, **changed):
    """Few steps, and no word on the screen."""
    settings: dict[str, Any] = {
        "num_train_epochs": 3,
        "learning_rate": 5e-3,
        "per_device_train_batch_size": 16,
        "per_device_eval_batch_size": 40,
        "report_to": [],
    }
    settings |= {"disable_tqdm": True, "save_strategy": "no", "logging_strategy": "no", "use_cpu": True}
    return TrainingArguments(str(folder), **settings | changed)


def accuracy(prediction):
    return {"accuracy": float((prediction.predictions.argmax(-1) == prediction.label_ids).mean())}
