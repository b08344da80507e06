"""Hostile command lines, each in a process of its own: another environment, closed pipes, odd bytes, Ctrl-C.

    python tests/helpers/fuzzing_processes.py 300 --seed 0

A command ends within a minute, with a status of its own, without a traceback; an error is one line that says "ebbing:".
Case k of a seed is always the same; `--first k` starts there.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SECONDS = 60
STATUSES = (0, 1, 2, 130, 141, -signal.SIGINT)
DISTANCES = "a,b,c\n0,1,2\n1,0,1.5\n2,1.5,0\n"
TOML = 'tasks = "orthogonal"\nT = 3\nn = 20\np = 60\nsigma = 0.3\n'
VALUES = (
    *("", "0", "1", "5", "-1", "nan", "inf", "1e400", "1e3", "x", "5,6,7", "5,,7", "0.3", "9" * 400, "１０", "0x10"),
    *("orthogonal:3", "orthogonal:-1", "orthogonal:1e9", "categories:", "categories:AB\x1b[31m", "identical:2", "猫"),
    *(
        "d.csv",
        "p.toml",
        "/dev/null",
        "/dev/zero",
        "missing.toml",
        ".",
        "~",
        "-",
        "--",
        "a\nb",
        "%s",
        "$(id)",
        "\udcff",
    ),
    *(
        "ridge:0.5",
        "ridge:-1",
        "averaged:2",
        "gradient-flow:0.1",
        "gradient-steps:1,5",
        "one-pass-sgd:1e-3",
        "5:stored",
    ),
    *("forgetting", "generalization", "0.5", "error", "accuracy", "picture.png", "no/such/folder/p.png", "pictures"),
)
OPTIONS = (
    *("--tasks", "--gram", "--vectors", "--distances", "--cosines", "--norms", "--tolerance", "-n", "-p", "--sigma"),
    *("--unmodeled", "--replay", "--learner", "--objective", "--budget", "--seed", "--plot", "--kind", "--clean"),
    *("--json", "--json", "--front", "--std", "--help", "--version", "--odd", "-x", "--n", "--"),
)
STARTS = (
    *(["expect"], ["simulate", "--runs", "20"], ["order", "--seconds", "0.5"], ["replay", "--seconds", "0.5"]),
    *(
        ["metrics", "d.csv"],
        ["metrics", "d.csv", "--kind", "error"],
        ["runs"],
        ["runs", "."],
        ["data"],
        ["explore"],
        [],
    ),
    *(["expect", "p.toml"], ["order", "p.toml", "--seconds", "0.5"], ["train", "--stream", "x"], ["reproduce", "x"]),
)
SIZES = ["-n", "20", "-p", "60"]
FORMS = (["--tasks", "categories:AAB", *SIZES], ["--distances", "d.csv", *SIZES], ["--cosines", "d.csv", *SIZES], [])
ENVIRONMENTS: tuple[dict[str, str], ...] = (
    *({}, {"LANG": "C", "LC_ALL": "C", "PYTHONUTF8": "0"}, {"COLUMNS": "1"}, {"COLUMNS": "x", "TERM": "dumb"}),
    *({"HOME": "/nonexistent"}, {"PYTHONIOENCODING": "ascii"}, {"FORCE_COLOR": "1"}, {"PYTHONWARNINGS": "error"}),
)


def command_line(seed: int, case: int) -> tuple[list[str], dict[str, str], str]:
    """Return the arguments of a case, its environment, and how the process is treated."""
    draw = random.Random(f"{seed} {case}")
    arguments = [*draw.choice(STARTS)]
    if arguments and arguments[0] in ("expect", "simulate", "order", "replay") and "p.toml" not in arguments:
        arguments += draw.choice(FORMS)
    for _ in range(draw.choice((0, 0, 1, 1, 2, 4))):
        arguments.append(draw.choice(OPTIONS))
        if draw.random() < 0.8:
            arguments.append(draw.choice(VALUES))
    if "explore" in arguments and "--help" not in arguments:
        arguments.append("--help")  # would open a page
    treatment = draw.choice(("", "", "", "no stdin", "no stdout", "head", "interrupt", "read-only folder"))
    return arguments, draw.choice(ENVIRONMENTS), treatment


def finding(arguments: list[str], environment: dict[str, str], treatment: str, folder: Path) -> str:
    """Run a command; return what is wrong with how it ended, or nothing."""
    (folder / "d.csv").write_text(DISTANCES)
    (folder / "p.toml").write_text(TOML)
    inside = folder / "read-only"
    if treatment == "read-only folder":
        inside.mkdir(mode=0o500, exist_ok=True)
    process = subprocess.Popen(
        [sys.executable, "-m", "ebbing", *(argument.encode("utf-8", "surrogateescape") for argument in arguments)],
        stdin=None if treatment == "no stdin" else subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=inside if treatment == "read-only folder" else folder,
        env=os.environ | environment,
        preexec_fn=(lambda: os.close(1)) if treatment == "no stdout" else None,  # noqa: PLW1509  (no threads)
    )
    if treatment == "head" and process.stdout is not None:
        process.stdout.close()
        process.stdout = None
    if treatment == "interrupt":
        time.sleep(random.Random(str(arguments)).uniform(0.3, 2))
        process.send_signal(signal.SIGINT)
    try:
        _, written = process.communicate(timeout=SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        return f"more than {SECONDS} seconds"
    errors = written.decode("utf-8", "replace")
    if "Traceback" in errors or "Exception ignored" in errors:
        return errors[-800:]
    if process.returncode not in STATUSES:
        return f"status {process.returncode}: {errors[-300:]}"
    if any(ord(character) < 32 and character != "\n" for character in errors):
        return f"control characters on standard error: {errors[:300]!r}"
    if process.returncode in (1, 2) and arguments and treatment != "head" and "ebbing: " not in errors:
        return f"status {process.returncode} without a word: {errors[-300:]!r}"
    return ""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", type=int)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--first", type=int, default=0)
    options = parser.parse_args()
    found = 0
    for case in range(options.first, options.first + options.cases):
        line = command_line(options.seed, case)
        with tempfile.TemporaryDirectory() as folder:
            if wrong := finding(*line, Path(folder)):
                found += 1
                print(f"case {case}: {line}\n{wrong}\n", flush=True)
    print(f"{options.cases} command lines, {found} findings")
    sys.exit(bool(found))


if __name__ == "__main__":
    main()
