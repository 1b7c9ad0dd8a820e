"""Data that ship inside the package; ATTRIBUTION.md beside this file names makers and licences.

Heart disease by hospital is a federation of four real silos; its task is to tell from a first examination
whether a coronary artery is narrowed by half or more. Handwritten digits of 8 by 8 pixels have no silos.
"""

from __future__ import annotations

import gzip
from dataclasses import replace
from importlib import resources

from discreet.data.columns import Categories, Contrast, Numeric
from discreet.data.csv_file import parse_table
from discreet.data.pool import Pool, whole
from discreet.data.table_source import TableSchema, pools_of_tables

_HEART_ATTRIBUTION = (
    "Janosi, Steinbrunn, Pfisterer, Detrano: Heart Disease (1988), UCI Machine Learning Repository, "
    "doi:10.24432/C52P4X, CC BY 4.0"
)

# Ranges are what a clinician expects in adults who are examined for chest pain, not what these records hold:
# resting pressure from low normal to hypertensive crisis, cholesterol from low to severe familial forms,
# maximum heart rate up to 220 minus the age of a young adult, ST depression up to clearly pathological.
_HEART_SCHEMA = TableSchema(
    label="label",
    classes=("0", "1"),
    silo="hospital",
    columns=(
        Numeric("age", 30, 75),
        Numeric("trestbps", 90, 180),
        Numeric("chol", 100, 400, not_measured=0),
        Numeric("thalach", 70, 190),
        Numeric("oldpeak", 0, 3),
        Categories("cp", ("1", "2", "3", "4")),
        Categories("restecg", ("1", "2"), baseline="0"),
        Categories("fbs", ("1",), baseline="0"),
        Contrast("sex", "0", "1"),
        Contrast("exang", "0", "1"),
    ),
)

_DIGITS_ATTRIBUTION = (
    "Alpaydin, Kaynak: Optical Recognition of Handwritten Digits (1998), UCI Machine Learning Repository, "
    "doi:10.24432/C50P49, CC BY 4.0"
)

_SIDE = 8
_DARKEST = 16

_DIGITS_SCHEMA = TableSchema(
    label="digit",
    classes=tuple(str(digit) for digit in range(10)),
    silo=None,
    columns=tuple(Numeric(f"p{row}{column}", 0, _DARKEST) for row in range(_SIDE) for column in range(_SIDE)),
)


SCHEMAS = {"heart-disease": _HEART_SCHEMA, "digits": _DIGITS_SCHEMA}
"""By which rules the tables are read; their records have norm 1."""


def heart_disease(*, norm_bound: float | None = 1.0) -> Pool:
    """Returns the 740 records, with the hospital as their own silo column.

    Args:
        norm_bound: norm of every record; None leaves features as the rules make them.
    """
    pool = _bundled(
        "heart_disease.csv.gz", "heart-disease", _HEART_SCHEMA, _HEART_ATTRIBUTION, norm_bound=norm_bound
    )
    # Nobody who uses these data can mend them, and the ranges clip on purpose.
    return replace(pool, notes=())


def digits(*, norm_bound: float | None = 1.0) -> Pool:
    """Returns 1797 flat records of 64 pixels and, with a bound, a constant; as `heart_disease` does."""
    return _bundled("digits.csv.gz", "digits", _DIGITS_SCHEMA, _DIGITS_ATTRIBUTION, norm_bound=norm_bound)


def _bundled(
    file: str, name: str, schema: TableSchema, attribution: str, *, norm_bound: float | None
) -> Pool:
    """Reads a table of this folder; ``name`` is what messages call it."""
    raw = resources.files(__name__).joinpath(file).read_bytes()
    table = parse_table(gzip.decompress(raw).decode(), name=name)
    return whole(
        pools_of_tables(
            {name: [table]}, schema, name=name, feature_norm_bound=norm_bound, attribution=attribution
        )
    )
