"""A pool: the records of one source, before they are dealt out to silos."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from discreet.data.identity import Marks
from discreet.data.labels import Outcome
from discreet.data.records import Records

SILO = "(silo)"
"""The group that says whose record it is, where every silo has a table or arrays of its own."""


@dataclass(frozen=True, slots=True)
class Pool:
    """Records of one source with the public facts about them.

    Attributes:
        name: what to call the data.
        records: all records, or those for training if ``test`` is given.
        marks: what the public coins of ``records`` hang on.
        num_classes: labels are below this; `NUMBER` if they are places in the range of ``outcome``.
        test: the source's own test records; None if a fraction of ``records`` is to be held out.
        groups: columns that can name a record's silo, one value for each row of ``records``.
        own_silos: the column that says where records really are; None if the source does not know.
        feature_norm_bound: public bound on the L2 norm of every record, or None.
        feature_names: names of the features of flat records.
        attribution: who made the data and under which licence.
        outcome: the range of labels that are numbers; else None.
        notes: what the owner should know of cells and rows that could not be used; no message carries them.
    """

    name: str
    records: Records
    marks: Marks
    num_classes: int
    test: Records | None = None
    groups: Mapping[str, Sequence[str]] = field(default_factory=dict)
    own_silos: str | None = None
    feature_norm_bound: float | None = None
    feature_names: tuple[str, ...] = ()
    attribution: str = ""
    notes: tuple[str, ...] = ()
    outcome: Outcome | None = None
