"""The reproduction of "Theory on Forgetting and Generalization of Continual Learning" (Lin, Ju, Liang, Shroff, 2023).

====================================  =================================================================================
module                                what it reproduces
====================================  =================================================================================
`claims`                              the lemmas, theorems and statements about linear tasks, one check each
`fig1`                                Figure 1: theory and simulation against the number of parameters
`fig2`, `fig2_verdicts`               Figure 2: networks on MNIST digits, and tests of its conclusions
`table1`                              Table 1: GPM, TRGP and TRGP+ on Permuted MNIST and Split CIFAR-100
`order_tables`, `order_report`        the tables and propositions on task order, and their files
`proofs`                              the proofs of these propositions, in exact arithmetic
====================================  =================================================================================

Beyond the paper:

====================================  =================================================================================
module                                what it studies
====================================  =================================================================================
`rule_comparison`                     simple ordering rules against proved optima
`sensitivity`                         Figure 2 under other batch sizes, widths and losses
`ablations`                           the parts of TRGP and TRGP free, one by one
`frontier`, `frontier_points`,         accuracy against memory: are methods that protect worth theirs?
`frontier_report`
`method_comparison`, `method_report`  comparisons of methods seed by seed, behind these studies
`forecasts`                           task sets whose orders are all trained, and what forecasts said of them
`replay_claims`                       what replay and stopping early do in the linear model
====================================  =================================================================================

Each module that computes has a `Config`, a `Result` and a function `run`; `reproduce` runs them by name as the command
`ebbing reproduce` does, and returns a `Verdict` on every claim. The modules of `ebbing.paper.figures` draw the figures.
"""

from ebbing.paper._output import Verdict
from ebbing.paper.reproduction import TARGETS, Options, reproduce

__all__ = ["TARGETS", "Options", "Verdict", "reproduce"]
