"""What a kind of local training says of itself without touching a record: the table of a config is the value.

A new kind is a table here and its arithmetic in `discreet.learning`, with a line in the union and in
`discreet.learning.planned`.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import ClassVar

from discreet.kinds.fields import Section
from discreet.kinds.sampling import SamplingConfig
from discreet.privacy.units import Unit


class LocalSection(Section):
    """The table of a kind: what a user may say, and what follows from that alone.

    Attributes:
        unit: whom the kind protects.
        sources: keys of the bibliography.
        steps_share_state: whether later local steps depend on what earlier ones left in the silo.
    """

    unit: ClassVar[Unit] = Unit.RECORD
    sources: ClassVar[tuple[str, ...]]
    steps_share_state: ClassVar[bool] = False

    @abstractmethod
    def describe(self) -> str:
        """Says in one line what a silo computes in a round."""

    @abstractmethod
    def normaliser(
        self, sampling: SamplingConfig, capacities: Mapping[str, int], survivors: tuple[str, ...]
    ) -> float:
        """Returns the public number that the sum over ``survivors`` is divided by.

        It is never a count of private records.

        Args:
            sampling: who enters a round.
            capacities: public bound on the records of every planned silo.
            survivors: the silos that are in the sum.
        """
