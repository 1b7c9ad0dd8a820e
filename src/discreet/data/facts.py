"""What a user states about records, from public knowledge and never from the records."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from itertools import pairwise
from typing import TypeVar

from discreet.data.array_source import ArrayFacts
from discreet.data.bins import Bins, cuts_of
from discreet.data.columns import Categories, Column, Days, Numeric
from discreet.data.dates import DateOrder
from discreet.data.dialect import Dialects
from discreet.data.labels import Columns, Outcome
from discreet.data.names import matches
from discreet.data.persons import PersonRule
from discreet.data.table import nearest_hint
from discreet.data.table_source import TableSchema
from discreet.errors import DataError

_DEFAULT_NORM_BOUND = 1.0
_BINARY = 2
T = TypeVar("T")

_OF_TABLES = (
    "label", "label_range", "ranges", "bins", "categories", "dates", "missing", "drop", "classes", "dialects",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class PublicFacts:
    """A user's statements about a file, from public knowledge and never from the records.

    Attributes:
        label: column to predict, or several with two values each (tables: csv and parquet).
        label_range: public range of a label that is a number; None for classes.
        id: column, or array of an npz file, that says whose record it is.
        person: which records of one person are used, where ``id`` says whose they are and the unit is the
            person; else None.
        ranges: numeric feature columns with their plausible range (tables).
        bins: numeric feature columns that are cut into bins: how many of equal width, or which edges
            (tables).
        categories: categorical feature columns with their possible texts (tables).
        dates: feature columns of dates: first and last plausible day, and the order of year, month and day
            (tables).
        missing: feature columns of which a missing cell has a feature of its own (tables).
        drop: columns that are not used, and known to be (tables).
        dialects: how CSV files are written.
        pixels: whether bytes in arrays are pixels; None takes them for pixels, and says so.
        classes: the labels' texts in order, the first of which is class 0 (tables).
        num_classes: number of classes (tables: labels are 0, 1, ... unless ``classes`` says otherwise; left
            out, as many as there are ``classes``, or 2).
        feature_norm_bound: L2 norm that records are scaled to (tables: default 1; else no scaling).
        feature_shape: shape of one record's features (arrays in memory).
        asked: whether records are asked questions: they keep their numbers, and need no label (tables).
    """

    label: Columns | None = None
    id: str | None = None
    person: PersonRule | None = None
    ranges: Mapping[str, tuple[float, float]] | None = None
    categories: Mapping[str, Sequence[str]] | None = None
    num_classes: int | None = None
    feature_norm_bound: float | None = None
    classes: Sequence[str] | None = None
    feature_shape: tuple[int, ...] | None = None
    dates: Mapping[str, tuple[date, date, DateOrder]] | None = None
    missing: frozenset[str] = frozenset()
    drop: tuple[str, ...] = ()
    dialects: Dialects = field(default_factory=Dialects)
    pixels: bool | None = None
    bins: Mapping[str, int | Sequence[float]] | None = None
    asked: bool = False
    label_range: tuple[float, float] | None = None

    @property
    def outcome(self) -> Outcome | None:
        """The public range of the label, if it is a number.

        Raises:
            DataError: if it is no range, or classes are stated as well.
        """
        if self.label_range is None:
            return None
        if self.classes is not None or self.num_classes is not None:
            raise DataError(
                "label_range must be left out where there are classes, and they where it is given."
            )
        return Outcome(*self.label_range)

    def array_facts(self) -> ArrayFacts | None:
        """Returns what is stated of arrays in memory; None if it is tables that are.

        Raises:
            DataError: if the number of classes is missing.
        """
        if self.feature_shape is None:
            return None
        if self.num_classes is None:
            raise DataError("num_classes must be given for arrays; it is never read off the labels.")
        return ArrayFacts(
            self.feature_shape,
            self.num_classes,
            self.feature_norm_bound,
            self.id,
            self.pixels,
            persons=self.person is not None,
        )

    def class_texts(self) -> tuple[str, ...]:
        """Returns the texts of a table's labels, in the order of their numbers; none where it is a number.

        Raises:
            DataError: if ``num_classes`` is not the number of ``classes``.
        """
        if self.outcome is not None:
            return ()
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

    def of_tables_alone(self) -> list[str]:
        """Returns the names of what is stated and only tables have."""
        return [name for name in _OF_TABLES if getattr(self, name) != getattr(PublicFacts(), name)]

    def norm_bound(self) -> float | None:
        """Returns the length that the records of a table are scaled to; None if they are not."""
        if self.asked:
            return None
        return _DEFAULT_NORM_BOUND if self.feature_norm_bound is None else self.feature_norm_bound

    def schema(self, name: str, *, silo: str | None) -> TableSchema:
        """Returns the public rules by which the cells of a table are read.

        Raises:
            DataError: if the label or every feature is missing, or the facts are those of arrays.
        """
        if self.feature_shape is not None:
            raise DataError(
                f"{name}: feature_shape must be left out for a table, whose columns say it; got "
                f"{self.feature_shape}. Arrays are read from npz:PATH, or handed over by a program."
            )
        if self.label is None and not self.asked:
            raise DataError(f"{name}: the label column must be named; set label.")
        return TableSchema(
            self.label or "",
            self.class_texts(),
            table_columns(self),
            silo=silo,
            id=self.id,
            persons=self.person is not None,
            outcome=self.outcome,
            asked=self.asked,
        )


def table_columns(facts: PublicFacts) -> tuple[Column, ...]:
    """Returns the feature columns of a table by their public rules: numbers, days, texts, each by name.

    Names decide the order, and not the order in which a config lists them: a plan's digest does not tell two
    such orders apart, and the weights of a model belong to places.

    Raises:
        DataError: if a rule makes no sense, or a column has two.
    """
    kept = facts.missing
    numbers = _numbers(facts)
    days = [Days(name, *stated, missing=name in kept) for name, stated in _by_name(facts.dates)]
    texts = [
        # A blank text that is listed is a category already.
        Categories(name, tuple(values), missing=name in kept and "" not in values)
        for name, values in _by_name(facts.categories)
    ]
    columns: tuple[Column, ...] = (*numbers, *days, *texts)
    names = {column.column for column in columns}
    if len(names) < len(columns):
        raise DataError(_ruled_twice(facts))
    if odd := sorted(kept - names):
        raise DataError(
            f"missing must be stated of feature columns; {odd[0]!r} is none.{nearest_hint(odd[0], names)}"
        )
    if odd := sorted(name for name in names if any(matches(pattern, name) for pattern in facts.drop)):
        raise DataError(f"a column must not be dropped and a feature; {odd[0]!r} is both. Change drop.")
    return columns


def _ruled_twice(facts: PublicFacts) -> str:
    """Names the first column with two rules, and the tables that state them."""
    tables = {"ranges": facts.ranges, "dates": facts.dates, "categories": facts.categories}
    names = sorted(name for own in tables.values() for name in own or {})
    (name, *_) = [one for one, following in pairwise(names) if one == following]
    both = [table for table, own in tables.items() if name in (own or {})]
    return (
        f"a column must have one rule; {name!r} is in {' and '.join(both)}. Leave it in one of them: numbers "
        "in ranges, days in dates, texts in categories."
    )


def _by_name(stated: Mapping[str, T] | None) -> list[tuple[str, T]]:
    return sorted((stated or {}).items(), key=lambda pair: pair[0])


def _numbers(facts: PublicFacts) -> list[Numeric | Bins]:
    """Returns the columns of numbers, on a scale or in bins.

    Raises:
        DataError: all that is wrong with the bins, in one line; or if a range makes no sense.
    """
    ranges, bins, kept = _by_name(facts.ranges), facts.bins or {}, facts.missing
    problems = [f"{name!r} has no range" for name in bins if name not in dict(ranges)]
    found: list[Numeric | Bins] = []
    for name, limits in ranges:
        number = Numeric(name, *limits, missing=name in kept)
        if name not in bins:
            found.append(number)
            continue
        try:
            cuts = cuts_of(*limits, bins[name])
            found.append(Bins(name, *limits, cuts, missing=name in kept))
        except ValueError as error:
            problems.append(f"{name!r}: {error}")
    if problems:
        raise DataError(f"bins must be of columns in ranges, and fit them: {'; '.join(problems)}.")
    return found
