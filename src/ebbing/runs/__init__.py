"""Where results live (content-addressed, atomic) and who computes them (here, local processes, or Dask)."""

from ebbing.runs.execute import Execution, execute
from ebbing.runs.pools import HERE, Where
from ebbing.runs.store import Entry, Store

__all__ = ["HERE", "Entry", "Execution", "Store", "Where", "execute"]
