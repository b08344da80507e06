"""How far training goes, as users say it: `Extent`."""

from __future__ import annotations

from dataclasses import dataclass

from ebbing._validate import check_count, check_number


@dataclass(frozen=True)
class Extent:
    """How far each task is trained: one of a training error, a learning rate with steps, or a time; else to the end.

    Attributes:
        learning_rate: The learning rate of gradient descent.
        steps: Its steps for each task.
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
    training_error: float | None = None
    time: float | None = None
    ridge: float = 0.0

    def __post_init__(self) -> None:
        for name in ("learning_rate", "training_error", "time", "ridge"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, check_number(name, getattr(self, name)))
        if self.steps is not None:
            object.__setattr__(self, "steps", check_count("steps", self.steps))
        schedule = [value is not None for value in (self.learning_rate, self.steps)]
        said = [any(schedule), self.time is not None, self.training_error is not None]
        if any(schedule) != all(schedule) or sum(said) > 1 or (self.training_error is not None and self.ridge):
            given = {name: value for name, value in vars(self).items() if value is not None}
            shown = ", ".join(f"{name}={value:g}" for name, value in given.items() if name != "ridge" or value)
            last = ", by training_error or by time" if self.time is not None else ", or by training_error"
            raise ValueError(
                f"{shown}: say how far tasks are trained in one way: by both learning_rate and steps{last}"
            )

    def describe(self) -> str:
        """Return in words how far each task is trained.

        Returns:
            The words, with what to give if nothing is said.
        """
        if self.steps is not None:
            how = f"for {self.steps:,} steps with learning rate {self.learning_rate:g}"
        elif self.training_error is not None:
            how = f"to a mean squared error of {self.training_error:g}"
        elif self.time is not None:
            how = f"for a time of {self.time:g}"
        elif self.ridge:
            return f"each task trained with ridge {self.ridge:g}"
        else:
            how = "until it is fitted (if yours is not, give learning_rate and steps)"
        return f"each task trained {how}" + (f", with ridge {self.ridge:g}" if self.ridge else "")

    def advise(self) -> str:
        """Return what to do about tasks that are hardly learned.

        Returns:
            A sentence: to train further where training is said to stop early, and to say so where nothing is said.
        """
        if self.steps is not None:
            return "Train them longer: more steps, or a larger learning_rate."
        if self.training_error is not None:
            return "If training fits them better, give a smaller training_error."
        if self.time is not None:
            return "Train them longer: a larger time."
        if self.ridge:
            return "If training moves further, give a smaller ridge."
        return "If training stops before it fits them, say so: training_error, or learning_rate and steps."
