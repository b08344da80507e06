"""Avalanche: its numbers are ours, and its strategies forget less with our plugins."""

import doctest
import warnings
from collections import OrderedDict
from typing import Any

import avalanche_stand_ins  # noqa: F401 (imports Avalanche without torchvision)
import numpy as np
import pytest
import torch
from avalanche.benchmarks import tensors_benchmark
from avalanche.evaluation.metrics import accuracy_metrics, bwt_metrics, forgetting_metrics, forward_transfer_metrics
from avalanche.models import MTSimpleMLP
from avalanche.training.plugins import EvaluationPlugin
from avalanche.training.supervised import Naive
from run_example import code_blocks, run_example
from torch import nn

import ebbing.integrations.avalanche as avalanche_integration
from ebbing.integrations.avalanche import GpmPlugin, ProtectionPlugin, TrgpPlugin, read_results
from ebbing.learn import Gpm

T = 3
pytestmark = pytest.mark.filterwarnings("ignore:No loggers specified")


def make_task(k, n):
    """Inputs in five coordinates of each task and a common one, which means the contrary in the next task."""
    x, label = torch.zeros(n, 30), torch.randint(2, (n,))
    x[:, 5 * k : 5 * k + 5] = torch.randn(n, 5)
    x[:, 5 * k] += 2 * label - 1
    x[:, 29] = 2 * (2 * label - 1) * (-1) ** k
    return x, label


@pytest.fixture
def benchmark():
    torch.manual_seed(0)
    data = [[make_task(k, n) for k in range(T)] for n in (200, 100)]
    return tensors_benchmark(*data, task_labels=list(range(T)))


def make_strategy(plugins, eval_every=-1, transfer=False):
    torch.manual_seed(1)
    model = nn.Sequential(nn.Linear(30, 40), nn.ReLU(), nn.Linear(40, 2))
    measured = [accuracy_metrics(experience=True, stream=True), forgetting_metrics(experience=True, stream=True)]
    measured += [bwt_metrics(experience=True, stream=True)]
    measured += [forward_transfer_metrics(experience=True, stream=True)] if transfer else []
    optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
    sizes: dict[str, Any] = {"train_mb_size": 16, "train_epochs": 3, "eval_mb_size": 100, "eval_every": eval_every}
    evaluator = EvaluationPlugin(*measured, loggers=[])
    return Naive(
        model=model, optimizer=optimizer, criterion=nn.CrossEntropyLoss(), evaluator=evaluator, plugins=plugins, **sizes
    )


def learn(strategy, benchmark):
    results = [strategy.eval(benchmark.test_stream)]
    for experience in benchmark.train_stream:
        strategy.train(experience)
        results.append(strategy.eval(benchmark.test_stream))
    return results


def test_metrics_agree_to_all_digits(benchmark):
    strategy = make_strategy([], eval_every=0, transfer=True)
    stream, results = benchmark.test_stream, []
    for experience in benchmark.train_stream:  # Avalanche itself evaluates before and after each
        strategy.train(experience, eval_streams=[stream])
        if not results:
            results.append({key: values[0] for key, (_, values) in strategy.evaluator.get_all_metrics().items()})
        results.append(strategy.evaluator.get_last_metrics())
    found = read_results(results, names=["a", "b", "c"])
    ours = found.metrics.values
    assert found.forgetting > 0.05  # so that there is something to agree about
    theirs = {name: results[-1][f"{name}/eval_phase/test_stream"] for name in (
        "StreamForgetting", "StreamBWT", "StreamForwardTransfer"
    )}  # fmt: skip
    assert ours["first_minus_last"] == theirs["StreamForgetting"]
    assert ours["forgetting"] == theirs["StreamForgetting"]
    assert ours["backward_transfer"] == theirs["StreamBWT"]
    assert ours["gem_forward_transfer"] == theirs["StreamForwardTransfer"]
    for k in range(T - 1):
        key = f"ExperienceForgetting/eval_phase/test_stream/Task00{k}/Exp00{k}"
        assert found.values[k + 1, k] - found.values[-1, k] == results[-1][key]


@pytest.mark.parametrize("plugin", [GpmPlugin, TrgpPlugin])
def test_plugins_protect(benchmark, plugin):
    plain = read_results(learn(make_strategy([]), benchmark))
    one = plugin(per_task=("2",), num_examples=100)
    protected = read_results(learn(make_strategy([one]), benchmark))
    assert plain.forgetting > 0.05
    assert protected.forgetting < 0.02
    assert protected.final > 0.9
    assert one.learner.tasks == ["experience 0", "experience 1", "experience 2"]
    np.testing.assert_array_equal(plain.values[0], protected.values[0])


def test_training_is_that_of_the_learner(benchmark):
    """A plugin's strategy and a loop over the learner's parameters do the same steps."""
    strategy = make_strategy([plugin := GpmPlugin(per_task=("2",), num_examples=50)])
    torch.manual_seed(2)
    for experience in benchmark.train_stream:
        strategy.train(experience, shuffle=False)
    torch.manual_seed(1)
    model = nn.Sequential(nn.Linear(30, 40), nn.ReLU(), nn.Linear(40, 2))
    learner = Gpm(per_task=("2",), num_examples=50).start(model)
    for k, experience in enumerate(benchmark.train_stream):
        items = [experience.dataset[i][:2] for i in range(len(experience.dataset))]
        x, y = torch.stack([x for x, _ in items]), torch.tensor([int(y) for _, y in items])
        chosen = torch.randperm(len(x), generator=torch.Generator().manual_seed(0))[:50]
        with learner.task(f"task {k}", (x[chosen], y[chosen])) as parameters:
            optimizer = torch.optim.Adam(parameters, lr=0.02)
            for start in [*range(0, len(x), 16)] * 3:
                optimizer.zero_grad()
                nn.functional.cross_entropy(model(x[start : start + 16]), y[start : start + 16]).backward()
                optimizer.step()
    assert plugin.learner is not None
    for ours, theirs in zip(learner.network.parameters(), plugin.learner.network.parameters(), strict=True):
        torch.testing.assert_close(ours, theirs)


def test_interrupted_training_is_undone(benchmark):
    class StopError(Exception):
        pass

    class Interruption(ProtectionPlugin):
        armed = False

        def after_training_epoch(self, strategy, *args, **kwargs):
            if self.armed:
                raise StopError

    plugin = Interruption(Gpm(per_task=("2",), num_examples=50))
    strategy = make_strategy([plugin])
    first, second, _ = benchmark.train_stream
    strategy.train(first)
    before = strategy.eval(benchmark.test_stream)["Top1_Acc_Exp/eval_phase/test_stream/Task000/Exp000"]
    plugin.armed = True
    with pytest.raises(StopError):
        strategy.train(second)
    plugin.armed = False
    strategy.train(second)
    assert plugin.learner is not None
    assert plugin.learner.tasks == ["experience 0", "experience 1"]
    after = strategy.eval(benchmark.test_stream)["Top1_Acc_Exp/eval_phase/test_stream/Task000/Exp000"]
    assert after >= before - 0.02


def test_old_experiences_are_not_evaluated_while_learning(benchmark):
    strategy = make_strategy([GpmPlugin(per_task=("2",), num_examples=50)], eval_every=1)
    first, second, _ = benchmark.train_stream
    strategy.train(first)
    with pytest.raises(RuntimeError, match="experience 0 cannot be evaluated while experience 1 is learned"):
        strategy.train(second, eval_streams=[benchmark.test_stream])


def test_models_and_optimizers_that_do_not_fit(benchmark):
    first = benchmark.train_stream[0]
    strategy = make_strategy([GpmPlugin()])
    strategy.optimizer.add_param_group({"params": [nn.Parameter(torch.zeros(1))]})
    with pytest.raises(ValueError, match="the optimizer has 2 groups of parameters"):
        strategy.train(first)
    strategy = make_strategy([GpmPlugin()])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        strategy.model = MTSimpleMLP(input_size=30, hidden_size=8)
    with pytest.raises(ValueError, match="MTSimpleMLP, which chooses among heads by task labels"):
        strategy.train(first)


def test_class_incremental_benchmarks_give_a_warning():
    torch.manual_seed(0)
    data = [[make_task(k, n) for k in range(T)] for n in (40, 20)]
    unlabeled = tensors_benchmark(*data, task_labels=[0] * T)
    with pytest.warns(UserWarning, match=r"experience 1 has the task label of an earlier one.*task_labels") as caught:
        learn(make_strategy([GpmPlugin(per_task=("2",))]), unlabeled)
    assert len([one for one in caught if "task label" in str(one.message)]) == 1


def test_results_that_do_not_fit():
    key = "Top1_Acc_Exp/eval_phase/test_stream/Task000/Exp00{}"
    row = {key.format(i): 0.5 for i in range(2)}
    with pytest.raises(ValueError, match="4 results for 2 experiences"):
        read_results([row] * 4)
    with pytest.raises(ValueError, match="they have Top1_Acc_Exp; add accuracy_metrics"):
        read_results([row], metric="Loss_Exp")
    with pytest.raises(ValueError, match="1 names for 2 experiences"):
        read_results([row] * 2, names=["a"])
    assert np.isnan(read_results([row] * 2).values[0]).all()
    losses = [{key.replace("Top1_Acc", "Loss").format(i): 0.5 for i in range(2)}] * 3
    assert read_results(losses, metric="Loss_Exp").kind == "error"


def test_example(monkeypatch, capsys):
    _, found = run_example(monkeypatch, capsys, "avalanche_plugins.py")
    assert found["plain"][0] > 0.1
    for name in ("GPM", "TRGP"):
        assert found[name][0] < 0.03
        assert found[name][1] > found["plain"][1] + 0.05


def test_examples_in_docstrings():
    assert doctest.testmod(avalanche_integration).failed == 0


def test_page(benchmark, capsys):
    (block,) = code_blocks("Avalanche")
    model = nn.Sequential(OrderedDict(body=nn.Linear(30, 40), relu=nn.ReLU(), head=nn.Linear(40, 2)))
    evaluator = EvaluationPlugin(accuracy_metrics(experience=True), loggers=[])
    namespace = {"model": model, "benchmark": benchmark, "evaluator": evaluator}
    exec(block, namespace | {"optimizer": torch.optim.SGD(model.parameters(), 0.1)})
    assert "Top1_Acc_Exp on each task" in capsys.readouterr().out
