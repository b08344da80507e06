"""Integrations: what ForgettingCallback costs besides the evaluations that it asks for."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch.utils.data import Subset

from harness import Row, at_most

TASKS, TEXTS = 3, 40


def accuracy(prediction: Any) -> dict[str, float]:
    return {"accuracy": float((prediction.predictions.argmax(-1) == prediction.label_ids).mean())}


def run() -> list[Row]:
    from ebbing.integrations.transformers import ForgettingCallback
    from text_methods import PAIRS, PlainTrainer, Run, TopicClassifier, logging, read_tasks

    logging.set_verbosity_error()
    torch.set_num_threads(1)
    folder = Path(tempfile.mkdtemp())
    train, test = ({name: Subset(part[name], range(TEXTS)) for name in PAIRS[:TASKS]} for part in read_tasks(0))
    clock = {"callback": 0.0, "evaluations": 0.0}
    expected: list[list[float]] = []

    def timed(name: str, work: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            began = time.perf_counter()
            found = work(*args, **kwargs)
            clock[name] += time.perf_counter() - began
            return found

        return call

    class Timed(ForgettingCallback):
        pass

    for hook in ("on_train_begin", "on_train_end"):
        setattr(Timed, hook, timed("callback", getattr(ForgettingCallback, hook)))
    torch.manual_seed(0)
    model, forgetting = TopicClassifier(), Timed(test, folder / "forgetting.json")
    model.encoder.requires_grad_(False)
    arguments = Run(0, folder, {}, {}).arguments()
    arguments.max_steps = 2
    for name, data in train.items():
        trainer = PlainTrainer(model, arguments, train_dataset=data, compute_metrics=accuracy)
        evaluate = trainer.evaluate
        trainer.evaluate = timed("evaluations", evaluate)  # type: ignore[method-assign]
        forgetting.attach(trainer, name)
        trainer.train()
        expected.append([evaluate(part)["eval_accuracy"] for part in test.values()])
    np.testing.assert_array_equal(forgetting.matrix.values[1:], expected)  # what is measured is right
    overhead = (clock["callback"] - clock["evaluations"]) / clock["evaluations"]
    what = f"ForgettingCallback beyond its {(TASKS + 1) * TASKS} evaluations of a sentence transformer, of their time"
    return [at_most(what, 100 * overhead, 2, "%")]
