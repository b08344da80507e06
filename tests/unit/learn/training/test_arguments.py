"""Arguments of learners: what is wrong gets one clear error, and arrays are taken."""

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional
from toys import METHODS, SCHEDULE, SIZE, Images, assert_same, data, images, perceptron, settings, trained_learner

from ebbing.learn import Copies, FineTuning, Gpm
from ebbing.learn.training.schedule import task_loss

pytestmark = pytest.mark.usefixtures("quietly")

SOME = [METHODS[1], FineTuning(SCHEDULE)]
IDS = ["trgp", "fine-tuning"]


@pytest.mark.parametrize("method", SOME, ids=IDS)
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"generator": 0}, r"generator=0: give a torch.Generator, such as torch.Generator\(\).manual_seed\(0\)"),
        ({"generator": np.random.default_rng(0)}, "generator=Generator.*: give a torch.Generator"),
        ({"progress": True}, "progress=True: give a function of the share that is done and a message"),
        ({"checkpoint": "file"}, r"checkpoint='file': give an object with load\(\) and save\(content\)"),
    ],
)
def test_wrong_arguments_raise_before_training(method, arguments, message):
    learner = method.start(perceptron())
    before = learner.state()
    with pytest.raises(ValueError, match=message):
        learner.learn("a", data(0), **arguments)
    assert_same(learner.state(), before)


@pytest.mark.parametrize("method", SOME, ids=IDS)
@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            torch.Tensor.double,
            r"inputs of torch.float64 for a network of torch.float32 \(.*\): give inputs.to\(torch.float32\)",
        ),
        (torch.Tensor.long, "inputs of torch.int64 for a network of torch.float32"),
        (lambda x: x[:, 1:], rf"does not take inputs of shape \(\d+, {SIZE - 1}\) \(.*\): give examples of the shape"),
    ],
    ids=["float64", "int64", "width"],
)
def test_wrong_inputs_raise_everywhere(method, change, message):
    learner, (inputs, labels) = trained_learner(method, perceptron(), 1), data(1)
    for attempt in (
        lambda x: learner.learn("b", (x, labels)),
        lambda x: learner.learn("b", [(x, labels)]),
        lambda x: learner.outputs("task 0", x),
        lambda x: learner.accuracy("task 0", (x, labels)),
    ):
        with pytest.raises(ValueError, match=message):
            attempt(change(inputs))
    assert learner.tasks == ["task 0"]


def test_wrong_images_raise():
    learner, (inputs, labels) = Gpm(**settings(per_task=("heads",))).start(Images()), images(0)
    with pytest.raises(ValueError, match=r"does not take inputs of shape \(\d+, 1, 4, 4\)"):
        learner.learn("a", (inputs[:, :1], labels))
    with pytest.raises(ValueError, match=r"inputs of torch.float64 for a network of torch.float32"):
        learner.learn("a", (inputs.double(), labels))


def test_errors_of_the_network_itself_are_not_explained_away():
    class Broken(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(SIZE, 3)

        def forward(self, x):
            raise RuntimeError("my own bug")

    with pytest.raises(RuntimeError, match="my own bug"):
        FineTuning(SCHEDULE).start(Broken()).learn("a", data(0))


@pytest.mark.parametrize("method", [*SOME, Copies(SCHEDULE)], ids=[*IDS, "copies"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_arrays_give_the_same_as_tensors(method, dtype):
    inputs, labels = data(0, dtype=dtype)
    tensors, arrays = (method.start(perceptron(dtype=dtype)) for _ in range(2))
    tensors.learn("a", (inputs, labels))
    arrays.learn("a", (inputs.double().numpy(), labels.numpy().astype(np.int32)))
    assert_same(arrays.state(), tensors.state())
    assert torch.equal(arrays.outputs("a", inputs.numpy()), tensors.outputs("a", inputs))
    assert arrays.accuracy("a", (inputs.numpy(), labels.numpy())) == tensors.accuracy("a", (inputs, labels))
    frozen = inputs.numpy()[::-1]
    frozen.flags.writeable = False
    arrays.learn("b", (frozen, labels.numpy()))
    with pytest.raises(ValueError, match="inputs are an array of <U1: give numbers"):
        arrays.learn("c", (np.array(["x"] * 24), labels.numpy()))


@pytest.mark.parametrize("method", SOME, ids=IDS)
def test_accuracy_after_a_custom_loss_does_not_mislead(method):
    """Outputs of a squared error are near 0 and 1: above 0 means nothing."""
    inputs, labels = data(0)[0], (data(0)[1] == 0).float()[:, None]
    learner = method.start(nn.Sequential(nn.Linear(SIZE, 1)))
    with learner.task("a", (inputs, labels), loss=functional.mse_loss) as parameters:
        optimizer = torch.optim.SGD(parameters, lr=0.1)
        functional.mse_loss(learner.network(inputs), labels).backward()
        optimizer.step()
    other = method.start(nn.Sequential(nn.Linear(SIZE, 1)))
    other.restore(learner.state())
    for one in (learner, other):
        with pytest.raises(ValueError, match=r"task 'a' was learned with a loss of your own.*outputs\(task, inputs\)"):
            one.accuracy("a", (inputs, labels))
    learner.learn("b", (inputs, labels))
    assert 0 <= learner.accuracy("b", (inputs, labels)) <= 1
    with pytest.raises(ValueError, match=r"between 0 and 1: accuracy\(\) is for classes .* outputs\(task, inputs\)"):
        learner.accuracy("b", (inputs, 5 * labels))


@pytest.mark.parametrize("method", SOME, ids=IDS)
def test_tables_of_pandas_give_the_same_as_tensors(method):
    pd = pytest.importorskip("pandas")
    inputs, labels = data(0)
    frame, series = pd.DataFrame(inputs.numpy()), pd.Series(labels.numpy())
    tensors, tables = (method.start(perceptron()) for _ in range(2))
    tensors.learn("a", (inputs, labels))
    tables.learn("a", (frame.astype(float), series.astype("int32")))  # types that networks do not have
    assert_same(tables.state(), tensors.state())
    assert torch.equal(tables.outputs("a", frame), tensors.outputs("a", inputs))
    assert tables.accuracy("a", (frame, series)) == tensors.accuracy("a", (inputs, labels))
    tables.learn("b", (frame, labels))  # one of them may be a tensor
    for wrong, message in (
        ((frame, series.map(str)), "labels are an array of .*: give numbers"),
        (frame, r"a DataFrame alone: give a pair \(inputs, labels\), such as \(table.drop"),
    ):
        with pytest.raises(ValueError, match=message):
            tables.learn("c", wrong)


@pytest.mark.parametrize(
    ("labels", "count", "message"),
    [
        ([0, 7], 2, "label 7, but the network has 2 outputs: give classes from 0 to 1, or a network with 8 outputs"),
        ([0, 1], 1, "label 1, but the network has 1 output: give binary labels as 1.0 or 0.0, of the outputs' shape, "),
        ([-100, -1, 1], 2, "label -1: give classes from 0 to 1, and -100 where none counts"),
    ],
)
def test_labels_that_are_no_classes_are_named(labels, count, message):
    with pytest.raises(ValueError, match=message):
        task_loss(torch.zeros(len(labels), count), torch.tensor(labels))


def test_learners_show_what_they_are():
    learner = METHODS[1].start(perceptron())
    assert repr(learner) == ("<ProjectionLearner of a Sequential, learned tasks: none, Trgp protects 0 0%, 4 0%, 6 0%>")
    learner.learn("cats", data(0))
    assert "learned tasks: 'cats', Trgp protects 0 " in repr(learner)
    plain = FineTuning(SCHEDULE).start(perceptron())
    assert repr(plain) == "<FineTuningLearner of a Sequential, learned tasks: none>"
