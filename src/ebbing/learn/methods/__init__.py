"""Ways of learning a task after others, one file each."""

from ebbing.learn.methods.sgd import Sgd

__all__ = ["Sgd"]
