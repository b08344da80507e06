"""What a forecast says against itself: labels, sizes, and tasks that are not learned."""

import numpy as np
import pytest
import torch

from ebbing.forecasting import forecast


def linear_task(n=200, d=5, seed=0):
    random = np.random.default_rng(seed)
    x = random.standard_normal((n, d))
    return x, (x @ random.standard_normal(d) > 0).astype(int)


def noise(n=400, share=0.5, d=5, seed=3):
    random = np.random.default_rng(seed)
    return random.standard_normal((n, d)), (random.random(n) < share).astype(int)


def notes(tasks, **settings):
    return " ".join(forecast("linear", tasks, **settings).notes)


def test_good_tasks_have_no_notes():
    assert notes({"a": linear_task(), "b": linear_task(seed=1)}) == ""


def test_a_task_below_its_commonest_label_is_named():
    tasks = {"fair": linear_task(), "rare": noise(share=0.03)}
    found = forecast("linear", tasks)
    labels = found.model.targets.values[found.model.test[1]]
    learned, share = found.accuracies()[2, 1], 1 - labels.mean()
    assert learned <= share
    (note,) = (note for note in found.notes if "commonest answer" in note)
    shown = f"rare ({learned:.0%} just learned, commonest label {share:.0%}), in"
    assert f"Learned no better than the commonest answer: {shown}" in note


def test_a_rare_label_that_is_learned_has_no_note():
    x, _ = linear_task(n=400)
    rare = (x[:, 0] > 1.5).astype(int)  # 7% of ones, learned by a linear model up to a few
    found = forecast("linear", {"fair": linear_task(), "rare": (x, rare)}, train_size=300, test_size=100)
    assert found.accuracies()[2, 1] > 1 - rare.mean()
    assert "commonest" not in " ".join(found.notes)


def test_classes_are_compared_with_their_commonest():
    random = np.random.default_rng(0)
    labels = random.choice(4, 400, p=(0.7, 0.1, 0.1, 0.1))
    assert "commonest answer: a (" in notes({"a": (random.standard_normal((400, 3)), labels), "b": linear_task(d=3)})


def test_at_most_six_tasks_are_named():
    tasks = {f"t{k}": noise(n=80, share=0.1, seed=k) for k in range(12)}
    found = [note for note in forecast("linear", tasks).notes if "commonest" in note]
    assert found[0].count("just learned") == 6
    assert " more, in test examples." in found[0]


def test_tasks_with_few_test_examples_are_named():
    tasks = {"large": linear_task(), "tiny": linear_task(n=7), "edge": linear_task(n=80)}  # 50, 2 and 20 test examples
    note = "Very few test examples: tiny (2, fewer than 20). Their numbers mean little."
    assert note in forecast("linear", tasks).notes
    del tasks["tiny"]
    assert forecast("linear", tasks).notes == ()
    given = {"train": tasks["large"], "test": tuple(part[:19] for part in tasks["large"])}
    assert "Very few test examples: given (19," in notes({"given": given, "large": tasks["large"]})


def test_tasks_with_one_label_are_named():
    x, y = linear_task()
    constant = {"a": (x, y), "b": (x, np.ones_like(y))}
    assert notes(constant) == "Check the data of b: all examples have the same label."


def test_one_hot_labels_are_noticed():
    x, y = linear_task()
    say = "Labels look one-hot, and are taken as numbers: give class numbers (labels.argmax(1)) for accuracies."
    for kind in (float, int):
        assert say in notes({name: (x, np.eye(3, dtype=kind)[y]) for name in "ab"})
    two_of_three = np.eye(3)[y] + np.eye(3)[2]
    assert "one-hot" not in notes(dict.fromkeys("ab", (x, two_of_three)))
    assert "one-hot" not in notes({name: (x, np.eye(3)[y] / 2) for name in "ab"})


def test_labels_of_plus_and_minus_one_are_noticed():
    x, y = linear_task()
    assert "Labels are -1 and 1, and are taken as numbers" in notes(dict.fromkeys("ab", (x, 2.0 * y - 1)))


def test_tasks_that_are_not_learned_are_named():
    tasks = {name: noise(n=100, seed=k) for k, name in enumerate("ab")}
    assert "2 of 3 tasks are hardly learned by this model: a, b. " in notes(tasks | {"c": linear_task()})


def test_tasks_that_are_known_beforehand_have_no_note():
    random = np.random.default_rng(0)
    x, direction = random.standard_normal((400, 5)), random.standard_normal(5)
    labels = (x @ direction > 0) ^ (random.random(400) < 0.04)  # noise that no training removes
    network = torch.nn.Linear(5, 1, bias=False).double()
    with torch.no_grad():
        network.weight.copy_(torch.from_numpy(5 * direction[None]))
    found = forecast(network, dict.fromkeys("ab", (x, labels.astype(int))))
    assert found.accuracies()[0].min() > 0.9
    assert "hardly learned" not in " ".join(found.notes)


@pytest.mark.parametrize(
    ("settings", "advice"),
    [
        ({}, "say so: training_accuracy, or learning_rate and steps."),
        ({"learning_rate": 1e-4, "steps": 3}, "Train them longer: more steps, or a larger learning_rate."),
        ({"training_error": 0.24}, "If training fits them better, give a smaller training_error."),
        ({"time": 1e-3}, "Train them longer: a larger time."),
        ({"ridge": 1e6}, "If training moves further, give a smaller ridge."),
    ],
)
def test_advice_fits_what_was_said_about_training(settings, advice):
    tasks = {name: noise(n=100, seed=k) for k, name in enumerate("ab")}
    assert advice in notes(tasks, **settings)


def test_advice_on_learning_rates_says_of_which_optimizer():
    tasks = {name: noise(n=100, seed=k) for k, name in enumerate("ab")}
    assert "with Adam, give training_accuracy instead" in notes(tasks, learning_rate=1e-4, steps=3)


def test_regression_that_fits_noise_is_not_to_be_used():
    random = np.random.default_rng(0)
    x, y = random.standard_normal((80, 70)), random.standard_normal(80)
    found = notes({"a": (x, y), "b": (x, y[::-1].copy())})
    assert found.startswith("Do not use these numbers: to fit every training example does not reduce the error on te")
    assert found.count("give training_error, the mean squared error on training data") == 1
    assert "Do not use" not in notes({"a": (x, y), "b": (x, y[::-1].copy())}, training_error=0.5)


def test_opposed_tasks_are_named():
    x, y = linear_task()
    found = notes({"a": (x, y), "b": (x, 1 - y), "c": (x, (x[:, 4] > 0).astype(int))})
    assert "Opposed tasks, by similarity: a and b (-1.00)" in found


def test_unequal_tasks_are_trained_equally_far():
    tasks = {"large": linear_task(n=400), "small": linear_task(n=80, seed=0)}
    assert "Tasks have 60 to 200 training examples here, and each is trained equally far." in notes(tasks)
    assert "equally far" not in notes(tasks, learning_rate=0.1, steps=50)


def test_several_answers_are_no_classes():
    x, y = linear_task()
    labels = np.column_stack([y, y, 1 - y])
    assert "Labels are several yes-or-no answers for each example" in notes(dict.fromkeys("ab", (x, labels)))


def test_classes_that_became_floating_point_numbers_are_noticed():
    x, _ = linear_task()
    classes = np.arange(len(x)) % 3
    say = "0 to 2 of a floating-point type, taken as numbers: if they are classes, give integers (2 instead of 2.0)."
    assert say in notes(dict.fromkeys("ab", (x, classes.astype(float))))
    for others in (classes, classes + 0.5, 2.0 * classes, 0.0 * x[:, 0], x[:, 0]):
        assert "give integers" not in notes(dict.fromkeys("ab", (x, others)))
