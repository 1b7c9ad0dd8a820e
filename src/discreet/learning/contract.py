"""What every kind of local training promises: a vector of bounded sensitivity and the event it costs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Protocol

from torch import nn

from discreet.arrays import Floats
from discreet.data.records import Records
from discreet.privacy.events import Sampling
from discreet.privacy.units import Unit
from discreet.randomness import RandomSource


@dataclass(frozen=True, slots=True, repr=False)
class LocalUpdate:
    """One silo's update of one round, before rounding and noise: it never leaves the silo in this form.

    Attributes:
        vector: what the secure sum adds up, shape ``(d,)``, real units, pointing downhill.
        loss: mean training loss that the silo saw; private.
        batch: number of records (or clients) that took part; private.
    """

    vector: Floats
    loss: float
    batch: int

    def __repr__(self) -> str:
        return "LocalUpdate(<private>)"


@dataclass(frozen=True, slots=True, repr=False)
class CountedUpdate:
    """An update of clipped contributions, and how many of them were not shortened; private.

    Attributes:
        update: the sum of clipped contributions.
        within: number of units in it whose own norm was at most the clipping norm.
    """

    update: LocalUpdate
    within: int

    def __repr__(self) -> str:
        return "CountedUpdate(<private>)"


class CountingTraining(ABC):
    """A kind that sums clipped contributions, and can say how many of them were not shortened."""

    __slots__ = ()

    @abstractmethod
    def counted_update(
        self,
        model: nn.Module,
        parameters: Floats,
        records: Records,
        randomness: RandomSource,
    ) -> CountedUpdate:
        """Returns `update` and how many of its units were within the clipping norm."""

    def update(
        self,
        model: nn.Module,
        parameters: Floats,
        records: Records,
        randomness: RandomSource,
    ) -> LocalUpdate:
        """Trains from ``parameters``; see `LocalTraining.update`."""
        return self.counted_update(model, parameters, records, randomness).update


class LocalTraining(Protocol):
    """A kind of local training. Implementations are frozen values; nothing in them depends on data.

    Guarantee:
        Take two silos whose records differ by one unit, and equal coins for everything but that unit. If the
        unit is not sampled, `update` returns the same vector; if it is, the vectors differ by at most
        `l2_sensitivity` in L2, except for draws of probability at most `failure_prob`, in which `update`
        raises and nothing is released. The norm of the vector is at most `update_bound`. Floating-point
        error is inside both bounds (`discreet.learning.float_error` says under which assumption).
    """

    @property
    def unit(self) -> Unit:
        """Whom the sensitivity protects."""
        ...

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What the guarantee assumes beyond theorems and this program, in sentences for people."""
        ...

    def l2_sensitivity(self) -> float:
        """How far adding or removing one *sampled* unit moves the vector, L2, real units."""
        ...

    def update_bound(self, record_capacity: int) -> float:
        """Public worst-case L2 norm of the vector for a silo of at most ``record_capacity`` records."""
        ...

    def failure_prob(self, record_capacity: int) -> float:
        """Probability per round, added to δ, that the bound is not met and the round is aborted."""
        ...

    def release_sampling(self) -> Sampling:
        """How units enter the release."""
        ...

    def update(
        self,
        model: nn.Module,
        parameters: Floats,
        records: Records,
        randomness: RandomSource,
    ) -> LocalUpdate:
        """Trains from ``parameters`` on ``records``.

        ``model`` gives the architecture and is scratch space: its weights afterwards are unspecified.

        Raises:
            ConfigurationError: if the model lacks what this kind needs.
            PrivacyViolation: if a run-time check of the promised bound fails.
        """
        ...
