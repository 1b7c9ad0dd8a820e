"""Names for the arrays that most modules speak of; shapes stand in the docstrings."""

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
"""Numbers in float64: parameters, updates, real noise."""

Float32s = npt.NDArray[np.float32]
"""Numbers in float32: features, and what networks compute."""

Integers = npt.NDArray[np.int64]
"""Integers in int64: grid units, noise, labels."""

Indices = Integers
"""Places in another array."""

Booleans = npt.NDArray[np.bool_]
"""Truth values: coins, which rows to take."""
