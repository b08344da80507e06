"""`best_order` and `worst_order` at random sizes, limits and interrupts: never worse than known orders, never late.

Run: python benchmarks/fuzz_order.py [--minutes 10] [--seed 0]. It prints each failure and at the end, by number of
tasks, how long searches went on after their limit and after Ctrl-C. On a busy machine look at processor time.
"""

from __future__ import annotations

import argparse
import sys
import time
import traceback
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "helpers"))
from order_limits import OBJECTIVES, check, random_problem, search

SIZES = (5, 10, 15, 20, 30, 60, 100, 200, 400, 700, 1000)
LIMITS = (0.01, 5.0)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    for kind in (2, [2, 3, 4]):  # compiles
        search("best", random_problem(np.random.default_rng(0), 3).replace(n=kind, p=20), "forgetting", 60.0, None)
    end, drawn, failures = time.monotonic() + 60 * options.minutes, 0, 0
    rows: dict[int, list[tuple[float, ...]]] = {T: [] for T in SIZES}
    while time.monotonic() < end:
        random = np.random.default_rng([options.seed, drawn])
        T, limit = int(random.choice(SIZES)), float(np.exp(random.uniform(*np.log(LIMITS))))
        interrupt = float(random.uniform(0, limit)) if random.random() < 0.4 else None
        find, objective = str(random.choice(["best", "best", "worst"])), OBJECTIVES[random.integers(len(OBJECTIVES))]
        problem = random_problem(random, T)
        try:
            outcome = search(find, problem, objective, limit, interrupt)
            check(outcome, problem, objective)
            rows[T].append((*outcome.after_limit, *outcome.after_interrupt, outcome.plan.proved, interrupt is not None))
        except Exception:
            failures += 1
            print(f"seed [{options.seed}, {drawn}]: T={T}, {find} {objective}, limit {limit:.3g} s, Ctrl-C {interrupt}")
            traceback.print_exc(limit=-3)
        drawn += 1
    print(f"{drawn} searches, {failures} failures")
    print("   T  searches  proved  after the limit: time, processor   after Ctrl-C: times, time, processor")
    for T, found in rows.items():
        if found:
            late, late_cpu, heeded, heeded_cpu = np.max(np.array(found)[:, :4], axis=0)
            proved, stopped = sum(row[4] for row in found), sum(row[5] for row in found)
            print(f"{T:4}  {len(found):8}  {proved:6}  {late:20.2f} s {late_cpu:8.2f} s", end="")
            print(f"  {stopped:19} {heeded:7.2f} s {heeded_cpu:7.2f} s")


if __name__ == "__main__":
    main()
