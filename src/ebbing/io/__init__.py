"""Files of users: matrices, problems and curricula (TOML), data of tasks, and JSON that the command prints."""

from typing import TYPE_CHECKING

from ebbing._lazy import load_lazily
from ebbing.io.error_matrices import read_matrix
from ebbing.io.evaluations import read_evaluation
from ebbing.io.framework_logs import read_avalanche_log, read_mammoth_log, read_pycil_log
from ebbing.io.matrices import NamedMatrix, read_named_matrix

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

_HOMES = {
    "parse_problem": "ebbing.io.problems",
    "read_curriculum": "ebbing.io.curricula",
    "read_ground_truths": "ebbing.io.problems",
    "read_matrix_problem": "ebbing.io.problems",
    "read_problem": "ebbing.io.problems",
    "read_task_files": "ebbing.io.task_files",
    "to_json": "ebbing.io.schema",
}
"""The module of what is imported on first use."""


def __getattr__(name: str) -> object:
    return load_lazily(__name__, _HOMES, name)


def __dir__() -> list[str]:
    return sorted(__all__)
