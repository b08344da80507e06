"""Optional packages: the extra of ebbing that installs each, and what users read where one is missing."""

from __future__ import annotations

from importlib.util import find_spec

EXTRAS = {
    "torch": ("PyTorch", "learn"),
    "safetensors": ("safetensors", "learn"),
    "matplotlib": ("matplotlib", "figures"),
    "pandas": ("pandas", "frames"),
    "jinja2": ("jinja2", "report"),
    "markupsafe": ("jinja2", "report"),
    "plotly": ("plotly", "report"),
    "distributed": ("Dask", "cluster"),
    "pyarrow": ("pyarrow", "parquet"),
    "numba": ("numba", "fast"),
}
"""Of each optional module, the name of its package and the extra that installs it."""


def explain_missing(error: ModuleNotFoundError, user: str, extra: str | None = None) -> ModuleNotFoundError:
    """Return an error that says which extra installs the missing package.

    Args:
        error: The error of the failed import.
        user: What needs the package: the subject of the sentence.
        extra: The extra to name, if it is not the one of `EXTRAS`, or the module is not there.

    Returns:
        The new error; `error` itself if it already has a sentence of ebbing, or if no extra brings the module.

    Example:
        >>> print(explain_missing(ModuleNotFoundError("No module named 'torch'", name="torch"), "ebbing.learn"))
        ebbing.learn needs PyTorch, which is missing: pip install 'ebbing[learn]'
    """
    module = (error.name or "").split(".")[0]
    package, usual = EXTRAS.get(module, (module, None))
    if not package or not (extra := extra or usual) or "pip install" in str(error):
        return error
    return ModuleNotFoundError(
        f"{user} needs {package}, which is missing: pip install 'ebbing[{extra}]'", name=error.name
    )


def check_installed(module: str, user: str, extra: str | None = None) -> None:
    """Check that an optional module is there, without importing it, or raise an error that says what installs it.

    Args:
        module: A module in `EXTRAS`.
        user: What needs it: the subject of the sentence.
        extra: The extra to name, if it is not the one of `EXTRAS`.

    Raises:
        ModuleNotFoundError: If it is not installed.

    Example:
        >>> check_installed("torch", "ebbing.learn")
    """
    if find_spec(module) is None:
        raise explain_missing(ModuleNotFoundError(f"No module named {module!r}", name=module), user, extra)
