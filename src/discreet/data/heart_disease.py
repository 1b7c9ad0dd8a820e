"""UCI Heart Disease by hospital: the bundled federation of four real silos (bundled/ATTRIBUTION.md).

The task is to tell from a first examination whether a coronary artery is narrowed by half or more.
"""

from __future__ import annotations

from dataclasses import replace

from discreet.data.bundled import bundled_table
from discreet.data.columns import Categories, Contrast, Numeric
from discreet.data.csv_source import TableSchema, pool_of_table
from discreet.data.pool import Pool

ATTRIBUTION = (
    "Janosi, Steinbrunn, Pfisterer, Detrano: Heart Disease (1988), UCI Machine Learning Repository, "
    "doi:10.24432/C52P4X, CC BY 4.0"
)

# Ranges are what a clinician expects in adults who are examined for chest pain, not what these records hold:
# resting pressure from low normal to hypertensive crisis, cholesterol from low to severe familial forms,
# maximum heart rate up to 220 minus the age of a young adult, ST depression up to clearly pathological.
SCHEMA = TableSchema(
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


def heart_disease() -> Pool:
    """Returns the 740 records, each of norm at most 1, with the hospital as their own silo column."""
    table = bundled_table("heart_disease.csv.gz", name="heart-disease")
    pool = pool_of_table(table, SCHEMA, feature_norm_bound=1.0, attribution=ATTRIBUTION)
    # Nobody who uses these data can mend them, and the ranges clip on purpose.
    return replace(pool, notes=())
