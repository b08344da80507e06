"""Fixtures for all tests."""

import pytest


@pytest.fixture
def quietly():
    """Inside operations as small as those of the tests, several threads only wait for each other on a busy machine."""
    from ebbing.learn.sequences import one_thread

    with one_thread():
        yield
