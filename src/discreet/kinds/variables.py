"""Columns that questions can be about: what is public of each, and where a record's features hold it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Number:
    """A number, or a day, on a public range that features map onto [-1, 1].

    Attributes:
        name: of the column.
        low: public least value; of a day, its ordinal.
        high: public largest value.
        place: the feature that holds it; 0 where it is missing.
        missing: the feature that is 1 where the number is missing; None where a missing one counts as the
            middle of the range.
        days: whether it is a day.
    """

    name: str
    low: float
    high: float
    place: int
    missing: int | None = None
    days: bool = False

    def scaled(self, value: float) -> float:
        """Returns where a value of the range lies in [-1, 1], to the bit as features do."""
        return 2.0 * ((value - self.low) / (self.high - self.low)) - 1.0


@dataclass(frozen=True, slots=True)
class Choice:
    """One of several public texts, as one indicator for each.

    Attributes:
        name: of the column.
        texts: public, those that have an indicator.
        first: the feature of the first; the others follow.
        baseline: a text that has none, and cannot be told from an unknown one.
    """

    name: str
    texts: tuple[str, ...]
    first: int
    baseline: str | None = None

    @property
    def other(self) -> str:
        """What a record is without an indicator."""
        return "other or missing" if self.baseline is None else f"{self.baseline}, other or missing"


@dataclass(frozen=True, slots=True)
class Contrast:
    """One of two public texts as one feature: -1, 1, or 0 for any other.

    Attributes:
        name: of the column.
        texts: that of -1, and that of 1.
        place: the feature.
    """

    name: str
    texts: tuple[str, str]
    place: int

    @property
    def other(self) -> str:
        """What a record of neither is."""
        return "other or missing"


@dataclass(frozen=True, slots=True)
class Label:
    """The label of a source that has one: every record that is read has one of its texts."""

    name: str
    texts: tuple[str, ...]

    @property
    def other(self) -> str:
        """What no record is."""
        return "none"


@dataclass(frozen=True, slots=True)
class Score:
    """What a linear model says of a record: a probability, or for several classes the most probable one.

    Attributes:
        weights: of the features, a row for each logit: one for two classes, else one a class.
        texts: of the classes.
    """

    weights: tuple[tuple[float, ...], ...]
    texts: tuple[str, ...]

    @property
    def name(self) -> str:
        """What a table calls it."""
        return "predicted" if len(self.weights) > 1 else f"predicted probability of {self.texts[1]}"


Variable = Number | Choice | Contrast | Label | Score
