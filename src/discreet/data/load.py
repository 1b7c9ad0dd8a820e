"""From the name of a source to a federation: read, deal out to silos, hold out test records."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from discreet.arrays import Float32s
from discreet.data.array_source import ArrayFacts, features_in_memory, pool_of_arrays
from discreet.data.bundled import digits, heart_disease
from discreet.data.columns import Categories, Column, Numeric, encode
from discreet.data.csv_source import TableSchema, pool_of_table
from discreet.data.federation import Federation, Silo
from discreet.data.frames import SILO, joined, table_of
from discreet.data.function_source import federation_of_function
from discreet.data.identity import Identities
from discreet.data.norm import scale_to_norm, with_constant
from discreet.data.npz_source import pool_of_npz
from discreet.data.parquet_source import read_parquet
from discreet.data.partition import ColumnSilos, Partition, deal
from discreet.data.pool import Pool
from discreet.data.remarks import unused_note
from discreet.data.split import Split
from discreet.data.table import nearest_hint, read_table
from discreet.errors import DataError
from discreet.randomness import SeededRandom

BUNDLED: Mapping[str, Callable[[], Pool]] = {"heart-disease": heart_disease, "digits": digits}

IN_MEMORY = "memory"
"""The source of records that a program hands over: tables or arrays; no file can name them."""

_DEFAULT_NORM_BOUND = 1.0
_BINARY = 2


@dataclass(frozen=True, slots=True)
class PublicFacts:
    """A user's statements about a file, from public knowledge and never from the records.

    Attributes:
        label: column to predict (tables: csv and parquet).
        id: column, or array of an npz file, that says whose record it is.
        ranges: numeric feature columns with their plausible range (tables).
        categories: categorical feature columns with their possible texts (tables).
        classes: the labels' texts in order, the first of which is class 0 (tables).
        num_classes: number of classes (tables: labels are 0, 1, ... unless ``classes`` says otherwise; left
            out, as many as there are ``classes``, or 2).
        feature_norm_bound: L2 norm that records are scaled to (tables: default 1; else no scaling).
        feature_shape: shape of one record's features (arrays in memory).
    """

    label: str | None = None
    id: str | None = None
    ranges: Mapping[str, tuple[float, float]] | None = None
    categories: Mapping[str, Sequence[str]] | None = None
    num_classes: int | None = None
    feature_norm_bound: float | None = None
    classes: Sequence[str] | None = None
    feature_shape: tuple[int, ...] | None = None

    def array_facts(self) -> ArrayFacts | None:
        """Returns what is stated of arrays in memory; None if it is tables that are.

        Raises:
            DataError: if the number of classes is missing.
        """
        if self.feature_shape is None:
            return None
        if self.num_classes is None:
            raise DataError("num_classes must be given for arrays; it is never read off the labels.")
        return ArrayFacts(self.feature_shape, self.num_classes, self.feature_norm_bound, self.id)

    def class_texts(self) -> tuple[str, ...]:
        """Returns the texts of a table's labels, in the order of their numbers.

        Raises:
            DataError: if ``num_classes`` is not the number of ``classes``.
        """
        if self.classes is None:
            return tuple(
                str(number) for number in range(_BINARY if self.num_classes is None else self.num_classes)
            )
        if self.num_classes not in (None, len(self.classes)):
            raise DataError(
                f"num_classes must be the number of classes, {len(self.classes)}; got {self.num_classes}. "
                "Leave num_classes out."
            )
        return tuple(self.classes)


def load_federation(
    source: str,
    *,
    test_fraction: float = 0.25,
    split_seed: int = 0,
    partition: Partition | None = None,
    facts: PublicFacts | None = None,
    keep_test_set: bool = True,
    record_capacity: int | Mapping[str, int] | None = None,
    exchanged: bool = False,
    by_silo: Mapping[str, Any] | None = None,
) -> Federation:
    """Loads a federation.

    What a single record holds never makes this fail: what cannot be used is replaced or left out by a public
    rule, and `Federation.warnings` counts it for the owner.

    Args:
        source: ``heart-disease``, ``digits``, ``npz:PATH``, ``csv:PATH``, ``parquet:PATH`` or
            ``module:function``.
        test_fraction: probability that a record is held out; not used where the source has its own test set.
        split_seed: public seed of the split and of random partitions.
        partition: which record belongs to which silo; None takes the source's own silos.
        facts: public facts about a file.
        keep_test_set: hold out the source's own test records, where it has some; False puts them among the
            others, and holds out ``test_fraction`` of all.
        record_capacity: public bound on the training records of every silo, or of each by name; surplus
            records are left out. None: no bound.
        exchanged: whether neighbours differ in a record that is exchanged, as under fixed-size sampling, and
            not in one that is there or not; held-out records are then chosen by place, or by id.
        by_silo: with the source ``memory``, what each silo holds: a table (`discreet.data.frames.table_of`),
            or where ``facts`` state a shape, arrays (`discreet.data.array_source.pool_of_arrays`).

    Raises:
        DataError: one line that says what is wrong with the source.

    Example:
        >>> federation = load_federation("heart-disease", split_seed=0)
        >>> federation.silo_names
        ('cleveland', 'hungary', 'long_beach_va', 'switzerland')
    """
    facts = facts or PublicFacts()
    split = Split(test_fraction, split_seed, record_capacity)
    if _is_reference(source):
        if partition is not None or facts != PublicFacts():
            raise DataError(
                f"the data source {source!r} makes its own silos and features; "
                "remove the partition and the other facts about the data."
            )
        own = federation_of_function(source, test_fraction=test_fraction, split_seed=split_seed)
        return _cut_to_capacity(own, split)
    if source == IN_MEMORY or by_silo is not None:
        pool, partition = _memory_pool(source, by_silo, facts, partition)
    else:
        pool = _pool(source, facts, partition, keep_test_set=keep_test_set)
    return _federation(pool, partition or _own_partition(pool), split, exchanged=exchanged)


def bundled_attribution(source: str) -> str:
    """Returns who made a bundled source and under which licence; empty for a source that is not bundled."""
    return BUNDLED[source]().attribution if source in BUNDLED else ""


def _is_reference(source: str) -> bool:
    """Says whether a source is ``module:function``."""
    head, colon, _ = source.partition(":")
    return bool(colon) and head not in ("csv", "parquet", "npz")


def _own_partition(pool: Pool) -> ColumnSilos:
    """Returns the source's own silos."""
    if pool.own_silos is None:
        raise DataError(
            f"{pool.name}: it must be known which silo holds a record; the source does not say. "
            "Give a partition: by column, iid or dirichlet."
        )
    return ColumnSilos(pool.own_silos)


def _pool(source: str, facts: PublicFacts, partition: Partition | None, *, keep_test_set: bool) -> Pool:
    """Reads a source that is a file or bundled."""
    scheme, _, path = source.partition(":")
    if scheme in ("csv", "parquet"):
        return _table_pool(scheme, Path(path), facts, partition)
    if scheme == "npz":
        if facts.label is not None or facts.ranges or facts.categories or facts.classes:
            raise DataError(f"{source}: label and feature columns are for csv or parquet files; remove them.")
        return pool_of_npz(
            Path(path),
            num_classes=facts.num_classes,
            feature_norm_bound=facts.feature_norm_bound,
            keep_test_set=keep_test_set,
            id_array=facts.id,
        )
    if source not in BUNDLED:
        raise DataError(
            "the data source must be a bundled name, npz:PATH, csv:PATH, parquet:PATH or module:function; "
            f"got {source!r}.{nearest_hint(source, BUNDLED)}"
        )
    if facts != PublicFacts():
        raise DataError(f"{source}: the bundled data knows its label and features; remove what was given.")
    return BUNDLED[source]()


def _memory_pool(
    source: str, by_silo: Mapping[str, Any] | None, facts: PublicFacts, partition: Partition | None
) -> tuple[Pool, ColumnSilos]:
    """Reads what all silos hold, each by itself; a silo without a record is a silo all the same."""
    if source != IN_MEMORY or by_silo is None:
        raise DataError(
            f"records in memory must come from a program, with the source {IN_MEMORY!r}; got {source!r} "
            f"{'without' if by_silo is None else 'with'} them. Name a file, or train with discreet.train."
        )
    if partition is not None or not by_silo:
        raise DataError("records must be given by silo, at least one, without a partition; they are not.")
    silos = ColumnSilos(SILO, names=tuple(sorted(by_silo)))
    arrays = facts.array_facts()
    if arrays is not None:
        return pool_of_arrays(by_silo, arrays, name=source), silos
    schema = replace(_schema(source, facts), silo=SILO)
    used = [schema.label, *(column.column for column in schema.columns), *([schema.id] if schema.id else [])]
    tables = {silo: table_of(by_silo[silo], used, name=silo) for silo in sorted(by_silo)}
    return pool_of_table(joined(tables, name=source), schema, feature_norm_bound=_norm_bound(facts)), silos


def _table_pool(scheme: str, path: Path, facts: PublicFacts, partition: Partition | None) -> Pool:
    """Reads a table whose features are numbers and categories that the user named."""
    schema = _schema(path.name, facts)
    used = [schema.label, *(column.column for column in schema.columns)]
    used += [schema.id] if schema.id is not None else []
    used += [partition.column] if isinstance(partition, ColumnSilos) else []
    table = read_table(path) if scheme == "csv" else read_parquet(path, used)
    pool = pool_of_table(table, schema, feature_norm_bound=_norm_bound(facts))
    return replace(pool, notes=(*pool.notes, *unused_note(table, used)))


def _schema(name: str, facts: PublicFacts) -> TableSchema:
    """Returns the public rules by which the cells of a table are read."""
    if facts.feature_shape is not None:
        raise DataError(
            f"{name}: feature_shape must be left out for a table, whose columns say it; got "
            f"{facts.feature_shape}. Arrays are read from npz:PATH, or handed over by a program."
        )
    if facts.label is None:
        raise DataError(f"{name}: the label column must be named; set label.")
    return TableSchema(facts.label, facts.class_texts(), table_columns(facts), silo=None, id=facts.id)


def table_columns(facts: PublicFacts) -> tuple[Column, ...]:
    """Returns the feature columns of a table, numbers first, by their public rules."""
    numbers = [Numeric(name, *limits) for name, limits in (facts.ranges or {}).items()]
    texts = [Categories(name, tuple(values)) for name, values in (facts.categories or {}).items()]
    return (*numbers, *texts)


def features_of(records: Any, facts: PublicFacts) -> Float32s:
    """Returns the features of records in memory by the rules that training read them by; no label is needed.

    Args:
        records: an array, where ``facts`` state a shape; else a frame, see `discreet.data.frames.table_of`.
        facts: a shape; or ranges, categories and norm bound, at least one column.

    Returns:
        Shape ``(n, ...)``.

    Raises:
        DataError: if a column is missing, or an array has another type or shape.
    """
    arrays = facts.array_facts()
    if arrays is not None:
        return features_in_memory(records, arrays)
    columns = table_columns(facts)
    table = table_of(records, [column.column for column in columns], name="the records")
    encoded, _, _ = encode(table, columns)
    return scale_to_norm(with_constant(encoded), _norm_bound(facts))


def _norm_bound(facts: PublicFacts) -> float:
    """Returns the length that the records of a table are scaled to."""
    return _DEFAULT_NORM_BOUND if facts.feature_norm_bound is None else facts.feature_norm_bound


def _federation(pool: Pool, partition: Partition, split: Split, *, exchanged: bool) -> Federation:
    """Deals the pool out and holds test records out."""
    names, assigned, test_silos = deal(pool, partition, SeededRandom(split.seed).derive("partition"))
    coins = pool.marks.coins(exchanged=exchanged)
    silos, notes = [], list(pool.notes)
    if elsewhere := int((assigned < 0).sum()):
        notes.append(
            f"{pool.name}: {elsewhere} of {len(assigned)} records are of no silo of the federation; they are "
            "left out."
        )
    if not names:
        nothing = DataError(f"{pool.name}: no record can be used, so there is no silo to train.")
        for note in notes:
            nothing.add_note(note)
        raise nothing
    for number, name in enumerate(names):
        own = np.flatnonzero(assigned == number)
        held_out = np.zeros(len(own), dtype=np.bool_)
        if pool.test is not None and test_silos is not None:
            test = pool.test.take(np.flatnonzero(test_silos == number))
        else:
            held_out = split.held_out(coins.take(own), name)
            test = pool.records.take(own[held_out])
        kept, surplus = split.used(coins.take(own[~held_out]), name)
        train = pool.records.take(own[~held_out][kept])
        silos.append(Silo(name, train, test, surplus=int((~kept).sum())))
        notes += surplus
    notes += _empty(silos)
    return Federation(
        name=pool.name,
        silos=tuple(silos),
        num_classes=pool.num_classes,
        feature_shape=pool.records.features.shape[1:],
        feature_norm_bound=pool.feature_norm_bound,
        feature_names=pool.feature_names,
        attribution=pool.attribution,
        warnings=tuple(notes),
    )


def _cut_to_capacity(federation: Federation, split: Split) -> Federation:
    """Leaves surplus training records of the user's own silos out; by their features and labels."""
    silos, notes = [], list(federation.warnings)
    for silo in federation.silos:
        known = Identities.of_content(silo.train.features, silo.train.labels)
        kept, surplus = split.used(known, silo.name)
        used = replace(silo, train=silo.train.take(kept), surplus=int((~kept).sum()))
        silos.append(used if surplus else silo)
        notes += surplus
    return replace(federation, silos=tuple(silos), warnings=(*notes, *_empty(silos)))


def _empty(silos: Sequence[Silo]) -> tuple[str, ...]:
    """Returns a note for every silo that has nothing to train on."""
    return tuple(
        f"silo {silo.name!r}: NO TRAINING RECORD is its own; it takes part with its noise only."
        for silo in silos
        if not len(silo.train)
    )
