"""Tasks known only by checkpoints: inner products of the updates that fine-tuning made: `TaskVectors`.

The update of task i is the difference of its weights from the base, or, for low-rank adapters, the product
scale B_i A_i. Inner products of low-rank updates need no product:  <B_1 A_1, B_2 A_2> = sum((B_1' B_2) * (A_1 A_2')).
Files are read block by block, so that models may be larger than memory.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from safetensors import SafetensorError, safe_open

from ebbing._pages import Page, similarity_picture
from ebbing._tables import Table, Tabular, count_of, format_number, to_frame
from ebbing._validate import Array
from ebbing.forecasting._weight_files import difference_products, read_header
from ebbing.problem import Problem

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

_DOWN, _UP = ".lora_A.weight", ".lora_B.weight"

WEAKER = (
    "From checkpoints alone, the order that the linear theory advises is much weaker than a forecast from data: in a "
    "trial with five tasks, 38 of the 120 orders did better. Use `ebbing.forecast` with data, if there is any."
)


@dataclass(frozen=True, eq=False, repr=False)
class TaskVectors(Tabular):
    """Inner products of the updates of several checkpoints.

    Attributes:
        names: Names of the tasks (T,).
        gram: <v_i, v_j> of the updates (T, T).
        parameters: The number of parameters of the base that were compared.
    """

    names: tuple[str, ...]
    gram: Array
    parameters: int

    @property
    def similarity(self) -> Array:
        """Cosine of the updates (T, T), exactly 1 on the diagonal."""
        length = np.sqrt(np.diagonal(self.gram))
        safe = np.where(length > 0, length, 1.0)
        cosine = np.clip(self.gram / safe / safe[:, None], -1.0, 1.0)
        np.fill_diagonal(cosine, 1.0)
        return cosine

    def problem(self, ratio: float = 0.5) -> Problem:
        """Return the linear problem whose ground truths are the updates, without noise.

        Args:
            ratio: n/p, the share of the old solution that learning a task replaces. A network has no such number;
                0.5 did well.

        Returns:
            The problem, for `ebbing.best_order`.

        Raises:
            ValueError: If the ratio is not between 0 and 1.

        Example:
            >>> TaskVectors(("a", "b"), np.eye(2), 10).problem().p
            1000
        """
        if not 0 < ratio < 1:
            raise ValueError(f"ratio={ratio!r}: give a number between 0 and 1")
        return Problem(gram=self.gram, n=max(1, round(1000 * ratio)), p=1000, sigma=0.0, names=list(self.names))

    def to_frame(self) -> pd.DataFrame:
        """Return inner products and similarities as a pandas DataFrame.

        Returns:
            One row per pair of tasks with the columns `task`, `other`, `product` and `similarity`.
        """
        T = len(self.names)
        return to_frame(
            {
                "task": np.repeat(self.names, T),
                "other": list(self.names) * T,
                "product": self.gram.ravel(),
                "similarity": self.similarity.ravel(),
            }
        )

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the similarity of the tasks as a heat map.

        Args:
            ax: The axes to draw on; a new figure if None.

        Returns:
            The axes.
        """
        from ebbing.plot.forecasts import plot_task_similarity

        return plot_task_similarity(self.similarity, self.names, ax=ax)

    def _page(self) -> Page:
        return Page("How alike your tasks are", [similarity_picture(self.plot, self.names)])

    def _tables(self) -> Sequence[Table]:
        rows = [
            [name, format_number(math.sqrt(self.gram[i, i]), ".4g"), *(f"{v:.2f}" for v in self.similarity[i])]
            for i, name in enumerate(self.names)
        ]
        heading = f"Updates of {len(self.names)} checkpoints, {self.parameters:,} parameters; similarity: cosine"
        equal = [name for name, square in zip(self.names, np.diagonal(self.gram), strict=True) if square == 0]
        notes = [f"Equal to the base, as if nothing had been learned: {', '.join(equal)}."] if equal else []
        return (Table(heading, ["task", "length", *self.names], rows, [*notes, WEAKER]),)

    def __repr__(self) -> str:
        return f"TaskVectors({', '.join(self.names)}; {self.parameters:,} parameters)"


def read_task_vectors(
    checkpoints: Mapping[str, str | os.PathLike[str]], base: str | os.PathLike[str] | None = None
) -> TaskVectors:
    """Read the updates of fine-tuned checkpoints, block by block.

    Args:
        checkpoints: A safetensors file for each task: all weights (with `base`), or a low-rank adapter as `peft` writes
            it, whose `adapter_config.json` beside it gives its scale.
        base: The safetensors file of the weights before fine-tuning; None for low-rank adapters.

    Returns:
        The inner products.

    Raises:
        ValueError: If a file is unreadable, or the names or shapes of tensors differ.
    """
    if not isinstance(checkpoints, Mapping) or not checkpoints:
        raise ValueError("checkpoints: give a dictionary from names of tasks to safetensors files")
    with ExitStack() as stack:
        files = {name: _open(stack, f"task {name!r}", path) for name, path in checkpoints.items()}
        if base is None:
            scales = np.array([_scale(Path(path)) for path in checkpoints.values()])
            gram, parameters = _low_rank_gram(files, {name: set(file.keys()) for name, file in files.items()})
            gram *= np.outer(scales, scales)
        else:
            _open(stack, "base", base)  # checks that the file is valid
            gram, parameters = _full_gram(checkpoints, base)
    return TaskVectors(tuple(checkpoints), gram, parameters)


def _full_gram(checkpoints: Mapping[str, str | os.PathLike[str]], base: str | os.PathLike[str]) -> tuple[Array, int]:
    before, after = read_header(base), {name: read_header(path) for name, path in checkpoints.items()}
    for task, found in after.items():
        if found.keys() != before.keys():
            missing = sorted(found.keys() ^ before.keys())
            number = count_of(len(missing), "tensor")
            raise ValueError(
                f"task {task!r}: its file and the base differ in {number}, as {missing[0]!r}; give checkpoints of the "
                "same model, or low-rank adapters without a base"
            )
        for name in sorted(found):
            if found[name].shape != (shape := before[name].shape):
                raise ValueError(
                    f"task {task!r}: {name!r} has shape {found[name].shape}, in the base {shape}; give the same model"
                )
            if (found[name].dtype is None) != (before[name].dtype is None):
                raise ValueError(
                    f"task {task!r}: {name!r} has whole numbers in one file and floating-point numbers in the other; "
                    "give checkpoints of the same model"
                )
    weights = sorted(name for name in before if before[name].dtype is not None)
    gram = difference_products(base, [*checkpoints.values()], [before, *after.values()], weights)
    return gram, sum(before[name].numel for name in weights)


def _low_rank_gram(files: dict[str, Any], keys: dict[str, set[str]]) -> tuple[Array, int]:
    modules = {name: {key.removesuffix(_DOWN) for key in found if key.endswith(_DOWN)} for name, found in keys.items()}
    first_name, first = next(iter(modules.items()))
    for name, found in modules.items():
        if not found:
            raise ValueError(
                f"task {name!r}: no low-rank adapter in its file (no tensor ends with {_DOWN}); give the base of full "
                "checkpoints"
            )
        if found != first:
            other = sorted(found ^ first)[0]
            raise ValueError(f"task {name!r} and {first_name!r} adapt different layers, as {other!r}; adapt the same")
        if absent := [m for m in found if m + _UP not in keys[name]]:
            raise ValueError(f"task {name!r}: {sorted(absent)[0]!r} has {_DOWN} but no {_UP}; write the adapter again")
    T, parameters = len(files), 0
    gram = np.zeros((T, T))
    for module in sorted(first):
        downs = [file.get_tensor(module + _DOWN).double() for file in files.values()]  # (r, in)
        ups = [file.get_tensor(module + _UP).double() for file in files.values()]  # (out, r)
        parameters += ups[0].shape[0] * downs[0].shape[1]
        for i in range(T):
            for j in range(i + 1):
                product = float(((ups[i].T @ ups[j]) * (downs[i] @ downs[j].T)).sum())
                gram[i, j] += product
                gram[j, i] += product if i != j else 0.0
    return gram, parameters


def _open(stack: ExitStack, what: str, path: str | os.PathLike[str]) -> Any:
    try:
        return stack.enter_context(safe_open(os.fspath(path), framework="pt"))
    except (OSError, SafetensorError) as error:
        raise ValueError(f"{what}: {os.fspath(path)!r} cannot be read as safetensors ({error})") from None


def _scale(path: Path) -> float:
    """Return alpha / r of the adapter's configuration beside its file, 1 if there is none."""
    config = path.with_name("adapter_config.json")
    if not config.exists():
        return 1.0
    try:
        settings = json.loads(config.read_text(encoding="utf-8"))
        rank = float(settings["r"])
        return float(settings["lora_alpha"]) / (math.sqrt(rank) if settings.get("use_rslora") else rank)
    except (ValueError, KeyError, TypeError, ZeroDivisionError):
        raise ValueError(f"{str(config)!r}: not a configuration of a low-rank adapter with r and lora_alpha") from None
