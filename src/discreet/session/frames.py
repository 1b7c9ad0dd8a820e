"""Records in memory: one table for each silo, with what is publicly known of the columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, final

from discreet.config.arguments import known_fields
from discreet.config.columns import label_or_labels
from discreet.config.data import DataConfig, features_named
from discreet.config.federation import table_shape, with_named_columns
from discreet.data.frames import column_names, require_columns
from discreet.errors import ConfigurationError
from discreet.session.in_memory import InMemory, require_by_silo

_BY_COLUMN = {
    "ranges": "{'age': (20, 90)}",
    "categories": "{'sex': ['f', 'm']}",
    "dates": "{'born': ('1920-01-01', '2005-12-31')}",
}


@final
@known_fields
@dataclass(frozen=True, slots=True, repr=False)
class Frames(InMemory):
    """Tables of several silos in one process: a simulation of a federation, or a notebook's first try.

    Ranges, categories and classes are public knowledge and never worked out from the tables: whatever is
    read from records is covered by no guarantee.

    Attributes:
        tables: the table of each silo by its public name: a pandas or polars frame, or a mapping of columns.
        label: the column to predict, or a list of several with two values each; it holds one of ``classes``,
            or 0, 1 and so on, or a number. Left out, the records can be asked questions, and no model can be
            trained on them.
        ranges: numeric feature columns with their plausible range.
        categories: categorical feature columns with their possible texts.
        dates: feature columns of dates: their first and last plausible day, as two, or as
            ``{"from": ..., "to": ..., "order": "dmy"}``.
        missing: ``"indicator"`` gives a missing cell a feature of its own; for all columns, or by column.
        drop: columns that no pattern of names fits. In names above, ``*`` stands for any text.
        id: the column that says whose record it is; records of equal id are held out together.
        person: for guarantees about persons: ``{"column": ..., "most_records": ...}``, as in the config's
            table ``data.person``, without its capacity.
        classes: the texts of the label, in the order of the classes; left out, labels are numbers.
        num_classes: labels are below this; left out, 2 or the number of ``classes``.
        test_fraction: probability that a record is held out for measurements; left out, a quarter where there
            is a label, and none where there is not.
        split_seed: public seed of the split.
        feature_norm_bound: L2 norm that every record is scaled to; left out, 1.
        bins: cuts numbers into bins: how many of equal width, for all columns of ``ranges`` or by column; or,
            by column, increasing edges inside its range.
        label_range: where the label is a number: its public range, for a regression without classes.

    Raises:
        ConfigurationError: if what is stated does not fit together; no cell is read.
        DataError: if a table lacks a column that is named, or columns differ in length.

    Example:
        >>> north, south = {"age": [51, 62], "ill": [0, 1]}, {"age": [47], "ill": [1]}
        >>> both = Frames({"north": north, "south": south}, label="ill", ranges={"age": (20, 90)})
        >>> both.public(capacity=100).record_capacity
        {'north': 100, 'south': 100}
    """

    tables: Mapping[str, Any]
    label: str | Sequence[str] | None = None
    ranges: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    categories: Mapping[str, Sequence[str]] = field(default_factory=dict)
    dates: Mapping[str, Mapping[str, Any] | tuple[Any, Any]] = field(default_factory=dict)
    missing: str | Mapping[str, str] | None = None
    drop: Sequence[str] = ()
    id: str | None = None
    person: Mapping[str, Any] | None = None
    classes: Sequence[str] | None = None
    num_classes: int | None = None
    test_fraction: float | None = None
    split_seed: int = 0
    feature_norm_bound: float | None = None
    bins: int | Mapping[str, int | Sequence[float]] | None = None
    label_range: tuple[float, float] | None = None

    def __post_init__(self) -> None:
        require_by_silo("tables", self.tables, "{'north': table, 'south': table}")
        for name, example in _BY_COLUMN.items():
            if not isinstance(given := getattr(self, name), Mapping):
                raise ConfigurationError(f"{name} must be by column, as in {example}; got {given!r}.")
        if isinstance(self.drop, str):
            raise ConfigurationError(f"drop must be a list of columns; got {self.drop!r}.")
        if self.label is not None:
            try:
                label_or_labels(self.label)
            except ValueError as error:
                raise ConfigurationError(f"label {error}.") from None
        data = self.public(capacity=1)
        table_shape(data)
        whose = data.id if data.person is None else data.person.column
        named = (*data.labels, *({} if whose is None else {whose}), *features_named(data))
        for silo, table in self.tables.items():
            require_columns(table, named, silo)

    @property
    def by_silo(self) -> Mapping[str, Any]:
        """The tables."""
        return self.tables

    def public(self, *, capacity: int | Mapping[str, int]) -> DataConfig:
        """Returns what is publicly known, with patterns of names looked up among the tables' columns."""
        known = (name for silo, table in self.tables.items() for name in column_names(table, silo))
        return with_named_columns(InMemory.public(self, capacity=capacity), known)

    def stated(self) -> Mapping[str, Any]:
        """Returns what is publicly known, as keys of the config's table ``data``."""
        return {
            "test_fraction": self._test_fraction,
            "asked": True if self.label is None else None,
            "split_seed": self.split_seed,
            "id": self.id,
            "person": self.person,
            "label": self.label if self.label is None or isinstance(self.label, str) else tuple(self.label),
            "label_range": self.label_range,
            "ranges": dict(self.ranges) or None,
            "categories": dict(self.categories) or None,
            "dates": {name: _days(stated) for name, stated in self.dates.items()} or None,
            "bins": dict(self.bins) if isinstance(self.bins, Mapping) else self.bins,
            "missing": dict(self.missing) if isinstance(self.missing, Mapping) else self.missing,
            "drop": tuple(self.drop) or None,
            "classes": self.classes,
            "num_classes": self.num_classes,
            "feature_norm_bound": self._norm_bound,
        }

    @property
    def _test_fraction(self) -> float:
        if self.test_fraction is not None:
            return self.test_fraction
        return 0.0 if self.label is None else 0.25

    @property
    def _norm_bound(self) -> float | None:
        if self.feature_norm_bound is None and self.label is not None:
            return 1.0
        return self.feature_norm_bound

    def __repr__(self) -> str:
        what = "no label" if self.label is None else f"label {self.label!r}"
        return f"Frames({', '.join(self.tables)}; {what})"


def _days(stated: Mapping[str, Any] | tuple[Any, Any]) -> dict[str, Any]:
    """Returns a range of days as a config states it; what is none is left to the config to refuse."""
    if isinstance(stated, Mapping):
        return dict(stated)
    return dict(zip(("from", "to"), stated, strict=False))
