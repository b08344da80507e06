"""Figure 2: what a run gathers, and forgetting and generalization error of what was measured."""

from dataclasses import dataclass
from importlib.metadata import version

import numpy as np
import torch
from made_up_fig2 import AGREES, by_seed, made_up

from ebbing.learn import Experiment, FiveLayers, Occurrence, Sgd, TaskData, train_reference
from ebbing.learn.training._machine import single_thread
from ebbing.paper import fig2
from ebbing.runs import Store, _pools

# What was measured


def test_result_gives_forgetting_and_generalization_by_seed():
    result = made_up()
    for panel, setups in fig2.SETUPS.items():
        for setup in setups:
            expected = by_seed(AGREES[panel])
            np.testing.assert_allclose(result.forgetting(panel, setup), expected, rtol=1e-12)
            np.testing.assert_allclose(result.generalization(panel, setup), expected, rtol=1e-12)


# Running


@dataclass(frozen=True)
class Toy:
    """Ten random images with random labels per lesson."""

    fingerprint: str = "toy"

    def load(self, occurrence: Occurrence, seed: int) -> TaskData:
        random = np.random.default_rng([seed, *occurrence.task.encode(), occurrence.index])
        images = torch.from_numpy(random.random((2, 10, 1, 28, 28), np.float32))
        labels = torch.from_numpy(random.integers(0, 2, (2, 10, 1)).astype(np.float32))
        return TaskData(images[0], labels[0], images[1], labels[1])


SMALL = {"a": {"forgetting": [("0", "1"), ("0", "0")]}, "b": {"forgetting_0": [("1", "0", "1")]}}


def test_run_equals_the_plain_loop_and_counts_trainings(tmp_path, monkeypatch):
    monkeypatch.setattr(fig2, "SETUPS", SMALL)
    config = fig2.Config(2, Toy(), FiveLayers(widths=(2, 3, 4, 5)), Sgd(epochs=2))  # type: ignore[arg-type]
    store, seen = Store(tmp_path), []
    result = fig2.run(config, store, progress=seen.append)
    assert seen[-1] == 1
    assert set(result.matrices) == set(result.fits) == {("0", "1"), ("0", "0"), ("1", "0", "1")}
    for sequence in result.matrices:
        for seed in range(2):
            with single_thread():
                matrix, fits = train_reference(config.experiment, sequence, seed)
            np.testing.assert_array_equal(result.matrices[sequence][seed], matrix)
            np.testing.assert_array_equal(result.fits[sequence][seed], fits)
    nodes = 2 * (1 + 1 + 2 + 3)  # the initial network; 0; 0 1 and 0 0; 1 0 1 and what it begins with
    assert result.provenance["networks"] == {"trained": nodes, "found": 0}
    assert result.provenance["versions"]["torch"] == version("torch")
    assert result.provenance["config"]["method"]["epochs"] == 2

    next(iter(tmp_path.rglob("*.json"))).unlink()
    again = fig2.run(config, store)
    assert again.provenance["networks"]["found"] < nodes
    assert sum(again.provenance["networks"].values()) == nodes
    monkeypatch.setattr(_pools, "train_node", None)
    assert fig2.run(config, store).provenance["networks"] == {"trained": 0, "found": nodes}
    np.testing.assert_array_equal(again.matrices["0", "1"], result.matrices["0", "1"])


def test_experiment_has_the_settings_of_the_config():
    config = fig2.Config(method=Sgd(epochs=3))
    assert config.experiment == Experiment(method=Sgd(epochs=3))
