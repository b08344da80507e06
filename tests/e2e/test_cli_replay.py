"""`ebbing replay`, and replay and learners in the other commands, as people and programs meet them."""

import command_line
import pytest
from command_line import parse

import ebbing
from ebbing import Curriculum, Problem, Ridge, expect
from ebbing.order import best_order_with_replay, replay_curve

answer, run = command_line.answer, command_line.run  # fixtures

TASKS = ("--tasks", "categories:AAAB", "-n", "50", "-p", "400", "--sigma", "0.3")
PROBLEM = Problem.categories("AAAB", n=50, p=400, sigma=0.3)


def test_replay_table_and_figure(answer, tmp_path):
    text = answer("replay", *TASKS, "--budget", "60", "--plot", "replay.svg")
    plan, curve = ebbing.best_replay(PROBLEM, 60), replay_curve(PROBLEM)
    for number in (plan.value, plan.none, plan.even, plan.joint, curve.forgetting.min(), curve.generalization.min()):
        assert f"{number:.6g}" in text
    assert "Proved: no replay of at most 60 samples" in text
    assert (tmp_path / "replay.svg").read_text().startswith("<?xml")


def test_replay_json(answer):
    content = parse(answer("replay", *TASKS, "--json", "--objective", "forgetting"))
    plan = ebbing.best_replay(PROBLEM, 40, "forgetting")
    assert content["schema"] == "ebbing.replay/1"
    assert content["plan"]["value"] == plan.value
    assert content["plan"]["replayed"] == plan.replayed.tolist()
    assert content["plan"]["budget"] == 40
    assert content["plan"]["joint"] is None
    assert content["curve"]["forgetting"] == replay_curve(PROBLEM).forgetting.tolist()


def test_expect_with_replay_and_learner(answer):
    content = parse(answer("expect", *TASKS, "--replay", "10", "--learner", "ridge:20", "--json"))
    e = expect(PROBLEM, Curriculum.replay(PROBLEM, 10), learner=Ridge(20))
    assert content["forgetting"] == {"mean": e.forgetting, "std": None}
    assert content["errors"] == e.errors.tolist()
    assert content["learner"] == "Ridge(penalty=20.0)"
    assert content["curriculum"]["steps"][1] == {"1": 50, "0": 10}
    assert "conflict" in answer("expect", *TASKS, "--replay", "10")


def test_simulate_with_stored_replay(answer):
    content = parse(answer("simulate", *TASKS, "--replay", "5:stored", "--runs", "40", "--json"))
    stored = Curriculum.replay(PROBLEM, 5, stored=True)
    sample = ebbing.simulate_metrics(PROBLEM, 40, 0, curriculum=stored)
    assert content["forgetting"]["mean"] == pytest.approx(sample.forgetting.mean(), rel=1e-12)
    assert content["curriculum"]["stored"] is True


def test_order_with_replay(answer):
    found = best_order_with_replay(PROBLEM, 10)
    assert parse(answer("order", *TASKS, "--replay", "10", "--json"))["order"] == list(found.order)
    assert f"{found.value:.6g}" in answer("order", *TASKS, "--replay", "10")


def test_order_of_many_tasks_with_replay(answer):
    many = ("--tasks", "categories:AAABBBCCCDDD", "-n", "20", "-p", "900", "--sigma", "0.3")
    content = parse(answer("order", *many, "--replay", "2", "--seconds", "0.5", "--json"))
    assert content["value"] <= content["given"]
    assert (content["proved"], content["lower_bound"], content["worst"]) == (False, "-inf", None)
    assert "Not proved: found by local search" in answer("order", *many, "--replay", "2", "--seconds", "0.5")


def test_curriculum_in_a_file(answer, run, tmp_path):
    file = tmp_path / "plan.toml"
    head = 'p = 200\nn = 50\nsigma = 0.3\ncategories = "AB"\n'
    file.write_text(head + "steps = [{A1 = 50}, {B1 = 50, A1 = 10}]")
    problem = Problem.categories("AB", n=50, p=200, sigma=0.3)
    e = expect(problem, Curriculum([{0: 50}, {1: 50, 0: 10}]))
    assert parse(answer("expect", "plan.toml", "--json"))["errors"] == e.errors.tolist()
    for wrong, message in (
        ("steps = [{C1 = 50}]", "step 1 has task 'C1'"),
        ("steps = [{A1 = 0}]", "step 1, task 'A1'"),
        ("steps = 3", "give a list of steps"),
        ("stored = true", "stored goes with steps"),
    ):
        file.write_text(head + wrong)
        done = run("expect", "plan.toml")
        assert done.returncode == 2
        assert "plan.toml" in done.stderr
        assert message in done.stderr


def test_replay_of_zero_samples_is_the_plain_sequence(answer):
    plain = parse(answer("expect", *TASKS, "--json"))
    assert parse(answer("expect", *TASKS, "--replay", "0", "--json"))["forgetting"] == plain["forgetting"]
    text = answer("replay", *TASKS, "--budget", "0")
    assert "without replay" in text
    assert "What to mix" not in text
    plan = parse(answer("replay", *TASKS, "--budget", "0", "--json"))["plan"]
    assert plan["used"] == 0
    assert plan["value"] == plan["none"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("expect", *TASKS, "--learner", "lasso"), "--learner 'lasso': give minimum-norm, ridge:0.5"),
        (("expect", *TASKS, "--learner", "ridge:-1"), "penalty"),
        (("expect", *TASKS, "--replay", "ten"), "--replay 'ten': give samples of each old task such as 10"),
        (("simulate", *TASKS, "--replay", "60:stored"), "learned from 50"),
        (("order", *TASKS, "--replay", "5", "--front"), "leave out --plot and --front"),
        (("replay", *TASKS, "--plot", "x.doc"), "ends in .png, .svg or .pdf"),
        (("replay", "--tasks", "orthogonal:1", "-n", "5", "-p", "9"), "replay needs an old task"),
        (("replay", *TASKS, "--budget", "-1"), "--budget -1: give a whole number from 0"),
    ],
)
def test_bad_input(run, arguments, message):
    done = run(*arguments)
    assert done.returncode == 2
    assert message in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("command", ["order", "replay", "explore"])
def test_commands_that_do_not_use_steps_say_so(run, tmp_path, command):
    plain = 'p = 200\nn = 50\ncategories = "AB"\n'
    (tmp_path / "plain.toml").write_text(plain)
    (tmp_path / "steps.toml").write_text(plain + "steps = [{A1 = 50}, {B1 = 50, A1 = 10}]\nstored = true\n")
    more = ("--no-open",) if command == "explore" else ()
    expected = {
        "plain.toml": "",
        "steps.toml": f"ebbing: steps.toml: ebbing {command} does not use steps and stored; expect and simulate do\n",
    }
    for name, said in expected.items():
        done = run(command, name, *more)
        assert (done.returncode, done.stderr) == (0, said)
