"""The comparison of ordering rules, against brute force, and its verdicts."""

import itertools
import json
from dataclasses import replace

import numpy as np
import pytest

from ebbing.order import best_order
from ebbing.order._branch_and_bound import prove
from ebbing.order.objective import Criterion
from ebbing.order.simple_rules import RULES, greedy_order
from ebbing.paper import rule_comparison, rule_report
from ebbing.paper.figures.rule_comparison import plot_rule_comparison, save_rule_comparison
from ebbing.theory import expect

NAMES = list(RULES)
DETERMINISTIC = [name for name in NAMES if name != "random"]


@pytest.fixture(scope="module")
def result() -> rule_comparison.Result:
    return rule_comparison.run(rule_comparison.Config(T=9, r=(0.1, 0.97), instances=60, seed=0))


def test_optimum_loses_nothing_and_the_worst_rule_most(monkeypatch):
    def forgetting(problem):
        return Criterion.of(problem, "forgetting").assignment()[0]

    monkeypatch.setitem(RULES, "best", lambda problem: np.array(best_order(problem).order))
    monkeypatch.setitem(RULES, "worst", lambda problem: prove(forgetting(problem).negated()).order)
    found = rule_comparison.run(rule_comparison.Config(T=6, r=(0.3, 0.9), instances=4))
    loss = dict(zip(found.rules, found.losses[0], strict=True))
    assert loss["best"].max() < 1e-9
    assert found.optimal[0, found.rules.index("best")].all()
    assert all((loss["worst"] >= loss[name] - 1e-9).all() for name in NAMES)
    assert loss["worst"].min() > 1  # worse than the mean of all orders
    assert not found.optimal[0, found.rules.index("worst")].any()
    assert found.proved.all()


def test_losses_equal_brute_force():
    config = rule_comparison.Config(T=5, r=(0.5,), instances=3, ensembles=("random", "on a line"))
    found = rule_comparison.run(config)
    for (e, ensemble), k in itertools.product(enumerate(config.ensembles), range(3)):
        problem = rule_comparison._problem(config, ensemble, 0.5, k)
        orders = np.array(list(itertools.permutations(range(5))))
        for q, quantity in enumerate(rule_comparison.QUANTITIES):
            values = np.array([getattr(expect(problem.reordered(order)), quantity) for order in orders])
            mine = getattr(expect(problem.reordered(greedy_order(problem))), quantity)
            loss = (mine - values.min()) / (values.mean() - values.min())
            assert found.losses[q, found.rules.index("greedy"), e, 0, k] == pytest.approx(loss, abs=1e-9)


def test_losses_depend_on_seed_and_ensemble_only():
    one, two = (
        rule_comparison.Config(T=5, r=(0.5,), instances=3, ensembles=e)
        for e in (("on a line",), ("random", "on a line"))
    )
    again, both, other = rule_comparison.run(one), rule_comparison.run(two), rule_comparison.run(replace(one, seed=1))
    assert np.array_equal(rule_comparison.run(one).losses, again.losses)
    assert np.array_equal(both.losses[:, :, 1:], again.losses)
    assert not np.array_equal(other.losses, again.losses)


def test_problems_whose_order_does_not_matter_are_left_out():
    found = rule_comparison.run(rule_comparison.Config(T=6, r=(0.5,), instances=12, ensembles=("categories",)))
    flat = np.isnan(found.losses[1])  # equal counts: every order generalizes alike
    assert flat.any()
    assert not flat.all()
    assert not np.isnan(found.losses[0]).any()
    assert found.optimal[1][flat].all()
    cell = found.row("generalization", "categories", "greedy")[0]
    assert cell.instances == 12 - flat[0].sum()
    assert np.isfinite(cell.mean)


def test_progress_ends_at_one():
    seen: list[float] = []
    rule_comparison.run(rule_comparison.Config(T=4, r=(0.5,), instances=2, ensembles=("random",)), progress=seen.append)
    assert seen == [0.5, 1.0]


def test_every_verdict_but_one_on_long_paths_holds(result):
    refuted = [verdict.claim for verdict in result.verdicts() if not verdict.holds]
    assert refuted == ["forgetting at r = 0.97: dissimilar neighbors are enough, the longest path beats greedy"]


@pytest.mark.parametrize(
    ("one", "other", "claim"),
    [
        ("largest_error", "greedy", "best rule over all kinds and r"),
        ("largest_error", "farthest", "at r = 0.97: learning the task of largest"),
        ("farthest", "greedy", "farthest from all learned tasks"),
        ("greedy", "largest_error", "twice"),
        ("longest_path", "greedy", "at r = 0.1: dissimilar neighbors"),
        ("longest_path", "greedy", "at r = 0.97: dissimilar neighbors"),
        ("periphery_to_core", "largest_error", "not the best for forgetting"),
        ("periphery_to_core", "farthest", "periphery to core is optimal"),
        ("nearest", "random", "small steps"),
        ("core_to_periphery", "alternating", "starting from the core"),
        ("alternating", "largest_error", "dealing them in turn"),
        ("random", "nearest", "a random order loses 1"),
    ],
)
def test_verdict_changes_when_two_rules_are_swapped(result, one, other, claim):
    index = list(range(len(NAMES)))
    a, b = NAMES.index(one), NAMES.index(other)
    index[a], index[b] = b, a
    swapped = replace(result, losses=result.losses[:, index], optimal=result.optimal[:, index])
    before, after = ([v.holds for v in r.verdicts() if claim in v.claim] for r in (result, swapped))
    assert len(before) == 1
    assert before != after


def test_unproved_optimum_fails_its_verdict(result):
    proved = result.proved.copy()
    proved[0, 0, 0, 0] = False
    verdict = replace(result, proved=proved).verdicts()[0]
    assert not verdict.holds
    assert verdict.result == "1199 of 1200"


def test_saved_files_have_every_cell(result, tmp_path):
    pytest.importorskip("matplotlib")
    rule_report.save(result, tmp_path)
    save_rule_comparison(result, tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {f"rules.{kind}" for kind in ("png", "svg", "csv", "json")}
    assert all(path.stat().st_size > 1000 for path in tmp_path.iterdir())
    content = json.loads((tmp_path / "rules.json").read_text())
    assert content["provenance"]["config"]["T"] == 9
    assert content["unproved"] == 0
    assert len(content["cells"]) == 2 * 5 * len(RULES) * 2 == len((tmp_path / "rules.csv").read_text().splitlines()) - 1


def test_plot_shows_every_rule_in_every_panel(result):
    pytest.importorskip("matplotlib")
    axes = plot_rule_comparison(result)
    assert axes.shape == (2, 5)
    assert all(len(ax.containers) == len(DETERMINISTIC) for ax in axes.flat)
    assert len(axes[0, 0].figure.legends[0].get_texts()) == len(DETERMINISTIC)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"T": 3}, "T=3"),
        ({"T": 15}, "T=15"),
        ({"instances": 1}, "at least 2"),
        ({"ensembles": ("sphere",)}, "no ensemble is called sphere; give some of random"),
        ({"r": (0.5, 1.0)}, r"r=1\.0"),
        ({"r": (0.12345,)}, "is whole, with p=1000"),
    ],
)
def test_config_raises_an_error_for_bad_settings(settings, message):
    with pytest.raises(ValueError, match=message):
        rule_comparison.Config(**settings)
