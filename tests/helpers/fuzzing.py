"""Generated inputs for the command, the readers of files and the public functions: nothing but clear errors.

    python tests/helpers/fuzzing.py 100000 --seed 0

An input may give a result or a ValueError (the command: one line and status 1 or 2). Anything else is a finding:
another exception, a warning of Python or NumPy, more than 10 seconds, more memory than `MEMORY_FOR_A_FILE`. Case k of a
seed is always the same; `--first k` starts there.
"""

import argparse
import contextlib
import importlib
import io
import json
import os
import re
import resource
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import typer

import ebbing
from ebbing import cli
from ebbing.io import read_matrix, read_named_matrix, read_problem
from ebbing.io.problems import read_matrix_problem
from ebbing.io.task_files import read_task_files

SECONDS = 10
"""No input takes longer."""

MEMORY_FOR_A_FILE = 1_000_000_000
"""Bytes that reading a file takes at most, besides the program itself; the largest CSV file takes 570 MB."""

BATCH = 500
"""Inputs in one process, so that a crash or an endless loop loses no more."""

_MODULES = (
    *(
        "matplotlib.pyplot",
        "pandas",
        "pyarrow.parquet",
        "ebbing.order",
        "ebbing.runs.inventory",
        "ebbing.io.order_schema",
        "ebbing.io.schema",
        "ebbing._progress",
    ),
    *(
        "ebbing.cli._console",
        "ebbing.cli._runs_table",
        "ebbing.plot.order",
        "ebbing.plot.metrics",
        "ebbing.plot.samples",
    ),
)

Rng = np.random.Generator
NUMBERS = [
    0,
    1,
    2,
    3,
    -1,
    50,
    0.5,
    1.5,
    1e-160,
    1e-320,
    1e151,
    1e200,
    1e302,
    1e308,
    float("nan"),
    float("inf"),
    10**400,
]
ODD: list[Any] = [
    None,
    True,
    "x",
    "",
    b"x",
    [],
    {},
    [[1], [1, 2]],
    (1,),
    object(),
    1j,
    np.float32(1.5),
    np.array("a"),
    10**5000,
]
NAMES = ["a", "b", "猫", "\x1b[31mred", "[bold]", "$x$", "", "a\nb", "_x", "x" * 300, "\u202eabc", "{", "%s", "\ud800"]


# -------------------------------------------------------------------- pieces


def pick(rng: Rng, values: Any) -> Any:
    return values[int(rng.integers(len(values)))]


def number(rng: Rng) -> Any:
    return (
        pick(rng, NUMBERS)
        if rng.random() < 0.3
        else round(float(rng.normal() * 10.0 ** rng.integers(-3, 4)), int(rng.integers(0, 9)))
    )


def anything(rng: Rng) -> Any:
    return pick(rng, ODD) if rng.random() < 0.4 else number(rng)


def matrix(rng: Rng, form: str = "any") -> Any:
    """Square matrices near what the form asks for, at any scale, sometimes spoiled."""
    T, k = int(rng.integers(1, 6)), int(rng.integers(1, 5))
    W = rng.normal(size=(T, k)) * 10.0 ** rng.choice([0, 0, 0, -160, -100, 100, 150, 151])
    with np.errstate(all="ignore"):
        lengths = np.linalg.norm(W, axis=1)
        M = {
            "gram": W @ W.T,
            "distances": np.linalg.norm(W[:, None] - W, axis=2),
            "cosines": W @ W.T / np.outer(lengths, lengths),
        }.get(form, rng.normal(size=(int(rng.integers(0, 5)), int(rng.integers(0, 5)))))
        M = np.round(M, int(rng.integers(1, 12))) if rng.random() < 0.5 else M
    if rng.random() < 0.3 and M.size:
        M = M.copy()
        with np.errstate(all="ignore"), contextlib.suppress(OverflowError):
            M.flat[int(rng.integers(M.size))] = float(number(rng))
    return (
        pick(rng, [M, M.tolist(), M.astype(np.float32) if np.all(np.abs(M) < 1e38) else M, M[:-1], M[..., None]])
        if rng.random() < 0.3
        else M
    )


def settings(rng: Rng) -> dict[str, Any]:
    n, p = pick(rng, [1, 5, 50, 99, 100, 101, 200]), pick(rng, [1, 10, 100, 100, 100, 10**6, 2**53])
    found: dict[str, Any] = {"n": n, "p": p, "sigma": pick(rng, [0, 0.3, 1e-160, 1e150])}
    if rng.random() < 0.3:
        found[pick(rng, ["n", "p", "sigma", "unmodeled", "names"])] = anything(rng)
    if rng.random() < 0.2:
        found["names"] = [pick(rng, NAMES) for _ in range(int(rng.integers(0, 5)))]
    return found


def mutated(rng: Rng, content: bytes) -> bytes:
    """Content with bytes changed, cut off, repeated or put in; or as it is."""
    data = bytearray(content)
    for _ in range(int(rng.integers(0, 4))):
        place = int(rng.integers(len(data) + 1))
        match rng.integers(5):
            case 0 if data:
                data[place % len(data)] = int(rng.integers(256))
            case 1:
                del data[place:]
            case 2:
                data[place:place] = pick(
                    rng,
                    [
                        b",",
                        b"\n",
                        b'"',
                        b"[",
                        b"]",
                        b"=",
                        b".",
                        b"nan",
                        b"1e999",
                        b"\0",
                        "猫".encode(),
                        b"9" * 5000,
                        b"[" * 2000,
                    ],
                )
            case 3:
                data[place:place] = bytes(data[place : place + 20]) * int(rng.integers(1, 50))
            case _:
                data[place:place] = rng.bytes(int(rng.integers(1, 9)))
    return bytes(data)


def text_of(M: Any) -> str:
    rows = np.asarray(M, dtype=object)
    return "\n".join(",".join(map(str, row)) for row in (rows if rows.ndim == 2 else [rows.ravel()]))


@np.errstate(all="ignore")
def file_content(rng: Rng, kind: str) -> bytes:
    form = pick(rng, ["gram", "distances", "cosines", "any"])
    M = matrix(rng, form)
    match kind:
        case "toml":
            values = {"p": number(rng), "n": pick(rng, [5, [5, 6], number(rng)]), "sigma": 0.3}
            values[
                pick(rng, ["orthogonal", "identical", "categories", "vectors", form, "names", "norms", "tolerance"])
            ] = pick(rng, [np.asarray(M).tolist(), 3, "ABAB", number(rng), ["a", "b"]])
            head = "\n".join(f"{k} = {json.dumps(v) if not isinstance(v, float) else v}" for k, v in values.items())
            return mutated(rng, head.replace("NaN", "nan").replace("Infinity", "inf").encode(errors="surrogatepass"))
        case "json":
            body = np.asarray(M).tolist()
            content = (
                body if rng.random() < 0.5 else {pick(rng, [form, "matrix", "errors", "x"]): body, "names": ["a", "b"]}
            )
            return mutated(rng, json.dumps(content).encode())
        case "npy" | "npz":
            buffer = io.BytesIO()
            array = np.asarray(M)
            array = (
                array.astype(pick(rng, ["f8", "f4", "f2", ">i4", "U3", "c16", "S2", "?"]))
                if rng.random() < 0.3
                else array
            )
            if kind == "npy":
                np.save(buffer, array)
            else:
                save = pick(rng, [np.savez, np.savez_compressed])
                save(
                    buffer,
                    **{pick(rng, [form, "matrix", "errors", "x"]): array},
                    names=np.array(pick(rng, [["a", "b"], [1], [[1.0]]])),
                )
            return mutated(rng, buffer.getvalue())
    header = ",".join(pick(rng, NAMES) for _ in range(3)) + "\n" if rng.random() < 0.3 else ""
    return mutated(rng, (header + text_of(M)).replace(",", pick(rng, [",", ";", "\t"])).encode(errors="surrogatepass"))


# -------------------------------------------------------------------- one input each


def fuzz_file(rng: Rng, folder: Path) -> Callable[[], Any]:
    kind = pick(rng, ["toml", "csv", "tsv", "json", "npy", "npz"])
    file = folder / f"file.{kind}"
    file.write_bytes(file_content(rng, kind))
    form = pick(rng, ["vectors", "gram", "distances", "cosines"])
    if kind == "toml":
        return lambda: read_problem(file)
    return pick(
        rng,
        [
            lambda: read_matrix(file),
            lambda: read_named_matrix(file),
            lambda: read_matrix_problem(file, form, n=5, p=100),
        ],
    )


def fuzz_problem(rng: Rng, folder: Path) -> Callable[[], Any]:
    form = pick(rng, ["gram", "distances", "cosines", "vectors", "named", "categories"])
    options = settings(rng)
    value = anything(rng) if rng.random() < 0.1 else matrix(rng, form)
    extra = {"norms": anything(rng)} if form in ("distances", "cosines") and rng.random() < 0.3 else {}
    if form in ("gram", "distances", "cosines") and rng.random() < 0.2:
        extra["tolerance"] = anything(rng)
    if form == "named":
        make = pick(rng, [ebbing.Problem.orthogonal, ebbing.Problem.identical])
        value, extra = (
            pick(rng, [1, 2, 3, 3.0, 10**9, anything(rng)]),
            {"norm": number(rng)} if rng.random() < 0.5 else {},
        )
    elif form == "categories":
        make = ebbing.Problem.categories
        value = pick(rng, ["ABAB", ["a", "b"], "", 5, None, ("猫",), anything(rng)])
    else:
        make = getattr(ebbing.Problem, f"from_{form}")
    order, action = anything(rng) if rng.random() < 0.8 else [0, 1], pick(rng, ACTIONS)
    seed = int(rng.integers(2**31))

    def run() -> None:
        problem = make(value, **options, **extra)
        action(problem, np.random.default_rng(seed), order)

    return run


def use_grid(problem: Any, rng: Rng, odd: Any) -> None:
    chosen = {
        name: pick(rng, [odd, [1, 5, 100, 200], [[10], [100]]]) for name in ("p", "n", "sigma") if rng.random() < 0.6
    }
    grid = ebbing.expect_grid(problem, **chosen)
    grid.summary()
    _ = grid.generalization_std


def use_simulation(problem: Any, rng: Rng, odd: Any) -> None:
    runs = pick(rng, [1, 2, 5, odd if not isinstance(odd, float) else 3, 10**12])
    sample = pick(rng, [ebbing.simulate, ebbing.simulate_metrics])(problem, runs=runs, seed=pick(rng, [0, 1, odd]))
    sample.summary()


def use_expectation(problem: Any, rng: Rng, odd: Any) -> None:
    e = ebbing.expect(problem)
    assert all([e.summary(), e._repr_html_(), len(e.to_frame()), repr(e)])


def use_order(problem: Any, rng: Rng, odd: Any) -> None:
    objective = pick(rng, ["forgetting", "generalization", {"forgetting": 0.5, "generalization": 0.5}])
    ebbing.best_order(problem, objective, seconds=0.2).summary()


def use_reordered(problem: Any, rng: Rng, odd: Any) -> None:
    problem.replace(**{pick(rng, ["n", "p", "sigma", "unmodeled", "names"]): odd})
    problem.reordered(odd)


ACTIONS = [use_grid, use_simulation, use_expectation, use_expectation, use_order, use_reordered]


def fuzz_metrics(rng: Rng, folder: Path) -> Callable[[], Any]:
    T = int(rng.integers(1, 5))
    M: Any = rng.random((int(rng.integers(1, 3)), T + int(rng.integers(0, 2)), T)) * 10.0 ** rng.choice(
        [0, 1, 2, -160, 300, 302, 307]
    )
    M = pick(rng, [M, M[0], M[0].tolist(), matrix(rng), anything(rng)])
    if isinstance(M, np.ndarray) and M.dtype.kind == "f" and M.size and rng.random() < 0.3:
        M = M.astype(float)
        M.flat[int(rng.integers(M.size))] = pick(rng, [np.nan, np.inf, -1.0, 101.0, 1e308])
    kind = pick(rng, ["error", "accuracy", "error", "accuracy", anything(rng)])
    return lambda: ebbing.metrics.summary(M, kind=kind).summary()


def fuzz_plot(rng: Rng, folder: Path) -> Callable[[], Any]:
    T = int(rng.integers(1, 12))
    names = [f"{pick(rng, NAMES[:-1])}{i}" for i in range(T)]
    n = pick(rng, [5, 50, 200])
    W = rng.normal(size=(T, 3)) * 10.0 ** rng.choice([0, 0, -160, 140])
    quantity = pick(rng, ["forgetting", "generalization", "x"])

    def draw() -> None:
        import matplotlib.pyplot as plt

        problem = ebbing.Problem.from_vectors(W, n=n, p=100, names=names)
        ax: Any = pick(
            rng,
            [
                lambda: ebbing.expect(problem).plot(),
                lambda: ebbing.simulate(problem, 5).plot(quantity=quantity),
                lambda: ebbing.expect_grid(problem, p=[50, 100, 200]).plot(quantity=quantity),
                lambda: ebbing.metrics.summary(ebbing.expect(problem).errors, kind="error").plot(),
            ],
        )()
        ax.figure.canvas.draw()
        plt.close("all")

    return draw


def task_file(rng: Rng, kind: str, width: int) -> bytes:
    """The data of a task, near what `ebbing forecast` reads: npz, CSV or Parquet."""
    n = int(rng.integers(1, 12))
    inputs = rng.normal(size=(n, width)) * 10.0 ** rng.choice([0, 0, 0, -160, 150])
    labels: Any = rng.integers(0, pick(rng, [2, 2, 2, 4]), n)
    if rng.random() < 0.2:
        labels = pick(rng, [labels - 1, labels.astype(float) / 3, labels[:-1], labels[:, None], labels * 10**12])
    if rng.random() < 0.2:
        inputs.flat[int(rng.integers(inputs.size))] = float(pick(rng, NUMBERS[:-1]))
    buffer = io.BytesIO()
    if kind == "npz":
        arrays = {"inputs": inputs, "labels": labels}
        if rng.random() < 0.3:
            arrays |= {"test_inputs": inputs[:3], "test_labels": labels[:3]}
        if rng.random() < 0.2:
            name = pick(rng, list(arrays))
            arrays[name] = np.asarray(pick(rng, [arrays[name].astype("U3"), arrays[name][..., None], 1.5, [], [[]]]))
        pick(rng, [np.savez, np.savez_compressed])(buffer, **arrays)  # type: ignore[operator]
        return mutated(rng, buffer.getvalue())
    names = [f"x{i}" for i in range(width)] if rng.random() < 0.9 else [pick(rng, NAMES[:-1]) for _ in range(width)]
    label = pick(rng, ["label", "label", "label", "labels", "x0"])
    if kind == "parquet":
        import pyarrow
        from pyarrow import parquet

        columns = [*(inputs[:, i] for i in range(width)), np.resize(labels.ravel(), n)]
        if rng.random() < 0.2:
            columns[0] = pick(rng, [["a"] * n, [None] * n, [[1.0]] * n])
        parquet.write_table(pyarrow.table(columns, names=[*names, label]), buffer)
        return mutated(rng, buffer.getvalue())
    lines = [",".join([*names, label])]
    for row, own in zip(inputs, labels.ravel(), strict=False):
        lines.append(",".join(map(str, [*row, own])))
    return mutated(rng, "\n".join(lines).replace(",", pick(rng, [",", ",", ";", "\t"])).encode())


def fuzz_tasks(rng: Rng, folder: Path) -> Callable[[], Any]:
    place, width = folder / "tasks", int(rng.integers(1, 4))
    place.mkdir(exist_ok=True)
    for old in place.iterdir():
        old.unlink()
    for name in pick(rng, [["a", "b"], ["a", "b", "c"], ["task 2", "task 10"], ["\x1b[31mred", "猫"], ["a"]]):
        kind = pick(rng, ["npz", "csv", "parquet"])
        (place / f"{name}.{kind}").write_bytes(task_file(rng, kind, width if rng.random() < 0.9 else width + 1))
    model = pick(rng, ["linear", "linear", "random features"])

    def run() -> None:
        found = ebbing.forecast(model, read_task_files(place))
        found.summary()
        found.best_order().summary()

    return run


def fuzz_command(rng: Rng, folder: Path) -> Callable[[], Any]:
    kind = pick(rng, ["toml", "csv", "json", "npy", "npz"])
    file = folder / pick(rng, [f"file.{kind}", f"odd \x1b[31m.{kind}"])
    file.write_bytes(file_content(rng, kind))
    command = pick(
        rng, ["expect", "simulate", "order", "metrics", "expect", "simulate", "metrics", "", "runs", "forget", "replay"]
    )
    values = [
        "",
        "0",
        "1",
        "5",
        "50",
        "100",
        "1e3",
        "1e400",
        "-1",
        "nan",
        "x",
        "5,6",
        "0.3",
        "\x1b[31m",
        "9" * 400,
        "1e-160",
        "orthogonal:3",
        "categories:ABA",
        "identical:1",
        str(file),
        str(folder),
        "5:stored",
        "ridge:0.5",
        "averaged:1e-9",
        "gradient-steps:1e-3,1e9",
        "one-pass-sgd:0.01",
    ]
    options = [
        "--tasks",
        "--gram",
        "--vectors",
        "--distances",
        "--cosines",
        "--norms",
        "--tolerance",
        "-n",
        "-p",
        "--sigma",
        "--unmodeled",
        "--kind",
        "--json",
        "--runs",
        "--seed",
        "--objective",
        "--odd",
        "--replay",
        "--learner",
        "--budget",
    ]
    arguments = [command] if command else []
    if rng.random() < 0.8 and command in ("expect", "simulate", "order", "replay"):
        arguments += pick(
            rng,
            [
                ["--tasks", pick(rng, ["orthogonal:3", "categories:ABA", "identical:1"])],
                ["--" + pick(rng, ["gram", "vectors", "distances", "cosines"]), str(file)],
                [str(file)],
            ],
        )
        arguments += ["-n", pick(rng, ["5", "50", "5,6,7"]), "-p", pick(rng, ["10", "100", "1e6"])]
    elif command == "metrics":
        arguments += [str(file), "--kind", pick(rng, ["error", "accuracy", "x"])]
    for _ in range(int(rng.integers(0, 3))):
        arguments.append(pick(rng, options))
        if rng.random() < 0.8:
            arguments.append(pick(rng, values))
    if command in ("order", "replay"):
        arguments += ["--seconds", "0.2"]
    if "--runs" not in arguments and command == "simulate":
        arguments += ["--runs", "3"]
    if command == "order" and use_order not in ACTIONS:
        arguments = ["expect", *arguments[1:-2]]
    return lambda: run_command(arguments)


def run_command(arguments: list[str]) -> None:
    """Run the command here; raise an AssertionError unless it ends as it should."""
    out, err, given = io.StringIO(), io.StringIO(), sys.argv
    sys.argv = ["ebbing", *arguments]
    show = warnings.showwarning
    status: Any = None
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            cli.main()
    except SystemExit as end:
        status = end.code
    finally:
        sys.argv, warnings.showwarning = given, show
    shown = out.getvalue() + err.getvalue()
    if status not in (0, 1, 2) or (status and arguments and err.getvalue().count("ebbing: ") < 1):
        raise AssertionError(f"status {status}: {shown[-500:]}")
    if any(ord(c) < 32 and c != "\n" for c in shown):
        raise AssertionError(f"control characters reach the terminal: {shown[:300]!r}")


KINDS: dict[str, tuple[Callable[[Rng, Path], Callable[[], Any]], int]] = {
    "file": (fuzz_file, 520),
    "tasks": (fuzz_tasks, 30),
    "problem": (fuzz_problem, 240),
    "metrics": (fuzz_metrics, 100),
    "command": (fuzz_command, 105),
    "plot": (fuzz_plot, 5),
}


# -------------------------------------------------------------------- the run


class Slow(BaseException):
    """Raised in an input that takes too long."""


def run_case(seed: int, k: int, folder: Path) -> dict[str, Any] | None:
    """Run input k of a seed; return a finding, or None if all is well."""
    rng = np.random.default_rng([seed, k])
    kinds = list(KINDS)
    kind = kinds[
        int(np.searchsorted(np.cumsum([weight for _, weight in KINDS.values()]), rng.integers(1000), side="right"))
    ]
    call = KINDS[kind][0](rng, folder)
    before, start = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.monotonic()
    finding = ""
    signal.setitimer(signal.ITIMER_PROF, SECONDS)  # of work: the machine may be busy with other things
    signal.alarm(12 * SECONDS)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            warnings.filterwarnings("ignore", category=UserWarning, module=re.escape(__name__))  # ebbing's own
            warnings.filterwarnings("ignore", message="the font of matplotlib lacks")
            call()
    except (ValueError, FileNotFoundError, IsADirectoryError):
        pass
    except (Exception, Slow):
        finding = traceback.format_exc(limit=-4)
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.alarm(0)
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024
    if grown > MEMORY_FOR_A_FILE:
        finding += f"memory grew by {grown:,} bytes"
    seconds = time.monotonic() - start
    return {"seed": seed, "case": k, "kind": kind, "seconds": seconds, "finding": finding} if finding else None


def _too_slow(*_: object) -> None:
    raise Slow


def fuzz(first: int, count: int, seed: int, *, orders: bool = True) -> list[dict[str, Any]]:
    """Run inputs in processes of their own, a batch in each; return the findings.

    Without `orders` nothing searches for orders, which takes half a minute to compile.
    """
    for module in _MODULES:
        importlib.import_module(module)  # once, and not in the time of an input
    application = cli.app
    if isinstance(application, typer.Typer):
        cli.app = typer.main.get_command(application)  # type: ignore[assignment]  (once, and not for every input)
    if orders:  # compiles the search
        for n in (5, [5, 6, 7]):
            ebbing.stakes(ebbing.Problem.orthogonal(3, n=n, p=20))
    else:
        ACTIONS[:] = [action for action in ACTIONS if action is not use_order]
    findings: list[dict[str, Any]] = []
    for start in range(first, first + count, BATCH):
        size = min(BATCH, first + count - start)
        with tempfile.TemporaryDirectory() as folder:
            report = Path(folder, "report.jsonl")
            child = os.fork()
            if child == 0:
                _run_batch(range(start, start + size), seed, Path(folder), report)
            status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
            lines = [json.loads(line) for line in report.read_text().splitlines()] if report.exists() else []
            findings += [line for line in lines if "finding" in line]
            if status:
                last = max((line["at"] for line in lines if "at" in line), default=start)
                findings.append({"seed": seed, "case": last, "kind": "process", "finding": f"ended with {status}"})
    cli.app = application  # as other tests expect it
    return findings


def _run_batch(cases: range, seed: int, folder: Path, report: Path) -> None:
    for number in (signal.SIGALRM, signal.SIGPROF):
        signal.signal(number, _too_slow)
    resource.setrlimit(resource.RLIMIT_CPU, (20 * SECONDS, 21 * SECONDS))  # ends compiled code that heeds no signal
    try:
        with report.open("w") as file:
            for k in cases:
                print(json.dumps({"at": k}), file=file, flush=True)
                if finding := run_case(seed, k, folder):
                    print(json.dumps(finding), file=file, flush=True)
        os._exit(0)
    except BaseException:
        traceback.print_exc()
        os._exit(1)


def main() -> None:
    """Fuzz, and print every finding as a line of JSON; status 1 if there is one."""
    parser = argparse.ArgumentParser(description="Run generated inputs.")
    parser.add_argument("inputs", type=int, nargs="?", default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--first", type=int, default=0)
    given = parser.parse_args()
    start, found = time.monotonic(), 0
    for first in range(given.first, given.first + given.inputs, BATCH):
        for finding in fuzz(first, min(BATCH, given.first + given.inputs - first), given.seed):
            found += 1
            print(json.dumps(finding), flush=True)
    print(f"{given.inputs} inputs of seed {given.seed}, {found} findings, {time.monotonic() - start:.0f} s")
    sys.exit(bool(found))


if __name__ == "__main__":
    main()
