"""Running and storing experiments.

`execute` trains the nodes of prefix trees in this process, in worker processes, or on a Dask cluster (`Resources`);
`train_streams` trains whole streams. Results are kept in a `Store`, content-addressed and written atomically;
`take_inventory` counts them. `measure` does all of it in one call, for a network and data of your own.
"""

from ebbing.runs._pools import LOCAL, Resources
from ebbing.runs.execution import Execution, execute
from ebbing.runs.inventory import Inventory, RunGroup, take_inventory
from ebbing.runs.measurement import Measurement, measure
from ebbing.runs.store import Entry, Store, StoreError
from ebbing.runs.streams import StreamRun, train_streams

__all__ = [
    "LOCAL",
    "Entry",
    "Execution",
    "Inventory",
    "Measurement",
    "Resources",
    "RunGroup",
    "Store",
    "StoreError",
    "StreamRun",
    "execute",
    "measure",
    "take_inventory",
    "train_streams",
]
