"""From real updates to integers of a ring and back: rounding, rotation, ring planning, packing."""

from discreet.encoding.codec import decode, encode
from discreet.encoding.grid import Grid, GridRequest, plan_grid, required_bits
from discreet.encoding.packing import pack, packed_bytes, unpack
from discreet.encoding.ring import from_ring, to_ring
from discreet.encoding.rotation import Rotation

__all__ = [
    "Grid",
    "GridRequest",
    "Rotation",
    "decode",
    "encode",
    "from_ring",
    "pack",
    "packed_bytes",
    "plan_grid",
    "required_bits",
    "to_ring",
    "unpack",
]
