"""Where an optional package is missing, users read which extra installs it, in Python and in the command."""

import subprocess
import sys

import pytest

from ebbing._extras import EXTRAS, explain_missing


def run_without(module: str, code: str) -> subprocess.CompletedProcess[str]:
    """Run code in an interpreter in which a module cannot be imported."""
    block = f"import sys; sys.modules[{module!r}] = None; "
    return subprocess.run([sys.executable, "-c", block + code], capture_output=True, text=True, check=False)


def command(*arguments: str) -> str:
    return f"sys.argv = {['ebbing', *arguments]!r}; from ebbing.cli import main; main()"


FORECAST = "import ebbing; data = [[0.0], [1.0]], [0, 1]; ebbing.forecast([], {'a': data, 'b': data})"
MODEL = "from ebbing.io.entry_points import network_by_name; network_by_name('a:b')"
PARQUET = (
    "from pathlib import Path; from ebbing.io import task_files; task_files._read_parquet(Path('a.parquet'), '', None)"
)
PROBLEM = ["--tasks", "orthogonal:2", "-n", "5", "-p", "20"]


@pytest.mark.parametrize(
    ("module", "code", "message"),
    [
        ("torch", "from ebbing.learn import Gpm", "ebbing.learn needs PyTorch, which is missing"),
        ("torch", "import ebbing; ebbing.measure", "ebbing.learn needs PyTorch, which is missing"),
        ("torch", "import ebbing; ebbing.forecasting.kernel_cost", "ebbing.forecasting.kernel_cost needs PyTorch"),
        ("jinja2", "import ebbing; ebbing.metrics.summary([[1.0]], kind='error').to_html()", "a page needs jinja2"),
        ("jinja2", "from ebbing.explorer import explorer_page; explorer_page()", "the explorer needs jinja2"),
        ("plotly", "from ebbing.report._page import _plotly; _plotly()", "the report needs plotly"),
        ("matplotlib", "from ebbing.plot._axes import use_axes; use_axes(None)", "plot() needs matplotlib"),
        ("pandas", "from ebbing._tables import to_frame; to_frame({})", "to_frame() needs pandas"),
        ("torch", FORECAST, "a forecast of a network needs PyTorch"),
        ("torch", MODEL, "--model needs PyTorch"),
        ("pyarrow", PARQUET, "the file a.parquet needs pyarrow"),
        ("transformers", "import ebbing.integrations.transformers", "pip install 'ebbing[transformers]'"),
        ("lightning", "import ebbing.integrations.lightning", "pip install 'ebbing[lightning]'"),
        ("torch", "import ebbing.integrations.lightning", "pip install 'ebbing[lightning]'"),
        ("avalanche", "import ebbing.integrations.avalanche", "pip install 'ebbing[avalanche]'"),
    ],
)
def test_python_error_names_the_extra(module, code, message):
    done = run_without(module, code)
    assert done.returncode == 1
    assert message in done.stderr.splitlines()[-1]
    assert "pip install 'ebbing[" in done.stderr.splitlines()[-1]


@pytest.mark.parametrize(
    ("module", "arguments", "extra"),
    [
        ("torch", ["train"], "learn"),
        ("jinja2", ["explore", "--out", "page.html"], "explorer"),
        ("jinja2", ["expect", *PROBLEM, "--html", "page.html"], "report"),
        ("matplotlib", ["order", *PROBLEM, "--plot", "order.png"], "figures"),
        ("matplotlib", ["reproduce", "--out", "results"], "figures"),
        ("numba", ["order", "--tasks", "orthogonal:101", "-n", "5,6" + ",5" * 99, "-p", "200"], "fast"),
    ],
)
def test_command_names_the_extra_without_a_traceback(module, arguments, extra, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = run_without(module, command(*arguments))
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.count("\n") == 1
    assert f"pip install 'ebbing[{extra}]'" in done.stderr
    assert not list(tmp_path.iterdir())


def test_error_of_another_module_stays_as_it_is():
    error = ModuleNotFoundError("No module named 'mine'", name="mine")
    assert explain_missing(error, "ebbing") is error


def test_every_extra_is_one_of_the_project():
    from importlib.metadata import metadata

    provided = set(metadata("ebbing").get_all("Provides-Extra", []))
    assert {extra for _, extra in EXTRAS.values()} <= provided
