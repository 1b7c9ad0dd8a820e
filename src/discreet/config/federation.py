"""From the [data] table to a federation in memory; simulation only: a real silo loads its own."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from discreet.config.data import ColumnPartition, DataConfig, DirichletPartition, IidPartition
from discreet.data import (
    ColumnSilos,
    DirichletSilos,
    Federation,
    IidSilos,
    OneSilo,
    Partition,
    PublicFacts,
    load_federation,
    table_columns,
)


def public_facts(data: DataConfig) -> PublicFacts:
    """Returns what a config states about a file."""
    return PublicFacts(
        label=data.label,
        id=data.id,
        ranges=data.ranges,
        categories=data.categories,
        classes=data.classes,
        num_classes=data.num_classes,
        feature_norm_bound=None if data.transform else data.feature_norm_bound,
        feature_shape=data.feature_shape,
    )


def table_shape(data: DataConfig) -> tuple[int, int] | None:
    """Returns how many features and classes a table has by the public rules alone; None for another source.

    Raises:
        DataError: if the rules do not fit together.
    """
    facts = public_facts(data)
    columns = table_columns(facts)
    if not columns or data.label is None:
        return None
    return sum(len(column.names) for column in columns) + 1, len(facts.class_texts())


def federation_of(
    data: DataConfig,
    *,
    silo: str | None = None,
    exchanged: bool = False,
    by_silo: Mapping[str, Any] | None = None,
) -> Federation:
    """Loads the federation that a config names.

    Args:
        data: the config's table.
        silo: takes the source for the own file of this silo alone, whatever the config's partition is.
        exchanged: whether neighbours differ in a record that is exchanged; see `load_federation`.
        by_silo: what each silo holds, where the config's source is ``memory``.

    Raises:
        DataError: one line that says what is wrong with the source.
        ConfigurationError: if the transform cannot be applied.
    """
    federation = load_federation(
        os.path.expandvars(data.source),
        test_fraction=data.test_fraction,
        split_seed=data.split_seed,
        keep_test_set=data.keep_test_set,
        partition=_partition(data) if silo is None else OneSilo(silo),
        record_capacity=data.record_capacity,
        exchanged=exchanged,
        facts=public_facts(data),
        by_silo=by_silo,
    )
    if data.transform is None:
        return federation
    from discreet.models.transforms import transformed  # torch, which planning over tables does without

    return transformed(federation, data.transform, data.feature_norm_bound)


def _partition(data: DataConfig) -> Partition | None:
    match data.partition:
        case None:
            return None
        case IidPartition(silos=silos):
            return IidSilos(silos)
        case DirichletPartition(silos=silos, alpha=alpha):
            return DirichletSilos(silos, alpha)
        case ColumnPartition(column=column, names=names):
            return ColumnSilos(column, names)
