"""Advised orders: the best of all, what is at stake, how sure; and replay."""

from dataclasses import replace
from itertools import permutations

import numpy as np
import pytest

from ebbing.forecasting import ForecastPlan, ReplayForecast, forecast
from ebbing.forecasting._confidence import Confidence
from ebbing.forecasting._search import Weights, search
from ebbing.forecasting.plan import FEW_POINTS, SMALL


def similar_pairs(T=4, n=120, d=200, noise=0.4, seed=0):
    """Tasks of two opposite kinds in turn: their order matters."""
    random = np.random.default_rng(seed)
    base = random.standard_normal(d)
    found = {}
    for t in range(T):
        x = random.standard_normal((n, d))
        w = (1 if t % 2 else -1) * base + noise * random.standard_normal(d)
        found[f"t{t}"] = (x, x @ w > 0)
    return found


def test_best_order_is_the_least_of_all():
    found = forecast("linear", similar_pairs(n=60))
    errors = {o: (found.forgetting(o), found.generalization(o)) for o in permutations(range(4))}
    for objective in ("forgetting", "generalization", 0.3):
        plan = found.best_order(objective)
        f = {"forgetting": 1.0, "generalization": 0.0, 0.3: 0.3}[objective]
        values = {o: f * forgetting + (1 - f) * error for o, (forgetting, error) in errors.items()}
        assert plan.value == pytest.approx(min(values.values()), rel=1e-9)
        assert plan.worst == pytest.approx(max(values.values()), rel=1e-9)
        assert plan.random == pytest.approx(np.mean(list(values.values())), rel=1e-9)
        assert plan.given == pytest.approx(values[0, 1, 2, 3], rel=1e-9)
        assert values[plan.order] == pytest.approx(plan.value, rel=1e-9)
        assert plan.complete
        assert plan.names == tuple(f"t{t}" for t in plan.order)


def one_opposite(n=400, d=40, seed=0):
    """Three tasks that are alike and one that undoes them: it should not come last."""
    random = np.random.default_rng(seed)
    base = random.standard_normal(d)
    inputs = [random.standard_normal((n, d)) for _ in range(4)]
    return {f"t{t}": (x, x @ base * (-1 if t == 3 else 1) > 0) for t, x in enumerate(inputs)}


def noise(random, n=60, d=10):
    return {f"t{k}": (random.standard_normal((n, d)), random.integers(0, 2, n)) for k in range(4)}


def test_order_that_matters():
    plan = forecast("linear", one_opposite()).best_order()
    assert plan.order[3] != 3
    assert plan.matters
    assert plan.gain > 2 * plan.gain_error
    assert plan.as_good[0] == plan.names
    assert len(plan.as_good) < 24
    text = plan.summary()
    assert text.startswith("Learn in this order for the least forgetting:")
    assert "All 24 orders were computed." in text
    assert "gains" in text
    assert text.split("to see how much:")[1].split()[0] == "ebbing.measure."
    assert "accuracy at the end" in text


def test_plan_for_regression_has_no_accuracies():
    tasks = {name: (x, 1.0 * y + 0.5) for name, (x, y) in one_opposite().items()}
    text = " ".join(forecast("linear", tasks).best_order().summary().split())
    assert "to see how much: ebbing.measure." in text
    assert "accuracy" not in text


def test_given_order_that_is_clearly_worse_matters():
    """One of four tasks should not be last: of the orders that end with it, as given, a quarter of all are worse."""
    tasks = one_opposite(n=120, seed=1)
    found = forecast("linear", tasks, train_size=60, test_size=60)
    plan = found.best_order()
    names = list(tasks)
    better = forecast("linear", {n: tasks[n] for n in (*names[3:], *names[:3])}, train_size=60, test_size=60)
    assert plan.gain_over_given > plan.gain > 0
    assert plan.gain_over_given == pytest.approx(np.mean(plan.confidence.gains_over_given))
    assert "over the order as given" in plan.summary()
    assert better.best_order().gain_over_given < plan.gain_over_given


def test_plan_matters_by_either_gain():
    """Values on halves that are made up: row 2k and 2k+1 are the halves of a split."""
    plan = forecast("linear", similar_pairs(3, n=40), train_size=20, test_size=20).best_order()
    orders = np.array([(1, 0, 2), (0, 1, 2), (2, 1, 0), (2, 0, 1)])  # the advised one, the one as given, others
    noise = np.array([0.01, -0.01, 0.01, -0.01])[:, None]

    def made(values, spread):
        values = np.array(values) + noise * np.array(spread)
        return replace(plan, order=(1, 0, 2), confidence=Confidence(orders, values), initial_error=1.0)

    worse = made([0.2, 0.6, 0.2, 0.2], [0, 1, 0, 0])
    assert worse.matters
    assert worse.gain_over_given == pytest.approx(0.4)
    assert worse.gain_over_given_error == pytest.approx(0.01)
    noisy = made([0.2, 0.6, 0.2, 0.2], [0, 20, 0, 0])  # 0.4 with an error of 0.2
    assert not noisy.matters
    equal = made([0.2, 0.2, 0.2, 0.2], [0, 0, 0, 0])
    assert not equal.matters
    random = made([0.2, 0.2, 0.6, 0.6], [0, 0, 1, 1])  # as given it is as good as advised
    assert random.matters
    assert not random._given_is_worse


def test_large_differences_never_hardly_matter():
    random = np.random.default_rng(0)
    plans = [forecast("linear", noise(random), loss="squared").best_order() for _ in range(10)]
    for plan in plans:
        small = max(plan.random, plan.given) - plan.value <= SMALL * plan.initial_error
        assert plan.accuracies is not None
        small &= max(plan.accuracies) - min(plan.accuracies) <= FEW_POINTS
        assert ("hardly matters" in plan.summary()) == (small and not plan.matters)
    assert not all(plan.matters for plan in plans)


def test_order_that_does_not_matter():
    random = np.random.default_rng(3)
    w = random.standard_normal(8)
    inputs = [random.standard_normal((200, 8)) for _ in range(4)]
    plan = forecast("linear", {f"t{k}": (x, x @ w > 0) for k, x in enumerate(inputs)}).best_order()
    assert not plan.matters
    assert plan.summary().startswith("The order hardly matters here: a random one is predicted to cost 0.0")
    assert plan.recommended == plan.task_names
    plans = [forecast("linear", noise(random), loss="squared").best_order() for _ in range(20)]
    assert sum(plan.matters for plan in plans) <= 4  # two standard errors, with their own noise
    assert any("These examples cannot tell" in plan.summary() for plan in plans)  # few noisy examples


def test_gain_is_not_that_of_the_examples_that_chose():
    """On pure noise the best order seems to gain; on the other half it gains nothing."""
    random = np.random.default_rng(5)
    promised, kept = [], []
    for _ in range(6):
        plan = forecast("linear", noise(random), loss="squared").best_order()
        promised.append(plan.random - plan.value)
        kept.append(plan.gain)
    assert np.mean(promised) > 0.03
    assert abs(np.mean(kept)) < np.mean(promised) / 3


def test_search_beyond_all_orders_finds_good_ones(monkeypatch):
    found = forecast("linear", similar_pairs(5, n=60), train_size=20, test_size=20)
    weights = Weights(1.0, 0.0)
    exact = search(found.model, weights)
    monkeypatch.setattr("ebbing.forecasting._search.ALL_LOGISTIC_UP_TO", 3)
    heuristic = search(found.model, weights)
    assert exact.complete
    assert not heuristic.complete
    assert heuristic.value == pytest.approx(exact.value, abs=0.02 * (exact.worst_value - exact.value))
    assert heuristic.worst_value == pytest.approx(exact.worst_value, abs=0.02 * (exact.worst_value - exact.value))


def test_many_tasks():
    found = forecast("linear", similar_pairs(14, n=40), train_size=10, test_size=10, loss="squared")
    plan = found.best_order(seconds=10)
    assert sorted(plan.order) == list(range(14))
    assert plan.value < plan.values.min()
    assert plan.worst > plan.values.max()
    assert found.forgetting(plan.order) == pytest.approx(plan.value)
    assert "beam and exchange search" in plan.summary()


@pytest.mark.parametrize("objective", ["speed", 1.5, {"forgetting": 0}, {"speed": 1}, True])
def test_bad_objectives(objective):
    with pytest.raises(ValueError, match="objective="):
        forecast("linear", similar_pairs()).best_order(objective)


def test_one_task_has_no_order():
    one = forecast("linear", similar_pairs(1))
    with pytest.raises(ValueError, match="at least two tasks"):
        one.best_order()
    with pytest.raises(ValueError, match="at least two steps"):
        one.forgetting()
    assert "Forecast of 1 task (yes or no)" in one.summary()


def test_frame_and_figure_of_a_plan():
    plan = forecast("linear", similar_pairs(n=40)).best_order()
    frame = plan.to_frame()
    assert len(frame) == 24
    assert frame.role[0] == "advised"
    assert frame.role[23] == "worst"
    assert plan.plot().get_ylabel() == "predicted forgetting"


def test_without_time_a_search_computes_the_least():
    found = forecast("linear", similar_pairs(T=10, n=40, d=20))
    plan = found.best_order(seconds=1e-3)
    assert len(plan.orders) == 25
    assert sorted(plan.order) == list(range(10))
    assert plan.value <= plan.values.min() + 1e-12  # the same order, learned beside others
    assert plan.confidence.values.shape == (4, 10)  # two splits, ten orders


# ---------------------------------------------------------------- replay


def separate(n=160, d=120):
    """Tasks whose inputs have centers of their own: one model can learn all of them."""
    random = np.random.default_rng(0)
    found = {}
    for k in range(4):
        x = random.standard_normal((n, d)) + 0.5 * random.standard_normal(d)
        found[f"t{k}"] = (x, x[:, : d // 4] @ random.standard_normal(d // 4))
    return found


def test_replay_saves_what_is_forgotten():
    found = forecast("linear", separate())
    curve = found.replay()
    assert curve.shares[0] == 0
    assert curve.forgetting[0] == pytest.approx(found.forgetting())
    assert curve.forgetting[-1] < 0.5 * curve.forgetting[0]
    assert 0 < curve.share <= 1
    size = len(found.model.train[0])
    full = [{f"t{k}": size for k in range(s + 1)} for s in range(4)]
    assert curve.forgetting[-1] == pytest.approx(found.forgetting(full))
    assert curve.generalization[-1] == pytest.approx(found.generalization(full))


def test_given_order_that_is_as_good_is_kept():
    order, given, worst = (1, 0, 2), (0, 1, 2), (2, 1, 0)
    values = np.array([[0.10, 0.11, 0.9], [0.12, 0.10, 0.9]])  # on two halves: the first two orders differ by chance
    confidence = Confidence(np.array([order, given, worst]), values)
    orders = np.array([order, given, worst])
    plan = ForecastPlan(
        ("a", "b", "c"), "forgetting", order, 0.10, worst, 0.9, 0.11, orders, np.array([0.10, 0.11, 0.9]), False, 1.0,
        confidence,
    )  # fmt: skip
    assert plan.matters
    assert plan.summary().startswith("Keep your order: no other is predicted to be worth a change.\n  a > b > c")
    assert plan.recommended == ("a", "b", "c")
    assert "Keep your order, a > b > c: the predicted forgetting is 0.11, 0.37 in a random order" in plan._answer()
    best = replace(plan, task_names=("b", "a", "c"), order=given, given=0.10)
    assert best.matters
    assert best.names == best.recommended == ("b", "a", "c")
    assert best.summary().startswith("Keep your order: no other is predicted to be worth a change.\n  b > a > c")
    assert best._answer().endswith("0.37 in a random order, and no order is predicted to have less.")
    clearly = replace(plan, given=0.5, confidence=Confidence(orders, np.array([[0.1, 0.5, 0.9], [0.1, 0.5, 0.9]])))
    assert clearly.summary().startswith("Learn in this order for the least forgetting:\n  b > a > c")
    unproven = replace(plan, given=0.5)  # on halves, by chance, it is as good
    assert unproven.summary().startswith("Learn in this order for the least forgetting:\n  b > a > c")
    assert unproven.recommended == ("b", "a", "c")
    assert "0.5 in the order as given. These examples do not prove it." in unproven._answer()


def curve_of(generalization, halves):
    shares = np.array([0.0, 0.1, 0.5, 1.0])
    values = np.array(generalization)
    return ReplayForecast(("a", "b"), shares, np.zeros((4, 1)), values, values, None, np.array([9]), np.array(halves))


def test_replay_advises_the_smallest_share_as_good_as_the_best():
    errors = [1.0, 0.3, 0.21, 0.2]
    sure = [errors, errors]
    assert curve_of(errors, sure).share == 0.5  # 0.1 saves seven eighths of what 1.0 does
    alike = [[1.0, 0.4, 0.4, 0.4], [1.0, 0.2, 0.2, 0.2]]  # halves differ, but not in what shares save
    assert curve_of(errors, alike).share == 0.5
    doubtful = [[1.0, 0.4, 0.21, 0.1], [1.0, 0.2, 0.21, 0.3]]  # the gain of 1.0 over 0.1 is 0.1 with an error of 0.2
    assert curve_of(errors, doubtful).share == 0.1
    wild = [[1.0, 5.0, 5.0, 0.1], [1.0, -5.0, -5.0, 0.3]]
    useless = curve_of([1.0, 0.95, 0.9, 0.2], wild)  # shares that save next to nothing, whose errors are large
    assert useless.share == 1.0
    hardly = [0.203, 0.202, 0.2, 0.2]
    assert curve_of(hardly, [hardly, hardly]).share == 0


def test_replay_that_chance_can_explain_is_doubted():
    errors = [1.0, 0.9, 0.8, 0.8]
    clear = curve_of(errors, [[1.0, 0.9, 0.81, 0.8], [1.0, 0.9, 0.79, 0.8]])
    doubtful = curve_of(errors, [[1.0, 0.9, 1.2, 0.9], [1.0, 0.9, 0.4, 0.7]])
    assert (clear.share, doubtful.share) == (0.5, 0.1)
    assert clear.is_clear
    assert "cannot tell" not in clear.summary()
    unsure = curve_of(errors, [[1.0, 1.4, 1.3, 1.3], [1.0, 0.4, 0.3, 0.3]])
    assert not unsure.is_clear
    assert unsure.summary(300).startswith(
        "These examples cannot tell whether old data helps: chance can explain it. The p"
    )


def test_replay_standard_errors_are_deviations_between_samples():
    random = np.random.default_rng(1)
    truths = random.standard_normal((2, 5))
    curves = []
    for _ in range(40):
        data = {}
        for name, truth in zip("ab", truths, strict=True):
            inputs = random.standard_normal((160, 5))
            data[name] = inputs, inputs @ truth + random.standard_normal(160)
        curves.append(forecast("linear", data).replay(shares=[0.5]))
    measured = np.std([curve.final_errors for curve in curves], axis=0)
    predicted = np.sqrt(np.mean([curve.standard_errors**2 for curve in curves], axis=0))
    assert predicted == pytest.approx(measured, rel=0.35)  # the deviation of 40 is known to 11%


def test_replay_that_is_not_needed():
    data = separate()["t0"]
    curve = forecast("linear", {"a": data, "b": data}).replay(shares=[0.5])
    assert curve.shares.tolist() == [0, 0.5]
    assert curve.share == 0
    assert curve.summary().startswith("Mix in no old data")


def test_replay_curve_shows_itself():
    curve = forecast("linear", separate()).replay(["t3", "t0", "t1", "t2"])
    assert curve.names == ("t3", "t0", "t1", "t2")
    assert curve.share > 0
    assert curve.accuracy is None
    assert curve.share == 1
    advice = "Mix 100% of each old task's data into every later step (all of it: joint training): the predicted error"
    assert curve.summary(300).startswith(advice)
    assert list(curve.to_frame().columns) == ["share", "examples", "forgetting", "generalization", "standard_error"]
    assert curve.plot().get_ylabel() == "predicted error"


def test_replay_of_classes_is_told_by_accuracy():
    data = {name: (x, y > 0) for name, (x, y) in separate().items()}
    found, shares = forecast("linear", data), []
    curve = found.replay(progress=shares.append)
    mixtures = [{f"t{k}": len(found.model.train[k]) for k in range(s + 1)} for s in range(4)]
    assert curve.accuracy is not None
    assert curve.accuracy[0] == pytest.approx(found.accuracies()[-1].mean())
    assert curve.accuracy[-1] == pytest.approx(found.accuracies(mixtures)[-1].mean())
    (at,) = np.flatnonzero(curve.shares == curve.share)
    told = f"{100 * curve.accuracy[at]:.0f} ± {100 * curve.standard_errors[at]:.0f}%"
    assert f", {told} with {curve.share:.0%} of each old task's data, on average" in curve.summary(300)
    assert curve.to_frame()["accuracy"].tolist() == curve.accuracy.tolist()
    assert curve.plot().get_ylabel() == "mean accuracy at the end (%)"
    doubted = replace(found, notes=("Check the data.",)).replay(shares=[0.5])
    assert doubted.summary().endswith("Check the data.")
    assert shares == sorted(shares)
    assert shares[-1] == 1


@pytest.mark.parametrize(
    ("order", "shares", "message"),
    [
        (["t0", "t0"], (0.1,), "each task once"),
        (["t0"], (0.1,), "give two tasks or more"),
        (None, (1.5,), "from 0 to 1"),
    ],
)
def test_bad_replay(order, shares, message):
    with pytest.raises(ValueError, match=message):
        forecast("linear", similar_pairs()).replay(order, shares=shares)


def test_replay_counts_whole_examples_of_old_tasks():
    random = np.random.default_rng(0)
    data = {}
    for name, n in {"low": 400, "middle": 40, "high": 12}.items():
        x = random.standard_normal((n, 6))
        data[name] = (x, (x[:, 0] > 0).astype(int))
    curve = forecast("linear", data).replay(["low", "high"], shares=[0.01, 1])
    assert curve.counts.tolist() == [[0], [2], [200]]
    assert curve.train_sizes.tolist() == [200]
    assert curve.to_frame()["examples"].tolist() == [0, 2, 200]
    text = " ".join(curve.summary().split())
    assert "Examples: of each old task, of 200 that train it" in text
    both = forecast("linear", data).replay(shares=[0.05, 1])
    assert both.counts.tolist() == [[0, 0], [10, 2], [200, 30]]
    assert [row[1] for row in both._tables()[0].rows] == ["0", "2 to 10", "30 to 200"]
    assert "of 30 to 200 that train it" in " ".join(both.summary().split())
