"""From the name of a source to a federation: read, deal out to silos, hold out test records."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from discreet.arrays import Integers
from discreet.data.array_source import pool_of_arrays
from discreet.data.bundled import digits, heart_disease
from discreet.data.facts import PublicFacts
from discreet.data.federation import Federation, Silo
from discreet.data.frames import table_of
from discreet.data.function_source import federation_of_function, is_reference, returned_by
from discreet.data.headers import missing_columns
from discreet.data.identity import Identities
from discreet.data.npz_source import pool_of_npz
from discreet.data.partition import ColumnSilos, Dealer, Partition
from discreet.data.persons import PersonRule, of_persons, spread_note
from discreet.data.pool import SILO, Pool, whole
from discreet.data.remarks import unused_note
from discreet.data.silo_rows import SiloRows
from discreet.data.split import Side, Split
from discreet.data.table import nearest_hint
from discreet.data.table_files import Source, of_several, of_tables, table_files, together
from discreet.data.table_source import pools_of_tables
from discreet.errors import DataError
from discreet.randomness import SeededRandom

BUNDLED: Mapping[str, Callable[..., Pool]] = {"heart-disease": heart_disease, "digits": digits}

IN_MEMORY = "memory"
"""The source of records that a program hands over: tables or arrays; no file can name them."""


def load_federation(
    source: Source,
    *,
    test_fraction: float = 0.25,
    split_seed: int = 0,
    partition: Partition | None = None,
    facts: PublicFacts | None = None,
    keep_test_set: bool = True,
    record_capacity: int | Mapping[str, int] | None = None,
    exchanged: bool = False,
    by_silo: Mapping[str, Any] | None = None,
    side: Side = Side.TRAINING,
) -> Federation:
    """Loads a federation.

    What a single record holds never makes this fail: what cannot be used is replaced or left out by a public
    rule, and `Federation.warnings` counts it for the owner.

    Args:
        source: ``heart-disease``, ``digits``, ``npz:PATH``, ``csv:PATH``, ``parquet:PATH``,
            ``module:function``, or tables as of `discreet.data.table_files.table_files`.
        test_fraction: probability that a record is held out; not used where the source has its own test set.
        split_seed: public seed of the split and of random partitions.
        partition: which record belongs to which silo; None takes the source's own silos.
        facts: public facts about a file.
        keep_test_set: hold out the source's own test records, where it has some; False puts them among the
            others, and holds out ``test_fraction`` of all.
        record_capacity: public bound on the training records of every silo, or of each by name; surplus
            records are left out. None: no bound. It is on persons where ``facts.person`` is given.
        exchanged: whether neighbours differ in a record that is exchanged, as under fixed-size sampling, and
            not in one that is there or not; held-out records are then chosen by place, or by id.
        by_silo: with the source ``memory``, what each silo holds: a table (`discreet.data.frames.table_of`),
            or where ``facts`` state a shape, arrays (`discreet.data.array_source.pool_of_arrays`).
        side: which records take part; where it is the held-out ones, no other record is kept. A source with
            a test set of its own, or that splits its records itself, has no such side.

    Raises:
        DataError: one line that says what is wrong with the source.

    Example:
        >>> federation = load_federation("heart-disease", split_seed=0)
        >>> federation.silo_names
        ('cleveland', 'hungary', 'long_beach_va', 'switzerland')
    """
    facts = facts or PublicFacts()
    split = Split(test_fraction, split_seed, record_capacity, side)
    if isinstance(source, str) and is_reference(source):
        if partition is not None or facts != PublicFacts():
            raise DataError(
                f"the data source {source!r} makes its own silos and features; "
                "remove the partition and the other facts about the data."
            )
        _require_training(split, source)
        own = federation_of_function(source, test_fraction=test_fraction, split_seed=split_seed)
        with returned_by(source):
            return _cut_to_capacity(own, split)
    pools: Iterable[Pool]
    if source == IN_MEMORY or by_silo is not None:
        pools, partition = _memory_pools(source, by_silo, facts, partition)
    elif of_tables(source):
        pools, partition = _table_pools(source, facts, partition)
    else:
        pools = [_pool(str(source), facts, keep_test_set=keep_test_set)]
    if facts.person is not None:
        pools = [of_persons(whole(pools))]
    return _federation(pools, partition, split, exchanged=exchanged, rule=facts.person)


def bundled_attribution(source: Source) -> str:
    """Returns who made a bundled source and under which licence; empty for a source that is not bundled."""
    return BUNDLED[source]().attribution if isinstance(source, str) and source in BUNDLED else ""


def _require_training(split: Split, name: str) -> None:
    if split.side is Side.HELD_OUT:
        raise DataError(
            f"{name}: held-out records can be asked where they are held out by public coins; this source "
            "splits its records itself. Set keep_test_set = false, or use a table."
        )


def _own_partition(pool: Pool) -> ColumnSilos:
    """Returns the source's own silos."""
    if pool.own_silos is None:
        raise DataError(
            f"{pool.name}: it must be known which silo holds a record; the source does not say. "
            "Give a partition: by column, iid or dirichlet."
        )
    return ColumnSilos(pool.own_silos)


def _pool(source: str, facts: PublicFacts, *, keep_test_set: bool) -> Pool:
    """Reads a source that is a file of arrays or bundled."""
    scheme, _, path = source.partition(":")
    if scheme == "npz":
        if stated := facts.of_tables_alone():
            raise DataError(
                f"{source}: {', '.join(stated)} must be left out, for label and feature columns are those of "
                "csv and parquet files. What bounds the features of arrays is feature_norm_bound."
            )
        return pool_of_npz(
            Path(path),
            num_classes=facts.num_classes,
            feature_norm_bound=facts.feature_norm_bound,
            keep_test_set=keep_test_set,
            id_array=facts.id,
            pixels=facts.pixels,
            persons=facts.person is not None,
        )
    if source not in BUNDLED:
        raise DataError(
            "the data source must be a bundled name, npz:PATH, csv:PATH, parquet:PATH or module:function; "
            f"got {source!r}.{nearest_hint(source, BUNDLED)}"
        )
    if facts != PublicFacts(asked=facts.asked):
        raise DataError(f"{source}: the bundled data knows its label and features; remove what was given.")
    return BUNDLED[source](norm_bound=None) if facts.asked else BUNDLED[source]()


def _memory_pools(
    source: Source, by_silo: Mapping[str, Any] | None, facts: PublicFacts, partition: Partition | None
) -> tuple[Iterable[Pool], ColumnSilos]:
    """Reads what all silos hold, each by itself; a silo without a record is a silo all the same."""
    if source != IN_MEMORY or by_silo is None:
        raise DataError(
            f"records in memory must come from a program, with the source {IN_MEMORY!r}; got {source!r} "
            f"{'without' if by_silo is None else 'with'} them. Name a file, or train with discreet.train."
        )
    if partition is not None or not by_silo:
        given = "a partition" if by_silo else "no silo"
        raise DataError(f"records must be given by silo, at least one, without a partition; got {given}.")
    silos = ColumnSilos(SILO, names=tuple(sorted(by_silo)))
    arrays = facts.array_facts()
    if arrays is not None:
        return [pool_of_arrays(by_silo, arrays, name=source)], silos
    schema = facts.schema(source, silo=SILO)
    tables = {silo: [table_of(by_silo[silo], schema.used, name=silo)] for silo in sorted(by_silo)}
    return pools_of_tables(tables, schema, name=source, feature_norm_bound=facts.norm_bound()), silos


def _table_pools(
    source: Source, facts: PublicFacts, partition: Partition | None
) -> tuple[Iterable[Pool], Partition | None]:
    """Reads tables whose features are numbers, dates and categories that the user named.

    Everything that is wrong with the columns of any file is said at once.
    """
    found = table_files(source, facts.dialects)
    if partition is None and of_several(source):
        partition = ColumnSilos(SILO, names=tuple(found.files))
    column = partition.column if isinstance(partition, ColumnSilos) else None
    schema = facts.schema(found.name, silo=column)
    headers, problems = found.headers()
    problems += missing_columns(headers, found, schema.used)
    if problems:
        raise together(problems, f"{found.name}: the files do not fit the config")
    tables = {silo: file.tables(schema.used) for silo, file in found.files.items()}
    pools = pools_of_tables(tables, schema, name=found.name, feature_norm_bound=facts.norm_bound())
    unused = tuple(
        line
        for silo, header in headers.items()
        for line in unused_note(found.files[silo].name, header, (*schema.used, *facts.drop))
    )
    return _with_notes(pools, unused), partition


def _with_notes(pools: Iterable[Pool], notes: tuple[str, ...]) -> Iterator[Pool]:
    """Yields some pools, at least one, and then one without records that has more notes."""
    last: Pool | None = None
    for last in pools:
        yield last
    if last is not None:
        yield last.emptied(notes)


def _federation(
    pools: Iterable[Pool],
    partition: Partition | None,
    split: Split,
    *,
    exchanged: bool,
    rule: PersonRule | None,
) -> Federation:
    """Deals pools of one source out as they are read, and holds test records out."""
    randomness = SeededRandom(split.seed).derive("partition")
    silos: dict[str, SiloRows] = {}
    notes, records, elsewhere, spread = list[str](), 0, 0, tuple[str, ...]()
    dealer: Dealer | None = None
    for pool in pools:
        dealer = dealer or Dealer(partition or _own_partition(pool), randomness)
        if pool.test is not None:
            _require_training(split, pool.name)
        names, assigned, test_silos = dealer.deal(pool)
        for number, name in enumerate(names):
            rows = silos.setdefault(name, SiloRows(name, split, rule))
            _add(rows, pool, (assigned, test_silos), number, exchanged=exchanged)
        notes += pool.notes
        records, elsewhere = records + len(assigned), elsewhere + int((assigned < 0).sum())
        if rule is not None and pool.records.persons is not None:
            spread = spread_note(pool.name, pool.records.persons, assigned, rule)
    if dealer is not None:
        dealer.require_readable(pool.name)
    if elsewhere:
        notes.append(
            f"{pool.name}: {elsewhere} of {records} records are of no silo of the federation; they are "
            "left out."
        )
    if not silos:
        raise DataError.with_notes(
            f"{pool.name}: no record can be used, so there is no silo to train.", notes
        )
    found = [silos.pop(name).silo() for name in sorted(silos)]
    notes += [note for _, own in found for note in own]
    own_silos = [silo for silo, _ in found]
    return _public(pool, own_silos, (*notes, *_empty(own_silos, split.side), *spread))


def _add(
    rows: SiloRows, pool: Pool, dealt: tuple[Integers, Integers | None], number: int, *, exchanged: bool
) -> None:
    """Gives one silo what is its own of a pool."""
    own, test_silos = np.flatnonzero(dealt[0] == number), dealt[1]
    rows.add(pool.records, own, pool.marks.coins(exchanged=exchanged), holds_out=pool.test is None)
    if pool.test is not None and test_silos is not None:
        rows.add_test(pool.test, np.flatnonzero(test_silos == number))


def _public(pool: Pool, silos: Sequence[Silo], notes: tuple[str, ...]) -> Federation:
    """Returns a federation of silos whose records are of a pool's kind."""
    return Federation(
        name=pool.name,
        silos=tuple(silos),
        num_classes=pool.num_classes,
        feature_shape=pool.records.features.shape[1:],
        feature_norm_bound=pool.feature_norm_bound,
        feature_names=pool.feature_names,
        attribution=pool.attribution,
        warnings=notes,
        outcome=pool.outcome,
        guessed_pixels=pool.guessed_pixels,
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
    return replace(federation, silos=tuple(silos), warnings=(*notes, *_empty(silos, split.side)))


def _empty(silos: Sequence[Silo], side: Side) -> tuple[str, ...]:
    """Returns a note for every silo that has no record that takes part."""
    return tuple(
        f"silo {silo.name!r}: NO {side.value.upper()} RECORD is its own; it takes part with its noise only."
        for silo in silos
        if not len(silo.train)
    )
