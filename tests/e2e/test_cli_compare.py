"""`ebbing compare` as people and programs meet it."""

import json

import command_line
import pytest
from command_line import parse

answer, run = command_line.answer, command_line.run  # fixtures


@pytest.fixture
def scores(tmp_path):
    for name, gsm8k in {"base": 0.52, "tuned": 0.43}.items():
        results = {
            "gsm8k": {"exact_match,strict-match": gsm8k, "exact_match_stderr,strict-match": 0.0138},
            "arc": {"acc,none": 0.55, "acc_stderr,none": 0.0145, "acc_norm,none": gsm8k, "acc_norm_stderr,none": 0.01},
        }
        (tmp_path / f"{name}.json").write_text(json.dumps({"results": results}))


@pytest.mark.usefixtures("scores")
def test_compare_says_first_what_got_worse(answer, tmp_path):
    text = answer("compare", "base.json", "tuned.json", "--plot", "changes.svg")
    assert text.startswith("From base to tuned, 1 of 2 benchmarks got worse beyond chance: gsm8k from 0.520")
    assert "worse beyond chance" in (tmp_path / "changes.svg").read_text()


@pytest.mark.usefixtures("scores")
def test_compare_takes_names_and_a_metric(answer):
    result = parse(answer("compare", "base.json", "tuned.json", "--metric", "acc_norm", "--names", "old,new", "--json"))
    assert result["schema"] == "ebbing.compare/1"
    assert (result["names"], result["worse"]) == (["old", "new"], ["gsm8k", "arc"])
    assert [entry["metric"] for entry in result["benchmarks"]] == ["exact_match,strict-match", "acc_norm"]


def test_compare_refuses_fractions_beside_percent(run, tmp_path):
    (tmp_path / "base.json").write_text('{"arc": [0.61, 0.014], "gsm8k": 0.52}')
    (tmp_path / "tuned.json").write_text('{"arc": [60.2, 1.4], "gsm8k": 43.0}')
    done = run("compare", "base.json", "tuned.json")
    assert (done.returncode, done.stdout) == (2, "")
    assert "scores are 0.52 to 0.61 in base and 43 to 60.2 in tuned: fractions and percent? give all in" in done.stderr
    assert done.stderr.count("\n") == 1
