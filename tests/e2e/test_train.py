"""`ebbing train`, the installed command, on real MNIST: learn, be interrupted, go on, look."""

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from command_line import ENVIRONMENT, NETWORKS, run_command

from ebbing.learn import Occurrence, preset
from ebbing.learn.presets import stream_by_name

COMMAND = Path(sys.executable).with_name("ebbing")
SMALL = ("--stream", "smnist", "--num-tasks", "3", "--train-images", "600", "--epochs", "2")


def start(folder: Path, *arguments: str) -> subprocess.Popen[str]:
    pipe = subprocess.PIPE
    return subprocess.Popen(
        [COMMAND, "train", *arguments], cwd=folder, env=ENVIRONMENT, stdout=pipe, stderr=pipe, text=True
    )


def run(folder: Path, *arguments: str) -> tuple[int, str, str]:
    done = run_command("train", *arguments, folder=folder, module=NETWORKS)
    return done.returncode, done.stdout, done.stderr


def files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.glob("results/runs/??/*"))}


def test_learn_look_and_ask_again(tmp_path):
    process = start(tmp_path, *SMALL, "--method", "trgp+")
    out, err = process.communicate()
    assert (process.returncode, err) == (0, "")  # quiet when not on a terminal
    assert "average accuracy ACC" in out
    assert "3 of 3 tasks trained now" in out
    kept = files(tmp_path)

    status, out, err = run(tmp_path, *SMALL, "--method", "trgp+", "--json")
    assert (status, err) == (0, "")
    content = json.loads(out)
    matrix = np.array(content["accuracies"])
    assert content["schema"] == "ebbing.train/1"
    assert content["num_trained"] == 0
    assert matrix.shape == (4, 3)
    assert content["average_accuracy"] == pytest.approx(matrix[-1].mean())
    assert content["backward_transfer"] == pytest.approx(np.mean([matrix[-1, i] - matrix[i + 1, i] for i in range(2)]))
    assert content["bytes_per_task"] > 0
    assert (np.diag(matrix[1:]) > 0.6).all()  # it does learn
    assert files(tmp_path) == kept


def test_killed_and_started_again_it_ends_with_the_same_bytes(tmp_path):
    whole, interrupted = tmp_path / "whole", tmp_path / "interrupted"
    whole.mkdir()
    interrupted.mkdir()
    assert run(whole, *SMALL, "--method", "trgp")[0] == 0
    process = start(interrupted, *SMALL, "--method", "trgp")
    while len(list(interrupted.glob("results/runs/??/*.json"))) < 2:  # the initial network and the first task
        assert process.poll() is None
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    status, out, _ = run(interrupted, *SMALL, "--method", "trgp", "--json")
    assert status == 0
    assert {n: c for n, c in files(interrupted).items() if not n.endswith(".unfinished")} == files(whole)
    assert json.loads(out)["num_trained"] <= 2


def test_an_interruption_says_how_to_continue(tmp_path):
    process = start(tmp_path, *SMALL, "--method", "gpm")
    while not list(tmp_path.glob("results/runs/??/*.json")):
        assert process.poll() is None
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate()
    assert (process.returncode, out) == (130, "")
    assert err == "ebbing: interrupted; finished work is stored, and the same command continues from there\n"
    status, out, _ = run(tmp_path, *SMALL, "--method", "gpm")
    assert status == 0
    assert "average accuracy ACC" in out


def test_memory_is_the_same_whether_or_not_the_learner_is_saved(tmp_path):
    sizes = []
    for more in ((), ("--save", "learner"), ()):
        status, out, _ = run(tmp_path, *SMALL, "--method", "trgp", "--json", *more)
        assert status == 0
        sizes.append(json.loads(out)["bytes_per_task"])
    assert sizes[0] == sizes[1] == sizes[2] > 0


@pytest.mark.parametrize("finished", [False, True], ids=["at once", "afterwards"])
def test_a_saved_learner_loads_in_python(tmp_path, finished):
    if finished:
        assert run(tmp_path, *SMALL, "--method", "trgp")[0] == 0
    status, out, _ = run(tmp_path, *SMALL, "--method", "trgp", "--save", "learner.safetensors", "--json")
    assert status == 0
    content = json.loads(out)
    assert content["num_trained"] == (0 if finished else 3)
    experiment = preset(stream_by_name("smnist", tasks=3, train_images=600), "trgp", epochs=2)
    learner = experiment.method.start(experiment.architecture.build(5))  # type: ignore[attr-defined]
    learner.load(tmp_path / "learner.safetensors")
    assert learner.tasks == ["0", "1", "2"]
    assert {name for found in learner.trusted for names in found.values() for name in names} <= {"0", "1"}
    for task, accuracy in zip(learner.tasks, content["accuracies"][-1], strict=True):
        task_data = experiment.tasks.load(Occurrence(task, 0), seed=0)
        assert learner.accuracy(task, task_data) == pytest.approx(accuracy)


BAD_SETTINGS = [
    (("--stream", "imagenet"), "stream 'imagenet': give one of pmnist, rmnist, smnist, cifar100"),
    (("--method", "adam"), "method 'adam': give one of fine-tuning, copies, low-rank, gpm, trgp, trgp+, trgp-free"),
    (("--trust-weights", "a,b"), "--trust-weights 'a,b': give numbers separated by commas"),
    (("--trust-weights", "0.8,1.2"), "give decreasing weights"),
    (("--num-tasks", "0"), "--num-tasks 0: give a whole number"),
    (("--train-images", "70000"), "MNIST has 60,000"),
    (("--seed", "-1"), "--seed -1"),
    (("--method", "gpm", "--as-published"), "only trgp and trgp+ have a published variant; leave it out"),
    (("--epochs", "0"), "--epochs 0"),
    (
        ("--start-from", "latest"),
        "--start-from for method 'trgp+': only trgp-free has a choice of the weights from which a task starts",
    ),
    (("--method", "trgp-free", "--start-from", "end"), "--start-from 'end': give one of shared, latest"),
]


@pytest.fixture(scope="module")
def bad_runs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("bad")
    found = {
        arguments: run_command("train", *arguments, folder=folder, module=NETWORKS) for arguments, _ in BAD_SETTINGS
    }
    assert not (folder / "results").exists()
    return found


@pytest.mark.parametrize(("arguments", "complaint"), BAD_SETTINGS)
def test_bad_settings_give_one_line(bad_runs, arguments, complaint):
    done = bad_runs[arguments]
    assert (done.returncode, done.stdout) == (2, "")
    assert complaint in done.stderr
    assert done.stderr.count("\n") == 1
