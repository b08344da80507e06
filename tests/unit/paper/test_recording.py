"""Planned runs become records: each at once, none twice, none lost to an interruption."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from toys import TINY, ToyTasks

from ebbing.learn import Experiment, Sgd, train_reference
from ebbing.paper.forecasts.predictions import VARIANTS
from ebbing.paper.planned_runs import PlannedRuns, planned_runs
from ebbing.paper.recording import missing_seeds, record_runs
from ebbing.paper.records import RecordError, read_records
from ebbing.paper.reproduction import RECORDED
from ebbing.runs import Store, train_streams

REPRODUCED = Path(__file__).parents[3] / "reproduced"
TREE = (("a", "b"), ("a", "c"))


def trees(seeds=(0, 1), epochs=2, name="figure 2"):
    experiment = Experiment(ToyTasks(), TINY, Sgd(epochs=epochs))
    return PlannedRuns("fig2", name, experiment, TREE, tuple(seeds), is_stream=False)


def streams(seeds=(0, 1)):
    experiment = Experiment(ToyTasks(), TINY, Sgd(epochs=2))
    return PlannedRuns("table1", "toy / sgd", experiment, (("a", "b", "c"),), tuple(seeds), is_stream=True)


def results(folder, target):
    return [(record.name, record.seed, record.settings, record.result) for record in read_records(folder, target)]


def test_records_have_what_training_gives(tmp_path):
    seen = []
    assert record_runs([trees()], tmp_path, progress=seen.append) == 2
    assert seen == sorted(seen)
    assert seen[-1] == 1.0
    records = read_records(tmp_path, "fig2")
    assert [record.identity for record in records] == [("figure 2", 0), ("figure 2", 1)]
    for record in records:
        assert record.settings == json.loads(json.dumps(trees().experiment.describe()))
        assert set(record.provenance) == {"commit", "when", "versions", "machine", "seconds", "networks"}
        assert record.provenance["networks"] == {"trained": 4, "found": 0}
        for sequence in TREE:
            matrix, fits = train_reference(trees().experiment, sequence, record.seed)
            np.testing.assert_allclose(record.result["matrices"][" ".join(sequence)], matrix, atol=1e-6)
            np.testing.assert_allclose(record.result["training_errors"][" ".join(sequence)], fits, atol=1e-6)


def test_records_of_streams_have_accuracies(tmp_path):
    record_runs([streams()], tmp_path)
    (run, _) = train_streams(streams().experiment, ("a", "b", "c"), (0, 1), Store(tmp_path / "runs"))
    (record, _) = read_records(tmp_path, "table1")
    assert record.result == {"accuracies": run.accuracies.tolist(), "bytes_per_task": run.bytes_per_task}
    assert record.provenance["networks"] == {"trained": 3, "found": 0}


def test_recorded_seeds_are_not_trained_again(tmp_path, monkeypatch):
    record_runs([trees((0, 2))], tmp_path)
    before = read_records(tmp_path, "fig2")
    monkeypatch.setattr("ebbing.paper.recording.Store", lambda _: Store(tmp_path / "another store"))
    assert missing_seeds(trees((0, 1, 2)), before) == [1]
    assert record_runs([trees((0, 1, 2))], tmp_path) == 1
    after = read_records(tmp_path, "fig2")
    assert [after[0], after[2]] == before
    assert record_runs([trees((0, 1, 2))], tmp_path) == 0


def test_runs_of_another_target_are_copied_not_trained(tmp_path, monkeypatch):
    record_runs([streams((0, 1))], tmp_path)
    record_runs([trees((0,))], tmp_path)  # has no accuracies
    (first, second) = read_records(tmp_path, "table1")
    same = replace(streams((0, 1, 2)), target="frontier", name="toy, too / sgd")
    other = replace(same, name="toy / longer", experiment=trees(epochs=3).experiment)
    learn, calls = Sgd.learn, []
    monkeypatch.setattr(Sgd, "learn", lambda *arguments: [calls.append(1), learn(*arguments)])
    monkeypatch.setattr("ebbing.paper.recording.Store", lambda _: Store(tmp_path / "another store"))
    seen = []
    assert record_runs([same, other], tmp_path, progress=seen.append) == 6
    assert len(calls) == 3 * (1 + 3)  # seed 2 of the same run, all seeds of the other
    assert seen == sorted(seen)
    copies = [record for record in read_records(tmp_path, "frontier") if record.name == same.name]
    assert [copy.seed for copy in copies] == [0, 1, 2]
    for copy, original in zip(copies, (first, second), strict=False):
        assert (copy.settings, copy.result) == (original.settings, original.result)
        assert copy.provenance == original.provenance | {"copied_from": "table1: toy / sgd"}
    assert "copied_from" not in copies[2].provenance
    assert record_runs([replace(same, name="toy, again / sgd")], tmp_path) == 3
    assert len(calls) == 3 * (1 + 3)


def test_other_settings_raise_before_any_training(tmp_path, monkeypatch):
    record_runs([trees((0,))], tmp_path)
    monkeypatch.setattr(Sgd, "learn", lambda: None)
    with pytest.raises(RecordError, match=r"seed 0: recorded with other settings .*: method.epochs was 2 and is 3;"):
        record_runs([streams(), trees((0, 1), epochs=3)], tmp_path)
    assert not read_records(tmp_path, "table1")


def test_each_run_is_recorded_before_the_next_begins(tmp_path, monkeypatch):
    learn, calls = Sgd.learn, []

    def breaking(self, *arguments):
        calls.append(len(read_records(tmp_path, "fig2")))
        if len(calls) > 4:
            raise RuntimeError("power failure")
        return learn(self, *arguments)

    monkeypatch.setattr(Sgd, "learn", breaking)
    with pytest.raises(RuntimeError, match="power failure"):
        record_runs([trees()], tmp_path)
    assert calls == [0, 0, 0, 1, 1]
    monkeypatch.setattr(Sgd, "learn", learn)
    assert record_runs([trees()], tmp_path) == 1
    record = read_records(tmp_path, "fig2")[1]
    assert record.provenance["networks"] == {"trained": 2, "found": 2}
    record_runs([trees()], tmp_path / "undisturbed")
    assert results(tmp_path, "fig2") == results(tmp_path / "undisturbed", "fig2")


def test_run_that_contradicts_a_record_raises(tmp_path, monkeypatch):
    record_runs([trees((0,))], tmp_path)
    monkeypatch.setattr("ebbing.paper.recording.missing_seeds", lambda runs, records: [0])  # recorded meanwhile
    assert record_runs([trees((0,))], tmp_path) == 1  # the same: no word
    learn = Sgd.learn

    def other(self, network, *arguments):
        learn(self, network, *arguments)
        next(network.parameters()).data.mul_(1.01)

    monkeypatch.setattr(Sgd, "learn", other)
    monkeypatch.setattr("ebbing.paper.recording.Store", lambda _: Store(tmp_path / "another store"))
    before = (tmp_path / "records" / "fig2.jsonl").read_bytes()
    with pytest.raises(RecordError, match="two runs with the same settings gave different results"):
        record_runs([trees((0,))], tmp_path)
    assert (tmp_path / "records" / "fig2.jsonl").read_bytes() == before


@pytest.mark.parametrize("target", RECORDED)
def test_recorded_runs_are_planned_with_the_same_settings(target):
    planned = {(runs.name, seed): runs for runs in planned_runs(target) for seed in runs.seeds}
    records = read_records(REPRODUCED, target)
    names = {runs.name for runs in planned.values()} if target == "forecast" else ()
    forecasts = {(f"{name} / {variant.name}", 0) for name in names for variant in VARIANTS}
    assert {record.identity for record in records} <= set(planned) | forecasts
    absent = ("cifar", "fashion", "resnet", "texts")  # settings hold a checksum of data that not every machine has
    for name, runs in {runs.name: runs for runs in planned.values()}.items():
        if not any(data in name.lower() for data in absent):
            missing_seeds(runs, records)  # raises if settings differ


def test_plans_take_a_number_of_seeds():
    for target in RECORDED:
        planned = planned_runs(target, seeds=2)
        assert {len(runs.seeds) for runs in planned} == {2}
        assert len({runs.name for runs in planned}) == len(planned)
    seeds = {runs.name: len(runs.seeds) for runs in planned_runs("table1")}
    assert (seeds["pmnist / TRGP+"], seeds["pmnist / TRGP as published"], seeds["pmnist / GPM"]) == (10, 10, 5)
    assert {len(runs.seeds) for runs in planned_runs("fig2")} == {12}
