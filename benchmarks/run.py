"""Run benchmarks and write their tables to benchmarks/results.md. Run nothing else at the same time.

python benchmarks/run.py            run all suites
python benchmarks/run.py methods    run the named suites; the tables of the others stay, with their dates
"""

from __future__ import annotations

import argparse
import platform
import re
from datetime import UTC, datetime
from pathlib import Path

import bench_curricula
import bench_forecast
import bench_integrations
import bench_linear
import bench_methods
import bench_networks
import bench_order
import bench_pages
import bench_records
import bench_steps
import bench_transformers
from harness import markdown

SUITES = {
    "linear": ("Linear tasks: theory and simulation", bench_linear),
    "curricula": ("Curricula: theory", bench_curricula),
    "steps": ("Curricula: simulation and replay", bench_steps),
    "order": ("Task orders", bench_order),
    "forecast": ("Forecasts", bench_forecast),
    "networks": ("Networks", bench_networks),
    "methods": ("Protecting old tasks", bench_methods),
    "transformers": ("Protecting a pretrained transformer", bench_transformers),
    "integrations": ("Integrations", bench_integrations),
    "records": ("Records of runs", bench_records),
    "pages": ("Pages", bench_pages),
}
RESULTS = Path(__file__).with_name("results.md")
HEAD = """# Benchmarks

Times, ratios of times ("x") and memory, measured in one run after a check of equal results. *missed*: the target was
not reached. sgemm is the matrix product on the same core; Gilmore-Lawler is the usual lower bound of such problems.
What is at stake is the value of a mean order minus the lower bound. `make bench` writes this file.
"""


def sections(text: str) -> dict[str, str]:
    """Return the text below each heading."""
    _, *parts = re.split(r"^## (.+)\n", text, flags=re.MULTILINE)
    return {title: body.strip() for title, body in zip(parts[::2], parts[1::2], strict=True)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("suites", nargs="*", metavar="suite", help=f"some of {', '.join(SUITES)} (default: all)")
    named = parser.parse_args().suites or list(SUITES)
    if unknown := [name for name in named if name not in SUITES]:
        parser.error(f"no suite is called {unknown[0]!r}; give some of {', '.join(SUITES)}")
    for name in named:
        title, suite = SUITES[name]
        print(title)
        table = markdown(suite.run())
        print(table)
        when = f"Measured {datetime.now(UTC).date()} on {platform.machine()}, Python {platform.python_version()}."
        kept = sections(RESULTS.read_text()) if RESULTS.exists() else {}
        kept[title] = f"{when}\n\n{table.strip()}"
        found = [f"## {title}\n\n{kept[title]}\n" for title, _ in SUITES.values() if title in kept]
        RESULTS.write_text("\n".join([HEAD, *found]))


if __name__ == "__main__":
    main()
