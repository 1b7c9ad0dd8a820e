"""From the name of a source to a federation: read, deal out to silos, hold out test records."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from discreet.data.columns import Categories, Column, Numeric
from discreet.data.csv_source import TableSchema, pool_of_table
from discreet.data.digits import digits
from discreet.data.federation import Federation, Silo
from discreet.data.function_source import federation_of_function
from discreet.data.heart_disease import heart_disease
from discreet.data.npz_source import pool_of_npz
from discreet.data.partition import Assignment, ColumnSilos, Partition, deal
from discreet.data.pool import Pool
from discreet.data.split import test_rows
from discreet.data.table import nearest_hint, read_table
from discreet.errors import DataError
from discreet.randomness import SeededRandom

BUNDLED: Mapping[str, Callable[[], Pool]] = {"heart-disease": heart_disease, "digits": digits}

_DEFAULT_NORM_BOUND = 1.0
_BINARY = 2


@dataclass(frozen=True, slots=True)
class PublicFacts:
    """What a user states about a file, from public knowledge and never from the records.

    Attributes:
        label: column to predict (csv).
        ranges: numeric feature columns with their plausible range (csv).
        categories: categorical feature columns with their possible texts (csv).
        num_classes: number of classes (csv: labels are then 0, 1, ...; default 2).
        feature_norm_bound: L2 norm that records are scaled to (csv: default 1; npz: default no scaling).
    """

    label: str | None = None
    ranges: Mapping[str, tuple[float, float]] | None = None
    categories: Mapping[str, Sequence[str]] | None = None
    num_classes: int | None = None
    feature_norm_bound: float | None = None


def load_federation(
    source: str,
    *,
    test_fraction: float = 0.25,
    split_seed: int = 0,
    partition: Partition | None = None,
    facts: PublicFacts | None = None,
    keep_test_set: bool = True,
) -> Federation:
    """Loads a federation.

    Args:
        source: ``heart-disease``, ``digits``, ``npz:PATH``, ``csv:PATH`` or ``module:function``.
        test_fraction: probability that a record is held out; not used where the source has its own test set.
        split_seed: public seed of the split and of random partitions.
        partition: which record belongs to which silo; None takes the source's own silos.
        facts: public facts about a ``csv:`` or ``npz:`` file.
        keep_test_set: hold out the source's own test records, where it has some; False puts them among the
            others, and holds out ``test_fraction`` of all.

    Raises:
        DataError: one line that says what is wrong with the source.

    Example:
        >>> federation = load_federation("heart-disease", split_seed=0)
        >>> federation.silo_names
        ('cleveland', 'hungary', 'long_beach_va', 'switzerland')
    """
    facts = facts or PublicFacts()
    if _is_reference(source):
        if partition is not None or facts != PublicFacts():
            raise DataError(
                f"the data source {source!r} makes its own silos and features; "
                "remove the partition and the other facts about the data."
            )
        return federation_of_function(source, test_fraction=test_fraction, split_seed=split_seed)
    pool = _pool(source, facts, keep_test_set=keep_test_set)
    partition = partition or _own_partition(pool)
    return _federation(pool, partition, test_fraction=test_fraction, split_seed=split_seed)


def bundled_attribution(source: str) -> str:
    """Returns who made a bundled source and under which licence; empty for a source that is not bundled."""
    return BUNDLED[source]().attribution if source in BUNDLED else ""


def _is_reference(source: str) -> bool:
    """Says whether a source is ``module:function``."""
    head, colon, _ = source.partition(":")
    return bool(colon) and head not in ("csv", "npz")


def _own_partition(pool: Pool) -> ColumnSilos:
    """Returns the source's own silos."""
    if pool.own_silos is None:
        raise DataError(
            f"{pool.name}: it must be known which silo holds a record; the source does not say. "
            "Give a partition: by column, iid or dirichlet."
        )
    return ColumnSilos(pool.own_silos)


def _pool(source: str, facts: PublicFacts, *, keep_test_set: bool) -> Pool:
    """Reads a source that is a file or bundled."""
    scheme, _, path = source.partition(":")
    if scheme == "csv":
        return _csv_pool(Path(path), facts)
    if scheme == "npz":
        if facts.label is not None or facts.ranges or facts.categories:
            raise DataError(f"{source}: label and feature columns are for csv files; remove them.")
        return pool_of_npz(
            Path(path),
            num_classes=facts.num_classes,
            feature_norm_bound=facts.feature_norm_bound,
            keep_test_set=keep_test_set,
        )
    if source not in BUNDLED:
        raise DataError(
            "the data source must be a bundled name, npz:PATH, csv:PATH or module:function; "
            f"got {source!r}.{nearest_hint(source, BUNDLED)}"
        )
    if facts != PublicFacts():
        raise DataError(f"{source}: the bundled data knows its label and features; remove what was given.")
    return BUNDLED[source]()


def _csv_pool(path: Path, facts: PublicFacts) -> Pool:
    """Reads a table whose features are numbers and categories that the user named."""
    if facts.label is None:
        raise DataError(f"{path.name}: the label column must be named; set label.")
    columns: list[Column] = [Numeric(name, *limits) for name, limits in (facts.ranges or {}).items()]
    columns += [Categories(name, tuple(values)) for name, values in (facts.categories or {}).items()]
    classes = tuple(
        str(number) for number in range(_BINARY if facts.num_classes is None else facts.num_classes)
    )
    schema = TableSchema(label=facts.label, classes=classes, columns=tuple(columns), silo=None)
    bound = _DEFAULT_NORM_BOUND if facts.feature_norm_bound is None else facts.feature_norm_bound
    return pool_of_table(read_table(path), schema, feature_norm_bound=bound)


def _federation(pool: Pool, partition: Partition, *, test_fraction: float, split_seed: int) -> Federation:
    """Deals the pool out and holds test records out."""
    names, silos, test_silos = deal(pool, partition, SeededRandom(split_seed).derive("partition"))
    return Federation(
        name=pool.name,
        silos=tuple(
            _silo(pool, name, number, silos, test_silos, test_fraction=test_fraction, split_seed=split_seed)
            for number, name in enumerate(names)
        ),
        num_classes=pool.num_classes,
        feature_shape=pool.records.features.shape[1:],
        feature_norm_bound=pool.feature_norm_bound,
        feature_names=pool.feature_names,
        attribution=pool.attribution,
    )


def _silo(
    pool: Pool,
    name: str,
    number: int,
    silos: Assignment,
    test_silos: Assignment | None,
    *,
    test_fraction: float,
    split_seed: int,
) -> Silo:
    """Returns one silo: the source's own test records where there are any, else held-out ones."""
    own = np.flatnonzero(silos == number)
    if pool.test is not None and test_silos is not None:
        test = pool.test.take(np.flatnonzero(test_silos == number))
        return Silo(name, train=pool.records.take(own), test=test)
    held_out = test_rows(len(own), test_fraction=test_fraction, split_seed=split_seed, silo=name)
    train, test = pool.records.take(own[~held_out]), pool.records.take(own[held_out])
    return Silo(name, train=train, test=test)
