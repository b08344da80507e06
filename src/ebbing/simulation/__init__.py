"""Independent runs of learning random linear tasks, and estimates from them."""

from ebbing.simulation.estimate import MeanEstimate
from ebbing.simulation.exact_law import simulate, simulate_metrics
from ebbing.simulation.results import SimulatedMetrics, Simulation
from ebbing.simulation.textbook import simulate_textbook, solve_task

__all__ = [
    "MeanEstimate",
    "SimulatedMetrics",
    "Simulation",
    "simulate",
    "simulate_metrics",
    "simulate_textbook",
    "solve_task",
]
