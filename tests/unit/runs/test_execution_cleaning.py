"""Execution while its store is cleaned, and removal of stale files."""

import os

import pytest
import toy_runs
from toy_runs import NODES, TRAINING, copied, entry_file

from ebbing.runs import execute

store, whole = toy_runs.store, toy_runs.whole  # fixtures


@pytest.mark.parametrize(("workers", "weights_only"), [(1, False), (1, True), (2, False)])
def test_run_continues_while_its_store_is_cleaned(whole, store, workers, weights_only):
    """Children get the weights of their parents from memory."""
    freed = []
    errors, fits = execute(
        TRAINING,
        NODES,
        store,
        workers=workers,
        progress=lambda _: freed.append(store.clean(weights_only=weights_only)),
    )
    assert (errors, fits) == whole[1:]
    assert len(freed) == len(NODES) + 1
    assert sum(freed) > 0
    assert len(list(store.entries())) == (len(NODES) if weights_only else 0)


def test_run_removes_stale_files_of_killed_writers(whole, store):
    copied(whole, store)
    leftover = entry_file(store, 0, "a").with_name(f"{'0' * 64}.json.1.unfinished")
    leftover.touch()
    os.utime(leftover, (0, 0))
    execute(TRAINING, NODES, store)
    assert leftover.exists()  # a run that only reads changes nothing
    entry_file(store, 0, "a", "c").unlink()
    execute(TRAINING, NODES, store)
    assert not leftover.exists()
