"""The first thing that is imported: lets Ctrl-C end the command `ebbing` with one line while it is still importing.

A Python program that imports ebbing is left alone.
"""

import os
import signal
import sys
import threading
from types import FrameType


def end_as_interrupted(number: int, frame: FrameType | None) -> None:
    """End the process with one line: a handler of Ctrl-C. Packages that are being imported may swallow exceptions."""
    os.write(2, b"ebbing: interrupted\n")
    os._exit(130)


def is_command(argv: list[str], orig_argv: list[str]) -> bool:
    """Return whether this process is the command: its script, or `python -m ebbing`.

    >>> is_command(["/usr/bin/ebbing", "expect"], []), is_command(["-m", "data"], ["python", "-m", "ebbing", "data"])
    (True, True)
    >>> is_command(["train.py"], ["python", "train.py"])
    False
    """
    name = os.path.basename(argv[0]) if argv else ""
    module = orig_argv[orig_argv.index("-m") + 1 :][:1] if "-m" in orig_argv else []
    return name.removesuffix(".exe") == "ebbing" or (name == "-m" and module == ["ebbing"])


def restore_interrupts() -> None:
    """Let Ctrl-C raise KeyboardInterrupt from now on, as usual."""
    if signal.getsignal(signal.SIGINT) is end_as_interrupted:
        signal.signal(signal.SIGINT, signal.default_int_handler)


if (
    is_command(sys.argv, sys.orig_argv)
    and threading.current_thread() is threading.main_thread()
    and signal.getsignal(signal.SIGINT) is signal.default_int_handler
):
    signal.signal(signal.SIGINT, end_as_interrupted)
