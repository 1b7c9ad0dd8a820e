"""Server update rules: post-processing of what was released, so they cost no privacy."""

from discreet.optim.contract import ServerRule
from discreet.optim.momentum import Averaging, Momentum
from discreet.optim.schedules import Constant, ExponentialDecay, InverseTime, Schedule

__all__ = [
    "Averaging",
    "Constant",
    "ExponentialDecay",
    "InverseTime",
    "Momentum",
    "Schedule",
    "ServerRule",
]
