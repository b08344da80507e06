"""Callbacks, trainers and plugins that measure forgetting, and prevent it, in training loops of other libraries.

=================================  =====================================================================
module                             what it has
=================================  =====================================================================
`ebbing.integrations.transformers` `ForgettingCallback` and `ProtectedTrainer`, with or without PEFT
`ebbing.integrations.lightning`    `ForgettingCallback` and `ProtectionCallback`
`ebbing.integrations.avalanche`    `GpmPlugin`, `TrgpPlugin`, and `read_results`
=================================  =====================================================================

Each module needs its library, an extra of ebbing: `pip install 'ebbing[transformers]'`, for example. All of them give a
`MeasuredMatrix`. Logs of Mammoth, PyCIL and LAMDA-PILOT need none of these: `ebbing.read_matrix` reads them.
"""

from ebbing.integrations.measured_matrix import MeasuredMatrix

__all__ = ["MeasuredMatrix"]
