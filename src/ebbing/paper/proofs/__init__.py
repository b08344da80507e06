"""Machine proofs of the paper's propositions on task order."""
