"""Forgetting in continual learning."""
