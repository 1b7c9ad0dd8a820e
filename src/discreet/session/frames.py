"""Records in memory: one table for each silo, with what is publicly known of the columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, final

from discreet.config import parse_data
from discreet.config.data import DataConfig
from discreet.data import IN_MEMORY
from discreet.errors import ConfigurationError


@final
@dataclass(frozen=True, slots=True, repr=False)
class Frames:
    """Tables of several silos in one process: a simulation of a federation, or a notebook's first try.

    Ranges, categories and classes are public knowledge and never worked out from the tables: whatever is
    read from records is covered by no guarantee.

    Attributes:
        tables: the table of each silo by its public name: a pandas or polars frame, or a mapping of columns.
        label: the column to predict; it holds one of ``classes``, or 0, 1 and so on.
        ranges: numeric feature columns with their plausible range.
        categories: categorical feature columns with their possible texts.
        id: the column that says whose record it is; records of equal id are held out together.
        classes: the texts of the label, in the order of the classes; left out, labels are numbers.
        num_classes: labels are below this; left out, 2 or the number of ``classes``.
        test_fraction: probability that a record is held out for measurements.
        split_seed: public seed of the split.
        feature_norm_bound: L2 norm that every record is scaled to.

    Example:
        >>> north, south = {"age": [51, 62], "ill": [0, 1]}, {"age": [47], "ill": [1]}
        >>> both = Frames({"north": north, "south": south}, label="ill", ranges={"age": (20, 90)})
        >>> both.public(capacity=100).record_capacity
        {'north': 100, 'south': 100}
    """

    tables: Mapping[str, Any]
    label: str
    ranges: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    categories: Mapping[str, Sequence[str]] = field(default_factory=dict)
    id: str | None = None
    classes: Sequence[str] | None = None
    num_classes: int | None = None
    test_fraction: float = 0.25
    split_seed: int = 0
    feature_norm_bound: float = 1.0

    def __post_init__(self) -> None:
        if not isinstance(self.tables, Mapping):
            raise ConfigurationError(
                "tables must be given by silo, as in {'north': table, 'south': table}; got "
                f"{type(self.tables).__name__}."
            )

    def public(self, *, capacity: int | Mapping[str, int]) -> DataConfig:
        """Returns what is publicly known, from which a plan is made; no table is read.

        Args:
            capacity: public upper bound on the training records of each silo. Do not count them.

        Raises:
            ConfigurationError: if a capacity is missing or not positive.
        """
        named = dict(capacity) if isinstance(capacity, Mapping) else dict.fromkeys(self.tables, capacity)
        if set(named) != set(self.tables):
            odd = sorted(set(named) ^ set(self.tables))
            raise ConfigurationError(
                f"capacity must name every silo once ({', '.join(self.tables)}); it differs in: "
                f"{', '.join(odd)}."
            )
        return parse_data(
            {
                "source": IN_MEMORY,
                "record_capacity": named,
                "test_fraction": self.test_fraction,
                "split_seed": self.split_seed,
                "id": self.id,
                "label": self.label,
                "ranges": dict(self.ranges) or None,
                "categories": dict(self.categories) or None,
                "classes": self.classes,
                "num_classes": self.num_classes,
                "feature_norm_bound": self.feature_norm_bound,
            }
        )

    def __repr__(self) -> str:
        return f"Frames({', '.join(self.tables)}; label {self.label!r})"
