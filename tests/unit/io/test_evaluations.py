"""Scores on benchmarks, in the formats of lm_eval 0.4.13 and lighteval (checked against files that lm_eval wrote)."""

import json

import pytest

from ebbing.io import read_evaluation
from ebbing.io.evaluations import compare_files

TIME = "2026-11-17T16-49-39.830702"

HARNESS = {
    "results": {
        "quiz": {"alias": "quiz", "acc,none": 0.5, "acc_stderr,none": 0.2, "sample_len": 6},
        "quiz_a": {"alias": " - a", "acc,none": 0.25, "acc_stderr,none": 0.25, "acc_norm,none": 0.5, "sample_len": 4},
        "quiz_b": {"alias": " - b", "acc,none": 1.0, "acc_stderr,none": 0.0, "acc_norm,none": 1.0, "sample_len": 2},
        "gsm8k": {
            "alias": "gsm8k",
            "exact_match,strict-match": 0.4,
            "exact_match_stderr,strict-match": 0.01,
            "exact_match,flexible-extract": 0.6,
            "exact_match_stderr,flexible-extract": 0.02,
        },
        "wikitext": {"word_perplexity,none": 12.5, "word_perplexity_stderr,none": "N/A"},
        "chat": {"score,none": 3.0, "score_stderr,none": 0.1},
    },
    "group_subtasks": {"quiz": ["quiz_a", "quiz_b"], "gsm8k": [], "wikitext": []},
    "higher_is_better": {"chat": {"score": False}, "gsm8k": {"exact_match": True}},
}


def write(folder, content, name=f"results_{TIME}.json"):
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / name
    file.write_text(json.dumps(content))
    return file


def write_answers(folder, task, values, *, metric="acc", filtered="none"):
    rows = [{"doc_id": k, "filter": filtered, metric: value, "doc": {"q": "?"}} for k, value in enumerate(values)]
    (folder / f"samples_{task}_{TIME}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


def test_harness_scores_are_read_with_their_errors(tmp_path):
    found = read_evaluation(write(tmp_path, HARNESS))
    assert list(found) == ["quiz", "gsm8k", "wikitext", "chat"]
    assert (found["quiz"].value, found["quiz"].standard_error, found["quiz"].metric) == (0.5, 0.2, "acc")
    assert (found["gsm8k"].value, found["gsm8k"].metric) == (0.4, "exact_match,strict-match")
    assert found["wikitext"].standard_error is None
    assert [score.higher_is_better for score in found.values()] == [True, True, False, False]


def test_metric_and_subtasks_can_be_chosen(tmp_path):
    file = write(tmp_path, HARNESS)
    assert list(read_evaluation(file, subtasks=True))[:2] == ["quiz_a", "quiz_b"]
    assert read_evaluation(file, subtasks=True, metric="acc_norm")["quiz_a"].value == 0.5
    assert read_evaluation(file, metric="exact_match,flexible-extract")["gsm8k"].value == 0.6
    assert read_evaluation(file, metric="acc_norm")["quiz"].metric == "acc"  # the group has no other


def test_parts_of_a_group_without_a_score_are_shown(tmp_path):
    content = json.loads(json.dumps(HARNESS))
    content["results"]["quiz"] = {"alias": "quiz", "acc,none": " "}
    assert list(read_evaluation(write(tmp_path, content)))[:2] == ["quiz_a", "quiz_b"]


def test_newest_results_of_a_folder_are_read(tmp_path):
    write(tmp_path / "model", {"results": {"old": {"acc,none": 0.1}}}, "results_2025-01-01T00-00-00.json")
    write(tmp_path / "model", HARNESS)
    assert "quiz" in read_evaluation(tmp_path)
    write(tmp_path / "other", HARNESS)
    with pytest.raises(ValueError, match="results in 2 folders"):
        read_evaluation(tmp_path)


def test_answers_of_tasks_and_groups_are_read(tmp_path):
    file = write(tmp_path, HARNESS)
    write_answers(tmp_path, "quiz_a", [1, 0, 0, 0])
    assert read_evaluation(file)["quiz"].answers == {}  # those of quiz_b are missing
    write_answers(tmp_path, "quiz_b", [1, 1])
    assert sum(read_evaluation(file)["quiz"].answers.values()) == 3
    assert read_evaluation(file, subtasks=True)["quiz_a"].answers == {f"quiz_a/{k}": float(k == 0) for k in range(4)}


def test_answers_that_contradict_the_score_are_left(tmp_path):
    file = write(tmp_path, HARNESS)
    write_answers(tmp_path, "gsm8k", [1, 0, 0, 0, 1], metric="exact_match", filtered="strict-match")
    assert len(read_evaluation(file)["gsm8k"].answers) == 5
    write_answers(tmp_path, "gsm8k", [1, 0, 0, 0, 0], metric="exact_match", filtered="strict-match")
    assert read_evaluation(file)["gsm8k"].answers == {}
    write_answers(tmp_path, "gsm8k", [1, 0, 0, 0, 1], metric="exact_match", filtered="flexible-extract")
    assert read_evaluation(file)["gsm8k"].answers == {}


def test_lighteval_and_plain_scores_are_read(tmp_path):
    light = {"results": {"harness|gsm8k|5": {"acc": 0.14, "acc_stderr": 0.0097}, "all": {"acc": 0.14}}}
    found = read_evaluation(write(tmp_path, light))
    assert list(found) == ["harness|gsm8k|5"]
    assert found["harness|gsm8k|5"].standard_error == 0.0097
    plain = read_evaluation(write(tmp_path, {"arc": [0.61, 0.014], "boolq": 0.8}, "plain.json"))
    assert [(score.value, score.standard_error) for score in plain.values()] == [(0.61, 0.014), (0.8, None)]


def test_plain_scores_say_what_is_better(tmp_path):
    plain = {"loss": [1.0, 0.01], "lies": {"score": 3, "standard_error": 0.1, "higher_is_better": False}, "arc": 0.5}
    found = read_evaluation(write(tmp_path, plain, "plain.json"))
    assert [score.higher_is_better for score in found.values()] == [False, False, True]
    assert (found["lies"].value, found["lies"].standard_error) == (3.0, 0.1)


def test_a_metric_that_no_benchmark_has_is_an_error(tmp_path):
    file = write(tmp_path, HARNESS)
    known = "acc, acc_norm, exact_match,strict-match, exact_match,flexible-extract, word_perplexity, score"
    with pytest.raises(ValueError, match=f"no benchmark has the metric acc_nrom; choose one of {known}$"):
        read_evaluation(file, metric="acc_nrom")
    plain = write(tmp_path, {"arc": 0.5}, "plain.json")
    with pytest.raises(
        ValueError, match=r"plain\.json: plain JSON, which names no metrics, so metric acc does not apply"
    ):
        read_evaluation(plain, metric="acc")


def test_benchmarks_without_the_chosen_metric_are_named(tmp_path):
    files = [write(tmp_path / name, HARNESS) for name in ("base", "tuned")]
    for metric in ("acc", "acc,none"):
        found = compare_files(files, metric=metric)
        assert found.without_metric == ("gsm8k", "wikitext", "chat")
    said = "Compared by another metric, since they do not have the chosen one: gsm8k (by exact_match,strict-match), "
    assert said in found.summary(400)
    assert compare_files(files, metric="exact_match").without_metric == ("quiz", "wikitext", "chat")
    assert compare_files(files).without_metric == ()


def test_files_are_named_by_file_or_folder(tmp_path):
    base, tuned = write(tmp_path / "base", HARNESS), write(tmp_path, HARNESS, "tuned.json")
    assert compare_files([base, tuned]).names == ("base", "tuned")
    assert compare_files([tuned, tuned]).names == ("tuned 1", "tuned 2")
    assert compare_files([tmp_path / "base", tuned], names=["a", " b"]).names == ("a", "b")
    with pytest.raises(ValueError, match="names a for 2 files"):
        compare_files([base, tuned], names=["a"])
    with pytest.raises(ValueError, match="1 file: give two or more"):
        compare_files([base])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "not valid JSON"),
        ("[1, 2]", "holds a list"),
        ("{}", "no scores of benchmarks"),
        ('{"results": {"arc": {"alias": "arc"}}}', "no scores of benchmarks"),
        ('{"arc": "high"}', "'arc' is high; a score is 'high': give a finite number; give a number, a number and its"),
        ('{"arc": [0.5]}', "give a number, a number and its standard error, or {"),
        ('{"arc": {"score": 0.5, "stderr": 0.1}}', "the entries are score, stderr: give a number"),
        ('{"arc": [0.5, -0.1]}', "the standard error is -0.1: it cannot be negative"),
    ],
)
def test_files_without_scores_are_named(tmp_path, text, message):
    file = tmp_path / "scores.json"
    file.write_text(text)
    with pytest.raises(ValueError, match=message) as found:
        read_evaluation(file)
    assert str(file) in str(found.value)


def test_missing_files_and_half_written_answers_are_named(tmp_path):
    with pytest.raises(FileNotFoundError, match="no such file"):
        read_evaluation(tmp_path / "nothing.json")
    with pytest.raises(FileNotFoundError, match=r"no results\*\.json in this folder"):
        read_evaluation(tmp_path)
    file = write(tmp_path, HARNESS)
    (tmp_path / f"samples_gsm8k_{TIME}.jsonl").write_text('{"doc_id": 0, "exact_')
    with pytest.raises(ValueError, match="line 1 is no answer of lm_eval"):
        read_evaluation(file)
