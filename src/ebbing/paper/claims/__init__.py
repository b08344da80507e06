"""The paper's claims about linear tasks (Sections 3, 4.1, 4.2, 5.1, 5.3 and the appendix), each checked by a function.

Where the paper's statement needs a correction, the claim checked is the corrected one and says so (errata:
docs/theory.md). Task order has its own proofs, in `ebbing.paper.order_tables`.
"""

from ebbing.paper.claims import foundations, overparameterization, similarity
from ebbing.paper.claims.registry import CLAIMS, Config, Result, check, run

__all__ = ["CLAIMS", "Config", "Result", "check", "foundations", "overparameterization", "run", "similarity"]
