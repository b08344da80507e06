"""Rules of the projection methods: trusted tasks and their weights, thresholds, and invalid settings."""

import pytest

from ebbing.learn.methods import Gpm, Trgp, TrgpFree, TrgpPlus
from ebbing.learn.projection import Threshold

# Trusted tasks


def test_gpm_trusts_no_task():
    assert Gpm().select_trusted(1.0, [1.0, 0.9]) == {}


@pytest.mark.parametrize(
    ("settings", "projected_norms", "expected"),
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
        ({"trust_threshold": 0.5}, [0.5], []),  # strictly more than the threshold
        ({"latest_only_at": (2,)}, [0.9, 0.6], [1]),
        ({"latest_only_at": (2,)}, [0.9, 0.4], []),
        ({"latest_only_at": (2,)}, [0.9, 0.6, 0.7], [0, 2]),
        ({"latest_only_at": (1, 3)}, [0.9, 0.8, 0.7], [2]),
    ],
)
def test_trgp_trusts_the_nearest_tasks(settings, projected_norms, expected):
    method = Trgp(**settings)
    assert method.nearest_tasks(1.0, projected_norms) == expected
    assert method.select_trusted(1.0, projected_norms) == dict.fromkeys(expected, 1.0)
    assert method.select_trusted(10.0, [10 * norm for norm in projected_norms]) == dict.fromkeys(expected, 1.0)
    weights = (1.0,) * method.max_trusted
    assert set(TrgpPlus(**settings | {"weights": weights}).select_trusted(1.0, projected_norms)) == set(expected)


def test_zero_gradient_trusts_no_task():
    assert Trgp(trust_threshold=0.0).select_trusted(0.0, [0.0, 0.0]) == {}


@pytest.mark.parametrize(
    ("settings", "projected_norms", "expected"),
    [
        ({}, [0.9, 0.6, 0.7], {2: 1.2, 0: 0.8}),  # by recency, not by nearness
        ({}, [0.6, 0.9, 0.7], {2: 1.2, 1: 0.8}),
        ({}, [0.6, 0.4], {0: 1.0}),  # a single one
        ({}, [0.1], {}),
        ({"weights": (1.4, 1.0)}, [0.6, 0.7], {1: 1.4, 0: 1.0}),  # unscaled, for as many tasks as weights
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
def test_trgp_plus_weights_by_recency(settings, projected_norms, expected):
    assert TrgpPlus(**settings).select_trusted(1.0, projected_norms) == pytest.approx(expected, rel=1e-12)


# Thresholds


def test_threshold_by_layer_and_task():
    assert Threshold().at(layer=4, task=9) == pytest.approx(0.997)
    assert Threshold((0.95, 0.99), growth=0.0).at(layer=1, task=9) == 0.99
    assert Threshold((0.5, 0.6), growth=0.1).at(layer=0, task=2) == pytest.approx(0.7)
    assert Threshold(0.99, growth=0.01).at(layer=0, task=5) == 1.0


def test_lists_are_accepted_as_tuples():
    assert Threshold([0.9, 0.8]) == Threshold((0.9, 0.8))  # type: ignore[arg-type]
    assert Gpm(num_examples=[3, 4]) == Gpm(num_examples=(3, 4))  # type: ignore[arg-type]
    assert TrgpPlus(weights=[1.1, 0.9]) == TrgpPlus(weights=(1.1, 0.9))  # type: ignore[arg-type]


def test_stored_settings_distinguish_include_crossing():
    """Without the crossing direction, settings have the key from before the setting existed."""
    with_crossing, without = (
        Gpm(threshold=Threshold(0.9, include_crossing=include_crossing)).settings()
        for include_crossing in (True, False)
    )
    assert with_crossing["threshold"] == {"first": 0.9, "growth": 0.003, "crossing": True}
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
        (lambda: TrgpPlus(weights=(0.8, 1.2)), "give decreasing weights"),
        (lambda: TrgpPlus(weights=(1.2, -0.8)), "give positive numbers"),
        (lambda: TrgpPlus(weights=(float("inf"), 0.8)), "give positive numbers"),
        (lambda: TrgpPlus(recency=0.0), "recency=0.0"),
        (lambda: TrgpPlus(recency=1.1), "recency=1.1"),
    ],
)
def test_invalid_settings_raise(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_integral_floats_are_accepted_as_integers():
    assert repr(Trgp(num_examples=300.0, max_trusted=2.0)) == repr(Trgp())  # type: ignore[arg-type]
    assert repr(Gpm(num_examples=(3.0, 4))) == repr(Gpm(num_examples=(3, 4)))  # type: ignore[arg-type]


def test_trgp_free_has_no_published_form():
    with pytest.raises(ValueError, match="as_published=True: TrgpFree was not published; use Trgp"):
        TrgpFree(as_published=True)
    assert [method.parametrization for method in (Trgp(), Trgp(as_published=True), TrgpPlus(), TrgpFree(), Gpm())] == [
        "scaled",
        "authors",
        "scaled",
        "free",
        "scaled",
    ]


@pytest.mark.parametrize("as_published", [["first layer decides"], "first layer decides", ("first layer",), 1, None])
def test_invalid_as_published_raises(as_published):
    with pytest.raises(ValueError, match="give True, False, or a tuple of some of"):
        Trgp(as_published=as_published)


def test_latest_only_at_must_be_a_tuple():
    with pytest.raises(ValueError, match="latest_only_at=2: give a tuple of task numbers"):
        Trgp(latest_only_at=2)  # type: ignore[arg-type]
