"""Rules of thumb: each against its definition, and the study that compares them against brute force."""

import itertools
import json
from dataclasses import replace

import numpy as np
import pytest

from ebbing.order import simple_rules as thumb
from ebbing.order._assignment import all_values
from ebbing.order._branch_and_bound import prove
from ebbing.order.objective import Criterion
from ebbing.order.plan import best_order
from ebbing.order.simple_rules import (
    RULES,
    alternating,
    farthest,
    greedy,
    largest_error,
    longest_path,
    periphery_to_core,
)
from ebbing.paper import rule_comparison as study
from ebbing.paper.proofs import categories
from ebbing.problem import Problem
from ebbing.theory import expect

NAMES = list(RULES)
DETERMINISTIC = [name for name in NAMES if name != "random"]


def tasks(T: int, seed: int = 0, dimension: int = 3, **settings) -> Problem:
    settings = {"n": 50, "p": 100} | settings
    return Problem.from_vectors(np.random.default_rng(seed).standard_normal((T, dimension)), **settings)


@pytest.fixture(scope="module")
def result() -> study.Result:
    return study.run(study.Config(T=9, r=(0.1, 0.97), instances=60, seed=0))


@pytest.mark.parametrize("name", NAMES)
def test_a_rule_returns_a_permutation(name):
    problems = [tasks(T, seed) for T, seed in itertools.product((1, 2, 3, 8), (0, 1))]
    problems += [Problem.identical(T=5, n=50, p=100), Problem.orthogonal(T=5, n=50, p=100), tasks(13)]
    problems += [Problem.categories("ABACCB", n=50, p=100), tasks(3, n=[5, 50, 200], sigma=[0.1, 0.3, 0.2])]
    for problem in problems:
        order = RULES[name](problem)
        assert sorted(order.tolist()) == list(range(problem.T))
        problem.reordered(order)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("greedy", [3, 0, 2, 1]),  # 7, then 0 at 49, then 3 at 9
        ("nearest", [2, 1, 0, 3]),  # the core is 3, then 1 at 4, then 0 at 1
        ("farthest", [3, 0, 1, 2]),  # 1 is at 36 + 1 from 7 and 0, task 3 at 16 + 9
        ("largest_error", [3, 0, 2, 1]),  # after 7 and 0 at r = 1/2: 9.75 on 1, 10.75 on 3
        ("periphery_to_core", [3, 0, 1, 2]),  # sums 101, 59, 41, 29
        ("core_to_periphery", [2, 1, 0, 3]),
        ("longest_path", [1, 3, 0, 2]),  # 36 + 49 + 9, from the end of sum 41 rather than 29
        ("alternating", [0, 3, 1, 2]),  # clusters 0, 1, 3 and 7
    ],
)
def test_four_tasks_on_a_line_by_hand(name, expected):
    problem = Problem.from_vectors([[0], [1], [3], [7]], n=50, p=100)
    assert RULES[name](problem).tolist() == expected


@pytest.mark.parametrize("name", DETERMINISTIC)
def test_the_names_of_tasks_do_not_matter(name):
    for seed in range(10):
        problem = tasks(8, seed)
        relabelled = np.random.default_rng(seed).permutation(8)
        assert relabelled[RULES[name](problem.reordered(relabelled))].tolist() == RULES[name](problem).tolist()


@pytest.mark.parametrize("name", [name for name in DETERMINISTIC if name != "largest_error"])
def test_distances_alone_decide(name):
    problem = tasks(7, seed=3)
    other = tasks(7, seed=3, n=10, p=1000, sigma=0.5)
    away = Problem.from_vectors(np.random.default_rng(3).standard_normal((7, 3)), initial=[5, 0, 0], n=50, p=100)
    assert RULES[name](problem).tolist() == RULES[name](other).tolist() == RULES[name](away).tolist()


def test_equal_candidates_are_taken_as_given():
    problem = Problem.orthogonal(T=5, norm=0.1**0.5, n=50, p=100)  # distances that are equal only up to rounding
    for rule in (greedy, farthest, largest_error, periphery_to_core, alternating):
        assert rule(problem).tolist() == [0, 1, 2, 3, 4]


def test_largest_error_follows_the_expected_errors():
    for seed in range(5):
        problem = tasks(7, seed, n=[5, 50, 20, 120, 60, 30, 10], sigma=[0.1, 0.5, 0, 0.2, 1, 0.3, 0.1])
        errors = expect(problem.reordered(largest_error(problem))).errors  # (T+1, T) in the order of learning
        assert [int(np.argmax(errors[t, t:])) for t in range(problem.T)] == [0] * problem.T


def test_farthest_is_largest_error_as_r_tends_to_one():
    for seed in range(5):
        w = np.random.default_rng(seed).standard_normal((7, 4))
        w /= np.linalg.norm(w, axis=1, keepdims=True)
        first = int(farthest(Problem.from_vectors(w, n=1, p=10))[0])
        w[first] *= 1 + 1e-6  # equal norms leave the first task of `largest_error` open
        problem = Problem.from_vectors(w, n=1, p=10**9)
        assert largest_error(problem).tolist() == farthest(problem).tolist()


@pytest.mark.parametrize("T", [2, 3, 5, 7])
def test_longest_path_equals_brute_force(T):
    for seed in range(5):
        problem = tasks(T, seed)
        order, d = longest_path(problem), problem.gaps
        length = max(sum(d[a, b] for a, b in itertools.pairwise(o)) for o in itertools.permutations(range(T)))
        assert d[order[:-1], order[1:]].sum() == pytest.approx(length, rel=1e-9)
        assert d[order[0]].sum() >= d[order[-1]].sum()


def test_longest_path_by_search_beats_greedy():
    for seed in range(3):
        problem = tasks(16, seed)
        found, pass_ = (problem.gaps[o[:-1], o[1:]].sum() for o in (longest_path(problem), greedy(problem)))
        assert found >= pass_


@pytest.mark.parametrize("counts", [(3, 3), (2, 2, 2), (1, 2, 3), (5, 1), (4, 3, 2, 1), (2, 2, 2, 2)])
def test_alternating_deals_categories_in_turn(counts):
    labels = "".join(letter * count for letter, count in zip("ABCD", counts, strict=False))
    problem = Problem.categories(labels, n=50, p=100)
    order = problem.reordered(alternating(problem)).names
    assert "".join(name[0] for name in order) == categories.alternating(counts)


@pytest.mark.parametrize("labels", ["AAABBB", "AABBCC", "ABCABCABC"])
def test_largest_error_deals_equal_categories_in_turn_which_is_optimal(labels):
    problem = Problem.categories(labels, n=30, p=100)
    criterion = Criterion.of(problem, "forgetting")
    assert criterion.value(largest_error(problem)) == pytest.approx(best_order(problem).value, abs=1e-12)


def test_alternating_finds_clusters():
    kinds = np.array([0, 1, 2, 1, 0, 2, 0, 1, 2])
    w = 5 * np.eye(3)[kinds] + 0.1 * np.random.default_rng(0).standard_normal((9, 3))
    dealt = kinds[alternating(Problem.from_vectors(w, n=50, p=100))].reshape(3, 3)
    assert (dealt == dealt[0]).all()
    assert sorted(dealt[0]) == [0, 1, 2]


def test_periphery_to_core_is_optimal_for_generalization_error_whatever_the_norms_but_not_the_noise():
    for seed in range(5):
        problem = tasks(6, seed)
        assignment, constant = Criterion.of(problem, "generalization").assignment()
        best = all_values(assignment)[1].min() + constant
        assert expect(problem.reordered(periphery_to_core(problem))).generalization == pytest.approx(best, abs=1e-12)
    problem = tasks(6, sigma=[0, 0, 0, 0, 0, 9])
    assert periphery_to_core(problem).tolist() != list(best_order(problem, "generalization").order)


def test_random_depends_on_the_seed_only():
    problem = tasks(8)
    assert thumb.random(problem, seed=1).tolist() == thumb.random(tasks(8, seed=5), seed=1).tolist()
    assert thumb.random(problem, seed=1).tolist() != thumb.random(problem, seed=2).tolist()


def test_the_mean_of_all_orders_equals_enumeration():
    for T, objective in itertools.product((2, 3, 6), study.QUANTITIES):
        assignment, _ = Criterion.of(tasks(T, seed=T, n=20), objective).assignment()
        assert thumb.mean_of_all_orders(assignment) == pytest.approx(all_values(assignment)[1].mean(), abs=1e-12)


def test_the_optimum_loses_nothing_and_a_bad_rule_most(monkeypatch):
    def forgetting(problem):
        return Criterion.of(problem, "forgetting").assignment()[0]

    monkeypatch.setitem(RULES, "best", lambda problem: np.array(best_order(problem).order))
    monkeypatch.setitem(RULES, "worst", lambda problem: prove(forgetting(problem).negated()).order)
    found = study.run(study.Config(T=6, r=(0.3, 0.9), instances=4))
    loss = dict(zip(found.rules, found.losses[0], strict=True))
    assert loss["best"].max() < 1e-9
    assert found.optimal[0, found.rules.index("best")].all()
    assert all((loss["worst"] >= loss[name] - 1e-9).all() for name in NAMES)
    assert loss["worst"].min() > 1  # worse than the mean of all orders
    assert not found.optimal[0, found.rules.index("worst")].any()
    assert found.proved.all()


def test_losses_equal_brute_force():
    config = study.Config(T=5, r=(0.5,), instances=3, ensembles=("random", "on a line"))
    found = study.run(config)
    for (e, ensemble), k in itertools.product(enumerate(config.ensembles), range(3)):
        problem = study._problem(config, ensemble, 0.5, k)
        orders = np.array(list(itertools.permutations(range(5))))
        for q, quantity in enumerate(study.QUANTITIES):
            values = np.array([getattr(expect(problem.reordered(order)), quantity) for order in orders])
            mine = getattr(expect(problem.reordered(greedy(problem))), quantity)
            loss = (mine - values.min()) / (values.mean() - values.min())
            assert found.losses[q, found.rules.index("greedy"), e, 0, k] == pytest.approx(loss, abs=1e-9)


def test_the_seed_decides_and_ensembles_do_not_depend_on_each_other():
    one, two = (
        study.Config(T=5, r=(0.5,), instances=3, ensembles=e) for e in (("on a line",), ("random", "on a line"))
    )
    again, both, other = study.run(one), study.run(two), study.run(replace(one, seed=1))
    assert np.array_equal(study.run(one).losses, again.losses)
    assert np.array_equal(both.losses[:, :, 1:], again.losses)
    assert not np.array_equal(other.losses, again.losses)


def test_problems_whose_order_does_not_matter_are_left_out():
    found = study.run(study.Config(T=6, r=(0.5,), instances=12, ensembles=("categories",)))
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
    study.run(study.Config(T=4, r=(0.5,), instances=2, ensembles=("random",)), progress=seen.append)
    assert seen == [0.5, 1.0]


def test_every_verdict_but_the_one_on_long_paths_holds(result):
    refuted = [verdict.claim for verdict in result.verdicts() if not verdict.holds]
    assert refuted == ["forgetting at r = 0.97: dissimilar neighbors are enough, the longest path beats greedy"]


@pytest.mark.parametrize(
    ("one", "other", "claim"),
    [
        ("largest_error", "greedy", "best rule over all kinds and r"),
        ("largest_error", "farthest", "at r = 0.97: it is the best rule"),
        ("farthest", "greedy", "farthest from all learned"),
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
def test_a_verdict_changes_when_two_rules_are_swapped(result, one, other, claim):
    index = list(range(len(NAMES)))
    a, b = NAMES.index(one), NAMES.index(other)
    index[a], index[b] = b, a
    swapped = replace(result, losses=result.losses[:, index], optimal=result.optimal[:, index])
    before, after = ([v.holds for v in r.verdicts() if claim in v.claim] for r in (result, swapped))
    assert len(before) == 1
    assert before != after


def test_an_unproved_optimum_is_reported(result):
    proved = result.proved.copy()
    proved[0, 0, 0, 0] = False
    verdict = replace(result, proved=proved).verdicts()[0]
    assert not verdict.holds
    assert verdict.result == "1199 of 1200"


def test_files_and_text(result, tmp_path):
    pytest.importorskip("matplotlib")
    paths = study.save(result, tmp_path)
    assert [path.name for path in paths] == ["rules.png", "rules.svg", "rules.csv", "rules.json"]
    assert all(path.stat().st_size > 1000 for path in paths)
    content = json.loads((tmp_path / "rules.json").read_text())
    assert content["provenance"]["config"]["T"] == 9
    assert content["unproved"] == 0
    assert len(content["cells"]) == 2 * 5 * len(RULES) * 2 == len((tmp_path / "rules.csv").read_text().splitlines()) - 1
    text = study.to_text(result)
    assert all(text.count(f"  {name} ") == 10 for name in NAMES)


def test_the_picture_shows_every_rule_in_every_panel(result):
    pytest.importorskip("matplotlib")
    figure = study.plot(result)
    assert len(figure.axes) == 10
    assert all(len(ax.containers) == len(DETERMINISTIC) for ax in figure.axes)
    assert len(figure.legends[0].get_texts()) == len(DETERMINISTIC)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"T": 3}, "T=3"),
        ({"T": 15}, "T=15"),
        ({"instances": 1}, "at least 2"),
        ({"ensembles": ("sphere",)}, "no ensemble called sphere; there is random"),
        ({"r": (0.5, 1.0)}, r"r=1\.0"),
        ({"r": (0.12345,)}, "is whole, with p=1000"),
    ],
)
def test_bad_settings_are_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        study.Config(**settings)
