"""What a proof about the samplers has to take on trust: the arithmetic and the libraries below them.

Granted this and uniform random bits, the samplers' laws are proven: docs/theory/integers.md, section 6.
"""

from __future__ import annotations

# A list: whoever prints it says what rests on it.
SAMPLER_ASSUMPTION = (
    "float64 arithmetic, square roots and (where the platform has it) extended precision round to nearest as "
    "IEEE 754 asks; float64 log, log1p, exp, expm1, sinh and cosh are within 4 units in the last place; "
    "extended-precision log, log1p, sin and cos are within 2^-60, relative for logarithms; "
    "mpmath's intervals contain the values that they enclose"
)
