"""Fixtures for all tests."""

import os
import signal

import pytest

# Some virtual machines announce matrix instructions (AMX) that they do not have: bfloat16 would end the process.
os.environ.setdefault("ONEDNN_MAX_CPU_ISA", "AVX512_CORE_BF16")


def pytest_configure():
    """Started in the background (`make test &`), processes ignore Ctrl-C, and so would those that tests interrupt."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def quietly():
    """Inside operations as small as those of the tests, several threads only wait for each other on a busy machine."""
    from ebbing.learn.training._machine import single_thread

    with single_thread():
        yield
