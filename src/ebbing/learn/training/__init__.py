"""How a network is trained on one task, and what every learner shares."""
