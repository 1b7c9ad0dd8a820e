"""What is stated of single columns: labels, dates, bins, missing cells, and whose a record is."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from typing import Annotated, Literal

from pydantic import BeforeValidator, ConfigDict, Discriminator, Field, Tag

from discreet.data.dates import DateOrder
from discreet.kinds.fields import Count, Section
from discreet.kinds.heads import MOST_LABELS
from discreet.kinds.question import BinCount, StatedBins


class DateRange(Section):
    """The first and the last plausible day of a column, and how its cells write a date.

    Attributes:
        first: ``from``: the first plausible day, as in ``2020-05-17``.
        last: ``to``: the last plausible day, after the first.
        order: how cells write a date: ``ymd`` (2020-05-17), ``dmy`` (17.5.2020) or ``mdy`` (5/17/2020).
    """

    first: Annotated[date, Field(alias="from")]
    last: Annotated[date, Field(alias="to")]
    order: DateOrder = DateOrder.YMD

    model_config = ConfigDict(populate_by_name=True)


class PersonConfig(Section):
    """Whose a record is, where guarantees are for persons with all of their records (unit person).

    Attributes:
        column: the column, or array of an npz file, that says whose a record is. It is no feature; a record
            without an entry is left out, and all records of a person are held out together.
        capacity: public upper bound on the training persons of a silo: one number, or one for each silo by
            name ("*" is every other one). It takes the place of ``record_capacity``.
        most_records: public: further records of a person, in the order of the source, are left out.
        most_silos: public: how many silos may hold records of one person. A silo cannot see the others, so
            that this is an assumption; noise grows with it.
        average_over: what a model is the best one for: ``persons`` gives all of them the same weight, each
            record of a person with m of them 1/m. ``records`` gives every record the same, 1/most_records.
    """

    column: str
    capacity: Count | dict[str, Count]
    most_records: Annotated[int, Field(ge=1, le=1_000_000)]
    most_silos: Annotated[int, Field(ge=1, le=1_000)] = 1
    average_over: Literal["persons", "records"] = "persons"


def _person_table(person: object) -> object:
    """Says what a person needs where only the column is given."""
    if isinstance(person, str):
        raise ValueError(
            f'must be a table, as in {{ column = "{person}", capacity = 500, most_records = 20 }}'
        )
    return person


Person = Annotated[PersonConfig, BeforeValidator(_person_table)]


def label_or_labels(stated: object) -> object:
    """Refuses what is neither a column nor a list of two to eight, in one line for both.

    Raises:
        ValueError: as the rest of a line that begins with the key.
    """
    if isinstance(stated, str):
        return stated
    names = list(stated) if isinstance(stated, list | tuple) else []
    known = all(isinstance(name, str) and name for name in names)
    if not (known and len(set(names)) == len(names) and 2 <= len(names) <= MOST_LABELS):
        raise ValueError(
            f'must be a column, or a list of 2 to {MOST_LABELS} different ones as in ["diabetes", "stroke"]; '
            f"got {stated!r}"
        )
    return tuple(names)


Label = Annotated[str | tuple[str, ...], BeforeValidator(label_or_labels)]
Missing = Literal["indicator", "neutral"]


def _bins_by_column(stated: object) -> str:
    return "columns" if isinstance(stated, Mapping) else "all"


BinsConfig = Annotated[
    Annotated[BinCount, Tag("all")] | Annotated[dict[str, StatedBins], Tag("columns")],
    Discriminator(_bins_by_column),
]
