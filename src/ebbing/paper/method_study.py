"""What a comparison of methods trains: a `Study` of protocols, each a stream with methods that learn it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from ebbing._validate import check_count
from ebbing.learn import MLP, Experiment
from ebbing.learn.presets import AnyStream, MethodName, preset
from ebbing.paper._output import protocol_title


@dataclass(frozen=True)
class MethodVariant:
    """A method with its preset for a stream, and changes of some settings.

    Attributes:
        name: The name of the variant in tables.
        method: The name of the method, as in `ebbing.learn.preset`.
        as_published: Whether the method departs from its description like the authors' code.
        changes: The settings of the method that differ from the preset, by name.
        width: The width of the network's hidden layers, as a multiple of the preset's.
        seeds: The number of seeds, if it is not that of the protocol.
    """

    name: str
    method: MethodName
    as_published: bool = False
    changes: Mapping[str, Any] = field(default_factory=dict)
    width: float = 1.0
    seeds: int | None = None


@dataclass(frozen=True)
class Protocol:
    """A stream, the variants that learn it, and how long and how often they do.

    Attributes:
        name: The name of the protocol in tables.
        stream: The stream of tasks.
        variants: The methods that are compared.
        pairs: Names of variants to compare over the same seeds: is the first better than the second?
        seeds: The number of seeds of every variant that does not have its own.
        first_seed: The first seed.
        epochs: The number of epochs per task; None as published.
        early_stopping: Whether training may stop early, as published for CIFAR-100.
        reduction: How the protocol is smaller than the published one, in words; empty if it is not.
        paper_values: ACC and BWT that the paper prints, by name of the variant.
    """

    name: str
    stream: AnyStream
    variants: tuple[MethodVariant, ...]
    pairs: tuple[tuple[str, str], ...]
    seeds: int
    first_seed: int = 0
    epochs: int | None = None
    early_stopping: bool = True
    reduction: str = ""
    paper_values: Mapping[str, tuple[float, float]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        check_count("seeds", self.seeds)
        unknown = {name for pair in self.pairs for name in pair}.union(self.paper_values).difference(self.names)
        if unknown:
            raise ValueError(
                f"{self.name}: no variant is called {', '.join(sorted(unknown))}; give some of {', '.join(self.names)}"
            )

    @property
    def title(self) -> str:
        """The heading of the protocol in reports, with the benchmark's full name."""
        return protocol_title(self.name)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the variants."""
        return tuple(variant.name for variant in self.variants)

    def seed_numbers(self, name: str) -> tuple[int, ...]:
        """Return the seeds with which a variant is trained.

        Args:
            name: The name of the variant.

        Returns:
            The seeds, in a row from the first one on.
        """
        count = self.variants[self.names.index(name)].seeds or self.seeds
        return tuple(range(self.first_seed, self.first_seed + count))

    def experiment(self, name: str) -> Experiment:
        """Return the experiment that a variant trains.

        Args:
            name: The name of the variant.

        Returns:
            Tasks, architecture and method.
        """
        variant = self.variants[self.names.index(name)]
        made = preset(self.stream, variant.method, as_published=variant.as_published, epochs=self.epochs)
        method: Any = replace(made.method, **variant.changes)  # type: ignore[type-var]
        if not self.early_stopping:
            method = replace(method, schedule=replace(method.schedule, patience=None))
        return replace(made, method=method, architecture=_with_width(made.architecture, variant.width))


def _with_width(architecture: Any, width: float) -> Any:
    """Return an architecture of a preset with other widths of its hidden layers."""
    if width == 1:
        return architecture
    if isinstance(architecture, MLP):
        first, *hidden, last = architecture.widths
        return replace(architecture, widths=(first, *(round(width * units) for units in hidden), last))
    return replace(architecture, width=width)


@dataclass(frozen=True)
class Study:
    """Protocols that belong together.

    Attributes:
        name: The name of the files that report the study.
        title: The title of the study in tables.
        protocols: The protocols.
    """

    name: str
    title: str
    protocols: tuple[Protocol, ...]

    def with_seeds(self, seeds: int | None) -> Study:
        """Return the study with another number of seeds.

        Args:
            seeds: The number of seeds of every protocol; None keeps the numbers as they are.

        Returns:
            The changed study.
        """
        if seeds is None:
            return self
        protocols = []
        for protocol in self.protocols:
            variants = tuple(replace(variant, seeds=None) for variant in protocol.variants)
            protocols.append(replace(protocol, seeds=seeds, variants=variants))
        return replace(self, protocols=tuple(protocols))
