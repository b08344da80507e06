"""Curricula in TOML files: what is learned at each step.

orthogonal = 2              # the problem, as `ebbing.io.problems` reads it
names = ["cats", "dogs"]
n = 50
p = 200
steps = [{cats = 50}, {dogs = 50, cats = 10}]    # samples by name of task, for each step
stored = true                                    # replay the samples kept, not fresh ones (false if left out)
"""

from __future__ import annotations

import os
from pathlib import Path

from ebbing.curriculum import Curriculum
from ebbing.io._toml import read_toml
from ebbing.io.problems import parse_problem


def read_curriculum(path: str | os.PathLike[str]) -> Curriculum | None:
    r"""Return the curriculum in a TOML file, if it has one.

    Args:
        path: The TOML file of a problem.

    Returns:
        The curriculum, or None if the file has no `steps`.

    Raises:
        ValueError: If the steps do not suit the problem; the message names the file.

    Example:
        >>> import tempfile
        >>> file = Path(tempfile.mkdtemp()) / "problem.toml"
        >>> _ = file.write_text('p = 200\nn = 50\ncategories = "AB"\nsteps = [{A1 = 50}, {B1 = 50, A1 = 10}]')
        >>> read_curriculum(file)
        Curriculum([{'A1': 50}, {'B1': 50, 'A1': 10}])
    """
    file = Path(path)
    content = read_toml(file)
    try:
        problem = parse_problem(content)
        if content.get("steps") is None:
            if content.get("stored") is not None:
                raise ValueError("stored goes with steps; leave it out")
            return None
        curriculum = Curriculum(content["steps"], stored=content.get("stored", False))
        curriculum.samples(problem)
    except ValueError as error:
        raise ValueError(f"{file}: {error}") from None
    return curriculum
