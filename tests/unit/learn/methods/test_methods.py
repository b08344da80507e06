"""What projecting methods decide: whom a task trusts, with which weights, and which settings are refused."""

import pytest

from ebbing.learn.methods import Gpm, Trgp, TrgpFree, TrgpPlus
from ebbing.learn.projection.method import Threshold

# Whom a task trusts


def test_gpm_trusts_nobody():
    assert Gpm().select_trusted(1.0, [1.0, 0.9]) == {}


@pytest.mark.parametrize(
    ("settings", "inside", "expected"),
    [
        ({}, [], []),
        ({}, [0.4, 0.3], []),
        ({}, [0.6], [0]),
        ({}, [0.6, 0.7, 0.55, 0.9], [3, 1]),  # the two nearest
        ({}, [0.6, 0.4, 0.1], [0]),
        ({"max_trusted": 1}, [0.6, 0.7], [1]),
        ({"max_trusted": 3}, [0.6, 0.7, 0.8, 0.9], [3, 2, 1]),
        ({"trust_threshold": 0.75}, [0.6, 0.7, 0.8], [2]),
        ({"trust_threshold": 0.0}, [0.0, 0.1], [1]),
        ({"trust_threshold": 0.5}, [0.5], []),  # more than the share
        ({"latest_only_at": (2,)}, [0.9, 0.6], [1]),
        ({"latest_only_at": (2,)}, [0.9, 0.4], []),
        ({"latest_only_at": (2,)}, [0.9, 0.6, 0.7], [0, 2]),
        ({"latest_only_at": (1, 3)}, [0.9, 0.8, 0.7], [2]),
    ],
)
def test_the_nearest_tasks_are_trusted(settings, inside, expected):
    method = Trgp(**settings)
    assert method.nearest(1.0, inside) == expected
    assert method.select_trusted(1.0, inside) == dict.fromkeys(expected, 1.0)
    assert method.select_trusted(10.0, [10 * value for value in inside]) == dict.fromkeys(expected, 1.0)
    weights = (1.0,) * method.max_trusted
    assert set(TrgpPlus(**settings | {"weights": weights}).select_trusted(1.0, inside)) == set(expected)


def test_no_gradient_no_trust():
    assert Trgp(trust_threshold=0.0).select_trusted(0.0, [0.0, 0.0]) == {}


@pytest.mark.parametrize(
    ("settings", "inside", "expected"),
    [
        ({}, [0.9, 0.6, 0.7], {2: 1.2, 0: 0.8}),  # by recency, not by nearness
        ({}, [0.6, 0.9, 0.7], {2: 1.2, 1: 0.8}),
        ({}, [0.6, 0.4], {0: 1.0}),  # a single one
        ({}, [0.1], {}),
        ({"weights": (1.4, 1.0)}, [0.6, 0.7], {1: 1.4, 0: 1.0}),  # as they are, if there are as many
        ({"weights": (1.4, 1.0)}, [0.6, 0.1], {0: 1.0}),
        ({"max_trusted": 3, "weights": (1.5, 1.0, 0.5)}, [0.6, 0.7, 0.8], {2: 1.5, 1: 1.0, 0: 0.5}),
        ({"max_trusted": 3, "weights": (1.5, 1.0, 0.5)}, [0.6, 0.1, 0.8], {2: 1.2, 0: 0.8}),  # scaled to mean 1
        ({"max_trusted": 1, "weights": (1.0,)}, [0.6, 0.7], {1: 1.0}),
        ({"recency": 0.5}, [0.6, 0.7], {1: 4 / 3, 0: 2 / 3}),
        ({"recency": 0.5}, [0.6, 0.1, 0.7], {2: 8 / 5, 0: 2 / 5}),  # two tasks apart
        ({"recency": 0.5}, [0.6, 0.7, 0.1, 0.1], {1: 4 / 3, 0: 2 / 3}),
        ({"recency": 0.5, "max_trusted": 3}, [0.6, 0.7, 0.8], {2: 12 / 7, 1: 6 / 7, 0: 3 / 7}),
        ({"recency": 1.0}, [0.6, 0.7], {1: 1.0, 0: 1.0}),
        ({"recency": 0.3}, [0.6], {0: 1.0}),
        ({"recency": 0.3}, [0.1], {}),
    ],
)
def test_the_weights_of_trgp_plus(settings, inside, expected):
    assert TrgpPlus(**settings).select_trusted(1.0, inside) == pytest.approx(expected, rel=1e-12)


# Thresholds


def test_thresholds_by_layer_and_task():
    assert Threshold().at(layer=4, task=9) == pytest.approx(0.997)
    assert Threshold((0.95, 0.99), growth=0.0).at(layer=1, task=9) == 0.99
    assert Threshold((0.5, 0.6), growth=0.1).at(layer=0, task=2) == pytest.approx(0.7)
    assert Threshold(0.99, growth=0.01).at(layer=0, task=5) == 1.0


def test_lists_will_do_for_tuples():
    assert Threshold([0.9, 0.8]) == Threshold((0.9, 0.8))  # type: ignore[arg-type]
    assert Gpm(num_examples=[3, 4]) == Gpm(num_examples=(3, 4))  # type: ignore[arg-type]
    assert TrgpPlus(weights=[1.1, 0.9]) == TrgpPlus(weights=(1.1, 0.9))  # type: ignore[arg-type]


def test_results_are_stored_apart_by_what_is_done_where_the_threshold_is_crossed():
    """Without the crossing direction they go by the name that they had before there was a choice."""
    with_it, without = (
        Gpm(threshold=Threshold(0.9, include_crossing=include_crossing)).settings()
        for include_crossing in (True, False)
    )
    assert with_it["threshold"] == {"first": 0.9, "growth": 0.003, "crossing": True}
    assert without["threshold"] == {"first": 0.9, "growth": 0.003}


# Settings


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Threshold(0.0), "threshold 0.0: give a share between 0 and 1"),
        (lambda: Threshold((0.9, 1.1)), "threshold 1.1"),
        (lambda: Threshold("high"), "threshold 'high'"),  # type: ignore[arg-type]
        (lambda: Threshold(0.9, growth=-0.1), "growth=-0.1"),
        (lambda: Gpm(num_examples=0), "num_examples=0"),
        (lambda: Gpm(num_examples=(3, 0)), "num_examples=0"),
        (lambda: Gpm(per_task="head"), r"per_task='head': give a tuple of names, as \('head',\)"),  # type: ignore[arg-type]
        (lambda: Gpm(norms="free"), "norms='free': give per_task, frozen or shared"),  # type: ignore[arg-type]
        (lambda: Trgp(max_trusted=0), "max_trusted=0"),
        (lambda: Trgp(trust_threshold=1.5), "trust_threshold=1.5"),
        (lambda: Trgp(trust_threshold=float("nan")), "trust_threshold=nan"),
        (lambda: Trgp(max_trusted=61), "max_trusted=61: give 60 at most"),
        (lambda: TrgpPlus(weights=(1.0,)), "max_trusted=2: give one weight for each task that may be trusted"),
        (lambda: TrgpPlus(weights=(1.5, 1.0, 0.5)), "max_trusted=2: give one weight for each"),
        (lambda: TrgpPlus(weights=1.2), r"weights=1.2: give positive numbers, as \(1.2, 0.8\)"),  # type: ignore[arg-type]
        (lambda: TrgpPlus(weights=("1.2", "0.8")), "give positive numbers"),  # type: ignore[arg-type]
        (lambda: TrgpPlus(weights=(0.8, 1.2)), "let them decrease"),
        (lambda: TrgpPlus(weights=(1.2, -0.8)), "give positive numbers"),
        (lambda: TrgpPlus(weights=(float("inf"), 0.8)), "give positive numbers"),
        (lambda: TrgpPlus(recency=0.0), "recency=0.0"),
        (lambda: TrgpPlus(recency=1.1), "recency=1.1"),
    ],
)
def test_settings_that_make_no_sense(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_whole_floats_count_as_whole_numbers():
    assert repr(Trgp(num_examples=300.0, max_trusted=2.0)) == repr(Trgp())  # type: ignore[arg-type]
    assert repr(Gpm(num_examples=(3.0, 4))) == repr(Gpm(num_examples=(3, 4)))  # type: ignore[arg-type]


def test_freely_is_not_published():
    with pytest.raises(ValueError, match="as_published=True: TrgpFree was not published; use Trgp"):
        TrgpFree(as_published=True)
    assert [method.parametrization for method in (Trgp(), Trgp(as_published=True), TrgpPlus(), TrgpFree(), Gpm())] == [
        "scaled",
        "leaking",
        "scaled",
        "free",
        "scaled",
    ]


@pytest.mark.parametrize("departures", [["first layer decides"], "first layer decides", ("first layer",), 1, None])
def test_departures_are_a_tuple_of_known_names(departures):
    with pytest.raises(ValueError, match="give True, False, or some of"):
        Trgp(as_published=departures)


def test_tasks_that_trust_the_latest_are_a_tuple():
    with pytest.raises(ValueError, match="latest_only_at=2: give a tuple of tasks"):
        Trgp(latest_only_at=2)  # type: ignore[arg-type]
