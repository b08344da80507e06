"""Lightning: matrices of sequences of fit calls, and protection in them."""

import doctest
import re
from dataclasses import dataclass
from typing import Any

import lightning.pytorch as pl
import numpy as np
import pytest
import torch
from run_example import code_blocks, run_example
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
from torchmetrics import MeanMetric

import ebbing.integrations.lightning as lightning_integration
from ebbing import read_matrix
from ebbing.integrations.lightning import ForgettingCallback, ProtectionCallback, measure
from ebbing.learn import Gpm

pytestmark = [
    pytest.mark.filterwarnings("ignore:You defined a `validation_step`"),
    pytest.mark.filterwarnings("ignore:`isinstance"),  # Lightning's own use of PyTorch
    pytest.mark.filterwarnings("ignore:The 'train_dataloader' does not have many workers"),
    pytest.mark.filterwarnings("ignore:The number of training batches"),
]


def make_task(k, n):
    """Inputs in five coordinates of each task and a common one, which means the contrary in the next task."""
    x, label = torch.zeros(n, 30), torch.randint(2, (n,))
    x[:, 5 * k : 5 * k + 5] = torch.randn(n, 5)
    x[:, 5 * k] += 2 * label - 1
    x[:, 29] = 2 * (2 * label - 1) * (-1) ** k
    return x, label


class Module(pl.LightningModule):
    def __init__(self):
        super().__init__()
        self.body, self.head = nn.Linear(30, 40), nn.Linear(40, 2)
        self.mean = MeanMetric()

    def forward(self, x):
        return self.head(self.body(x).relu())

    def training_step(self, batch, index):
        return nn.functional.cross_entropy(self(batch[0]), batch[1])

    def validation_step(self, batch, index):
        right = (self(batch[0]).argmax(1) == batch[1]).float()
        self.log("val_acc", right.mean())
        self.mean.update(right)
        self.log_dict({"mean_acc": self.mean, "size": float(len(right))})

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), 0.02)


def make_trainer(*callbacks, **options):
    quiet: dict[str, Any] = {**options, "logger": False, "enable_progress_bar": False, "enable_model_summary": False}
    return pl.Trainer(max_epochs=3, callbacks=[*callbacks], accelerator="cpu", enable_checkpointing=False, **quiet)


@pytest.fixture
def tasks():
    torch.manual_seed(0)
    train = [make_task(k, 200) for k in range(2)]
    test = {f"task {k}": DataLoader(TensorDataset(*make_task(k, 90)), batch_size=40) for k in range(2)}
    return train, test


def learn(tasks, forgetting=None, learner=None, module=None):
    torch.manual_seed(1)
    module = module or Module()
    for k, data in enumerate(tasks[0]):
        callbacks = [] if forgetting is None else [forgetting]
        callbacks += [] if learner is None else [ProtectionCallback(learner, f"task {k}", data)]
        make_trainer(*callbacks).fit(module, DataLoader(TensorDataset(*data), batch_size=20, shuffle=True))
    return module


def accuracy(module, loader):
    x, y = loader.dataset.tensors
    with torch.no_grad():
        return float((module(x).argmax(1) == y).float().mean())


def test_measure_agrees_with_lightning(tasks):
    module, loader = Module(), tasks[1]["task 0"]
    module.train()
    ours = {name: measure(module, loader, name) for name in ("val_acc", "mean_acc", "size")}
    assert module.training
    (theirs,) = make_trainer().validate(module, loader, verbose=False)
    assert ours["val_acc"] == pytest.approx(accuracy(module, loader), abs=1e-7)
    assert ours == pytest.approx(theirs, rel=1e-6)


@dataclass
class Batch:
    ids: list[str]
    x: torch.Tensor


@pytest.mark.parametrize(
    "collate",
    [lambda ids, x: {"id": ids, "x": x}, lambda ids, x: (ids, {}, [x]), Batch],
    ids=["mapping", "sequence", "dataclass"],
)
def test_batch_size_is_that_of_the_first_tensor(collate):
    """Names before the tensors do not hide that the last batch is smaller."""

    class Count(Module):
        def validation_step(self, batch, index):
            self.log("index", float(index))

    def batch(rows):
        return collate([str(row) for row in rows], torch.tensor(rows))

    loader = DataLoader([0, 1, 2, 3], batch_size=3, collate_fn=batch)  # type: ignore[arg-type]
    (theirs,) = make_trainer().validate(Count(), loader, verbose=False)
    assert measure(Count(), loader, "index") == pytest.approx(theirs["index"]) == 0.25


class InHooks(Module):
    """Its hooks normalize what is validated, and count it; what is trained gets noise."""

    def on_validation_start(self):
        self.rows = 0

    def on_before_batch_transfer(self, batch, dataloader_idx):
        return (batch[0] + 1, batch[1]) if self.trainer.validating else batch

    def on_after_batch_transfer(self, batch, dataloader_idx):
        noise = torch.randn_like(batch[0]) if self.trainer.training else 0
        return 5 * batch[0] + noise, batch[1]

    def validation_step(self, batch, index):
        self.log("val_loss", nn.functional.cross_entropy(self(batch[0]), batch[1]))

    def on_validation_batch_end(self, outputs, batch, batch_idx, dataloader_idx=0):
        self.rows += len(batch[0])

    def on_validation_epoch_end(self):
        self.log("rows_acc", float(self.rows))


@pytest.mark.parametrize("precision", ["32-true", "64-true", "bf16-true", "bf16-mixed"])
@pytest.mark.parametrize("metric", ["val_loss", "rows_acc"])
def test_hooks_and_precision_are_those_of_lightning(tasks, metric, precision):
    forgetting, module = ForgettingCallback(tasks[1], metric=metric), InHooks()
    for data in tasks[0]:
        loader = DataLoader(TensorDataset(*data), batch_size=20)
        make_trainer(forgetting, precision=precision).fit(module, loader)
    theirs = [
        make_trainer(precision=precision).validate(module, loader, verbose=False)[0][metric]
        for loader in tasks[1].values()
    ]
    assert forgetting.matrix.values[-1] == pytest.approx(theirs, rel=1e-6)


def test_protection_refuses_to_have_weights_converted(tasks):
    module = Module()
    protection = ProtectionCallback(Gpm().start(module), "task 0", tasks[0][0])
    with pytest.raises(ValueError, match=r"precision='bf16-true': .* or 'bf16-mixed'"):
        make_trainer(protection, precision="bf16-true").fit(module, tasks[1]["task 0"])


def test_matrix_of_a_sequence(tasks, tmp_path):
    forgetting = ForgettingCallback(tasks[1], tmp_path / "forgetting.json", metric="val_acc")
    module = learn(tasks, forgetting)
    matrix = forgetting.matrix
    assert matrix.learned == 2
    assert matrix.values[-1] == pytest.approx([accuracy(module, loader) for loader in tasks[1].values()], abs=1e-7)
    assert matrix.forgetting > 0.1
    np.testing.assert_array_equal(read_matrix(tmp_path / "forgetting.json"), matrix.values)
    with pytest.raises(ValueError, match="all 2 tasks are learned already"):
        learn(tasks, forgetting)


def test_measuring_does_not_change_training(tasks):
    measured = learn(tasks, ForgettingCallback(tasks[1], metric="val_acc"))
    plain = learn(tasks)
    for ours, theirs in zip(measured.parameters(), plain.parameters(), strict=True):
        assert torch.equal(ours, theirs)


@pytest.mark.parametrize("callbacks_in_order", [True, False])
def test_protection(tasks, callbacks_in_order):
    torch.manual_seed(1)
    module = Module()
    learner = Gpm(per_task=("head",), num_examples=100).start(module)
    forgetting = ForgettingCallback(tasks[1], metric="val_acc")  # it finds the learner
    for k, data in enumerate(tasks[0]):
        callbacks = [forgetting, ProtectionCallback(learner, f"task {k}", data)]
        trainer = make_trainer(*callbacks if callbacks_in_order else callbacks[::-1])
        trainer.fit(module, DataLoader(TensorDataset(*data), batch_size=20, shuffle=True))
    assert learner.tasks == ["task 0", "task 1"]
    assert abs(forgetting.matrix.forgetting) < 0.02
    assert forgetting.matrix.final > 0.9
    for name, loader in tasks[1].items():
        expected = learner.accuracy(name, loader.dataset.tensors)
        assert forgetting.matrix.values[-1, list(tasks[1]).index(name)] == pytest.approx(expected, abs=1e-7)


def test_interrupted_protection_is_undone(tasks):
    module = Module()
    learner = Gpm(per_task=("head",), num_examples=100).start(module)
    before = [value.clone() for value in module.parameters()]

    class Interruption(pl.Callback):
        def on_train_batch_end(self, *args, **kwargs):
            raise RuntimeError("stop")

    data = tasks[0][0]
    trainer = make_trainer(Interruption(), ProtectionCallback(learner, "first", data))
    with pytest.raises(RuntimeError, match="stop"):
        trainer.fit(module, DataLoader(TensorDataset(*data), batch_size=20))
    assert learner.tasks == []
    for old, new in zip(before, module.parameters(), strict=True):
        assert torch.equal(old, new)


def test_mistakes_are_told_before_training(tasks):
    module, data = Module(), tasks[0][0]
    loader = DataLoader(TensorDataset(*data), batch_size=20)
    with pytest.raises(ValueError, match="eval_dataloaders is a list"):
        ForgettingCallback([loader])  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"eval_dataloaders\['a'\] is a TensorDataset: give a DataLoader of it"):
        ForgettingCallback({"a": TensorDataset(*data)})  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="metric='val_loss': the validation_step logs no such value; it logs val_acc"):
        make_trainer(ForgettingCallback(tasks[1], metric="val_loss")).fit(module, loader)
    with pytest.raises(ValueError, match="the module is not the learner's network"):
        make_trainer(ProtectionCallback(Gpm().start(nn.Linear(2, 2)), "first", data)).fit(module, loader)
    learner = Gpm(per_task=("head",)).start(module)
    saving = pl.Trainer(max_epochs=1, logger=False, callbacks=[ProtectionCallback(learner, "first", data)])
    with pytest.raises(ValueError, match="enable_checkpointing=False"):
        saving.fit(module, loader)
    assert learner.tasks == []


def test_networks_without_methods_are_told(tasks):
    class Bare(Module):
        forward = pl.LightningModule.forward
        validation_step = pl.LightningModule.validation_step  # type: ignore[assignment]

    module, loader = Bare(), DataLoader(TensorDataset(*tasks[0][0]), batch_size=20)
    with pytest.raises(ValueError, match=r"a Bare has no validation_step.*add one that calls self.log\('val_acc'"):
        make_trainer(ForgettingCallback(tasks[1], metric="val_acc")).fit(module, loader)
    with pytest.raises(ValueError, match=r"a Bare has no forward.*call self\(inputs\) in training_step"):
        make_trainer(ProtectionCallback(Gpm().start(module), "first", tasks[0][0])).fit(module, loader)


def test_a_trainer_that_is_used_up_is_noticed(tasks):
    forgetting = ForgettingCallback(tasks[1], metric="val_acc")
    trainer, module = make_trainer(forgetting), Module()
    loader = DataLoader(TensorDataset(*tasks[0][0]), batch_size=20)
    trainer.fit(module, loader)
    with pytest.raises(ValueError, match=r"'task 1' was not learned.*create a Trainer for each task"):
        trainer.fit(module, loader)
    assert forgetting.matrix.learned == 1


def test_names_of_both_callbacks_must_agree(tasks):
    module, data = Module(), tasks[0][0]
    learner = Gpm(per_task=("head",), num_examples=100).start(module)
    callbacks = ForgettingCallback(tasks[1], metric="val_acc"), ProtectionCallback(learner, "Task 0", data)
    with pytest.raises(ValueError, match=r"task 'Task 0' is not next.*this run learns 'task 0'"):
        make_trainer(*callbacks).fit(module, DataLoader(TensorDataset(*data), batch_size=20))
    assert learner.tasks == []


def test_example(monkeypatch, capsys):
    printed, found = run_example(monkeypatch, capsys, "forgetting_lightning.py")
    assert printed.startswith("Fine-tuning\n\nval_accuracy on each task\n\nlearned last")
    assert float(re.findall(r"^forgetting +(.*?) ", printed, re.MULTILINE)[0]) > 0.1
    assert found["TRGP"][0] < 0.03
    assert found["TRGP"][1] > 0.95


def test_examples_in_docstrings():
    assert doctest.testmod(lightning_integration).failed == 0


@pytest.mark.filterwarnings("ignore")  # Lightning's advice on loggers, and on folders that exist
def test_page(tasks, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    train, test = tasks

    class Logging(Module):
        def validation_step(self, batch, index):
            self.log("val_accuracy", (self(batch[0]).argmax(1) == batch[1]).float().mean())

    loaders = {name: DataLoader(TensorDataset(*data), batch_size=50) for name, data in zip(test, train, strict=True)}
    namespace = {"train": loaders, "test": test}
    for block in code_blocks("Lightning"):
        namespace["module"] = Logging()
        exec(block, namespace)
        assert namespace["forgetting"].matrix.learned == 2
    assert namespace["learner"].tasks == list(test)
