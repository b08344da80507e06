"""The study of forecasts: scores, and the way from training to tables."""

import shutil
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import ebbing
from ebbing.learn import Sgd
from ebbing.paper.forecasts import task_sets as sets_module
from ebbing.paper.forecasts.measured_sets import LABELS, PROBE, RANDOM, SEED, MeasuredSet
from ebbing.paper.forecasts.predictions import (
    FITTED,
    FITTED_BRIEFLY,
    OWN,
    Variant,
    make_forecast,
    read_tasks,
    record_forecasts,
)
from ebbing.paper.forecasts.report import Study
from ebbing.paper.forecasts.scores import Scores
from ebbing.paper.forecasts.task_sets import task_sets
from ebbing.paper.records import Record, RecordError, read_records
from ebbing.paper.reproduction import Options, progress, reproduce

pytest.importorskip("sklearn")

REPRODUCED = Path(__file__).parents[4] / "reproduced"
WINE = next(one for one in task_sets() if one.name == "wine / 1")


@contextmanager
def silent(_name):
    yield lambda _share: None


def made_up(seeds=(0, 1, 2), noise=0.0):
    """Records of runs of a set whose forgetting is that of the last task, and a perfect forecast of it."""
    random = np.random.default_rng(0)
    records = []
    for seed in (*seeds, None):
        matrices = {}
        for order in WINE.orders:
            matrix = np.full((5, 4), 0.1)
            lost = WINE.names.index(order[-1]) + 0.1 * WINE.names.index(order[0])
            matrix[-1, :-1] += lost / 10 + (0 if seed is None else noise * random.standard_normal())
            matrices[" ".join(order)] = matrix.tolist()
        if seed is None:
            result = {"matrices": matrices, "replay": {}, "gram": np.eye(4).tolist()}
            records.append(Record("forecast", f"wine / 1 / {FITTED.name}", 0, {}, result))
        else:
            records.append(Record("forecast", "wine / 1", seed, {}, {"matrices": matrices}))
    return records


def test_a_perfect_forecast_scores_perfectly():
    found = MeasuredSet.read(WINE, made_up())
    assert found is not None
    scores = found.scores
    own = scores[FITTED.name]
    assert own == Scores(own.rank_correlation, 0.0, 0.0)
    assert own.rank_correlation == pytest.approx(1.0)
    assert scores[SEED].rank_correlation == pytest.approx(1.0)
    by_chance = scores[RANDOM]
    assert by_chance == Scores(0.0, by_chance.orders_better, 1.0)
    assert by_chance.orders_better == pytest.approx(0.479, abs=0.03)
    assert LABELS in scores
    assert found.agreement == pytest.approx(1.0)


def test_noise_between_seeds_lowers_what_a_seed_tells():
    quiet, loud = (MeasuredSet.read(WINE, made_up(noise=noise)) for noise in (0.0, 0.3))
    assert quiet is not None
    assert loud is not None
    assert loud.agreement < 0.8 < quiet.agreement
    mine, seed = loud.on_equal_terms(FITTED)
    assert mine.rank_correlation is not None
    assert seed.rank_correlation is not None
    assert mine.rank_correlation > seed.rank_correlation


def test_a_bad_forecast_is_seen():
    records = made_up()
    worse = records[-1].result["matrices"]
    records[-1] = replace(
        records[-1],
        result=records[-1].result | {"matrices": {k: (1 - np.array(v)).tolist() for k, v in worse.items()}},
    )
    study = Study.read(records, {})
    assert study.sets[0].scores[FITTED.name].rank_correlation == pytest.approx(-1.0)
    assert [verdict.holds for verdict in study.verdicts()] == [False] * 4
    assert [verdict.holds for verdict in Study.read(made_up(), {}).verdicts()] == [True] * 4


@pytest.mark.parametrize(
    ("predicted", "trained", "blind"),
    [("11:59:29", "12:00:00", True), ("11:59:31", "12:00:00", False), ("13:00:00", "12:00:00", False)],
)
def test_a_set_is_blind_if_predicted_before_training(predicted, trained, blind):
    records = made_up()
    for record in records:
        is_run = record.name == WINE.name
        record.provenance["when"] = f"2026-01-01T{trained if is_run else predicted}+00:00"
        record.provenance["seconds"] = 30
    found = MeasuredSet.read(WINE, records)
    assert found is not None
    assert found.is_blind == blind
    text = Study.read(records, {}).markdown()
    assert ("first network was trained: wine / 1." in text) == blind
    assert ("first network was trained: none yet." in text) != blind


def test_undated_sets_are_not_blind():
    found = MeasuredSet.read(WINE, made_up())
    assert found is not None
    assert not found.is_blind


def test_missing_sequences_raise():
    records = made_up()
    del records[0].result["matrices"][" ".join(WINE.orders[0])]
    with pytest.raises(RecordError, match="forecast, wine / 1: no run of"):
        MeasuredSet.read(WINE, records)


def test_tables_say_what_was_not_run():
    text = Study.read(made_up(seeds=(0,)), {}).markdown()
    assert "* MNIST / 1: 3 seeds planned" in text
    assert "* wine / 1: 2 of 3 planned seeds are missing" in text
    assert "There is none." in text  # one seed agrees with nobody


def test_training_ends_in_records_and_tables(tmp_path, monkeypatch):
    monkeypatch.setattr(sets_module, "QUICK", ("wine / 1",))
    short = replace(WINE, experiment=replace(WINE.experiment, method=Sgd(epochs=2, batch_size=20)))
    for place in ("planned_runs", "forecasts.task_sets", "forecasts.report"):
        monkeypatch.setattr(f"ebbing.paper.{place}.task_sets", lambda: [short])
    monkeypatch.setattr("ebbing.paper.forecasts.predictions.CURRENT", (OWN, FITTED))
    verdicts = reproduce(["forecast"], tmp_path, silent, Options(seeds=2, workers=1))
    assert len(verdicts) == 4
    names = [record.name for record in read_records(tmp_path, "forecast")]
    assert names == ["wine / 1", "wine / 1", f"wine / 1 / {FITTED.name}", f"wine / 1 / {OWN.name}"]
    made = {name: (tmp_path / name).read_bytes() for name in ("forecast.md", "forecast.csv", "forecast.svg")}
    assert PROBE in made["forecast.md"].decode()
    shutil.rmtree(tmp_path / "runs")
    reproduce(["forecast"], tmp_path, silent, Options(from_records=True))
    assert {name: (tmp_path / name).read_bytes() for name in made} == made
    states = {(run.name, run.seed): run.state for run in progress(["forecast"], tmp_path)}
    assert (states["wine / 1", 0], states["wine / 1", 2]) == ("recorded", "to come")
    assert record_forecasts([short], tmp_path) == 0


def test_other_networks_are_those_of_other_seeds():
    one, several = (make_forecast(WINE, Variant("", networks=n)) for n in (0, 2))
    assert not np.allclose(one.model.kernel, several.model.kernel)
    assert len(one.model.train[0]) == 60


def test_repository_has_records_of_several_families():
    study = Study.read(read_records(REPRODUCED, "forecast"), {})
    assert len({one.task_set.family for one in study.sets}) >= 5
    assert all(OWN.name in one.forecasts and one.advised.name in one.forecasts for one in study.sets)


def test_known_forecast_gives_the_same_as_a_new_one():
    known = make_forecast(WINE, OWN)
    for variant in (OWN, FITTED, FITTED_BRIEFLY):
        new, again = make_forecast(WINE, variant), make_forecast(WINE, variant, known)
        assert np.allclose(new.errors(), again.errors())
    plain = ebbing.forecast(WINE.experiment.initial_network(0), read_tasks(WINE))
    assert np.allclose(plain.errors(), make_forecast(WINE, FITTED).errors(), atol=1e-5)
