"""From real updates to integers of a ring and back: rounding, rotation, ring planning."""

from discreet.encoding.codec import decode, encode
from discreet.encoding.contribution import (
    noise_integers,
    noisy_integers,
    rounded_signal,
    signal_integers,
    signal_reals,
)
from discreet.encoding.grid import WRAP_PROB, Grid, GridRequest, plan_grid, required_bits, rounded_sensitivity
from discreet.encoding.ring import from_ring, to_ring
from discreet.encoding.rotation import Rotation
from discreet.encoding.rounding import rounded_l2_bound
from discreet.encoding.step_weights import StepWeights, common_unit, planned_weights

__all__ = [
    "WRAP_PROB",
    "Grid",
    "GridRequest",
    "Rotation",
    "StepWeights",
    "common_unit",
    "decode",
    "encode",
    "from_ring",
    "noise_integers",
    "noisy_integers",
    "plan_grid",
    "planned_weights",
    "required_bits",
    "rounded_l2_bound",
    "rounded_sensitivity",
    "rounded_signal",
    "signal_integers",
    "signal_reals",
    "to_ring",
]
