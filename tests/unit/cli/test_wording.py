"""Sentences of the library in the words of a shell."""

import pytest

from ebbing._tables import Table
from ebbing._validate import EntryError
from ebbing.cli.wording import LINEAR_OPTIONS, PROBLEM_OPTIONS, TRAIN_OPTIONS, name_options, naming_options


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("train_size=0: give more", "--train-size 0: give more"),
        ("learning_rate=0.1, steps=3: one", "--learning-rate 0.1, --steps 3: one"),
        ("More examples (train_size, test_size) may tell.", "More examples (--train-size, --test-size) may tell."),
        ("training_error, or learning_rate and steps.", "--training-error, or --learning-rate and --steps."),
        ("unknown to it: ebbing.measure does.", "unknown to it: ebbing measure does."),
        ("order='a,b': name every task", "--order 'a,b': name every task"),
    ],
)
def test_parameters_become_options(text, expected):
    assert name_options(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "in this order, for 10 steps with this label and seed",
        "/data/train_size/a.csv: no such file",
        "train_size.csv and 'test_size' and my_train_size",
        "give --train-size",
    ],
)
def test_words_paths_and_names_of_users_stay(text):
    assert name_options(text) == text


def test_errors_keep_their_kind_and_place():
    with pytest.raises(EntryError, match=r"^--training-error -1: ") as raised, naming_options():
        raise EntryError("training_error=-1: must not be negative", "training_error", (2,))
    assert raised.value.index == (2,)


@pytest.mark.parametrize(
    ("text", "options", "expected"),
    [
        ("tasks=0: give more", TRAIN_OPTIONS, "--num-tasks 0: give more"),
        ("weights or recency for method 'gpm'", TRAIN_OPTIONS, "--trust-weights or --recency for method 'gpm'"),
        ("weights and recency: give one", TRAIN_OPTIONS, "--trust-weights and --recency: give one"),
        ("10 tasks with weights of their own", TRAIN_OPTIONS, "10 tasks with weights of their own"),
        ("budget=-5: give more", LINEAR_OPTIONS, "--budget -5: give more"),
        ("run=0 for the first, run=-1", LINEAR_OPTIONS, "--run 0 for the first, --run -1"),
        ("memory=-5: give more", LINEAR_OPTIONS, "--replay -5: give more"),
        ("n=0: fewer than p, in_n=3, 'n=3'", PROBLEM_OPTIONS, "-n 0: fewer than p, in_n=3, 'n=3'"),
    ],
)
def test_commands_have_options_of_their_own(text, options, expected):
    assert name_options(text, options) == expected


def test_cells_of_a_reworded_table_stay():
    table = Table("give steps=3", ["train_size"], [["test_size"]], ["see train_size"]).reword(name_options)
    assert (table.title, table.headers, table.rows) == ("give --steps 3", ["train_size"], [["test_size"]])
    assert table.notes == ["see --train-size"]
