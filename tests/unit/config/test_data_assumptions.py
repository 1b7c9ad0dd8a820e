"""What a guarantee for one record assumes of the data, in words, and the keys that decide it."""

from typing import Any

import pytest
from pydantic import ValidationError

from discreet.config.data import DataConfig
from discreet.config.data_assumptions import QUOTES, WRITTEN_ALONE, data_assumptions

CAPACITY = "no silo holds more training records than its record_capacity"
DEALT = (
    "silos are dealt at random from one file, a simulation: neighbours differ in one record of a silo as "
    "dealt"
)
TYPES = "the type of every array of the file is the same whatever its records hold"
ROWS = (
    "every row of the tables that a program handed over was made from one unit alone: nothing in it was "
    "fitted to other rows, as scalers, imputers and encoders are"
)
RECORDS = (
    "every record of the arrays and data sets that a program handed over was made from one unit alone: "
    "nothing in it was fitted to other records, as scalers are, or drawn in turn with them, "
    "as augmentation is"
)
TYPES_IN_MEMORY = "the type of every array that a program handed over is the same whatever its records hold"
NAMES = "which silos there are, read from the records, is public"


@pytest.mark.parametrize(
    ("data", "further"),
    [
        ({"source": "heart-disease"}, ()),
        ({"source": "digits", "partition": {"kind": "iid", "silos": 3}}, (DEALT,)),
        (
            {"source": "npz:x.npz", "partition": {"kind": "dirichlet", "silos": 3, "alpha": 1.0}},
            (DEALT, TYPES),
        ),
        ({"source": "csv:t.csv", "partition": {"kind": "column", "column": "site"}}, (NAMES, QUOTES)),
        (
            {"source": "csv:t.csv", "partition": {"kind": "column", "column": "site", "names": ["a", "b"]}},
            (QUOTES,),
        ),
        ({"source": {"a": "csv:a.csv", "b": "parquet:b.parquet"}, "label": "ill"}, (WRITTEN_ALONE, QUOTES)),
        ({"source": "parquet:t.parquet", "label": "ill"}, (WRITTEN_ALONE,)),
        ({"source": "npz:x.npz"}, (NAMES, TYPES)),
        ({"source": "memory"}, (ROWS,)),
        ({"source": "memory", "feature_shape": (2,), "num_classes": 2}, (RECORDS, TYPES_IN_MEMORY)),
    ],
)
def test_each_source_says_what_it_assumes(data: dict[str, Any], further: tuple[str, ...]) -> None:
    assert data_assumptions(DataConfig.model_validate(data)) == (CAPACITY, *further)


def test_code_of_ones_own_is_assumed_to_look_at_one_unit() -> None:
    _, own = data_assumptions(DataConfig(source="mine:records"))
    assert own.startswith("mine:records makes every record from one unit alone")


def test_nothing_need_be_held_out_and_never_everything() -> None:
    assert DataConfig(source="digits", test_fraction=0.0).test_fraction == 0.0
    for bad in (-0.1, 1.0):
        with pytest.raises(ValidationError):
            DataConfig(source="digits", test_fraction=bad)
    with pytest.raises(ValidationError):
        DataConfig.model_validate(
            {"source": "csv:t.csv", "partition": {"kind": "column", "column": "site", "names": []}}
        )


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({"source": "npz:x.npz"}, "unless a program hands arrays over; the source is 'npz:x.npz'"),
        ({"source": "digits"}, "the source is 'digits'"),
        ({"num_classes": None}, "num_classes"),
        ({"feature_shape": ()}, "one number or more"),
        ({"feature_shape": (8, 0)}, "greater than or equal to 1"),
        ({"feature_shape": (8.0,)}, "valid integer"),
        ({"feature_shape": ("8",)}, "valid integer"),
        ({"feature_shape": (True,)}, "valid integer"),
        ({"label": "ill"}, "without label"),
        ({"ranges": {"age": (0, 1)}, "categories": {"sex": ("f", "m")}}, "without ranges, categories"),
        ({"partition": {"kind": "iid", "silos": 3}}, "without partition"),
        ({"transform": "residual:weights.npz"}, "without a network's file; got 'residual:weights.npz'"),
    ],
)
def test_a_shape_is_for_arrays_in_memory_alone(data: dict[str, Any], message: str) -> None:
    arrays = {"source": "memory", "feature_shape": (8, 8), "num_classes": 10}
    assert DataConfig.model_validate(arrays).feature_shape == (8, 8)
    with pytest.raises(ValidationError, match=message):
        DataConfig.model_validate({**arrays, **data})


@pytest.mark.parametrize(
    ("asked", "person", "said"),
    [
        (None, False, "no silo holds more training records than its record_capacity"),
        (True, False, "no silo holds more records than its record_capacity"),
        ("held-out", False, "no silo holds more held-out records than its record_capacity"),
        (None, True, "no silo holds more training persons than its person.capacity"),
        (True, True, "no silo holds more persons than its person.capacity"),
        ("held-out", True, "no silo holds more held-out persons than its person.capacity"),
    ],
)
def test_a_capacity_names_what_takes_part(asked: object, person: bool, said: str) -> None:
    data = DataConfig.model_validate(
        {"source": "csv:x.csv", "asked": asked, "test_fraction": 0.2}
        | ({"person": {"column": "who", "capacity": 5, "most_records": 2}} if person else {})
    )
    assert data_assumptions(data)[0] == said
