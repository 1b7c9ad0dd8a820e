"""What the guarantee for one record or person takes for granted of the data, in words."""

from __future__ import annotations

from discreet.config.data import DataConfig, counted_unit, part_taken
from discreet.config.partition import ColumnPartition, DirichletPartition, IidPartition
from discreet.data import IN_MEMORY
from discreet.data.table_files import of_several

_ONE_NAME = "all records of a person have the same entry in the person column, and nobody else's have"

_UNSEEN = "which no silo can see for itself"

WRITTEN_ALONE = (
    "how a cell of a table is written depends on no other record, but for spellings of one value that are "
    "read alike"
)
QUOTES = "a quotation mark that a record opens in a CSV file is closed in its own row"
_FILES = ("csv:", "parquet:", "npz:")


def capacity_assumption(data: DataConfig) -> str:
    """Returns what makes one unit more or less of a silo one more or less of those that take part."""
    key = "record_capacity" if data.person is None else "person.capacity"
    return f"no silo holds more {part_taken(data)}{counted_unit(data)}s than its {key}"


def data_assumptions(data: DataConfig) -> tuple[str, ...]:
    """Returns in words what the guarantee for one record or person assumes of the data, besides.

    Each is about which data sets are neighbours: those for which the loader changes more than one record are
    not, unless a guarantee says so.
    """
    person = data.person
    found = [capacity_assumption(data)]
    if person is not None:
        count = "1 silo" if person.most_silos == 1 else f"{person.most_silos} silos"
        found += [_ONE_NAME, f"no person has records at more than {count}, {_UNSEEN}"]
    match data.partition:
        case IidPartition() | DirichletPartition():
            found.append(
                "silos are dealt at random from one file, a simulation: neighbours differ in one record of a "
                "silo as dealt"
            )
        case ColumnPartition(names=None):
            found.append("which silos there are, read from the records, is public")
        case None if _starts(data, "npz:"):
            found.append("which silos there are, read from the records, is public")
        case None if isinstance(data.source, str) and of_several(data.source):
            found.append("which silos there are, read from the names of files, is public")
        case _:
            pass
    if data.feature_shape is not None:
        found += [
            "every record of the arrays and data sets that a program handed over was made from one unit "
            "alone: nothing in it was fitted to other records, as scalers are, or drawn in turn with them, "
            "as augmentation is",
            "the type of every array that a program handed over is the same whatever its records hold",
        ]
    elif data.source == IN_MEMORY:
        found.append(
            "every row of the tables that a program handed over was made from one unit alone: nothing in it "
            "was fitted to other rows, as scalers, imputers and encoders are"
        )
    if data.label is not None or data.asked:
        found.append(WRITTEN_ALONE)
    if "csv:" in data.source_text:
        found.append(QUOTES)
    if _starts(data, "npz:"):
        found.append("the type of every array of the file is the same whatever its records hold")
    if isinstance(data.source, str) and ":" in data.source and not data.source.startswith(_FILES):
        found.append(
            f"{data.source} makes every record from one unit alone, and which silo it deals a record to, and "
            "whether it holds it out, depends on no other record"
        )
    return tuple(found)


def _starts(data: DataConfig, scheme: str) -> bool:
    return isinstance(data.source, str) and data.source.startswith(scheme)
