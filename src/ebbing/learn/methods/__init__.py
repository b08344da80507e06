"""Ways of learning a task after others, one file each."""

from ebbing.learn.methods.copies import Copies
from ebbing.learn.methods.fine_tuning import FineTuning
from ebbing.learn.methods.gpm import Gpm
from ebbing.learn.methods.sgd import Sgd
from ebbing.learn.methods.trgp import Trgp
from ebbing.learn.methods.trgp_free import TrgpFree
from ebbing.learn.methods.trgp_plus import TrgpPlus

__all__ = ["Copies", "FineTuning", "Gpm", "Sgd", "Trgp", "TrgpFree", "TrgpPlus"]
