"""From real updates to integers of a ring and back: rounding, rotation, ring planning, packing."""

from discreet.encoding.codec import decode, encode
from discreet.encoding.conditional_rounding import conditional_l2_bound, round_records, summation_error
from discreet.encoding.contribution import (
    noise_integers,
    noisy_integers,
    ring_contribution,
    rounded_signal,
    signal_integers,
    signal_reals,
)
from discreet.encoding.framing import RingVector, frame, frame_bytes, unframe
from discreet.encoding.grid import Grid, GridRequest, plan_grid, required_bits
from discreet.encoding.packing import pack, packed_bytes, unpack
from discreet.encoding.ring import from_ring, to_ring
from discreet.encoding.rotation import Rotation
from discreet.encoding.rounding import rounded_l2_bound
from discreet.encoding.step_weights import StepWeights, exact_weights, planned_weights, rounded_weights
from discreet.encoding.tensors import flatten, unflatten

__all__ = [
    "Grid",
    "GridRequest",
    "RingVector",
    "Rotation",
    "StepWeights",
    "conditional_l2_bound",
    "decode",
    "encode",
    "exact_weights",
    "flatten",
    "frame",
    "frame_bytes",
    "from_ring",
    "noise_integers",
    "noisy_integers",
    "pack",
    "packed_bytes",
    "plan_grid",
    "planned_weights",
    "required_bits",
    "ring_contribution",
    "round_records",
    "rounded_l2_bound",
    "rounded_signal",
    "rounded_weights",
    "signal_integers",
    "signal_reals",
    "summation_error",
    "to_ring",
    "unflatten",
    "unframe",
    "unpack",
]
