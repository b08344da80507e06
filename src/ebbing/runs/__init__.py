"""Running and storing experiments.

`execute` trains the nodes of prefix trees in this process, in worker processes, or on a Dask cluster (`Resources`);
`train_streams` trains whole streams. Results are kept in a `Store`, content-addressed and written atomically;
`take_inventory` counts them.
"""

from ebbing.runs._pools import LOCAL, Resources
from ebbing.runs.execution import Execution, execute
from ebbing.runs.inventory import Inventory, RunGroup, take_inventory
from ebbing.runs.store import Entry, Store
from ebbing.runs.streams import StreamRun, train_streams

__all__ = [
    "LOCAL",
    "Entry",
    "Execution",
    "Inventory",
    "Resources",
    "RunGroup",
    "Store",
    "StreamRun",
    "execute",
    "take_inventory",
    "train_streams",
]
