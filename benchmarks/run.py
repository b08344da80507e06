"""Runs every benchmark and keeps the table in benchmarks/results.md. Nothing else should run meanwhile."""

from __future__ import annotations

import platform
from datetime import UTC, datetime
from pathlib import Path

import bench_linear
import bench_methods
import bench_networks
import bench_order
from harness import markdown

SUITES = {
    "Linear tasks: theory and simulation": bench_linear,
    "Task orders": bench_order,
    "Networks": bench_networks,
    "Protecting old tasks": bench_methods,
}


def main() -> None:
    parts = ["# Benchmarks\n", "Ratios within one run, equality checked first; `make bench` makes this file.\n"]
    when = datetime.now(UTC).date().isoformat()
    parts.append(f"Measured {when} on {platform.machine()}, Python {platform.python_version()}.\n")
    for title, suite in SUITES.items():
        print(title)
        table = markdown(suite.run())
        print(table)
        parts.append(f"## {title}\n\n{table}")
    Path(__file__).with_name("results.md").write_text("\n".join(parts))


if __name__ == "__main__":
    main()
