"""What a model lost between two evaluations, and what chance can explain."""

import math

import numpy as np
import pytest
from scipy import stats

from ebbing._significance import holm
from ebbing.metrics import Score, compare_evaluations
from ebbing.metrics._scores import change, lower_is_better


def answers(right: np.ndarray) -> Score:
    """The score of a model whose answers are right (1) or wrong (0)."""
    p = right.mean()
    error = math.sqrt(p * (1 - p) / (len(right) - 1))
    return Score(p, error, answers={f"q{k}": float(value) for k, value in enumerate(right)})


def without_answers(score: Score) -> Score:
    return Score(score.value, score.standard_error)


def test_independent_scores_add_their_variances():
    found = change(Score(0.6, 0.03), Score(0.5, 0.04))
    assert found.standard_error == pytest.approx(0.05)
    assert found.p_value == pytest.approx(2 * stats.norm.sf(2.0))
    assert found.interval == pytest.approx((-0.1 - 1.959964 * 0.05, -0.1 + 1.959964 * 0.05))
    assert found.questions == 0


def test_right_and_wrong_answers_are_tested_by_mcnemar():
    before, after = np.ones(20), np.ones(20)
    before[:2], after[10:18] = 0, 0  # two became right, eight wrong
    found = change(answers(before), answers(after))
    assert found.difference == pytest.approx(-0.3)
    assert found.p_value == pytest.approx(2 * sum(math.comb(10, k) for k in range(3)) / 2**10)
    assert found.questions == 20


def test_few_answers_that_all_became_wrong_decide_little():
    found = change(answers(np.ones(3)), answers(np.zeros(3)))
    assert found.p_value == pytest.approx(0.25)
    assert found.interval[0] < -0.5 < found.interval[1] < 0


def test_graded_answers_are_tested_by_a_paired_t_test():
    random = np.random.default_rng(0)
    before, after = random.random(50), random.random(50)
    found = change(answers(before), answers(after))
    expected = stats.ttest_rel(after, before)
    assert found.p_value == pytest.approx(expected.pvalue)
    assert found.interval == pytest.approx(tuple(expected.confidence_interval()))


@pytest.mark.parametrize("gain", [0.1, 0.25])
def test_equal_gains_of_graded_answers_decide_nothing(gain):
    """Whether their difference is exact or has rounding errors: how it varies is not known."""
    before = np.arange(50) % 5 / 10
    found = change(answers(before), answers(before + gain))
    assert np.isnan(found.standard_error)
    assert (found.p_value, found.questions) == (1.0, 50)


def test_rounding_errors_of_graded_answers_are_no_change():
    before = np.array([0.3, 0.6, 0.3, 0.3])
    found = change(answers(before), answers(np.array([0.1 + 0.2, 0.2 + 0.4, 0.1 + 0.2, 0.3])))
    assert (found.difference, found.p_value) == (0.0, 1.0)


def test_pairing_finds_what_scores_alone_miss():
    random = np.random.default_rng(1)
    before = (random.random(1000) < 0.6).astype(float)
    after = before.copy()
    after[np.flatnonzero(before)[:25]] = 0  # 25 answers lost, none gained
    paired = change(answers(before), answers(after))
    alone = change(without_answers(answers(before)), without_answers(answers(after)))
    assert paired.p_value < 1e-6
    assert alone.p_value > 0.05


@pytest.mark.parametrize("paired", [True, False])
def test_false_alarms_and_coverage_keep_their_rates(paired):
    random, studies, alarms, covered = np.random.default_rng(2), 1500, 0, 0
    for _ in range(studies):  # one answer in ten is given anew, as often right as before: no true change
        before, anew = random.random((2, 400)) < 0.6
        after = np.where(random.random(400) < 0.1, anew, before)
        scores = answers(before.astype(float)), answers(after.astype(float))
        found = change(*(scores if paired else map(without_answers, scores)))
        alarms += found.p_value < 0.05
        covered += found.interval[0] <= 0 <= found.interval[1]
    noise = 3 * math.sqrt(0.05 * 0.95 / studies)
    assert alarms / studies < 0.05 + noise
    assert covered / studies > 0.95 - noise
    if paired:  # an exact test and its interval err on the safe side, but not by much
        assert alarms / studies > 0.01
        assert covered / studies < 0.99
    else:  # far on the safe side, as both answered the same questions
        assert alarms == 0


def test_holm_multiplies_by_the_tests_left():
    p = np.array([0.2, 0.001, 0.04, 0.012])
    assert holm(p) == pytest.approx([0.2, 0.004, 0.08, 0.036])


def test_verdicts_are_corrected_for_the_number_of_benchmarks():
    alone = compare_evaluations({"a": {"x": (0.6, 0.01)}, "b": {"x": (0.57, 0.01)}})
    assert alone.worse == ("x",)
    others = {f"y{k}": (0.5, 0.01) for k in range(9)}
    several = compare_evaluations({"a": {"x": (0.6, 0.01), **others}, "b": {"x": (0.57, 0.01), **others}})
    assert several.worse == ()
    assert several.p_values[0] == pytest.approx(10 * alone.p_values[0])


def test_lower_perplexity_is_better():
    before = {"text": Score(12.0, 0.1, higher_is_better=False), "quiz": Score(0.5, 0.01)}
    after = {"text": Score(9.0, 0.1, higher_is_better=False), "quiz": Score(0.3, 0.01)}
    found = compare_evaluations({"base": before, "tuned": after})
    assert found.better == ("text",)
    assert found.worse == ("quiz",)
    assert "Lower is better for text." in found.summary()
    assert "From base to tuned, 1 of 2 benchmarks got worse" in found.summary()


NAMED_LOWER = (
    *(
        "loss",
        "eval_loss",
        "val-loss",
        "loss/c4",
        "log_loss",
        "perplexity",
        "word_perplexity",
        "c4 ppl",
        "nll",
        "brier_score",
    ),
    *(
        "WER",
        "wer_test_clean",
        "cer",
        "error",
        "error_rate",
        "error rate",
        "top-1 error",
        "mean_squared_error",
        "errors",
    ),
    *("rmse", "MSE", "mae", "bits_per_byte", "bits per character", "bpb", "test_err", "error on c4"),
)
NAMED_OTHERWISE = (
    *("acc", "gsm8k", "glossary", "lossless", "soccer", "answer", "power", "truthfulqa_mc1", "terror", "errorless"),
    *("salient_translation_error_detection", "grammatical error correction", "cerebral", "maestro", "applied_math"),
)


def test_names_tell_whether_lower_is_better():
    assert [name for name in NAMED_LOWER if not lower_is_better(name)] == []
    assert [name for name in NAMED_OTHERWISE if lower_is_better(name)] == []


def test_losses_given_as_pairs_are_better_if_lower():
    before = {"loss": (1.0, 0.01), "perplexity": (12, 0.1), "wer": (0.1, 0.001), "quiz": (0.5, 0.01)}
    after = {"loss": (2.0, 0.01), "perplexity": (22, 0.1), "wer": (0.05, 0.001), "quiz": (0.6, 0.01)}
    found = compare_evaluations({"base": before, "tuned": after})
    assert (found.worse, found.better) == (("loss", "perplexity"), ("wer", "quiz"))
    assert "Lower is better for loss, perplexity, wer." in found.summary()


def test_a_direction_that_is_given_decides():
    higher = {"score": 0.8, "standard_error": 0.01, "higher_is_better": True}
    assert compare_evaluations({"a": {"hearing loss": higher}, "b": {"hearing loss": higher | {"score": 0.9}}}).better
    lower = {"score": 3.0, "standard_error": 0.1, "higher_is_better": False}
    assert compare_evaluations({"a": {"lies": lower}, "b": {"lies": lower | {"score": 5.0}}}).worse
    with pytest.raises(ValueError, match="lies: lower is better in a, higher is better in b; give the same"):
        compare_evaluations({"a": {"lies": lower}, "b": {"lies": (3.0, 0.1)}})


def test_a_change_and_its_interval_have_equal_decimals():
    scores = {"ppl": (12, 0.1), "quiz": (0.52, 0.0138), "percent": (52.0, 1.38), "same": (80.0, 0.0)}
    after = {"ppl": (22, 0.1), "quiz": (0.43, 0.0136), "percent": (43.0, 1.36), "same": (80.0, 0.0)}
    lines = compare_evaluations({"base": scores, "tuned": after}).summary().split("\n")
    rows = {line.split()[0]: line.split()[4:-1] for line in lines if line.endswith(("worse", "better", "undecided"))}
    assert rows["ppl"] == ["+10.00", "+9.72", "to", "+10.28"]
    assert rows["quiz"] == ["-0.090", "-0.128", "to", "-0.052"]
    assert rows["percent"] == ["-9.00", "-12.80", "to", "-5.20"]
    assert rows["same"] == ["0", "-"]


def test_a_metric_with_a_filter_wraps_between_them():
    score = Score(0.5, 0.01, metric="exact_match,strict-match")
    text = compare_evaluations({"the base model": {"gsm8k": score}, "the tuned model": {"gsm8k": score}}).summary(80)
    lines = [line for line in text.split("\n") if "match" in line]
    assert [line.split()[1 - k] for k, line in enumerate(lines)] == ["exact_match,", "strict-match"]


def test_scores_without_errors_decide_nothing():
    found = compare_evaluations({"base": {"x": 0.9, "y": (0.0, 0.0)}, "tuned": {"x": 0.1, "y": (1.0, 0.0)}})
    assert found.undecided == ("x", "y")
    assert "no benchmark got worse beyond chance" in found.summary()
    assert "Undecided, since no standard error is known: x, y." in found.summary()


def test_undecided_losses_say_what_they_may_hide():
    found = compare_evaluations({"base": {"x": (0.6, 0.03)}, "tuned": {"x": (0.59, 0.04)}})
    assert "Losses of up to 0.11 (x) are not excluded." in found.summary(200)


def test_several_evaluations_compare_the_last_with_the_first():
    steps = {"base": {"x": (0.6, 0.01)}, "one": {"x": (0.3, 0.01)}, "two": {"x": (0.6, 0.01), "new": 0.5}}
    found = compare_evaluations(steps)
    assert found.undecided == ("x",)
    assert found.values.tolist() == [[0.6], [0.3], [0.6]]
    assert found.left_out == ("new",)
    assert "Left out, since not in all evaluations: new." in found.summary()
    frame = found.to_frame()
    assert frame.loc[0, ["benchmark", "before", "after", "verdict"]].tolist() == ["x", 0.6, 0.6, "undecided"]


def test_figure_puts_losses_left_and_at_the_top():
    found = compare_evaluations({
        "base": {"up": (0.5, 0.01), "down": (0.5, 0.01), "same": 0.5},
        "tuned": {"up": (0.7, 0.01), "down": (0.2, 0.01), "same": 0.5},
    })  # fmt: skip
    ax = found.plot()
    assert [label.get_text() for label in ax.get_yticklabels()] == ["down", "same", "up"]
    assert "percentage points" in ax.get_xlabel()
    legend = ax.get_legend()
    assert legend is not None
    texts = [text.get_text() for text in legend.get_texts()]
    assert texts == ["worse beyond chance", "chance can explain it", "better beyond chance"]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"base": {"x": 1.0}}, "1 evaluations: give two or more"),
        ([{"x": 1.0}], "list evaluations: give two or more"),
        ({"base": {"x": 1.0}, "tuned": {"y": 1.0}}, "no benchmark in common: base has x; tuned has y"),
        ({"base": {"x": 1.0}, "tuned": 0.5}, "'tuned' is a float: give scores by benchmark"),
        ({"base": {"x": 1.0}, "tuned": {"x": math.nan}}, "'tuned', benchmark 'x': a score is nan"),
        ({"base": {"x": 1.0}, "tuned": {"x": (0.5, -0.1)}}, "cannot be negative"),
        (
            {"base": {"x": 1.0}, "tuned": {"x": (0.5, 0.1, 3)}},
            "3 numbers: give a number, a number and its standard error",
        ),
        ({"base": {"x": 1.0}, "tuned": {"x": {"value": 1}}}, "'x': the entries are value: give a number"),
        ({"base": {"x": 1.0}, "tuned": {"x": {"score": 1, "higher_is_better": 0}}}, "higher_is_better is 0: say true"),
        (
            {"base": {"x": Score(1.0, metric="acc")}, "tuned": {"x": Score(1.0, metric="f1")}},
            "different metrics: acc in base, f1 in tuned",
        ),
    ],
)
def test_bad_evaluations_are_named(given, message):
    with pytest.raises(ValueError, match="^.*" + message.replace("(", r"\(")):
        compare_evaluations(given)


def test_summary_does_not_call_a_decided_change_undecided():
    found = compare_evaluations({"base": {"x": (0.5, 0.01), "y": 0.5}, "tuned": {"x": (0.4, 0.01), "y": 0.4}})
    text = found.summary(400)
    assert "1 of 2 benchmarks got worse beyond chance: x" in text
    assert "Undecided, since no standard error is known: y." in text
    assert text.lower().count("undecided") == 2  # in the row of y, and in the note


@pytest.mark.parametrize(("first", "last"), [((0.5, 0.6), (43.0, 60.0)), ((43.0, 60.0), (0.5, 0.0)), ((1, 0), (50, 3))])
def test_fractions_beside_percent_are_refused(first, last):
    scores = [dict(zip("ab", pair, strict=True)) for pair in (first, last)]
    with pytest.raises(ValueError, match=r"fractions and percent\? give all in one unit"):
        compare_evaluations({"base": scores[0], "tuned": scores[1]})
    with pytest.raises(ValueError, match="fractions and percent"):
        compare_evaluations({"base": scores[0], "middle": scores[0], "tuned": scores[1]})


@pytest.mark.parametrize(
    ("first", "last"),
    [
        ((0.5, 0.6), (0.01, 0.02)),
        ((50, 60), (1.6, 2)),
        ((0.5, 0.4), (2.5, 1.7)),  # rewards that have no such unit
        ((0.5, 1200), (50, 1210)),  # not all scores are of one kind
    ],
)
def test_other_scales_are_compared(first, last):
    evaluations = {name: dict(zip("ab", pair, strict=True)) for name, pair in {"base": first, "tuned": last}.items()}
    assert compare_evaluations(evaluations).benchmarks == ("a", "b")


def test_losses_may_fall_below_one():
    falls = {name: {"a": Score(value, higher_is_better=False)} for name, value in {"base": 20.0, "tuned": 0.9}.items()}
    assert compare_evaluations(falls).changes[0].difference == pytest.approx(-19.1)
