"""Tasks that networks learn: digits, streams, and data of your own."""
