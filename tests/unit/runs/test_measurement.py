"""All orders of a user's tasks, trained in one call, stored, and compared with a forecast."""

from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np
import pytest
import torch
from torch import nn

import ebbing
from ebbing.forecasting import Examples
from ebbing.learn import CustomTasks, Experiment, FineTuning, Schedule, Sgd, train_reference
from ebbing.runs import Measurement, Store, measure
from ebbing.runs._given_network import GivenNetwork

METHOD = Sgd(learning_rate=0.5, epochs=20, batch_size=10)


def data(kind="yes or no"):
    random = np.random.default_rng(0)
    found = {}
    for name in ("a", "b", "c"):
        x = random.standard_normal((40, 6)).astype(np.float32)
        y = x @ random.standard_normal(6)
        labels = {"yes or no": (y > 0).astype(int), "classes": np.digitize(y, [-1, 1])}[kind]
        found[name] = {"train": (x[:25], labels[:25]), "test": (x[25:], labels[25:])}
    return found


def network(outputs=1) -> Any:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, outputs))


@dataclass(frozen=True)
class Builder:
    """An architecture: a network of its own for every seed."""

    def build(self, seed):
        torch.manual_seed(seed)
        return nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 1))


@pytest.mark.parametrize(("kind", "outputs"), [("yes or no", 1), ("yes or no", 2), ("classes", 3)])
def test_measured_errors_are_those_of_the_reference(tmp_path, kind, outputs):
    tasks, net = data(kind), network(outputs)
    before = {name: value.clone() for name, value in net.state_dict().items()}
    found = ebbing.measure(net, tasks, method=METHOD, store=tmp_path, orders=[("c", "a")])
    assert all(torch.equal(value, before[name]) for name, value in net.state_dict().items())
    random = np.random.default_rng(0)
    order = random.permutation(25), random.permutation(15)
    # the same examples in the same order as `Examples.read` keeps them
    pairs = []
    for split, chosen in zip(("train", "test"), order, strict=True):
        dtype = np.int64 if outputs > 1 else np.float32
        labels = {name: np.asarray(tasks[name][split][1])[chosen].astype(dtype) for name in tasks}
        pairs.append({n: (tasks[n][split][0][chosen], y if outputs > 1 else y[:, None]) for n, y in labels.items()})
    expected, _ = train_reference(Experiment(CustomTasks(*pairs), GivenNetwork(net), METHOD), ["c", "a"], 0)
    assert np.allclose(found.errors[0, 0], expected, atol=1e-6)


def test_all_orders_are_stored(tmp_path):
    shares = []
    first = measure(network(), data(), method=METHOD, seeds=(0, 1), store=tmp_path, progress=shares.append)
    assert first.errors.shape == (6, 2, 4, 3)
    assert first.forgetting.shape == (6, 2)
    assert shares[0] == 0
    again = measure(network(), data(), method=METHOD, seeds=(0, 1), store=tmp_path, progress=(second := []).append)
    assert second == [1.0]
    assert np.array_equal(again.errors, first.errors)
    other = network()
    nn.init.zeros_(other[0].weight)
    measure(other, data(), method=METHOD, store=tmp_path, progress=(third := []).append)
    assert third[0] == 0  # other weights, other results


def test_forecast_is_compared(tmp_path):
    net, tasks = network(), data()
    found = measure(net, tasks, method=METHOD, store=tmp_path)
    forecast = ebbing.forecast(net, tasks)
    compared = found.compare(forecast)
    assert compared.orders == found.orders
    assert compared.predicted.tolist() == [forecast.forgetting(order) for order in found.orders]
    assert compared.measured.tolist() == found.forgetting[:, 0].tolist()
    assert compared.training == forecast.training
    assert compared.predicted_accuracy is not None
    assert compared.measured_accuracy is not None
    assert compared.predicted_accuracy.tolist() == [forecast.accuracies(order)[-1].mean() for order in found.orders]
    assert found.accuracies is not None
    assert np.allclose(compared.measured_accuracy, found.accuracies[:, 0, -1].mean(axis=1))


@pytest.mark.parametrize(("kind", "outputs"), [("yes or no", 1), ("yes or no", 2), ("classes", 3)])
def test_accuracies_are_the_share_of_right_answers(tmp_path, kind, outputs):
    tasks, net = data(kind), network(outputs)
    found = measure(net, tasks, method=METHOD, store=tmp_path, orders=[("c", "a")])
    assert found.accuracies is not None
    assert found.accuracies.shape == found.errors.shape
    with torch.no_grad():  # before training, on the test examples
        answers = {name: net(torch.from_numpy(tasks[name]["test"][0])) for name in ("c", "a")}
    given = {name: x.argmax(1) if outputs > 1 else (x[:, 0] > 0).long() for name, x in answers.items()}
    shares = [np.mean(given[name].numpy() == tasks[name]["test"][1]) for name in ("c", "a")]
    assert found.accuracies[0, 0, 0] == pytest.approx(shares)
    if outputs > 1:
        assert np.allclose(found.accuracies, 1 - found.errors)
    assert found.final_accuracy == pytest.approx(found.accuracies[:, :, -1].mean(axis=-1))
    text = " ".join(found.summary().split())
    assert f"{found.accuracies[0, 0, -1].mean():.0%} at the end." in text
    assert found.to_frame()["accuracy"].tolist() == [found.accuracies[0, 0, -1].mean()]


def test_results_without_accuracies_are_computed_again(tmp_path):
    first = measure(network(), data(), method=METHOD, store=tmp_path, orders=[("a", "b")])
    store = Store(tmp_path)
    for entry in list(store.entries()):
        weights = store.weights(entry)
        store.put(entry.key, entry.errors | {"c#0": 0.5}, entry.training_error, entry.about, weights)
    again = measure(network(), data(), method=METHOD, store=tmp_path, orders=[("a", "b")], progress=(said := []).append)
    assert said[0] == 0
    assert first.accuracies is not None
    assert again.accuracies is not None
    assert np.array_equal(again.accuracies, first.accuracies)
    assert all(entry.errors["c#0"] == 0.5 for entry in store.entries())  # what was there stays


def test_measurement_shows_itself(tmp_path):
    found = measure(network(), data(), method=METHOD, seeds=(0, 1), store=tmp_path)
    text = found.summary()
    assert text.startswith("Measured: 6 orders, 2 seeds; least forgetting first")
    assert "Rank correlation of orders between seeds" in text
    assert len(found.to_frame()) == 12
    assert -1 <= found.seed_agreement <= 1


def test_seeds_differ_without_a_method(tmp_path):
    found = measure(network(), data(), seeds=(0, 1), store=tmp_path)
    assert (found.errors[:, 0, 1:] != found.errors[:, 1, 1:]).any()
    assert np.isfinite(found.seed_agreement)
    assert "Seeds change nothing" not in found.summary()


def test_seeds_that_change_nothing_are_said(tmp_path):
    found = measure(network(), data(), method=Sgd(epochs=3), seeds=(0, 1, 2), store=tmp_path)
    assert np.isnan(found.seed_agreement)
    text = " ".join(found.summary().split())
    assert "Seeds change nothing here" in text
    assert "Rank correlation" not in text
    one = measure(network(), data(), method=Sgd(epochs=3), store=tmp_path)
    assert "Seeds change nothing" not in one.summary()  # there is nothing to compare


def test_networks_of_each_seed_make_full_batches_differ(tmp_path):
    found = measure(Builder(), data(), method=Sgd(epochs=3), seeds=(0, 1), store=tmp_path)
    assert np.isfinite(found.seed_agreement)


def test_an_order_given_twice_counts_once(tmp_path):
    orders = [("a", "b"), ["c", "a"], ("a", "b")]  # such as an advised order that is the one as given
    assert measure(network(), data(), method=METHOD, orders=orders, store=tmp_path).orders == (("a", "b"), ("c", "a"))


def test_training_that_worked_is_told_without_doubts(tmp_path):
    found = measure(network(), data(), method=METHOD, orders=[("a", "b"), ("c", "a")], store=tmp_path)
    first, second = found.errors[:, 0]
    assert found.initial_error == pytest.approx(np.mean([first[0], second[0]]))
    learned = np.mean([first[1, 0], first[2, 1], second[1, 0], second[2, 1]])
    assert found.learned_error == pytest.approx(learned)
    text = " ".join(found.summary().split())
    assert f"Mean error: {found.initial_error:.2g} before training, {learned:.2g} just learned." in text
    assert "learned:" not in text


def test_tasks_that_were_hardly_learned_are_named():
    errors = np.full((2, 1, 3, 2), 0.5)
    learned = {"a": 0.1, "b": 0.46}
    orders = (("a", "b"), ("b", "a"))
    for k, (one, other) in enumerate(orders):
        errors[k, 0, 1:, 0], errors[k, 0, 2, 1] = learned[one], learned[other]
    text = " ".join(Measurement(orders, (0,), errors, 1 - errors).summary().split())
    assert "b was hardly learned: error 0.46 just learned, 0.5 before. If" in text
    assert "train longer (epochs), with a batch_size" in text


def test_rounding_errors_are_no_agreement_of_seeds():
    errors = np.full((2, 2, 3, 2), 0.3)
    errors[1, :, 2, 0] = 0.1 + 0.2
    errors[:, 1, 0] = 0.4  # so that seeds are not the same run
    found = Measurement((("a", "b"), ("b", "a")), (0, 1), errors)
    assert (found.forgetting == 0).all()
    assert found.seed_agreement == 0


def test_tasks_that_were_known_before_are_no_failure():
    errors = np.zeros((1, 1, 3, 2))
    errors[:, :, 1:] = 0.01
    assert "learned:" not in Measurement((("a", "b"),), (0,), errors, 1 - errors).summary()


def test_few_of_many_tasks_that_were_hardly_learned_are_named():
    names = tuple("0123456")
    errors = np.full((1, 1, 8, 7), 0.5)
    errors[..., 1:, 6] = 0.1
    text = " ".join(Measurement((names,), (0,), errors).summary().split())
    assert "task 0, task 1, task 2, task 3, 2 more were hardly learned: error 0.5 just learned, 0.5 before." in text


@pytest.mark.parametrize(("after", "said"), [(0.48, "Tasks were hardly learned"), (0.9, "Training may have diverged")])
def test_training_without_success_is_doubted(after, said):
    errors = np.full((1, 2, 3, 2), 0.5)
    errors[:, :, 1:] = after
    text = " ".join(Measurement((("a", "b"),), (0, 1), errors, 1 - errors).summary().split())
    assert said in text
    assert f"error {after} just learned, 0.5 before" in text


@pytest.mark.parametrize(
    ("lost", "answer", "noted"),
    [
        (
            (0.2, 0.1),
            "The order b > a forgot least: 0.1. a > b forgot most: 0.2. The mean of all orders is 0.15.",
            False,
        ),
        (
            (-0.05, 0.1),
            "The order a > b forgot least: -0.05. b > a forgot most: 0.1. The mean of all orders is 0.0",
            True,
        ),
        ((-0.05, -0.1), "No order forgot: old tasks got better, by 0.1 in b > a, and by 0.05 in a > b.", True),
        (
            (-0.05, -0.05),
            "All 2 orders forgot the same: -0.05. Where forgetting is negative, old tasks got better.",
            True,
        ),
        ((0, 0), "All 2 orders forgot the same: 0.", False),
    ],
)
def test_gains_are_not_called_forgetting(lost, answer, noted):
    errors = np.full((2, 1, 3, 2), 0.5)
    errors[:, :, 1:] = 0.25
    errors[:, 0, 2, 0] += lost
    found = Measurement((("a", "b"), ("b", "a")), (0,), errors)
    assert found._answer().startswith(answer)
    assert ("Where forgetting is negative, old tasks got better." in " ".join(found.summary().split())) == noted
    if max(lost) > 0:
        assert found._answer().endswith("old tasks got better.") == noted


@pytest.mark.parametrize(("kind", "outputs"), [("yes or no", 1), ("classes", 3)])
def test_divergence_is_an_error_in_words(tmp_path, kind, outputs):
    with pytest.raises(FloatingPointError, match=r"training diverged.* at learning rate 1e\+06; lower it"):
        measure(network(outputs), data(kind), method=Sgd(learning_rate=1e6, batch_size=5, epochs=5), store=tmp_path)


@dataclass(frozen=True)
class Broken:
    """A method that does not notice its own divergence."""

    version: ClassVar[int] = 1

    def learn(self, network, data, generator):
        network[0].weight.data.fill_(float("nan"))


def test_errors_that_are_not_finite_are_refused(tmp_path):
    with pytest.raises(FloatingPointError, match="errors are not finite after a with seed 3; give the method a lower"):
        measure(network(), data(), method=Broken(), orders=[("a", "b")], seeds=(3,), store=tmp_path)


class Reader(nn.Module):
    """A reader of texts that returns an object with logits, as transformers do."""

    def __init__(self, outputs=1):
        super().__init__()
        torch.manual_seed(0)
        self.table, self.head = nn.Embedding(20, 8), nn.Linear(8, outputs)

    def forward(self, input_ids, attention_mask):
        mask = attention_mask[:, :, None].to(self.head.weight.dtype)
        return SimpleNamespace(logits=self.head((self.table(input_ids) * mask).sum(1) / mask.sum(1)))


def texts(kind=torch.int64):
    random = np.random.default_rng(0)
    found = {}
    for k, name in enumerate(("a", "b")):
        ids = torch.from_numpy(random.integers(1, 20, (150, 5)))
        mask = torch.ones(150, 5).to(kind)
        mask[::2, 3:] = 0
        words = {"input_ids": ids * mask, "attention_mask": mask}
        found[name] = (words, ((ids[:, 0] > 10) ^ (k == 1)).long())
    return found


@pytest.mark.parametrize(
    ("method", "outputs"),
    [
        (Sgd(learning_rate=3.0, epochs=30, batch_size=10), 1),
        (Sgd(learning_rate=1.0, epochs=20, batch_size=10), 2),
        (FineTuning(Schedule(learning_rate=1.0, epochs=20)), 2),
    ],
    ids=["yes or no", "classes", "a learner"],
)
def test_texts_are_measured(tmp_path, method, outputs):
    tasks, reader = texts(), Reader(outputs)
    found = measure(reader, tasks, method=method, store=tmp_path)
    assert found.learned_error < 0.8 * found.initial_error
    assert found.forgetting.min() > 0.1  # the tasks contradict each other
    assert -1 <= found.compare(ebbing.forecast(reader.double(), tasks)).rank_correlation <= 1


def test_errors_of_texts_are_those_of_all_of_them(tmp_path):
    tasks, reader = texts(torch.bool), Reader()
    found = measure(reader, tasks, method=METHOD, store=tmp_path, train_size=1, test_size=149)
    examples = Examples.read(tasks, train_size=1, test_size=149)
    with torch.no_grad():
        logits = reader(**{key: torch.from_numpy(value) for key, value in examples.inputs.items()}).logits
    wrong = np.square(logits.sigmoid().numpy()[:, 0] - examples.labels)
    expected = [wrong[rows].mean() for rows in examples.test]  # 149 texts, more than are tested at once
    assert found.errors[0, 0, 0] == pytest.approx(expected, rel=1e-5)


def test_other_texts_are_other_results(tmp_path):
    measure(Reader(), texts(), method=METHOD, store=tmp_path)
    measure(Reader(), texts(), method=METHOD, store=tmp_path, progress=(again := []).append)
    assert again == [1.0]
    other = texts()
    other["a"][0]["attention_mask"][0, 0] = 0
    measure(Reader(), other, method=METHOD, store=tmp_path, progress=(shares := []).append)
    assert shares[0] == 0


def test_bad_measurements(tmp_path):
    with pytest.raises(ValueError, match="network=str: give a PyTorch network"):
        measure("linear", data(), store=tmp_path)
    with pytest.raises(ValueError, match=r"is torch\.float64: `measure` trains in float32"):
        measure(network().double(), data(), store=tmp_path)
    with pytest.raises(ValueError, match=r"returns shape \(1,\) for one example: `measure` trains outputs"):
        measure(nn.Sequential(network(), nn.Flatten(0)), data(), store=tmp_path)
    with pytest.raises(ValueError, match="Sequential fails on one example"):
        measure(nn.Sequential(nn.Linear(5, 1)), data(), store=tmp_path)
    with pytest.raises(ValueError, match="7 tasks have too many orders"):
        measure(network(), dict.fromkeys("abcdefg", data()["a"]), store=tmp_path)
    with pytest.raises(ValueError, match="all of one length"):
        measure(network(), data(), orders=[("a", "b"), ("a", "b", "c")], store=tmp_path)
    with pytest.raises(ValueError, match="seeds are empty: give at least one"):
        measure(network(), data(), seeds=(), store=tmp_path)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"orders": 5}, r"^orders=5: give a list of orders, such as \[\['a', 'b', 'c'\]\]"),
        ({"orders": [None]}, r"^orders=\[None\]: give a list of orders"),
        ({"orders": ("b", "a")}, r"^orders=\('b', 'a'\): give a list of orders, such as \[\['a', 'b', 'c'\]\]"),
        ({"orders": "ab"}, r"^orders='ab': give a list of orders"),
        ({"seeds": 3}, r"^seeds=3: give several, such as \[0, 1, 2\] or range\(3\)"),
        ({"seeds": "01"}, r"^seeds='01': give several"),
        ({"seeds": [0.5]}, r"^seed=0.5: give a whole number"),
        ({"method": "sgd"}, r"^method='sgd': give a method, such as ebbing\.learn\.Sgd\("),
        ({"method": Sgd}, r"^method=Sgd is a class: give an instance"),
    ],
)
def test_no_seeds_and_no_method_are_refused(tmp_path, options, said):
    with pytest.raises(ValueError, match=said):
        ebbing.measure(network(), data(), store=tmp_path, **options)


def test_single_task_is_refused_at_once(tmp_path):
    with pytest.raises(ValueError, match=r"^tasks has 'a' alone: forgetting needs two tasks or more; give another"):
        ebbing.measure(network(), {"a": data()["a"]}, store=tmp_path)
    assert not list(tmp_path.iterdir())


def test_what_is_no_forecast_is_not_compared():
    found = Measurement((("a", "b"),), (0,), *np.ones((2, 1, 1, 3, 2)))
    with pytest.raises(ValueError, match=r"^forecast is a Measurement: give a forecast of the same tasks, such as"):
        found.compare(found)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"^forecast is an int: "):
        found.compare(3)  # type: ignore[arg-type]


def test_one_order_is_told_in_the_singular():
    found = Measurement((("a", "b"),), (0,), *np.ones((2, 1, 1, 3, 2)))
    assert repr(found) == "Measurement(1 order, seeds (0,))"
    assert found.summary().startswith("Measured: 1 order, 1 seed\n")


def test_hooks_of_weights_are_not_lost_in_silence(tmp_path):
    net = network()
    hook = net[0].weight.register_hook(lambda gradient: gradient * 0)
    with pytest.raises(ValueError, match=r"network: the hook of 0\.weight would be lost in copies"):
        ebbing.measure(net, data(), method=METHOD, store=tmp_path)
    hook.remove()
    ebbing.measure(net, data(), method=METHOD, store=tmp_path, orders=[("a", "b")])
