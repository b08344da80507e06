"""The command `ebbing`: parses, calls one function, prints. No logic here."""

from __future__ import annotations

import errno
import functools
import os
import sys
import warnings
from collections.abc import Callable
from typing import Annotated, Any, NoReturn

import typer

from ebbing import __version__
from ebbing._extras import explain_missing
from ebbing._startup import restore_interrupts
from ebbing.cli import explore, forecast, linear, networks, paper
from ebbing.cli._messages import print_message
from ebbing.cli.compare import compare
from ebbing.cli.measure import measure
from ebbing.cli.replay import replay

_INTERRUPTED = 130
"""The status of a command that Ctrl-C ended, as of a shell."""

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    help="""Understand and control forgetting in continual learning.

    forecast predicts what your model will forget on your data, and measure trains it to see; expect, simulate, order
    and replay study linear tasks; metrics reads any matrix of errors or accuracies, and compare the results of
    benchmarks; explore opens a page with sliders; train, runs and data are about networks; reproduce repeats the
    experiments of Lin et al. (2023).

    Example: ebbing order --tasks categories:AABB -n 50 -p 100""",
)


class _InterruptedError(Exception):
    """Ctrl-C in a command; typer would end without a word."""


class _ClosedPipeError(Exception):
    """Nobody reads standard output any more; typer would end with status 1."""


def _saying_so(command: Callable[..., None]) -> Callable[..., None]:
    @functools.wraps(command)
    def run(*arguments: Any, **options: Any) -> None:
        try:
            command(*arguments, **options)
            if sys.stdout is not None:  # None where standard output is closed
                sys.stdout.flush()
        except KeyboardInterrupt as error:
            raise _InterruptedError(str(error)) from None
        except BrokenPipeError:
            raise _ClosedPipeError from None
        except ModuleNotFoundError as error:  # an extra that is not installed: bad input, and no traceback
            if "pip install" not in (message := str(explain_missing(error, "this command"))):
                raise
            raise ValueError(message) from None

    return run


for command in (
    forecast.forecast,
    measure,
    linear.expect,
    linear.simulate,
    linear.order,
    replay,
    linear.metrics,
    compare,
    explore.explore,
    networks.train,
    networks.runs,
    networks.data,
    paper.reproduce,
):
    app.command()(_saying_so(command))


@app.callback(invoke_without_command=True)
def _version(version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False) -> None:
    if version:
        print(__version__)
        raise typer.Exit


def main() -> None:
    """Run the command; bad input ends with a message on standard error and status 2, never with a traceback."""
    warnings.showwarning = _show_warning
    restore_interrupts()
    try:
        status = app(prog_name="ebbing", standalone_mode=False) or 0
        if status == _INTERRUPTED:  # while options were read
            _fail("interrupted", _INTERRUPTED)
        sys.exit(status)
    except (_InterruptedError, KeyboardInterrupt, typer.Abort) as error:
        more = f"; {error}" if str(error) else ""
        _fail(f"interrupted{more}", _INTERRUPTED)
    except ValueError as error:
        _fail(error, status=2)
    except MemoryError:
        _fail("this does not fit into memory; use fewer runs or tasks", status=2)
    except (BrokenPipeError, _ClosedPipeError):
        _drop_output()
        sys.exit(141)
    except (ArithmeticError, ChildProcessError) as error:  # training that diverged; a worker that was killed
        _fail(error, status=1)
    except OSError as error:  # a file that cannot be read is bad input; a full or broken disk is not
        broken = error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EIO)
        if broken and error.filename is None and _cannot_print():
            _drop_output()
            _fail(f"standard output cannot be written ({error.strerror}); free space, or send it elsewhere", status=1)
        reason = f"{error.filename}: {error.strerror}" if error.filename and error.strerror else error
        _fail(reason, status=1 if broken else 2)
    except Exception as error:  # wrong usage; its class has another module in each version of typer
        if _was_interrupted(error):
            _fail("interrupted", _INTERRUPTED)
        if not hasattr(error, "format_message"):
            raise
        _suggest_abbreviated(error)
        message = error.format_message()  # type: ignore[attr-defined]
        if message.startswith("Usage:"):  # no command: the help
            print(message)
            sys.exit(2)
        command = getattr(getattr(error, "ctx", None), "command_path", "ebbing")
        end = "" if message.endswith("?") else ";"
        _fail(f"{message.rstrip('.')}{end} see {command} --help", status=2)


def _suggest_abbreviated(error: Exception) -> None:
    """Let an error about an unknown option name those that it abbreviates: --lr is --learning-rate, not --html."""
    unknown = str(getattr(error, "option_name", None) or "").lstrip("-")
    context = getattr(error, "ctx", None)
    if not unknown or context is None or not hasattr(error, "possibilities"):
        return
    options = [name for parameter in context.command.params for name in parameter.opts if name.startswith("--")]
    initials = {name: "".join(word[0] for word in name[2:].split("-")) for name in options}
    if meant := [name for name in options if name[2:].startswith(unknown) or initials[name] == unknown]:
        error.possibilities = meant  # type: ignore[attr-defined]


def _cannot_print() -> bool:
    """Whether standard output takes no more, as on a full disk: nothing is left to flush if it is not buffered."""
    try:
        print(flush=True)
    except OSError:
        return True
    return False


def _drop_output() -> None:
    """Send standard output nowhere: what is left would be flushed, and fail again, when the command ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _was_interrupted(error: BaseException | None) -> bool:
    """Whether Ctrl-C is behind an error: packages that are being imported turn it into others."""
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__cause__ or error.__context__
    return error is not None


def _show_warning(message: Warning | str, *_: object) -> None:
    """Print a warning as one line, without the place in the code that gave it; the same words only once."""
    _print_once(str(message))


@functools.cache
def _print_once(message: str) -> None:
    print_message(message)


def _fail(message: Exception | str, status: int) -> NoReturn:
    print_message(message)
    sys.exit(status)
