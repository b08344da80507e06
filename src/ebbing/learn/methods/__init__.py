"""Methods that learn a task after others, one file each."""

from ebbing.learn.methods.adam import Adam
from ebbing.learn.methods.copies import Copies, CopiesLearner
from ebbing.learn.methods.fine_tuning import FineTuning, FineTuningLearner, UnprotectedMethod
from ebbing.learn.methods.gpm import Gpm
from ebbing.learn.methods.low_rank import LowRank, LowRankLearner
from ebbing.learn.methods.sgd import Sgd
from ebbing.learn.methods.trgp import Trgp
from ebbing.learn.methods.trgp_free import StartFrom, TrgpFree
from ebbing.learn.methods.trgp_plus import TrgpPlus

__all__ = [
    "Adam",
    "Copies",
    "CopiesLearner",
    "FineTuning",
    "FineTuningLearner",
    "Gpm",
    "LowRank",
    "LowRankLearner",
    "Sgd",
    "StartFrom",
    "Trgp",
    "TrgpFree",
    "TrgpPlus",
    "UnprotectedMethod",
]
