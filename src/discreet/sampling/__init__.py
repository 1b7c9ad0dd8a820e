"""How units enter a round: one object that draws the batch and states the event it costs."""

from discreet.sampling.samplers import FixedSize, Poisson

__all__ = ["FixedSize", "Poisson"]
