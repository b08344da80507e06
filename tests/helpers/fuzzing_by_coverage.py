"""Inputs that atheris finds by watching which code they reach: the parsers of files.

    pip install atheris; python tests/helpers/fuzzing_by_coverage.py toml -runs=100000 [FOLDER OF INPUTS]

The first argument is a format: toml, csv, json, npy or npz. Anything but a result or a ValueError ends the run and is
written to a file `crash-...`. Other arguments are those of libFuzzer.
"""

import contextlib
import sys
import tempfile
import warnings
from importlib import import_module
from pathlib import Path


def main() -> None:
    """Fuzz the format named first."""
    atheris = import_module("atheris")
    with atheris.instrument_imports(
        include=["ebbing.io", "ebbing._gram", "ebbing._euclidean", "tomllib", "csv", "json"]
    ):
        from ebbing.io import read_matrix, read_problem
        from ebbing.io.problems import read_matrix_problem
    kind = sys.argv.pop(1)
    file = Path(tempfile.mkdtemp(), f"input.{kind}")
    warnings.filterwarnings("ignore", category=UserWarning)

    def try_input(data: bytes) -> None:
        file.write_bytes(data)
        if kind == "toml":
            with contextlib.suppress(ValueError):
                read_problem(file)
            return
        with contextlib.suppress(ValueError):
            read_matrix(file)
        for form in ("vectors", "gram", "distances", "cosines"):
            with contextlib.suppress(ValueError):
                read_matrix_problem(file, form, n=5, p=100)

    atheris.Setup(sys.argv, try_input)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
