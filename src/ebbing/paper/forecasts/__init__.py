"""The study of forecasts: task sets whose orders are all trained, and what forecasts say about them beforehand."""
