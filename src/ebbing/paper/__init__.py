"""The paper, reproduced: one module per figure or table, and the claims."""
