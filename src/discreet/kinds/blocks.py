r"""What one record adds to a question's part of the sum: a vector of L2 norm at most 1, by a public rule.

`Cells`: a 1 in one cell and 0 in all others. `Products`: with x = (1, t_1, …, t_k), where every number is in
[-1, 1] and at most one indicator of a column is 1, the squares x_i² and √2·x_i·x_j for i < j, over R² = 1 +
(number of columns). Their squares sum to ‖x‖⁴ = (x_1² + …)², and ‖x‖² ≤ R². A record that lacks one of
the numbers adds zeros. `SecondMoments`: the same of all features x of a record of norm at most R.
`FirstMoments`: (x/R, 1)/√2.

So the blocks a_1·v_1, …, a_m·v_m of m questions side by side have norm at most 1 if Σ a_i² ≤ 1 (theory §10);
and so has a weighted sum of a person's records whose weights sum to at most 1, for the ball is convex.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import date
from itertools import pairwise

from discreet.kinds.variables import Choice, Contrast, Number, Score, Variable

MOST_CELLS = 1 << 16
"""A question has at most so many numbers, and all questions together at most four times as many."""

MOST_PROJECTED = 1024
"""Second moments are of at most so many features: 524,800 numbers in one sum."""


@dataclass(frozen=True, slots=True)
class Axis:
    """One direction of a table of cells; its last cell is for whatever is in no other, but for a score.

    Attributes:
        variable: what tells records apart.
        cuts: of a number, or of a probability: edges between bins, increasing and strictly inside its range;
            the end of the range as the last one gives whatever reaches it a bin of its own.
        upper: whether a bin holds its upper edge and not its lower one, but for the end of the range.
    """

    variable: Variable
    cuts: tuple[float, ...] = ()
    upper: bool = False

    @property
    def name(self) -> str:
        """The column's."""
        return self.variable.name

    @property
    def texts(self) -> tuple[str, ...]:
        """What each cell holds."""
        match self.variable:
            case Score(weights=(_,)):
                return tuple(f"{low:g} to {high:g}" for low, high in pairwise(self.edges))
            case Score(texts=texts):
                return texts
            case Number() as number:
                bins = tuple(_between(number, low, high) for low, high in pairwise(self.edges))
                return (*bins, "missing")
            case other:
                return (*other.texts, other.other)

    @property
    def edges(self) -> tuple[float, ...]:
        """Of a number, or of a probability: all edges of its bins, own units."""
        match self.variable:
            case Number(low=low, high=high):
                open_ended = self.cuts[-1:] == (high,)
                return (low, *self.cuts, math.inf if open_ended else high)
            case Score(weights=(_,)):
                return (0.0, *self.cuts, 1.0)
            case _:
                return ()

    @property
    def size(self) -> int:
        """Number of cells."""
        match self.variable:
            case Score(weights=(_,)):
                return len(self.cuts) + 1
            case Score(texts=texts):
                return len(texts)
            case Number():
                return len(self.cuts) + 2
            case other:
                return len(other.texts) + 1


@dataclass(frozen=True, slots=True)
class Cells:
    """One cell for each combination of the axes; without axes, one for all records."""

    axes: tuple[Axis, ...] = ()

    @property
    def shape(self) -> tuple[int, ...]:
        """Sizes of the axes."""
        return tuple(axis.size for axis in self.axes)

    @property
    def size(self) -> int:
        """How many numbers the block has."""
        return math.prod(self.shape)


@dataclass(frozen=True, slots=True)
class Indicator:
    """Whether a record's text is the one of number ``text`` among a choice's."""

    variable: Choice
    text: int

    @property
    def name(self) -> str:
        """What a table of results calls it."""
        return f"{self.variable.name} = {self.variable.texts[self.text]}"


Term = Number | Contrast | Indicator


@dataclass(frozen=True, slots=True)
class Products:
    """Products of all pairs of numbers of a record, and of a constant 1.

    Attributes:
        terms: the numbers t_1, …, t_k.
    """

    terms: tuple[Term, ...]

    @property
    def squared_norm(self) -> float:
        """R²: no record's (1, t_1, …, t_k) has a larger squared norm."""
        columns = {term.variable.name if isinstance(term, Indicator) else term.name for term in self.terms}
        return 1.0 + len(columns)

    @property
    def size(self) -> int:
        """How many numbers the block has."""
        count = len(self.terms) + 1
        return count * (count + 1) // 2


@dataclass(frozen=True, slots=True)
class FirstMoments:
    """All features of a record of norm at most ``norm_bound``, and a constant 1."""

    features: int
    norm_bound: float

    @property
    def size(self) -> int:
        """How many numbers the block has."""
        return self.features + 1


@dataclass(frozen=True, slots=True)
class SecondMoments:
    """Products of all pairs of features of a record of norm at most ``norm_bound``."""

    features: int
    norm_bound: float

    @property
    def size(self) -> int:
        """How many numbers the block has."""
        return self.features * (self.features + 1) // 2


Block = Cells | Products | FirstMoments | SecondMoments


@dataclass(frozen=True, slots=True)
class AskedBlock:
    """A block and the share of the sensitivity that it gets: its vector is multiplied by ``factor``."""

    block: Block
    factor: float


def factors(weights: tuple[float, ...]) -> tuple[float, ...]:
    """Returns a_1, …, a_m with Σ a_i² = 1 that minimise Σ ω_i/a_i², the weighted variance of the noise.

    Lagrange: a_i² is proportional to √ω_i (theory §10, with all norms 1). They are rounded down, so that
    their squares sum to no more than 1.

    Example:
        >>> [round(a**2, 3) for a in factors((1.0, 1.0, 4.0))]
        [0.25, 0.25, 0.5]
    """
    roots = [math.sqrt(weight) for weight in weights]
    return tuple(math.sqrt(root / math.fsum(roots)) * (1.0 - 2.0**-40) for root in roots)


def _between(number: Number, low: float, high: float) -> str:
    if high == math.inf:
        return f"from {_end(number, low)} on"
    return f"{_end(number, low)} to {_end(number, high)}"


def _end(number: Number, edge: float) -> str:
    return f"{date.fromordinal(math.ceil(edge))}" if number.days else f"{edge:.6g}"
