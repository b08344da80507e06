"""How far training goes, as users say it: `Extent`."""

from __future__ import annotations

from dataclasses import dataclass

from ebbing._validate import check_count, check_number
from ebbing.forecasting.targets import Kind


@dataclass(frozen=True)
class Extent:
    """How far each task is trained: to a training accuracy or error, for some steps or a time; otherwise to the end.

    Attributes:
        learning_rate: The learning rate of gradient descent.
        steps: Its steps for each task.
        training_accuracy: The accuracy on its training data at which training leaves a task, from 0 to 1.
        training_error: The mean squared training error at which training leaves a task.
        time: The time of gradient flow, in units of one over the mean squared gradient.
        ridge: A penalty on the distance from the previous weights, in units of the mean squared gradient.

    Raises:
        ValueError: If these contradict each other, one of `learning_rate` and `steps` is missing, or a value is not a
            number of its kind.

    Example:
        >>> Extent(learning_rate=0.1, steps=200).describe()
        'each task trained for 200 steps with learning rate 0.1'
    """

    learning_rate: float | None = None
    steps: int | None = None
    training_accuracy: float | None = None
    training_error: float | None = None
    time: float | None = None
    ridge: float = 0.0

    def __post_init__(self) -> None:
        for name in ("learning_rate", "training_accuracy", "training_error", "time", "ridge"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, check_number(name, getattr(self, name)))
        if self.training_accuracy is not None and self.training_accuracy > 1:
            raise ValueError(f"training_accuracy={self.training_accuracy:g}: give a share from 0 to 1, such as 0.95")
        if self.steps is not None:
            object.__setattr__(self, "steps", check_count("steps", self.steps))
        schedule = [value is not None for value in (self.learning_rate, self.steps)]
        reached = [value is not None for value in (self.training_accuracy, self.training_error)]
        ways = sum([any(schedule), self.time is not None, *reached])
        if any(schedule) != all(schedule) or ways > 1 or (any(reached) and self.ridge):
            given = {name: value for name, value in vars(self).items() if value is not None}
            shown = ", ".join(f"{name}={value:g}" for name, value in given.items() if name != "ridge" or value)
            others = "training_accuracy or by training_error"
            if self.time is not None:
                others = "training_accuracy, by training_error or by time"
            raise ValueError(
                f"{shown}: say how far tasks are trained in one way: by both learning_rate and steps, by {others}"
            )

    def describe(self, kind: Kind = "classes") -> str:
        """Return in words how far each task is trained.

        Args:
            kind: The kind of labels, on which it depends what to give if training stops early.

        Returns:
            The words, with what to give if nothing is said.
        """
        if self.steps is not None:
            how = f"for {self.steps:,} steps with learning rate {self.learning_rate:g}"
        elif self.training_accuracy is not None:
            how = f"to an accuracy of {self.training_accuracy:.4g} on its training data"
        elif self.training_error is not None:
            how = f"to a mean squared error of {self.training_error:g}"
        elif self.time is not None:
            how = f"for a time of {self.time:g}"
        elif self.ridge:
            return f"each task trained with ridge {self.ridge:g}"
        else:
            how = f"until it is fitted (if yours is not, give {_goal(kind)})"
        return f"each task trained {how}" + (f", with ridge {self.ridge:g}" if self.ridge else "")

    def advise(self, kind: Kind = "classes") -> str:
        """Return what to do about tasks that are hardly learned.

        Args:
            kind: As for `describe`.

        Returns:
            A sentence: to train further where training is said to stop early, and to say so where nothing is said.
        """
        if self.steps is not None:
            return (
                "Train them longer: more steps, or a larger learning_rate. It is that of plain gradient descent: with "
                f"Adam, give {_goal(kind)} instead."
            )
        if self.training_accuracy is not None:
            return "If training fits them better, give a higher training_accuracy."
        if self.training_error is not None:
            return "If training fits them better, give a smaller training_error."
        if self.time is not None:
            return "Train them longer: a larger time."
        if self.ridge:
            return "If training moves further, give a smaller ridge."
        return f"If training stops before it fits them, say so: {_goal(kind)}, or learning_rate and steps."


def _goal(kind: Kind) -> str:
    """Return the parameter that says what training reaches."""
    return "training_error" if kind == "regression" else "training_accuracy"
