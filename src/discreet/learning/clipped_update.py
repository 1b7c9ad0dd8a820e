"""Clipped-update: a client trains as it likes and clips the whole update (DP-FedAvg); client unit."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from torch import nn

from discreet.arrays import Floats
from discreet.data.records import Records
from discreet.errors import ConfigurationError
from discreet.learning.clients import trained
from discreet.learning.contract import CountedUpdate, CountingTraining, LocalUpdate
from discreet.learning.float_error import finite_or_zero, project, with_slack
from discreet.learning.local_sgd import LocalSgd
from discreet.learning.objective import Client
from discreet.privacy.events import NoSampling, PoissonSampling, Sampling
from discreet.privacy.units import Unit
from discreet.randomness import RandomSource


@dataclass(frozen=True, slots=True)
class ClippedUpdate(CountingTraining):
    """Local SGD from the public model, then the whole update clipped to ``clip_norm``.

    Guarantee:
        Adding or removing one client moves the sum over clients by at most ``clip_norm``, whatever the
        client trains with. McMahan, Ramage, Talwar, Zhang (2018), Algorithm 1 and Lemma 1; theory §2.2.

    Attributes:
        clip_norm: L2 norm of the largest update, real units.
        learning_rate: step length per mean gradient of a batch.
        batch_size: records a local step.
        epochs: passes over the client's records.
        momentum: local heavy-ball momentum, reset every round.
        weight_decay: coefficient of the parameters added to the gradient.
        project_steps: keep the movement inside the ball after every step and not only at the end
            (Liang et al., DP-Fed, Algorithm 1); the guarantee is the same.
        sampling_prob: probability that the client takes part in a round. The client tosses the coin itself
            and contributes zero when it stays out, so that nobody learns who took part.

    Raises:
        ConfigurationError: if a number is out of range.
    """

    unit: ClassVar[Unit] = Unit.CLIENT

    clip_norm: float
    learning_rate: float
    batch_size: int
    epochs: int = 1
    momentum: float = 0.0
    weight_decay: float = 0.0
    project_steps: bool = False
    sampling_prob: float = 1.0

    def __post_init__(self) -> None:
        if not (self.clip_norm > 0 and math.isfinite(self.clip_norm)):
            raise ConfigurationError(f"'clip_norm' of ClippedUpdate must be positive; got {self.clip_norm}.")
        PoissonSampling(self.sampling_prob)
        self.optimiser()

    def optimiser(self) -> LocalSgd:
        """The local optimiser; its settings do not touch the guarantee."""
        return LocalSgd(self.learning_rate, self.batch_size, self.epochs, self.momentum, self.weight_decay)

    @property
    def assumptions(self) -> tuple[str, ...]:
        """None: the vector is a function of one client, computed by that client, and its norm is checked."""
        return ()

    def l2_sensitivity(self) -> float:
        """``clip_norm``, enlarged for floating-point error."""
        return with_slack(self.clip_norm)

    def update_bound(self, record_capacity: int) -> float:  # noqa: ARG002 - one contract for all kinds
        """``clip_norm``, enlarged for floating-point error."""
        return with_slack(self.clip_norm)

    def failure_prob(self, record_capacity: int) -> float:  # noqa: ARG002 - one contract for all kinds
        """Zero: clipping cannot fail."""
        return 0.0

    def release_sampling(self) -> Sampling:
        """Poisson sampling of clients, or none when all take part."""
        return NoSampling() if self.sampling_prob == 1.0 else PoissonSampling(self.sampling_prob)

    @property
    def most_units(self) -> float:
        """One: a silo is a single client."""
        return 1.0

    def with_clip_norm(self, clip_norm: float) -> ClippedUpdate:
        """Returns the same kind at another clip norm."""
        return replace(self, clip_norm=clip_norm)

    def counted_update(
        self,
        model: nn.Module,
        parameters: Floats,
        records: Records,
        randomness: RandomSource,
    ) -> CountedUpdate:
        """Trains and clips; counts one if the client took part and moved at most ``clip_norm``, else zero.

        A client that stays out, has no records, or whose update is not finite, contributes zero.
        """
        client = Client(records, randomness)
        if not self.takes_part(client):
            return self.absent(parameters)
        (counted,) = self.counted_updates(model, parameters, [client])
        return counted

    def absent(self, parameters: Floats) -> CountedUpdate:
        """Returns the contribution of a client that stays out: zero."""
        return CountedUpdate(LocalUpdate(np.zeros_like(parameters), loss=0.0, batch=0), within=0)

    def takes_part(self, client: Client) -> bool:
        """Tosses the client's coin; one without records stays out."""
        enters = bool(client.randomness.bernoulli(1, self.sampling_prob)[0])
        return enters and len(client.records) > 0

    def counted_updates(
        self, model: nn.Module, parameters: Floats, clients: Sequence[Client]
    ) -> Iterator[CountedUpdate]:
        """Yields what `counted_update` returns for each of several clients that take part, to the bit."""
        radius = self.clip_norm if self.project_steps else math.inf
        for moved, loss in trained(self.optimiser(), model, parameters, clients, radius=radius):
            within = int(float(np.linalg.norm(moved)) <= self.clip_norm)  # not for NaN
            clipped = project(finite_or_zero(moved), self.clip_norm)
            yield CountedUpdate(LocalUpdate(clipped, loss if math.isfinite(loss) else 0.0, batch=1), within)
