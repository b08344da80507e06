"""Gradient projection: how a network learns new tasks and leaves alone what old ones use of its layers."""
