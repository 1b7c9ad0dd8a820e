"""A silo's own records: read from its own source by the plan's public rules, and checked."""

from __future__ import annotations

from pathlib import Path

from discreet.config.sections import IidPartition
from discreet.data import Records, load_federation
from discreet.data.columns import Categories, Column, Numeric
from discreet.data.csv_source import TableSchema, pool_of_table
from discreet.data.split import test_rows
from discreet.data.table import Table
from discreet.engines.local.load import load
from discreet.errors import DataError
from discreet.plan import Plan

REHEARSED = "plan"

_DEFAULT_NORM_BOUND = 1.0


def load_records(source: str, plan: Plan, silo: str) -> Records:
    """Returns the training records of ``silo`` for a plan.

    Held-out records are left out by the same public coins as in a simulation, so that a rehearsal and the
    real run train on the same records.

    Args:
        source: the policy's ``data.source``.
        plan: for the public rules: columns, ranges, classes, norm bound, test fraction.
        silo: which silo this is.

    Raises:
        DataError: if the records do not fit the plan; the message shows no value.
    """
    if source == REHEARSED or source.startswith(f"{REHEARSED}:"):
        shared = source.removeprefix(REHEARSED).removeprefix(":") or plan.config.data.source
        train = load(plan.config.data.model_copy(update={"source": shared})).silo(silo).train
    elif source.startswith("parquet:"):
        train = _training_part(_parquet_records(Path(source.removeprefix("parquet:")), plan), plan, silo)
    elif source.startswith(("csv:", "npz:")):
        train = _file_records(source, plan, silo)
    else:
        federation = load_federation(
            source, test_fraction=plan.config.data.test_fraction, split_seed=plan.config.data.split_seed
        )
        train = federation.silo(silo).train
    _check(train, plan, silo)
    return train


def _file_records(source: str, plan: Plan, silo: str) -> Records:
    """Reads a file that holds this silo's records only, by the plan's rules, transforms included."""
    own_source = {"source": source, "partition": IidPartition(kind="iid", silos=1), "test_fraction": 0.0}
    own = load(plan.config.data.model_copy(update=own_source)).silos[0]
    return own.train if len(own.test) else _training_part(own.train, plan, silo)


def _training_part(records: Records, plan: Plan, silo: str) -> Records:
    data = plan.config.data
    held_out = test_rows(
        len(records), test_fraction=data.test_fraction, split_seed=data.split_seed, silo=silo
    )
    return records.take(~held_out)


def _parquet_records(path: Path, plan: Plan) -> Records:
    """Reads a Parquet table by the rules of a CSV table."""
    try:
        from pyarrow import ArrowException, parquet
    except ModuleNotFoundError:
        raise DataError(
            "reading Parquet needs the package pyarrow; it is not installed. "
            "Run: pip install 'discreet[parquet]'"
        ) from None
    data = plan.config.data
    columns: list[Column] = [Numeric(name, *limits) for name, limits in (data.ranges or {}).items()]
    columns += [Categories(name, tuple(values)) for name, values in (data.categories or {}).items()]
    if data.label is None:
        raise DataError(f"{path.name}: the plan must name the label column; set 'data.label'.")
    wanted = [data.label, *(column.column for column in columns)]
    try:
        missing = sorted(set(wanted) - set(parquet.read_schema(path).names))
        if missing:
            raise DataError(f"{path.name}: there is no column {missing[0]!r}, which the plan uses.")
        cells = parquet.read_table(path, columns=wanted).to_pydict()
    except (OSError, ArrowException) as error:
        raise DataError(f"{path.name} must be a readable Parquet file; got {type(error).__name__}.") from None
    table = Table(path.name, {name: tuple(map(_cell, values)) for name, values in cells.items()})
    classes = tuple(str(number) for number in range(plan.facts.num_classes))
    schema = TableSchema(label=data.label, classes=classes, columns=tuple(columns), silo=None)
    bound = _DEFAULT_NORM_BOUND if data.feature_norm_bound is None else data.feature_norm_bound
    return pool_of_table(table, schema, feature_norm_bound=bound).records


def _cell(value: object) -> str:
    """Returns a cell as a CSV file would hold it."""
    return "" if value is None else str(int(value)) if isinstance(value, bool) else str(value)


def _check(records: Records, plan: Plan, silo: str) -> None:
    """Compares records with the plan's public facts; says which one is broken without showing a value."""
    facts = plan.facts
    if records.features.shape[1:] != facts.feature_shape:
        raise DataError(
            f"{silo}: every record must have the plan's shape {facts.feature_shape}; "
            f"got {records.features.shape[1:]}. Check the columns of this silo's source."
        )
    if not len(records) >= 1:
        raise DataError(f"{silo} must have at least one training record; it has none.")
    capacity = plan.capacities[facts.silos.index(silo)]
    if len(records) > capacity:
        raise DataError(
            f"{silo} must hold at most the {capacity} training records of the plan; it holds more."
        )
    if bool((records.labels >= facts.num_classes).any()):
        raise DataError(f"{silo}: labels must be below the plan's {facts.num_classes} classes; some are not.")
