"""`ebbing simulate` as people and programs meet it: beside the theory, and with progress where someone looks."""

import contextlib
import os
import pty
import subprocess

import command_line
import numpy as np
import pytest
from command_line import COMMAND, ENVIRONMENT, FLAGS, PROBLEM, parse

from ebbing import expect, simulate_metrics
from ebbing.simulation import MeanEstimate

answer, run = command_line.answer, command_line.run  # fixtures


def test_simulate_json(answer):
    content = parse(answer("simulate", *FLAGS, "--runs", "200", "--seed", "7", "--json"))
    task_data, e = simulate_metrics(PROBLEM, 200, 7), expect(PROBLEM)
    assert content["schema"] == "ebbing.simulate/1"
    assert (content["runs"], content["seed"]) == (200, 7)
    for name in ("forgetting", "generalization"):
        estimate = MeanEstimate.of(getattr(task_data, name))
        z = (estimate.mean - getattr(e, name)) / estimate.standard_error
        assert content[name] == vars(estimate) | {
            "theory": getattr(e, name),
            "theory_std": getattr(e, f"{name}_std"),
            "z": pytest.approx(z, rel=1e-12),
        }
    assert content["mean_errors"] == task_data.mean_errors.tolist()


def test_simulate_table(answer):
    text = answer("simulate", *FLAGS)
    task_data = simulate_metrics(PROBLEM, 300, 0)
    assert text.splitlines()[0].endswith("; 300 runs")
    for number in (task_data.forgetting.mean(), expect(PROBLEM).forgetting, task_data.generalization.mean()):
        assert f"{number:.6g}" in text
    assert f"{MeanEstimate.of(task_data.forgetting).standard_error:.2g}" in text


def test_simulate_is_reproducible(answer):
    first, again, other = (answer("simulate", *FLAGS, "--runs", "50", "--seed", seed) for seed in ("1", "1", "2"))
    assert first == again
    assert first != other


def test_whole_numbers_may_have_an_exponent(answer):
    content = parse(answer("simulate", *FLAGS, "--runs", "1e2", "--seed", "1e3", "--json"))
    assert (content["runs"], content["seed"]) == (100, 1000)


def test_simulate_where_the_expectation_is_infinite(answer):
    flags = ("simulate", "--tasks", "orthogonal:2", "-n", "50", "-p", "51", "--sigma", "1")
    content = parse(answer(*flags, "--json"))
    assert content["forgetting"]["theory"] is None
    assert content["forgetting"]["z"] is None
    text = " ".join(answer(*flags).split())
    assert "not finite" in text
    assert "read the median" in text


def test_simulate_one_task(answer):
    content = parse(answer("simulate", "--tasks", "identical:1", "-n", "50", "-p", "100", "--json"))
    assert content["forgetting"] is None
    assert content["generalization"]["theory"] == 0.5


def test_one_run_has_no_standard_error_and_no_z(answer):
    content = parse(answer("simulate", *FLAGS, "--runs", "1", "--json"))
    for name in ("forgetting", "generalization"):
        assert content[name]["standard_error"] is None
        assert content[name]["z"] is None


def test_z_is_no_rounding_error_where_nothing_varies(answer, tmp_path):
    """Underparameterized and without noise every run is the same: sample and theory agree to the last digits."""
    W = np.random.default_rng(7).standard_normal((4, 3))
    (tmp_path / "problem.toml").write_text(f"p = 20\nn = 50\nvectors = {W.tolist()}\n")
    content = parse(answer("simulate", "problem.toml", "--json"))
    for name in ("forgetting", "generalization"):
        assert content[name]["theory_std"] == 0
        assert content[name]["mean"] == pytest.approx(content[name]["theory"], rel=1e-12)
        assert content[name]["z"] is None or abs(content[name]["z"]) < 4


def test_infinite_variance_of_forgetting_alone_is_noted(answer):
    """The last task wipes the first one's infinite variance out of G, but F keeps it."""
    text = answer("simulate", "--tasks", "orthogonal:3", "-n", "52,500,600", "-p", "50", "--sigma", "1")
    assert "not to be trusted" in " ".join(text.split())


def test_long_work_is_silent_without_a_terminal(answer):
    assert parse(answer("simulate", *FLAGS, "--runs", "300000", "--json"))["runs"] == 300_000


def test_long_work_shows_progress_on_a_terminal(tmp_path):
    main, terminal = pty.openpty()
    process = subprocess.Popen(
        [*COMMAND, "simulate", *FLAGS, "--runs", "500000", "--json"],
        stdout=subprocess.PIPE,
        stderr=terminal,
        cwd=tmp_path,
        env=ENVIRONMENT | {"TERM": "xterm"},
    )
    os.close(terminal)
    shown = b""
    with contextlib.suppress(OSError):  # the terminal's end
        while piece := os.read(main, 65536):
            shown += piece
    os.close(main)
    output, _ = process.communicate()
    assert process.returncode == 0
    assert b"simulating" in shown
    assert b"%" in shown
    assert parse(output.decode())["runs"] == 500_000
