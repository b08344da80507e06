"""Files of users: matrices, problems and curricula (TOML), data of tasks, and JSON that the command prints."""

from importlib import import_module
from typing import TYPE_CHECKING

from ebbing.io.evaluations import read_evaluation
from ebbing.io.framework_logs import read_avalanche_log, read_mammoth_log, read_pycil_log
from ebbing.io.matrices import NamedMatrix, read_matrix, read_named_matrix

if TYPE_CHECKING:
    from ebbing.io.curricula import read_curriculum
    from ebbing.io.problems import parse_problem, read_ground_truths, read_matrix_problem, read_problem
    from ebbing.io.schema import to_json
    from ebbing.io.task_files import read_task_files

__all__ = [
    "NamedMatrix",
    "parse_problem",
    "read_avalanche_log",
    "read_curriculum",
    "read_evaluation",
    "read_ground_truths",
    "read_mammoth_log",
    "read_matrix",
    "read_matrix_problem",
    "read_named_matrix",
    "read_problem",
    "read_pycil_log",
    "read_task_files",
    "to_json",
]

_LAZY = {
    "parse_problem": "ebbing.io.problems",
    "read_curriculum": "ebbing.io.curricula",
    "read_ground_truths": "ebbing.io.problems",
    "read_matrix_problem": "ebbing.io.problems",
    "read_problem": "ebbing.io.problems",
    "read_task_files": "ebbing.io.task_files",
    "to_json": "ebbing.io.schema",
}


def __getattr__(name: str) -> object:
    """Load on first use what needs more than NumPy.

    Args:
        name: A public name.

    Returns:
        The object of that name.

    Raises:
        AttributeError: If there is none.
    """
    if name in _LAZY:
        return getattr(import_module(_LAZY[name]), name)
    raise AttributeError(f"module 'ebbing.io' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
