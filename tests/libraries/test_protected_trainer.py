"""transformers: a Trainer that protects old tasks, with and without PEFT."""

import re
from typing import Any

import numpy as np
import pytest
import torch
from peft import LoraConfig, get_peft_model
from run_example import code_blocks, run_example
from tiny_bert import Sequences, accuracy, make_arguments, make_model
from torch import nn
from torch.utils.data import Dataset, IterableDataset
from transformers import Trainer

from ebbing.integrations.transformers import ForgettingCallback, ProtectedTrainer
from ebbing.learn import FineTuning, Gpm, Trgp

TESTS = {"even": Sequences(0, 40, seed=1), "odd": Sequences(1, 40, seed=1)}
INPUTS = {"input_ids": TESTS["even"].tokens, "attention_mask": torch.ones(40, 6, dtype=torch.long)}

pytestmark = pytest.mark.filterwarnings("ignore:`is_gradient_checkpointing`")  # PEFT asks transformers for it


def with_adapters():
    config = LoraConfig(r=8, lora_alpha=32, target_modules=["query", "value", "dense"], task_type="SEQ_CLS")
    return get_peft_model(make_model(), config)


def make_trainer(learner, name, folder, **changed):
    data = Sequences(list(TESTS).index(name), 100)
    settings = {"args": make_arguments(folder, num_train_epochs=4), "train_dataset": data, "compute_metrics": accuracy}
    return ProtectedTrainer(learner, name, **settings | changed)


def outputs(model):
    with torch.no_grad():
        return model.eval()(**INPUTS).logits


@pytest.mark.parametrize(("make", "method"), [(make_model, Trgp), (with_adapters, Gpm)])
def test_old_tasks_are_protected(tmp_path, make, method):
    learner = method(threshold=0.99999, per_task=("*classifier*",), num_examples=100).start(make())
    forgetting = ForgettingCallback(TESTS)
    make_first = make_trainer(learner, "even", tmp_path)
    forgetting.attach(make_first)
    make_first.train()
    with learner.evaluating("even") as model:
        before = outputs(model)
    second = make_trainer(learner, "odd", tmp_path)
    forgetting.attach(second, "odd")
    second.train()
    with learner.evaluating("even") as model:
        after = outputs(model)
    with learner.evaluating("odd") as model:
        assert (outputs(model) - before).abs().max() > 0.1  # the second task has learned something else
    assert (after - before).abs().max() < 0.01
    assert learner.tasks == list(TESTS)
    assert abs(forgetting.matrix.forgetting) < 0.03
    for name, expected in zip(TESTS, forgetting.matrix.values[-1], strict=True):
        with learner.evaluating(name) as model:
            trainer = Trainer(model, make_arguments(tmp_path), compute_metrics=accuracy)
            assert trainer.evaluate(TESTS[name])["eval_accuracy"] == expected


def test_plain_trainer_forgets_what_protection_keeps(tmp_path):
    model = make_model()
    found = []
    for task in range(2):
        Trainer(model, make_arguments(tmp_path, num_train_epochs=4), train_dataset=Sequences(task, 100)).train()
        found.append(outputs(model))
    assert (found[1] - found[0]).abs().max() > 0.1


def test_base_of_adapters_stays_as_it_was(tmp_path):
    model = with_adapters()
    learner = Gpm(per_task=("*classifier*",), num_examples=50).start(model)
    base = {name: value.clone() for name, value in model.named_parameters() if "base_layer" in name}
    adapters = {name: value.clone() for name, value in model.named_parameters() if "lora_B" in name}
    make_trainer(learner, "even", tmp_path).train()
    now = dict(model.named_parameters())
    assert all(torch.equal(now[name], value) for name, value in base.items())
    assert not any(torch.equal(now[name], value) for name, value in adapters.items())


def test_interrupted_training_is_undone(tmp_path):
    learner = Gpm(per_task=("classifier",), num_examples=50).start(make_model())
    before = outputs(learner.network)

    class Interrupted(ProtectedTrainer):
        def training_step(self, *args, **kwargs):
            if self.state.global_step == 3:
                raise KeyboardInterrupt
            return super().training_step(*args, **kwargs)

    trainer = Interrupted(learner, "even", args=make_arguments(tmp_path), train_dataset=Sequences(0, 100))
    with pytest.raises(KeyboardInterrupt):
        trainer.train()
    assert learner.tasks == []
    assert torch.equal(outputs(learner.network), before)
    make_trainer(learner, "even", tmp_path).train()
    assert learner.tasks == ["even"]


def test_mistakes_are_told_before_training(tmp_path):
    model = make_model()
    learner = Gpm(per_task=("classifier",)).start(model)
    with pytest.raises(ValueError, match="learner is a FineTuningLearner"):
        make_trainer(FineTuning().start(nn.Linear(2, 2)), "even", tmp_path)
    with pytest.raises(ValueError, match="model is not the learner's"):
        make_trainer(learner, "even", tmp_path, model=make_model())
    with pytest.raises(ValueError, match="save_strategy='steps': weights are parametrized"):
        make_trainer(learner, "even", tmp_path, args=make_arguments(tmp_path, save_strategy="steps"))
    with pytest.raises(ValueError, match="optimizer_cls_and_kwargs"):
        make_trainer(learner, "even", tmp_path, optimizers=(torch.optim.AdamW(model.parameters()), None))

    class Unlabeled(Sequences):
        def __getitem__(self, index):
            return {name: value for name, value in super().__getitem__(index).items() if name != "labels"}

    with pytest.raises(ValueError, match="examples have no labels, but input_ids, attention_mask"):
        make_trainer(learner, "even", tmp_path, train_dataset=Unlabeled(0, 10)).train()

    class Stream(IterableDataset):
        def __iter__(self):
            return iter([])

    endless = make_arguments(tmp_path, max_steps=1)
    with pytest.raises(ValueError, match="train_dataset has no length"):
        make_trainer(learner, "even", tmp_path, train_dataset=Stream(), args=endless).train()
    assert learner.tasks == []


@pytest.mark.parametrize("method", [Gpm, Trgp])
def test_regression_is_learned(tmp_path, method):
    class Numbers(Sequences):
        def __getitem__(self, index):
            return super().__getitem__(index) | {"labels": 3.0 * self.labels[index] - 1}

    learner = method(per_task=("classifier",), num_examples=30).start(make_model(num_labels=1))
    data = {name: Numbers(k, 60) for k, name in enumerate(TESTS)}
    forgetting = ForgettingCallback(data, metric="loss")
    for name, part in data.items():
        trainer = make_trainer(learner, name, tmp_path, train_dataset=part, compute_metrics=None)
        forgetting.attach(trainer)
        trainer.train()
    assert forgetting.matrix.values[2, 1] < forgetting.matrix.values[1, 1]
    assert abs(forgetting.matrix.forgetting) < 0.1


def test_names_of_task_and_evaluation_must_agree(tmp_path):
    learner = Gpm(per_task=("classifier",), num_examples=30).start(make_model())
    trainer = make_trainer(learner, "even", tmp_path, compute_metrics=accuracy)
    with pytest.raises(ValueError, match=r"task 'even' is not next.*this run learns 'Even'"):
        ForgettingCallback({"Even": Sequences(0, 20)}).attach(trainer)


def test_examples_are_drawn_from_all_of_the_data(tmp_path):
    class Counted(Dataset):
        seen: set[int] = set()  # noqa: RUF012

        def __len__(self):
            return 200

        def __getitem__(self, index):
            self.seen.add(index)
            return Sequences(0, 200)[index]

    learner = Gpm(per_task=("classifier",), num_examples=30).start(make_model())
    inputs, labels = make_trainer(learner, "even", tmp_path, train_dataset=Counted())._examples()
    assert len(labels) == len(inputs["input_ids"]) == len(Counted.seen) == 30
    assert np.ptp(list(Counted.seen)) > 100


@pytest.mark.filterwarnings("ignore:'pin_memory'")  # there is no accelerator here
def test_example(monkeypatch, capsys):
    with pytest.warns(UserWarning, match="task 'third' has little room: .* leaves it [0-4]\\.\\d% of") as caught:
        printed, found = run_example(monkeypatch, capsys, "forgetting_transformers.py", "--sequences", "200")
    assert sum("has little room" in str(warning.message) for warning in caught) == 1  # of the adapters alone
    assert float(re.findall(r"^forgetting +(.*?) ", printed, re.MULTILINE)[0]) > 0.2
    for name in ("GPM", "GPM on adapters"):
        assert abs(found[name][0]) < 0.05
        assert found[name][1] > 0.5


def test_page(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    measured, protected, adapted = code_blocks("transformers")
    names = {"news": 0, "mail": 1}
    given: dict[str, Any] = {"arguments": make_arguments(tmp_path, num_train_epochs=1), "compute_metrics": accuracy}
    given |= {"train": {name: Sequences(k, 60) for name, k in names.items()}}
    given |= {"test": {name: Sequences(k, 20, seed=1) for name, k in names.items()}}
    for block in (measured, protected):
        namespace: dict[str, Any] = given | {"model": make_model()}
        exec(block, namespace)
        assert namespace["forgetting"].matrix.learned == 2
    assert (tmp_path / "forgetting.json").exists()
    assert (tmp_path / "learner.safetensors").exists()
    namespace = {"model": make_model()}
    exec(adapted, namespace)
    make_trainer(namespace["learner"], "even", tmp_path).train()
    assert namespace["learner"].tasks == ["even"]
