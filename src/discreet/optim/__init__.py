"""Server update rules: post-processing of what was released, so they cost no privacy."""

from discreet.optim.adaptive import Adaptive, SecondMoment
from discreet.optim.contract import ServerRule
from discreet.optim.laplacian import Chain, Circulant, LaplacianSmoothing
from discreet.optim.momentum import Averaging, Momentum
from discreet.optim.schedules import Constant, ExponentialDecay, InverseTime, Schedule
from discreet.optim.tail_mean import TailMean

__all__ = [
    "Adaptive",
    "Averaging",
    "Chain",
    "Circulant",
    "Constant",
    "ExponentialDecay",
    "InverseTime",
    "LaplacianSmoothing",
    "Momentum",
    "Schedule",
    "SecondMoment",
    "ServerRule",
    "TailMean",
]
