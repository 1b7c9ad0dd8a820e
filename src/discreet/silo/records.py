"""A silo's own records: read from its own source by the plan's public rules, and checked.

What is refused here follows from files, columns and shapes. What a record holds decides nothing: it is made
usable or left out by a public rule, and the owner is told how often.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from types import MappingProxyType

import numpy as np

from discreet.config.data import WRITTEN
from discreet.config.federation import federation_of, table_shape
from discreet.config.partition import ColumnPartition
from discreet.data import Federation, Records, load_federation
from discreet.data.function_source import is_reference, returned_by
from discreet.data.labels import NUMBER
from discreet.data.map_answers import MapAnswers, another_map, require_planned_map
from discreet.data.table_files import TABLES
from discreet.errors import ConfigurationError, DataError
from discreet.plan import Plan
from discreet.privacy.units import NeighboringRelation
from discreet.silo.policy.refusal import PolicyRefusal, RefusalCode

REHEARSED = "plan"

_FILES = ("csv:", "parquet:", "npz:")


def _ignore(_: str) -> None:
    """Tells nobody."""


def load_records(
    source: str,
    plan: Plan,
    silo: str,
    note: Callable[[str], None] = _ignore,
    *,
    written: Mapping[str, str] = MappingProxyType({}),
    cache: Path | None = None,
) -> Records:
    """Returns the training records of ``silo`` for a plan; possibly none.

    Held-out records are left out by the same public coins as in a simulation, so that a rehearsal and the
    real run train on the same records. With fixed-size sampling the coins belong to places of a file, which
    differ between a file of one silo and a file of all.

    Args:
        source: the policy's ``data.source``.
        plan: for the public rules: columns, ranges, classes, norm bound, test fraction, capacity.
        silo: which silo this is.
        note: hears what the owner should know of the records, and nobody else.
        written: how this silo's own CSV files are written, as its policy says; the plan does not say it. Read
            with another separator, a quotation mark in one record could take its neighbours in.
        cache: folder of the silo's state, where features that a network made of its records are kept.

    Raises:
        DataError: if the source does not fit the plan; no record of it decides that.
        OwnCodeFailed: if the owner's own function raises, or what it returns does not fit the plan.
        PolicyRefusal: if the plan was made with another feature map.
    """
    _check_rules(source, plan, silo)
    _require_columns(source, plan, silo)
    own = _named(source) or plan.data.source
    require_answers = partial(_require_answers, plan, own)
    federation = _federation(
        source, plan, silo, written=written, cache=cache, require_answers=require_answers
    )
    for line in federation.warnings:
        note(line)
    with returned_by(own):
        if federation.map_answers is not None:  # the owner's own function gives features by itself
            require_answers(federation.map_answers)
        _check_facts(federation, plan, silo)
    if silo not in federation.silo_names:
        # A function that makes silos of its records makes none for a silo that has none.
        note(f"the source gives no records for {silo}, which takes part without any")
        return nothing(plan)
    return federation.silo(silo).train


def _check_rules(source: str, plan: Plan, silo: str) -> None:
    """Compares the plan's rules for tables with its facts, before a file is opened.

    Memory for a width that no model takes may run out, and whether it does depends on the rows.
    """
    if not source.startswith(TABLES):
        return
    facts, found = plan.facts, table_shape(plan.data)
    if found is None or ((found[0],), found[1]) != (facts.feature_shape, facts.num_classes):
        raise DataError(
            f"{silo}: the plan's columns and classes must make records of its shape {facts.feature_shape} "
            f"and {facts.num_classes} classes; they make {found or 'none'}. Plan again."
        )


def _named(source: str) -> str:
    """Returns the source that a policy names itself; empty where it takes the plan's."""
    return "" if source == REHEARSED else source.removeprefix(f"{REHEARSED}:")


def _require_columns(source: str, plan: Plan, silo: str) -> None:
    """Refuses records that need not end with the constant by which their numbers are found again."""
    own, stated = _named(source), plan.data.preparation
    if stated is not None and not (own in ("", plan.data.source) or own.startswith(stated.sources)):
        what = "rows of a table" if stated.sources == TABLES else "those of a file"
        raise DataError(
            f"{silo}: records must be {what}, {' or '.join(stated.sources)}, for 'data.{stated.key}' to ask "
            f"them; got {source}."
        )


def nothing(plan: Plan) -> Records:
    """Returns the records of a silo that has none: it takes part with its noise."""
    none = np.empty(0, dtype=np.int64)
    features = np.empty((0, *plan.facts.feature_shape), dtype=np.float32)
    return Records(features, none, None if plan.data.person is None else none)


def _check_facts(federation: Federation, plan: Plan, silo: str) -> None:
    """Compares what the source promises of every record with what the plan rests on."""
    facts, bound = plan.facts, federation.feature_norm_bound
    if federation.feature_shape != facts.feature_shape:
        raise DataError(
            f"{silo}: every record must have the plan's shape {facts.feature_shape}; "
            f"got {federation.feature_shape}. Check the columns of this silo's source."
        )
    if (federation.outcome is not None) != (facts.num_classes == NUMBER):
        kind = "a number" if facts.num_classes == NUMBER else "a class"
        raise DataError(
            f"{silo}: the label must be {kind}, as the plan says; this silo's source has another kind. "
            "Read it by the plan's own rules."
        )
    if not federation.num_classes <= facts.num_classes:
        raise DataError(
            f"{silo}: there must be at most the plan's {facts.num_classes} classes; "
            f"got {federation.num_classes}. Check num_classes of this silo's source."
        )
    planned = facts.feature_norm_bound
    if planned is not None and not (bound is not None and bound <= planned):
        raise DataError(
            f"{silo}: every record must have L2 norm at most {planned}, as the plan says; this silo's source "
            f"promises {bound}. Set feature_norm_bound where the source makes its federation."
        )


def _require_answers(plan: Plan, source: object, found: MapAnswers) -> None:
    """Refuses a feature map other than the planned one, without a number that it answers.

    Raises:
        PolicyRefusal: if the map is another; its note, for the owner alone, says where it differs.
        ConfigurationError: in its place if the source is the owner's function, whose failure it is.
    """
    name, stated = plan.data.transform or str(source), plan.facts.map_answers
    try:
        require_planned_map(name, stated, found)
    except ConfigurationError as error:
        if is_reference(source):
            raise
        refusal = PolicyRefusal(RefusalCode.PLAN, str(error if stated is None else another_map(name)))
        if stated is not None:
            refusal.add_note(str(error))
        raise refusal from None


def _federation(
    source: str,
    plan: Plan,
    silo: str,
    *,
    written: Mapping[str, str],
    cache: Path | None,
    require_answers: Callable[[MapAnswers], None],
) -> Federation:
    data = plan.data
    exchanged = plan.release.neighboring is NeighboringRelation.REPLACE_ONE
    own: str | None = None
    update: dict[str, object]
    if source == REHEARSED or source.startswith(f"{REHEARSED}:"):
        update = {"source": _named(source) or data.source}
        if isinstance(data.partition, ColumnPartition) and data.partition.names is None:
            update["partition"] = data.partition.model_copy(update={"names": plan.facts.silos})
    elif source.startswith(_FILES):
        own = silo
        update = {"source": source, **dict.fromkeys(WRITTEN), **written}
    else:
        if data.asked is not None:
            raise DataError(
                f"{silo}: questions must be asked of a table, and held-out records be held out by the plan's "
                f"own rules; {source} is a function. Write its records to a file."
            )
        if data.person is not None:
            raise DataError(
                f"{silo}: persons must be named by a column of a file or an array; {source} is a function, "
                "whose records say nobody's. Write them to a file."
            )
        return load_federation(
            source,
            test_fraction=data.test_fraction,
            split_seed=data.split_seed,
            record_capacity=data.record_capacity,
        )
    return federation_of(
        data.model_copy(update=update),
        silo=own,
        exchanged=exchanged,
        cache=cache,
        require_answers=require_answers,
    )
