"""Networks of the study of forecasts that the paper does not have: a small ResNet, and two pretrained ones."""

from __future__ import annotations

import copy
import warnings
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar

import torch
from torch import Tensor, nn
from torch.nn import functional

from ebbing._files import write_atomic
from ebbing.data import cache_folder
from ebbing.learn._seeding import build_seeded
from ebbing.learn.training._machine import single_thread
from ebbing.paper.forecasts.pools import cifar_classes, sentence_model_folder


@dataclass(frozen=True)
class Perceptron:
    """A perceptron with one hidden layer and biases, for tables, with one output.

    Attributes:
        identifier: The kind under which results are stored.
        inputs: The number of inputs.
        hidden: The width of the hidden layer.
    """

    identifier: ClassVar[str] = "TablePerceptron"

    inputs: int
    hidden: int = 50

    def build(self, seed: int) -> nn.Module:
        """Build a network.

        Args:
            seed: The seed of the initialization.

        Returns:
            The network.
        """
        return build_seeded(
            seed,
            lambda: nn.Sequential(nn.Linear(self.inputs, self.hidden), nn.ReLU(), nn.Linear(self.hidden, 1)),
        )


@dataclass(frozen=True)
class SmallResNet:
    """A residual network with batch norm for images (n, 1, 28, 28) and one output.

    Attributes:
        identifier: The kind under which results are stored.
        widths: Channels of the three blocks; the second and third halve the image.
    """

    identifier: ClassVar[str] = "SmallResNet"

    widths: tuple[int, int, int] = (8, 16, 32)

    def build(self, seed: int) -> nn.Module:
        """Build a network with PyTorch's default initialization.

        Args:
            seed: The seed of the initialization.

        Returns:
            The network.
        """
        one, two, three = self.widths

        def build() -> nn.Module:
            return nn.Sequential(
                nn.Conv2d(1, one, 3, stride=2, padding=1, bias=False),
                nn.BatchNorm2d(one),
                nn.ReLU(),
                Residual(one, one, 1),
                Residual(one, two, 2),
                Residual(two, three, 2),
                nn.AdaptiveAvgPool2d(1),
                nn.Flatten(),
                nn.Linear(three, 1),
            )

        return build_seeded(seed, build)


class Residual(nn.Module):
    """Two convolutions with batch norm beside a shortcut.

    Args:
        inputs: Channels of the input.
        outputs: Channels of the output.
        stride: Stride of the first convolution and of the shortcut.
    """

    def __init__(self, inputs: int, outputs: int, stride: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, outputs, 3, stride=stride, padding=1, bias=False)
        self.norm1 = nn.BatchNorm2d(outputs)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, padding=1, bias=False)
        self.norm2 = nn.BatchNorm2d(outputs)
        same = inputs == outputs and stride == 1
        self.shortcut = nn.Identity() if same else nn.Conv2d(inputs, outputs, 1, stride=stride, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        """Return the activations after the block.

        Args:
            x: Activations before it, (n, inputs, height, width).

        Returns:
            Activations (n, outputs, height / stride, width / stride).
        """
        inner = functional.relu(self.norm1(self.conv1(x)))
        return functional.relu(self.norm2(self.conv2(inner)) + self.shortcut(x))


@dataclass(frozen=True)
class PretrainedConvNet:
    """A convolutional network that was trained on the first 50 classes of CIFAR-100, with a new head of one output.

    It is trained when it is first needed (a minute on one core), and then kept in the cache of data.

    Attributes:
        identifier: The kind under which results are stored.
        epochs: Epochs of that training.
        images: Training images of each class.
    """

    identifier: ClassVar[str] = "PretrainedConvNet"

    epochs: int = 12
    images: int = 200

    def build(self, seed: int) -> nn.Module:
        """Return the pretrained network with a new head.

        Args:
            seed: The seed of the head.

        Returns:
            The network, for images (n, 3, 32, 32).
        """
        body = _body()
        body.load_state_dict(_pretrained(self.epochs, self.images))
        head = build_seeded(seed, lambda: nn.Linear(128, 1))
        return nn.Sequential(body, head)


def _body() -> nn.Sequential:
    layers: list[nn.Module] = []
    for inputs, outputs in ((3, 16), (16, 32), (32, 64)):
        layers += [nn.Conv2d(inputs, outputs, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)]
    return nn.Sequential(*layers, nn.Flatten(), nn.Linear(64 * 4 * 4, 128), nn.ReLU())


@lru_cache(maxsize=1)
def _pretrained(epochs: int, images: int) -> dict[str, Tensor]:
    from safetensors.torch import load_file, save

    path = cache_folder() / "networks" / f"cifar-50-classes-{epochs}-{images}.safetensors"
    if not path.exists():
        with single_thread():
            state = _pretrain(epochs, images)
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomic(path, save(state))
    return load_file(path)


def _pretrain(epochs: int, images: int) -> dict[str, Tensor]:
    pool = cifar_classes(0, 49)
    kept = torch.cat([torch.nonzero(torch.from_numpy(pool.train_classes == c))[:images, 0] for c in range(50)])
    inputs, classes = torch.from_numpy(pool.train_inputs)[kept], torch.from_numpy(pool.train_classes)[kept]
    generator = torch.Generator().manual_seed(0)
    body, head = build_seeded(0, _body), build_seeded(1, lambda: nn.Linear(128, 50))
    network = nn.Sequential(body, head)
    steps = epochs * -(-len(kept) // 50)
    optimizer = torch.optim.SGD(network.parameters(), lr=0.05, momentum=0.9, weight_decay=5e-4)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=0.05, total_steps=steps)
    for _ in range(epochs):
        for batch in torch.randperm(len(kept), generator=generator).split(50):
            x = inputs[batch]
            flipped = torch.rand(len(x), 1, 1, 1, generator=generator) < 0.5
            loss = functional.cross_entropy(network(torch.where(flipped, x.flip(3), x)), classes[batch])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
    return {name: value.detach().clone() for name, value in body.state_dict().items()}


@dataclass(frozen=True)
class SentenceClassifier:
    """The pretrained sentence transformer all-MiniLM-L6-v2 with a new head of one output, for tokens (n, length).

    Attributes:
        identifier: The kind under which results are stored.
        lora_rank: The rank of the low-rank adapters that are trained with the head; 0 to train everything.
    """

    identifier: ClassVar[str] = "SentenceClassifier"

    lora_rank: int = 0

    def build(self, seed: int) -> nn.Module:
        """Return the pretrained network with a new head, and with new adapters if it has any.

        Args:
            seed: The seed of the head and of the adapters.

        Returns:
            The network.
        """
        return build_seeded(seed, lambda: _Sentences(self.lora_rank))


@lru_cache(maxsize=1)
def _sentence_model() -> nn.Module:
    """Return the pretrained network, read once; it reports parts that it does not use, which are not errors."""
    from transformers import AutoModel
    from transformers.utils import logging

    before = logging.get_verbosity()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        return AutoModel.from_pretrained(sentence_model_folder(), local_files_only=True, add_pooling_layer=False)
    finally:
        logging.set_verbosity(before)
        logging.enable_progress_bar()


class _Sentences(nn.Module):
    """A sentence transformer with a linear head on the mean of its last hidden states.

    Args:
        lora_rank: The rank of adapters, 0 for none.
    """

    def __init__(self, lora_rank: int) -> None:
        super().__init__()
        body: Any = copy.deepcopy(_sentence_model())
        if lora_rank:
            from peft import LoraConfig, get_peft_model

            config = LoraConfig(r=lora_rank, lora_alpha=2 * lora_rank, target_modules=["query", "value"])
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", FutureWarning)  # of peft's use of transformers
                body = get_peft_model(body, config)
        self.body, self.head = body, nn.Linear(384, 1)

    def forward(self, tokens: Tensor) -> Tensor:
        mask = (tokens != 0).to(torch.int64)
        hidden = self.body(input_ids=tokens, attention_mask=mask).last_hidden_state
        return self.head((hidden * mask[:, :, None]).sum(1) / mask.sum(1, keepdim=True))

    def state_dict(self, *args: Any, **kwargs: Any) -> dict[str, Any]:
        """Return what is trained: the rest is that of the pretrained network.

        Args:
            *args: As for any module.
            **kwargs: As for any module.

        Returns:
            Tensors by name.
        """
        trained = {name for name, value in self.named_parameters() if value.requires_grad}
        return {name: value for name, value in super().state_dict(*args, **kwargs).items() if name in trained}

    def load_state_dict(self, state_dict: Any, strict: bool = True, assign: bool = False) -> Any:
        """Write what is trained.

        Args:
            state_dict: Tensors by name.
            strict: Not used: what is not trained may be missing.
            assign: As for any module.

        Returns:
            What is missing and what is unexpected.
        """
        return super().load_state_dict(state_dict, strict=False, assign=assign)
