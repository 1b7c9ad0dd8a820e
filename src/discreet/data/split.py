"""Which records are held out for testing: a public coin for each record, blind to its content."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from discreet.errors import DataError
from discreet.randomness import SeededRandom


def test_rows(count: int, *, test_fraction: float, split_seed: int, silo: str) -> npt.NDArray[np.bool_]:
    """Says which rows of ``silo`` are held out, a function of the seed, the silo's name and the row number.

    Guarantee:
        Row j is decided by coin j alone: neither the number of records nor any record's content matters, so
        adding a record at the end moves no other record between training and test, and "one training record
        more or less" stays one record.

    Args:
        count: number of rows.
        test_fraction: probability that a row is held out, in [0, 1).
        split_seed: public seed.
        silo: public name of the silo.

    Returns:
        True for a test row, shape ``(count,)``.

    Raises:
        DataError: if ``test_fraction`` is outside [0, 1).
    """
    if not 0.0 <= test_fraction < 1.0:
        raise DataError(f"test_fraction must be in [0, 1); got {test_fraction}.")
    return SeededRandom(split_seed).derive("test rows", silo).uniform(count) < test_fraction
