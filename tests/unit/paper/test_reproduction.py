"""What `ebbing reproduce` leaves in its folder: verdicts of a target stand beside those of targets run before."""

import io
import json
import threading
from contextlib import contextmanager

import pytest
from rich.console import Console

from ebbing.cli._verdicts_table import print_verdicts
from ebbing.paper import reproduction
from ebbing.paper._output import Verdict, verdict_markdown
from ebbing.paper.records import locked
from ebbing.paper.reproduction import Options, ReproductionError, reproduce
from ebbing.runs import Resources


@contextmanager
def silent(name):
    yield lambda fraction: None


@pytest.fixture
def targets(monkeypatch):
    """Three targets, of which the last runs on request only; each run gives another result."""
    runs = dict.fromkeys(("first", "second", "extra"), 0)

    def target(name):
        def run(folder, progress, options):
            runs[name] += 1
            return [Verdict(f"claim of {name}", "somewhere", options.scale, f"run {runs[name]}", True)]

        return run

    monkeypatch.setattr(reproduction, "TARGETS", {name: target(name) for name in runs})
    monkeypatch.setattr(reproduction, "ON_REQUEST", ("extra",))
    return runs


def recorded(folder):
    entries = json.loads((folder / "verdicts.json").read_text())["verdicts"]
    return [(entry["target"], entry["result"]) for entry in entries]


def test_no_target_runs_all_but_those_on_request(targets, tmp_path):
    found = reproduce([], tmp_path, silent)
    assert [verdict.claim for verdict in found] == ["claim of first", "claim of second"]
    assert recorded(tmp_path) == [("first", "run 1"), ("second", "run 1")]


def test_target_keeps_the_verdicts_of_the_others(targets, tmp_path):
    reproduce(["second"], tmp_path, silent)
    reproduce(["first", "extra"], tmp_path, silent)
    found = reproduce(["first"], tmp_path, silent)
    assert [verdict.result for verdict in found] == ["run 2"]
    assert recorded(tmp_path) == [("first", "run 2"), ("second", "run 1"), ("extra", "run 1")]
    text = (tmp_path / "verdicts.md").read_text()
    assert [name in text for name in ("claim of first", "claim of second", "claim of extra")] == [True] * 3
    assert "run 2" in text
    assert [line for line in text.splitlines() if line.startswith("#")] == [
        "# Verdicts",
        "## first",
        "## second",
        "## extra",
    ]


def test_every_target_has_a_title():
    assert reproduction.TITLES.keys() == reproduction.TARGETS.keys()


def test_failed_target_does_not_stop_the_others(targets, tmp_path, monkeypatch):
    def broken(folder, progress, options):
        raise RuntimeError("something broke")

    monkeypatch.setitem(reproduction.TARGETS, "first", broken)
    with pytest.raises(ReproductionError, match="first failed: something broke") as caught:
        reproduce([], tmp_path, silent)
    assert {name: str(error) for name, error in caught.value.failures.items()} == {"first": "something broke"}
    assert [verdict.claim for verdict in caught.value.verdicts] == ["claim of second"]
    assert recorded(tmp_path) == [("second", "run 1")]
    with pytest.raises(RuntimeError, match="something broke"):  # alone, it raises its own error
        reproduce(["first"], tmp_path, silent)


def test_finished_target_is_recorded_before_the_next(targets, tmp_path, monkeypatch):
    def interrupted(folder, progress, options):
        raise KeyboardInterrupt

    monkeypatch.setitem(reproduction.TARGETS, "second", interrupted)
    with pytest.raises(KeyboardInterrupt):
        reproduce([], tmp_path, silent)
    assert recorded(tmp_path) == [("first", "run 1")]


@pytest.mark.parametrize("damage", ["", "{", "[]", '{"verdicts": [{"claim": "no target"}]}', '{"verdicts": 3}'])
def test_damaged_verdicts_raise_an_error_before_any_run(targets, tmp_path, damage):
    (tmp_path / "verdicts.json").write_text(damage)
    with pytest.raises(ValueError, match=r"verdicts\.json: not a file of verdicts .*; restore it .* or remove it"):
        reproduce(["second"], tmp_path, silent)
    assert set(targets.values()) == {0}
    assert (tmp_path / "verdicts.json").read_text() == damage


def test_verdicts_of_two_processes_are_added_one_by_one(targets, tmp_path):
    pytest.importorskip("fcntl")
    other = threading.Thread(target=reproduce, args=(["second"], tmp_path, silent))
    with locked(tmp_path):
        other.start()
        other.join(0.5)
        assert other.is_alive()
        assert not (tmp_path / "verdicts.json").exists()
    other.join(30)
    assert recorded(tmp_path) == [("second", "run 1")]


def test_unknown_target_raises_an_error_before_any_run(targets, tmp_path):
    with pytest.raises(ValueError, match="targets: nothing is called third; give some of first, second, extra"):
        reproduce(["first", "third"], tmp_path / "folder", silent)
    assert set(targets.values()) == {0}
    assert not (tmp_path / "folder").exists()


@pytest.mark.parametrize(
    ("settings", "complaint"),
    [({"scale": "huge"}, "scale='huge'"), ({"seeds": 0}, "seeds=0"), ({"workers": -1}, "workers=-1")],
)
def test_options_raise_an_error_for_bad_values(settings, complaint):
    with pytest.raises(ValueError, match=complaint):
        Options(**settings)


def test_options_give_the_resources():
    options = Options(workers=3, cluster="tcp://somewhere:1", device="cuda")
    assert options.resources == Resources(workers=3, cluster="tcp://somewhere:1", device="cuda")


def test_undecided_verdict_neither_holds_nor_fails(tmp_path):
    verdicts = [Verdict("claim", "source", "procedure", "result", holds) for holds in (True, False, None)]
    assert [line.split(" | ")[-1] for line in verdict_markdown(verdicts).splitlines()[2:]] == [
        "holds |",
        "**does not hold** |",
        "undecided |",
    ]
    text = io.StringIO()
    print_verdicts(verdicts, tmp_path, Console(width=200, file=text))
    assert [line.split()[0] for line in text.getvalue().splitlines()[::2][:3]] == ["holds", "FAILS", "open"]
    assert "1 of 3 claims hold, 1 does not hold, 1 open (what was run does not decide)." in text.getvalue()


def test_bounded_verdict_is_told_as_an_interval(tmp_path):
    verdict = Verdict("claim", "source", "procedure", "result", None, "between -0.1 and +0.2")
    assert verdict_markdown([verdict]).splitlines()[2].endswith(" | between -0.1 and +0.2 |")
    text = io.StringIO()
    print_verdicts([verdict], tmp_path, Console(width=200, file=text))
    assert text.getvalue().split()[0] == "interval"
    assert "0 of 1 claims hold, 1 bounded by an interval." in text.getvalue()
