"""From the [data] table to a federation in memory; simulation only: a real silo loads its own."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from discreet.config.data import WRITTEN, DataConfig, features_named
from discreet.config.partition import ColumnPartition, DirichletPartition, IidPartition
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
from discreet.data.dialect import COMMAS, Dialects
from discreet.data.function_source import returned_by
from discreet.data.headers import miswritten
from discreet.data.labels import NUMBER
from discreet.data.map_answers import MapAnswers
from discreet.data.names import expanded, has_pattern
from discreet.data.persons import PersonRule
from discreet.data.split import Side
from discreet.data.table_files import of_tables, table_files, together
from discreet.errors import DataError

_SIDES = {None: Side.TRAINING, "training": Side.TRAINING, "held-out": Side.HELD_OUT, True: Side.ASKED}


def public_facts(data: DataConfig) -> PublicFacts:
    """Returns what a config states about a file."""
    return PublicFacts(
        label=data.label,
        label_range=data.label_range,
        id=data.id if data.person is None else data.person.column,
        person=_person_rule(data),
        ranges=data.ranges,
        bins=_bins(data),
        asked=data.asked is True,
        categories=data.categories,
        classes=data.classes,
        num_classes=data.num_classes,
        feature_norm_bound=None if data.transform else data.feature_norm_bound,
        feature_shape=data.feature_shape,
        dates={name: (one.first, one.last, one.order) for name, one in (data.dates or {}).items()} or None,
        missing=_missing(data),
        pixels=data.pixels,
        drop=data.drop or (),
        dialects=_dialects(data),
    )


def _dialects(data: DataConfig) -> Dialects:
    """Returns how the files are written: all alike, or by silo."""
    stated = {key: getattr(data, key) for key in WRITTEN}
    apart = {key: own for key, own in stated.items() if isinstance(own, dict)}
    alike = {key: own for key, own in stated.items() if isinstance(own, str)}
    silos = dict.fromkeys(silo for own in apart.values() for silo in own)
    common = replace(COMMAS, **alike)
    return Dialects(
        common,
        {
            silo: replace(common, **{key: own[silo] for key, own in apart.items() if silo in own})
            for silo in silos
        },
    )


def _person_rule(data: DataConfig) -> PersonRule | None:
    return None if data.person is None else PersonRule(data.person.most_records, data.person.most_silos)


def _missing(data: DataConfig) -> frozenset[str]:
    """Returns the columns whose missing cells have a feature of their own."""
    rule = data.missing or ("indicator" if data.asked is True else "neutral")
    if rule == "neutral":
        return frozenset()
    if rule == "indicator":
        return frozenset(features_named(data))
    return frozenset(name for name, own in rule.items() if own == "indicator")


def _bins(data: DataConfig) -> dict[str, int | tuple[float, ...]] | None:
    """Returns the columns that are cut into bins; one number is for all that have a range."""
    if isinstance(data.bins, int):
        return dict.fromkeys(data.ranges or {}, data.bins)
    return data.bins


def with_named_columns(data: DataConfig, header: Iterable[str] | None = None) -> DataConfig:
    """Returns the table with every pattern replaced by the columns that it fits.

    Names of columns are public, as the config's are, and a plan names all of them: every silo reads the same
    columns by the same rules, whatever further ones its file has.

    Args:
        data: the config's table.
        header: the columns of the tables; None reads the headers of the source's files, and no record.

    Raises:
        DataError: all that is wrong: a pattern fits nothing, or two fit one column, or a file has no header.
    """
    rules = {key: dict(getattr(data, key) or {}) for key in ("ranges", "dates", "categories")}
    missing = data.missing if isinstance(data.missing, dict) else {}
    bins = data.bins if isinstance(data.bins, dict) else {}
    if not has_pattern([*features_named(data), *missing, *bins]):
        return data
    known = list(dict.fromkeys(_header(data) if header is None else header))
    column = data.partition.column if isinstance(data.partition, ColumnPartition) else None
    whose = data.id if data.person is None else data.person.column
    taken = [name for name in (*data.labels, whose, column, *(data.drop or ())) if name is not None]
    found, problems = expanded(rules, known, taken)
    features = [name for stated in found.values() for name in stated]
    of_missing, more = expanded({"missing": missing}, features, ())
    of_bins, more_of_bins = expanded({"bins": bins}, list(found["ranges"]), ())
    problems += more + more_of_bins
    if problems:
        raise together(problems, "patterns do not fit the columns")
    update: dict[str, object] = {key: stated or None for key, stated in found.items()}
    if missing:
        update["missing"] = of_missing["missing"]
    if bins:
        update["bins"] = of_bins["bins"]
    return data.model_copy(update=update)


def _header(data: DataConfig) -> list[str]:
    """Returns the columns of all files of a source."""
    if not of_tables(data.source):
        raise DataError("a pattern of columns is for csv: and parquet: sources, whose headers are read.")
    files = table_files(_expanded_path(data.source), public_facts(data).dialects)
    found, problems = files.headers()
    problems += miswritten(found, files)[0]
    if problems:
        raise together(problems, "files cannot be read")
    return [name for header in found.values() for name in header]


def _expanded_path(source: str | dict[str, str]) -> str | dict[str, str]:
    """Replaces environment variables by what they hold here."""
    if isinstance(source, str):
        return os.path.expandvars(source)
    return {silo: os.path.expandvars(one) for silo, one in source.items()}


def table_shape(data: DataConfig) -> tuple[int, int] | None:
    """Returns how many features and classes a table has by the public rules alone; None for another source.

    Where a model is trained there is a constant besides; where questions are asked there are no classes. A
    label that is a number has `NUMBER` classes.

    Raises:
        DataError: if the rules do not fit together.
    """
    facts = public_facts(data)
    columns = table_columns(facts)
    if has_pattern(column.column for column in columns):
        raise DataError("columns must be named where no header is read; a name with '*' is a pattern.")
    if data.asked is not True and (not columns or data.label is None):
        return None
    features = sum(len(column.names) for column in columns) or 1
    classes = NUMBER if facts.outcome is not None else len(facts.class_texts())
    if data.several:
        classes = 1 << len(data.labels)
    return features + (0 if data.asked is True else 1), classes


def federation_of(
    data: DataConfig,
    *,
    silo: str | None = None,
    exchanged: bool = False,
    by_silo: Mapping[str, Any] | None = None,
    cache: Path | None = None,
    require_answers: Callable[[MapAnswers], None] | None = None,
) -> Federation:
    """Loads the federation that a config names.

    Args:
        data: the config's table.
        silo: takes the source for the own file of this silo alone, whatever the config's partition is.
        exchanged: whether neighbours differ in a record that is exchanged; see `load_federation`.
        by_silo: what each silo holds, where the config's source is ``memory``.
        cache: folder where a silo keeps the features that a network made of its records; None keeps none.
        require_answers: raises for what another feature map than was planned says of public records; asked
            before a record is mapped.

    Raises:
        DataError: one line that says what is wrong with the source.
        OwnCodeFailed: if a source ``module:function`` fails, or gives what the transform does not take.
        ConfigurationError: if the transform cannot be applied.
    """
    federation = load_federation(
        _expanded_path(data.source),
        test_fraction=data.test_fraction,
        split_seed=data.split_seed,
        keep_test_set=data.keep_test_set,
        partition=_partition(data) if silo is None else OneSilo(silo),
        record_capacity=data.unit_capacity,
        exchanged=exchanged,
        facts=public_facts(data),
        by_silo=by_silo,
        side=_SIDES[data.asked],
    )
    if data.transform is None:
        return federation
    # torch, which planning over tables does without
    from discreet.models.public_weights import PublicWeights
    from discreet.models.transforms import transformed

    stated = data.pretrained
    path = (stated.file if stated is not None else None) or data.transform.partition(":")[2]
    weights = PublicWeights(path, None if stated is None else stated.sha256)
    # Beside those of all records, which are removed with them.
    kept = cache / data.asked if cache is not None and data.asked == "held-out" else cache
    with returned_by(data.source):
        return transformed(
            federation,
            data.transform,
            data.feature_norm_bound,
            weights,
            kept,
            require_answers=require_answers,
        )


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
