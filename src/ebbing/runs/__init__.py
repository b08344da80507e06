"""Where results live (content-addressed, atomic) and who computes them (here, local processes, or Dask)."""

from ebbing.runs._pools import LOCAL, Resources
from ebbing.runs.execution import Execution, execute
from ebbing.runs.store import Entry, Store

__all__ = ["LOCAL", "Entry", "Execution", "Resources", "Store", "execute"]
