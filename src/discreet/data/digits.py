"""UCI handwritten digits, 8 by 8 pixels: a small bundled set without silos of its own (CC BY 4.0)."""

from __future__ import annotations

from discreet.data.bundled import bundled_table
from discreet.data.columns import Numeric
from discreet.data.csv_source import TableSchema, pool_of_table
from discreet.data.pool import Pool

ATTRIBUTION = (
    "Alpaydin, Kaynak: Optical Recognition of Handwritten Digits (1998), UCI Machine Learning Repository, "
    "doi:10.24432/C50P49, CC BY 4.0"
)

_SIDE = 8
_DARKEST = 16

SCHEMA = TableSchema(
    label="digit",
    classes=tuple(str(digit) for digit in range(10)),
    silo=None,
    columns=tuple(Numeric(f"p{row}{column}", 0, _DARKEST) for row in range(_SIDE) for column in range(_SIDE)),
)


def digits() -> Pool:
    """Returns 1797 flat records of 64 pixels and a constant, each of norm at most 1."""
    table = bundled_table("digits.csv.gz", name="digits")
    return pool_of_table(table, SCHEMA, feature_norm_bound=1.0, attribution=ATTRIBUTION)
