"""Running and storing experiments.

`execute` trains the nodes of prefix trees in this process, in worker processes, or on a Dask cluster (`Resources`);
`train_streams` trains whole streams. Results are kept in a `Store`, content-addressed and written atomically;
`take_inventory` counts them. `measure` does all of it in one call, for a network and data of your own.
"""

from typing import TYPE_CHECKING

from ebbing._lazy import load_lazily
from ebbing.runs._pools import LOCAL, Resources
from ebbing.runs.execution import Execution, execute
from ebbing.runs.inventory import Inventory, RunGroup, take_inventory
from ebbing.runs.store import Entry, Store, StoreError
from ebbing.runs.streams import StreamRun, train_streams

if TYPE_CHECKING:
    from ebbing.runs._measure import measure
    from ebbing.runs.forecast_comparison import ForecastComparison
    from ebbing.runs.measurement import Measurement

__all__ = [
    "LOCAL",
    "Entry",
    "Execution",
    "ForecastComparison",
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

_HOMES = {
    "ForecastComparison": "ebbing.runs.forecast_comparison",
    "Measurement": "ebbing.runs.measurement",
    "measure": "ebbing.runs._measure",
}
"""The module of what needs forecasts, which worker processes do not load."""


def __getattr__(name: str) -> object:
    return load_lazily(__name__, _HOMES, name)


def __dir__() -> list[str]:
    return sorted(__all__)
