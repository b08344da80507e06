"""The paper's claims about linear tasks (Sections 3, 4.1, 4.2, 5.1, 5.3 and the appendix), each checked by a function.

======================  ===============================================================================================
module                  claims
======================  ===============================================================================================
`foundations`           lemmas, theorems, the corollary, and their consequences in the appendix and Section 5.3
`overparameterization`  Section 4.1: the effect of more parameters
`similarity`            Sections 4.2 and 5.1: the effect of similar tasks
`errata`                what is printed and what is right, where no other claim says it
======================  ===============================================================================================

Where the paper's statement needs a correction, the claim is the corrected one and says so (errata:
docs/theory/errata.md). Statements about task order are in `ebbing.paper.order_tables`.
"""

from ebbing.paper.claims import foundations, overparameterization, similarity

# isort: split
from ebbing.paper.claims import errata  # after the statements themselves
from ebbing.paper.claims.registry import CLAIMS, Claim, Config, Result, check, run

__all__ = [
    "CLAIMS",
    "Claim",
    "Config",
    "Result",
    "check",
    "errata",
    "foundations",
    "overparameterization",
    "run",
    "similarity",
]
