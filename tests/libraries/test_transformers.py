"""transformers: matrices of sequences of Trainer runs."""

import doctest
import re
from typing import Any

import numpy as np
import pytest
import torch
from run_example import code_blocks, run_example
from tiny_bert import Sequences, accuracy, make_arguments, make_model
from torch.utils.data import Dataset
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainerCallback

import ebbing.integrations.transformers as transformers_integration
from ebbing import read_matrix
from ebbing.integrations.transformers import ForgettingCallback


class Numbers(Dataset):
    """Sequences that count by a step."""

    def __init__(self, step):
        self.tokens = (torch.arange(24)[:, None] + step * torch.arange(6)) % 12

    def __len__(self):
        return len(self.tokens)

    def __getitem__(self, index):
        return {"input_ids": self.tokens[index], "labels": self.tokens[index]}


def make_language_model():
    torch.manual_seed(0)
    sizes: dict[str, Any] = {"vocab_size": 12, "n_embd": 16, "n_layer": 1, "n_head": 2, "n_positions": 6}
    return GPT2LMHeadModel(GPT2Config(bos_token_id=0, eos_token_id=0, **sizes))


TESTS = {"even": Sequences(0, 40, seed=1), "odd": Sequences(1, 40, seed=1)}


def make_trainer(model, task, folder, **changed):
    settings = {"args": make_arguments(folder), "train_dataset": Sequences(task, 100), "compute_metrics": accuracy}
    return Trainer(model, **settings | changed)


def learn(model, folder, forgetting=None, tasks=(0, 1)):
    for task in tasks:
        trainer = make_trainer(model, task, folder)
        if forgetting is not None:
            forgetting.attach(trainer)
        trainer.train()


def weights(model):
    return torch.cat([value.flatten() for value in model.state_dict().values()])


def test_matrix_is_what_evaluate_returns(tmp_path):
    model, forgetting = make_model(), ForgettingCallback(TESTS, tmp_path / "forgetting.json")
    expected = []
    for task in range(2):
        trainer = make_trainer(model, task, tmp_path)
        if task == 0:
            expected.append([trainer.evaluate(data)["eval_accuracy"] for data in TESTS.values()])
        forgetting.attach(trainer, list(TESTS)[task])
        trainer.train()
        expected.append([trainer.evaluate(data)["eval_accuracy"] for data in TESTS.values()])
    np.testing.assert_array_equal(forgetting.matrix.values, expected)
    np.testing.assert_array_equal(read_matrix(tmp_path / "forgetting.json"), expected)
    assert forgetting.matrix.forgetting > 0.3  # the second task is the contrary of the first
    assert forgetting.remaining == ()
    assert expected[0] != expected[1]


def test_measuring_does_not_change_training(tmp_path):
    with_callback, without = make_model(), make_model()
    learn(with_callback, tmp_path, ForgettingCallback(TESTS))
    learn(without, tmp_path)
    assert torch.equal(weights(with_callback), weights(without))


def test_loss_needs_no_compute_metrics(tmp_path):
    model, forgetting = make_model(), ForgettingCallback(TESTS, metric="loss")
    trainer = make_trainer(model, 0, tmp_path, compute_metrics=None)
    forgetting.attach(trainer)
    trainer.train()
    assert forgetting.matrix.kind == "error"
    assert forgetting.matrix.learned == 1
    assert forgetting.matrix.values[1, 0] == trainer.evaluate(TESTS["even"])["eval_loss"]


def test_interrupted_sequences_continue(tmp_path):
    file, model = tmp_path / "forgetting.json", make_model()
    forgetting = ForgettingCallback(TESTS, file)
    learn(model, tmp_path, forgetting, tasks=(0,))

    class Interruption(TrainerCallback):
        def on_step_end(self, *args, **kwargs):
            raise KeyboardInterrupt

    trainer = make_trainer(model, 1, tmp_path, callbacks=[Interruption()])
    forgetting.attach(trainer)
    before = read_matrix(file)
    with pytest.raises(KeyboardInterrupt):
        trainer.train()
    with pytest.raises(ValueError, match="say resume=True"):
        ForgettingCallback(TESTS, file)
    again = ForgettingCallback(TESTS, file, resume=True)
    assert again.remaining == ("odd",)
    learn(model, tmp_path, again, tasks=(1,))
    np.testing.assert_array_equal(again.matrix.values[:2], before[:2])
    assert again.matrix.learned == 2


def test_mistakes_are_told_before_training(tmp_path):
    model = make_model()
    before = weights(model).clone()
    with pytest.raises(ValueError, match="eval_datasets is a list"):
        ForgettingCallback(list(TESTS.values()))  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="say kind='error'"):
        ForgettingCallback(TESTS, metric="perplexity")
    trainer = make_trainer(model, 0, tmp_path, callbacks=[ForgettingCallback(TESTS)])
    with pytest.raises(RuntimeError, match=r"call forgetting\.attach\(trainer\)"):
        trainer.train()
    forgetting = ForgettingCallback(TESTS, metric="f1", kind="accuracy")
    trainer = make_trainer(model, 0, tmp_path)
    forgetting.attach(trainer)
    with pytest.raises(ValueError, match="metric='f1': the trainer's evaluate returns no such value; it returns loss"):
        trainer.train()
    with pytest.raises(ValueError, match="the trainer has no compute_metrics"):
        ForgettingCallback(TESTS).attach(make_trainer(model, 0, tmp_path, compute_metrics=None))
    assert torch.equal(weights(model), before)


def test_attaching_to_another_trainer_is_noticed(tmp_path):
    model, forgetting = make_model(), ForgettingCallback(TESTS)
    forgetting.attach(make_trainer(model, 0, tmp_path))
    other = make_trainer(model, 0, tmp_path, callbacks=[forgetting])
    with pytest.raises(RuntimeError, match="attached to another trainer"):
        other.train()


def test_examples_in_docstrings():
    assert doctest.testmod(transformers_integration).failed == 0


@pytest.mark.filterwarnings("ignore:'pin_memory'")  # there is no accelerator here
@pytest.mark.filterwarnings("ignore:`is_gradient_checkpointing`")  # PEFT asks transformers for it
def test_example_of_a_language_model(monkeypatch, capsys):
    printed, found = run_example(monkeypatch, capsys, "forgetting_language_model.py", "--epochs", "3")
    assert "loss on each task" in printed
    assert float(re.findall(r"^forgetting +(.*?) ", printed, re.MULTILINE)[0]) > 1
    assert found["Tokens"][0] > 0.5


def test_page_on_language_models(monkeypatch, tmp_path):
    """The loss is what the trainer returns, and the token accuracy counts predictions of the next token."""
    monkeypatch.chdir(tmp_path)
    (measured,), (with_accuracy,) = code_blocks(""), code_blocks("transformers", indent="  ")
    data = {name: Numbers(step) for name, step in (("code", 1), ("medicine", 3))}
    namespace: dict[str, Any] = {"arguments": make_arguments(tmp_path), "train": data, "test": data, "Trainer": Trainer}
    namespace["model"] = model = make_language_model()
    exec(measured, namespace)
    matrix = namespace["forgetting"].matrix
    assert matrix.kind == "error"
    losses = [namespace["trainer"].evaluate(one)["eval_loss"] for one in data.values()]
    assert matrix.values[-1] == pytest.approx(losses, rel=1e-6)
    with torch.no_grad():
        predicted = model.eval()(input_ids=data["code"].tokens).logits.argmax(-1)
    exec(with_accuracy + "found = trainer.evaluate(test['code'])", scope := namespace | {"data": data["code"]})
    expected = float((predicted[:, :-1] == data["code"].tokens[:, 1:]).float().mean())
    assert scope["found"]["eval_accuracy"] == pytest.approx(expected, abs=1e-6)
