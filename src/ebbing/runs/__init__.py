"""Where results live (content-addressed, atomic) and who computes them (here, local processes, or Dask)."""

from ebbing.runs.execute import execute
from ebbing.runs.store import Entry, Store

__all__ = ["Entry", "Store", "execute"]
