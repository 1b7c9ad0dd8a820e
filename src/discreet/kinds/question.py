"""What every question of ``[[ask]]`` has, and the columns that it may name; no torch."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, TypeVar

from pydantic import AfterValidator, Discriminator, Field, Tag

from discreet.data.bins import MOST_BINS, cuts_of
from discreet.errors import ConfigurationError
from discreet.kinds.blocks import MOST_CELLS, Axis, Block, Cells, Products
from discreet.kinds.fields import Positive, Section, one_line
from discreet.kinds.variables import Number, Variable

Column = Annotated[str, Field(min_length=1, max_length=200)]
BinCount = Annotated[int, Field(strict=True, ge=2, le=MOST_BINS)]
Edges = Annotated[tuple[float, ...], Field(min_length=1, max_length=MOST_BINS)]


def _is_list(stated: object) -> str:
    return "edges" if isinstance(stated, list | tuple) else "count"


StatedBins = Annotated[
    Annotated[BinCount, Tag("count")] | Annotated[Edges, Tag("edges")], Discriminator(_is_list)
]
Variables = Mapping[str, Variable]
B = TypeVar("B", Cells, Products)


class QuestionSection(Section):
    """What every question has.

    Attributes:
        title: what the page calls it; left out, the question says it itself.
        weight: how much its error matters beside that of the other questions.
    """

    title: Annotated[str, Field(min_length=1, max_length=200), AfterValidator(one_line)] | None = None
    weight: Positive = 1.0

    @property
    def heading(self) -> str:
        """Its title, or what it asks."""
        return self.title or self.describe()

    @abstractmethod
    def describe(self) -> str:
        """Says in one line what is asked."""

    @abstractmethod
    def block(self, variables: Variables) -> Block:
        """Returns the part of the sum that answers it.

        Raises:
            ConfigurationError: if a column is missing, or is none that the question can be about.
        """


def axis_of(variables: Variables, name: str, bins: int | tuple[float, ...], key: str) -> Axis:
    """Returns the axis of a column; ``bins`` are a number's alone.

    Raises:
        ConfigurationError: if there is no such column, or its bins make no sense.
    """
    variable = known(variables, name, key)
    if not isinstance(variable, Number):
        return Axis(variable)
    try:
        cuts = cuts_of(variable.low, variable.high, bins)
    except ValueError as error:
        raise ConfigurationError(f"'bins' of {name!r}: {error}.") from None
    if not cuts:
        raise ConfigurationError(f"'bins' of {name!r} must have an edge inside its range; got none.")
    return Axis(variable, cuts)


def within(block: B, what: str) -> B:
    """Returns ``block`` if it is of a size that can be summed."""
    if not block.size <= MOST_CELLS:
        raise ConfigurationError(
            f"{what} must have at most {MOST_CELLS:,} numbers; got {block.size:,}. Ask of fewer columns or "
            "bins."
        )
    return block


def known(variables: Variables, name: str, key: str) -> Variable:
    """Returns the column called ``name``, which the key ``key`` names.

    Raises:
        ConfigurationError: if there is none.
    """
    if name not in variables:
        listed = ", ".join(list(variables)[:20])
        raise ConfigurationError(
            f"{key!r} must name a column of 'data.ranges', 'data.dates' or 'data.categories' ({listed}); got "
            f"{name!r}."
        )
    return variables[name]


def number(variables: Variables, name: str, key: str) -> Number:
    """Returns the column of numbers called ``name``.

    Raises:
        ConfigurationError: if there is none.
    """
    found = known(variables, name, key)
    if not isinstance(found, Number):
        raise ConfigurationError(
            f"{key!r} must name a column of numbers, with a range; {name!r} is one of texts. Use kind "
            '= "table" for it.'
        )
    return found


def time_axis(variables: Variables, name: str, bins: int | tuple[float, ...]) -> Axis:
    """Returns bins of time, and one for whoever is followed to the end of the range.

    Who has the event on the day of an edge has it by then, and whoever is still followed at the end of the
    range is at risk for all of its last bin.

    Raises:
        ConfigurationError: if there is no such number, or its bins make no sense.
    """
    end = number(variables, name, "time").high
    time = axis_of(variables, name, bins, "time")
    return replace(time, cuts=(*time.cuts, end), upper=True)


def event_axis(variables: Variables, name: str, key: str) -> Axis:
    """Returns the axis of whether something happened, whose place `happened_at` tells.

    Raises:
        ConfigurationError: if the column has not exactly two values.
    """
    event = known(variables, name, key)
    if isinstance(event, Number):
        if (event.low, event.high) != (0.0, 1.0) or event.days:
            raise ConfigurationError(
                f"{key!r} must be 0 or 1, with the range [0, 1]; the range of {name!r} is "
                f"[{event.low:g}, {event.high:g}]."
            )
        return Axis(event, (0.5,))
    if len(event.texts) != 2:
        raise ConfigurationError(f"{key!r} must be a column of two texts; {name!r} has {len(event.texts)}.")
    return Axis(event)


def happened_at(axis: Axis, happened: str | None) -> int:
    """Returns which cell of the event's axis says that it happened; of two, the second one if not stated.

    Raises:
        ConfigurationError: if ``happened`` is none of its texts.
    """
    if happened is None:
        return 1
    texts = ("0", "1") if isinstance(axis.variable, Number) else axis.texts[:2]
    if happened not in texts:
        raise ConfigurationError(f"'happened' must be one of {', '.join(texts)}; got {happened!r}.")
    return texts.index(happened)
