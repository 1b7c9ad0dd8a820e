"""The table ``training.sampling``: who enters a round."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from discreet.errors import ConfigurationError, HowTo
from discreet.kinds.fields import Probability, Section
from discreet.sampling import FixedSize, Poisson


@dataclass(frozen=True, slots=True)
class ExpectedBatch:
    """How many records a batch will hold: public numbers, which only choose the length of chunks.

    Attributes:
        mean: infinite if nobody knows; chunks are then as long as they may be.
        stddev: how far the number strays from it.
    """

    mean: float = math.inf
    stddev: float = 0.0


UNKNOWN_BATCH = ExpectedBatch()


class _Coins(Section):
    """Every unit tosses a coin of its own."""

    exchanges: ClassVar[bool] = False
    """Whether a unit of a neighbour takes another one's place; elsewhere it is there or not."""

    @property
    @abstractmethod
    def share(self) -> float:
        """Probability with which a unit (a record, a shard, a client) enters a round."""

    def sampler(self, capacity: int) -> Poisson:  # noqa: ARG002 - one contract for all tables
        """Returns how a silo of ``capacity`` records draws the batch of one clipped sum."""
        return Poisson(self.share)

    def expected(self, capacity: int) -> float:
        """Returns how many of a full silo's records enter, on average; a public number."""
        return self.share * capacity

    def spread(self, capacity: int) -> float:
        """Returns the standard deviation of that number."""
        return math.sqrt(self.expected(capacity) * (1.0 - self.share))

    def batch_bound(self, capacity: int) -> float:
        """Returns a public size that a round's batch almost never exceeds, for the ring's sake.

        Updates are projected onto the ball that so many records can reach. A projection keeps every
        sensitivity, so this concerns the width of the ring and not the guarantee; ten standard deviations
        are above the mean.
        """
        mean = self.expected(capacity)
        return min(float(capacity), mean + 10.0 * math.sqrt(mean) + 10.0)


class NoSamplingConfig(_Coins):
    """Every unit (record, or client) takes part in every round."""

    kind: Literal["none"] = "none"

    @property
    def share(self) -> float:
        """One."""
        return 1.0

    def describe(self, unit: str) -> str:  # noqa: ARG002 - one contract for all tables
        """Says in one line who enters a round."""
        return "none: everyone takes part in every round"


class PoissonConfig(_Coins):
    """Every unit takes part in a round with this probability, independently; the coins stay in the silo.

    Attributes:
        probability: of a unit, in each round.
    """

    kind: Literal["poisson"]
    probability: Probability

    @property
    def share(self) -> float:
        """``probability``."""
        return self.probability

    def describe(self, unit: str) -> str:
        """Says in one line who enters a round."""
        return f"Poisson: {unit} enters a round with probability {self.probability:g}"


class FixedSizeConfig(Section):
    """The same number of a silo's places takes part in every round, drawn inside the silo; for single-step.

    A silo has ``data.record_capacity`` places; what is drawn are places, and an empty one contributes
    nothing. The guarantee is about exchanging what a place holds for another record, or for none
    (replace-one), which costs about twice the ε of Poisson sampling at the same noise.

    Attributes:
        fraction: share of each silo's places that a round takes, rounded down to whole places.
    """

    exchanges: ClassVar[bool] = True

    kind: Literal["fixed-size"]
    fraction: Probability

    def sampler(self, capacity: int) -> FixedSize:
        """Returns the draw of places.

        Raises:
            ConfigurationError: if the share of the records is less than one.
        """
        # The decimal number that the user wrote, exactly: 0.29 of 100 records are 29.
        size = math.floor(Fraction(str(self.fraction)) * capacity)
        if not size >= 1:
            raise ConfigurationError(
                f"'training.sampling.fraction' must be at least one record in each silo; got {self.fraction} "
                f"of {capacity}. Raise it, or use poisson sampling, where a round may take none.",
                see=HowTo.SAMPLING,
            )
        return FixedSize(size, capacity)

    def expected(self, capacity: int) -> float:
        """Returns the number of places, of which none is more or less."""
        return float(self.sampler(capacity).sample_size)

    def spread(self, capacity: int) -> float:  # noqa: ARG002 - one contract for all tables
        """Zero."""
        return 0.0

    def batch_bound(self, capacity: int) -> float:
        """The number of places."""
        return self.expected(capacity)

    def describe(self, unit: str) -> str:  # noqa: ARG002 - one contract for all tables
        """Says in one line who enters a round."""
        share = f"{self.fraction:g} of each silo's places for records"
        return f"fixed size: exactly {share}, drawn without replacement; an empty place counts for nothing"


SamplingConfig = Annotated[NoSamplingConfig | PoissonConfig | FixedSizeConfig, Field(discriminator="kind")]


def independent_share(sampling: SamplingConfig, kind: str) -> float:
    """Returns the probability with which a unit enters a round of ``kind``, by a coin of its own.

    Raises:
        ConfigurationError: for fixed-size sampling, whose places are drawn together.
    """
    if isinstance(sampling, FixedSizeConfig):
        raise ConfigurationError(
            f"'training.sampling' must be none or poisson for {kind}; got fixed-size, which is for "
            "single-step: a server that drew clients would know who takes part, and local steps and shards "
            "need independent coins.",
            see=HowTo.SAMPLING,
        )
    return sampling.share
