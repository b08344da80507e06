"""Stand-ins for packages that Avalanche imports and that nothing here uses, torchvision above all.

`import avalanche_stand_ins` imports Avalanche with them, and takes them away again, so that no other library takes them
for real. As a program it runs a script: `python avalanche_stand_ins.py script.py`.
"""

import importlib.abc
import importlib.machinery
import importlib.util
import runpy
import sys
import types
import warnings
from contextlib import contextmanager

NAMES = ("GPUtil", "gdown", "pytorchcv", "qpsolvers", "torchvision", "wandb")


class Anything:
    """A class that can be inherited from, and whose objects can be called."""

    def __init__(self, *args, **kwargs):
        pass

    def __call__(self, *args, **kwargs):
        return self


class StandIn(types.ModuleType):
    __path__: list[str] = []  # type: ignore  # noqa: RUF012 (a package, whose modules are found by the finder)
    __version__ = "2.0.0"

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        made = type(name, (Anything,), {})
        setattr(self, name, made)
        return made


class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def __init__(self):
        self.missing = {name for name in NAMES if importlib.util.find_spec(name) is None}
        if importlib.util.find_spec("tensorboard") is None:  # what it is, torch.utils.tensorboard asks in detail
            self.missing.add("torch.utils.tensorboard")

    def replaces(self, name):
        return any(f"{name}.".startswith(f"{missing}.") for missing in self.missing)

    def find_spec(self, fullname, path=None, target=None):
        return importlib.machinery.ModuleSpec(fullname, self, is_package=True) if self.replaces(fullname) else None

    def create_module(self, spec):
        return StandIn(spec.name)

    def exec_module(self, module):
        pass


@contextmanager
def stand_ins():
    finder = Finder()
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)
        for name in [name for name in sys.modules if finder.replaces(name)]:
            del sys.modules[name]


with stand_ins(), warnings.catch_warnings():
    warnings.simplefilter("ignore")  # of Avalanche's own modules, while they are imported
    import avalanche.benchmarks
    import avalanche.evaluation.metrics
    import avalanche.logging
    import avalanche.training  # noqa: F401

if __name__ == "__main__":
    del sys.argv[0]
    runpy.run_path(sys.argv[0], run_name="__main__")
