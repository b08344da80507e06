"""Logs of other frameworks: files in their formats, as their public sources write them.

Mammoth: aimagelab/mammoth `utils/loggers.py` (`Logger.write`, `print_mean_accuracy`). PyCIL: G-U-N/PyCIL `trainer.py`
and `utils/toolkit.py`. LAMDA-PILOT: sun-hailong/LAMDA-PILOT `trainer.py`. Avalanche: `avalanche/logging/csv_logger.py`.
"""

import math

import numpy as np
import pytest

from ebbing import metrics, read_matrix
from ebbing.io import framework_logs, read_avalanche_log, read_mammoth_log, read_pycil_log
from ebbing.io._bytes import read_text
from ebbing.io.error_matrices import summarize_file

CLASS_IL = [[99.0], [55.5, 97.25], [30.0, 41.0, 95.5]]
TASK_IL = [[99.0], [98.0, 98.5], [97.0, 96.5, 99.5]]


def padded(rows):
    matrix = np.full((len(rows), len(rows)), math.nan)
    for t, row in enumerate(rows):
        matrix[t, : len(row)] = row
    return matrix


def mammoth_line(rows, **settings):
    """What `Logger.write` appends to logs.pyd: a dictionary with arguments, means and accuracies."""
    found = {"dataset": "seq-mnist", "model": "der", "device": "cuda:0", **settings}
    found |= {f"accmean_task{t}": float(np.mean(row)) for t, row in enumerate(rows, 1)}
    found |= {f"accuracy_{i}_task{t}": value for t, row in enumerate(rows, 1) for i, value in enumerate(row, 1)}
    return str(found | {"forward_transfer": None, "backward_transfer": None, "forgetting": None}) + "\n"


def mammoth_console(class_il, task_il, *, future=False):
    lines = ["[INFO] 10-Jan-24 17:50:07 - Using 8 workers for the dataloader.\n"]
    for t, (cil, til) in enumerate(zip(class_il, task_il, strict=True), 1):
        if future:
            lines.append(f"Future Accuracy for {t} task(s): \t [Class-IL]: 1.0 % \t [Task-IL]: 1.0 %\n")
            lines.append("\tRaw accuracy values: Class-IL [1.0] | Task-IL [1.0]\n\n\n")
        lines.append(f"Accuracy (epoch 3) for {t} task(s): \t [Class-IL]: 2.0 % \t [Task-IL]: 2.0 %\n")
        lines.append("\tRaw accuracy values: Class-IL [2.0] | Task-IL [2.0]\n\n\n")
        means = round(float(np.mean(cil)), 2), round(float(np.mean(til)), 2)
        lines.append(f"Accuracy for {t} task(s): \t [Class-IL]: {means[0]} % \t [Task-IL]: {means[1]} %\n")
        lines.append(f"\tRaw accuracy values: Class-IL {cil} | Task-IL {til}\n\n\n")
    return "".join(lines)


def pycil_log(rows, name="CNN", first=1):
    lines = []
    for t, row in enumerate(rows, 1):
        groups = {f"{10 * g:02}-{10 * g + 9:02}": np.float64(value) for g, value in enumerate(row)}
        accuracies = {
            "total": np.float64(1.0),
            **groups,
            "old": 0 if t == 1 else np.float64(1.0),
            "new": np.float64(1.0),
        }
        lines.append(f"2024-03-01 10:00:0{t} [trainer.py] => All params: 464154\n")
        lines.append(f"2024-03-01 10:00:0{t} [trainer.py] => {name}: {accuracies}\n")
        lines.append(f"2024-03-01 10:00:0{t} [trainer.py] => {name} top1 curve: [1.0]\n")
    return "".join(lines)


def test_mammoth_results_file(tmp_path):
    file = tmp_path / "logs.pyd"
    file.write_text(mammoth_line(CLASS_IL))
    np.testing.assert_array_equal(read_mammoth_log(file), padded(CLASS_IL))
    np.testing.assert_array_equal(read_matrix(file), padded(CLASS_IL))


def test_mammoth_arguments_are_never_evaluated(tmp_path):
    file = tmp_path / "logs.pyd"
    file.write_text(mammoth_line([[90.0]]).replace("'cuda:0'", "device(type='cuda'), 'x': __import__('os').abort()"))
    np.testing.assert_array_equal(read_mammoth_log(file), [[90.0]])


def test_mammoth_numbers_of_numpy_2(tmp_path):
    file = tmp_path / "logs.pyd"
    file.write_text(mammoth_line([[np.float64(90.5)], [np.float64(1e-05), np.float64(88.0)]]))
    np.testing.assert_array_equal(read_mammoth_log(file), [[90.5, math.nan], [1e-05, 88.0]])


def test_mammoth_evaluations_between_epochs_are_left_out(tmp_path):
    file = tmp_path / "logs.pyd"
    file.write_text(mammoth_line([[1.0], [99.0], [2.0, 3.0], [55.5, 97.25]]))
    np.testing.assert_array_equal(read_mammoth_log(file), padded([[99.0], [55.5, 97.25]]))


def test_mammoth_rows_that_shrink_are_refused(tmp_path):
    file = tmp_path / "logs.pyd"
    file.write_text(mammoth_line([[99.0], [5.0, 6.0], [7.0], [55.5, 97.25]]))
    with pytest.raises(ValueError, match=r"rows of 1, 2, 1, 2 accuracies.*--eval_future.*console output"):
        read_mammoth_log(file)


def test_runs_of_a_file_are_told_apart(tmp_path):
    file = tmp_path / "logs.pyd"
    file.write_text(mammoth_line(CLASS_IL, seed=0) + mammoth_line(TASK_IL, seed=1))
    with pytest.raises(ValueError, match="holds 2 runs; say which: run=0"):
        read_matrix(file)
    np.testing.assert_array_equal(read_mammoth_log(file, run=0), padded(CLASS_IL))
    np.testing.assert_array_equal(read_mammoth_log(file, run=-1), padded(TASK_IL))
    with pytest.raises(ValueError, match=r"run=2: .* holds 2"):
        read_mammoth_log(file, run=2)


@pytest.mark.parametrize("future", [False, True])
def test_mammoth_console(tmp_path, future):
    file = tmp_path / "console.txt"
    file.write_text(mammoth_console(CLASS_IL, TASK_IL, future=future))
    np.testing.assert_array_equal(read_mammoth_log(file), padded(CLASS_IL))
    np.testing.assert_array_equal(read_mammoth_log(file, setting="task-il"), padded(TASK_IL))
    with pytest.raises(ValueError, match="no accuracies of Domain-IL"):
        read_mammoth_log(file, setting="domain-il")
    with pytest.raises(ValueError, match="say class-il, task-il or domain-il"):
        read_mammoth_log(file, setting="joint")  # type: ignore[arg-type]
    file.write_text(file.read_text() * 2)
    np.testing.assert_array_equal(read_mammoth_log(file, run=1), padded(CLASS_IL))


def test_mammoth_domain_il_console(tmp_path):
    file = tmp_path / "console.log"
    rows = "".join(
        f"Accuracy for {t} task(s): [Domain-IL]: 1.0 %\n\tRaw accuracy values: Domain-IL {row}\n\n\n"
        for t, row in enumerate(CLASS_IL, 1)
    )
    file.write_text(rows)
    np.testing.assert_array_equal(read_matrix(file), padded(CLASS_IL))


@pytest.mark.parametrize("name", ["CNN", "NME"])
def test_pycil_log(tmp_path, name):
    file = tmp_path / "run.log"
    other = "NME" if name == "CNN" else "CNN"
    file.write_text(pycil_log(CLASS_IL, name) + pycil_log(TASK_IL, other))
    np.testing.assert_array_equal(read_pycil_log(file, classifier=name), padded(CLASS_IL))
    np.testing.assert_array_equal(read_matrix(file), padded(CLASS_IL if name == "CNN" else TASK_IL))


def test_pycil_large_first_task_is_averaged(tmp_path):
    file = tmp_path / "run.log"
    file.write_text(pycil_log([[90.0, 80.0, 70.0], [60.0, 50.0, 40.0, 88.0]]))
    np.testing.assert_array_equal(read_pycil_log(file), [[80.0, math.nan], [50.0, 88.0]])


def test_pycil_seeds_in_one_log(tmp_path):
    file = tmp_path / "run.log"
    file.write_text(pycil_log(CLASS_IL) + pycil_log(TASK_IL))
    with pytest.raises(ValueError, match="holds 2 runs"):
        read_pycil_log(file)
    np.testing.assert_array_equal(read_pycil_log(file, run=0), padded(CLASS_IL))
    np.testing.assert_array_equal(read_pycil_log(file, run=1), padded(TASK_IL))


def test_forgetting_is_that_of_the_programs(tmp_path):
    file = tmp_path / "run.log"
    file.write_text(pycil_log(CLASS_IL))
    table = np.nan_to_num(padded(CLASS_IL)).T  # as PyCIL's trainer.py computes it
    expected = np.mean((table.max(axis=1) - table[:, -1])[:-1])
    assert metrics.best_minus_last(read_matrix(file), kind="accuracy") == pytest.approx(expected, rel=1e-15)


def test_avalanche_csv(tmp_path):
    file = tmp_path / "eval_results.csv"
    file.write_text("eval_exp,training_exp,eval_accuracy,eval_loss,forgetting\n0,0,0.9,1,0\n1,0,0.5,1,0\n1,1,0.8,1,0\n")
    np.testing.assert_array_equal(read_avalanche_log(file), [[0.9, 0.5], [math.nan, 0.8]])
    np.testing.assert_array_equal(read_matrix(file), [[0.9, 0.5], [math.nan, 0.8]])
    file.write_text("eval_exp,training_exp,eval_accuracy\n0,None,0.4\n1,None,0.5\n0,0,0.9\n1,0,0.6\n0,1,0.7\n1,1,0.8\n")
    np.testing.assert_array_equal(read_matrix(file), [[0.4, 0.5], [0.9, 0.6], [0.7, 0.8]])  # with the initial model
    file.write_text("eval_exp,training_exp,eval_accuracy,eval_loss,forgetting\n0,0\n")
    with pytest.raises(ValueError, match="line 2 is '0,0'; is it half-written"):
        read_avalanche_log(file)
    file.write_text("a,b\n1,2\n")
    with pytest.raises(ValueError, match="begins with 'a,b'"):
        read_avalanche_log(file)


def test_other_text_is_refused(tmp_path):
    file = tmp_path / "notes.txt"
    file.write_text("nothing of this is an accuracy\n")
    with pytest.raises(ValueError, match="not a log that is known"):
        read_matrix(file)
    for reader in (read_mammoth_log, read_pycil_log):
        with pytest.raises(ValueError, match="no accuracies in it"):
            reader(file)


def test_absurd_numbers_of_tasks_are_refused(tmp_path):
    file = tmp_path / "logs.pyd"
    file.write_text("Accuracy for 900000 task(s): \n\tRaw accuracy values: Class-IL [1.0] | Task-IL [1.0]\n")
    with pytest.raises(ValueError, match="900,000 tasks"):
        read_matrix(file)


def test_kind_is_what_the_file_says(tmp_path):
    file = tmp_path / "logs.pyd"
    file.write_text(mammoth_line(CLASS_IL))
    assert summarize_file(file).kind == "accuracy"
    with pytest.raises(ValueError, match="holds accuracies, and --kind error contradicts that"):
        summarize_file(file, "error")
    table = tmp_path / "table.csv"
    table.write_text("1,2\n3,4\n")
    with pytest.raises(ValueError, match="--kind is missing"):
        summarize_file(table)
    with pytest.raises(ValueError, match="is no log of several runs"):
        summarize_file(table, "error", run=0)
    for name, content in (("errors", '{"errors": [[1.0]]}'), ("accuracies", '{"accuracies": [[1.0]]}')):
        (tmp_path / "one.json").write_text(content)
        assert summarize_file(tmp_path / "one.json").kind == name.replace("ies", "y").removesuffix("s")
        np.savez(tmp_path / "one.npz", **{name: np.ones((1, 1))})  # type: ignore[arg-type]
        assert summarize_file(tmp_path / "one.npz").kind == name.replace("ies", "y").removesuffix("s")


@pytest.mark.parametrize(
    "text", [mammoth_line(CLASS_IL), "CNN: {'total': 90.0, '00-09': 90.0, 'old': 0, 'new': 90.0}\n"]
)
def test_log_is_read_once(tmp_path, monkeypatch, text):
    file, read = tmp_path / "run.log", []
    file.write_text(text)
    monkeypatch.setattr(framework_logs, "read_text", lambda *args: read.append(args) or read_text(*args))
    read_matrix(file)
    assert len(read) == 1
