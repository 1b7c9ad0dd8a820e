"""The strongest adversary of a rehearsal: it knows every record and every coin but the honest noise."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from torch import nn

from discreet.arrays import Floats, Integers
from discreet.audit.training import inseparable_noise
from discreet.data import Federation
from discreet.encoding import (
    Grid,
    Rotation,
    from_ring,
    noise_integers,
    rounded_signal,
    signal_integers,
    signal_reals,
    to_ring,
)
from discreet.learning import NoisyUpdate
from discreet.plan import Plan
from discreet.privacy.events import IntegerNoise
from discreet.randomness import SeededRandom
from discreet.rounds import RoundOrder, RoundSum, round_rotation, silo_source, train_silo


@dataclass(frozen=True, slots=True)
class Share:
    """One silo's part of a round's sum, grid units, shape ``(d,)`` each.

    Attributes:
        whole: its update without noise, to the nearest integer.
        rest: what the update is longer than that; zero unless noise comes before rounding.
        message: what it handed to secure aggregation.
    """

    whole: Integers
    rest: Floats
    message: Integers

    def longer(self, vector: Floats) -> Share:
        """Returns this share, the update longer by ``vector``; the message is not known any more."""
        signal = self.rest + vector
        nearest = np.rint(signal)
        return Share(self.whole + nearest.astype(np.int64), signal - nearest, np.zeros_like(self.whole))


@dataclass(frozen=True, slots=True)
class LeftOver:
    """A sum minus everything that is known about it, grid units, shape ``(d,)``, or one sum a row.

    Attributes:
        noise: what is left. Its law is that of the honest noise, rounding included, on the integers minus
            ``fractions`` (docs/theory/integers.md, what is left of a sum).
        fractions: by how much the honest silos' updates are longer than their nearest integers, added up;
            zero unless noise comes before rounding.
    """

    noise: Floats
    fractions: Floats


@dataclass(frozen=True, slots=True)
class Insider:
    """Recomputes what the silos of a seeded rehearsal added up, share by share.

    It takes the steps that `contribute` takes, from the same sources, but keeps signal and noise apart.

    Attributes:
        plan: the agreement.
        federation: the records that the adversary knows; canaries are not among them.
        model: the architecture; scratch space.
        randomness: the source that the engine was given.
    """

    plan: Plan
    federation: Federation
    model: nn.Module
    randomness: SeededRandom

    def shares(self, order: RoundOrder, silos: Iterable[str]) -> dict[str, Share]:
        """Returns the share of each of ``silos``.

        Raises:
            UnsupportedAnalysisError: for noisy-steps, whose noise is inside the steps.
        """
        return {name: self._share(order, name) for name in silos}

    def lengthened(self, order: RoundOrder, outcome: RoundSum, silo: str, vector: Floats) -> RoundSum:
        """Returns the outcome as if the update of ``silo``, a survivor, had been longer by ``vector``.

        Args:
            order: what the server asked for.
            outcome: what came of it.
            silo: whose update.
            vector: grid units, shape ``(d,)``; integers unless noise comes before rounding.
        """
        grid, law = self._stage(order)
        if grid.noise_first:
            # The same noise on a longer update: a real shift does not pass through the rounding.
            source = silo_source(self.randomness, order.sequence, silo)
            real = signal_reals(self._update(order, silo), grid, self._rotation(order))
            longer, before = (rounded_signal(values, law, source) for values in (real + vector, real))
            moved = longer - before
        else:
            moved = vector.astype(np.int64)
        bits = self.plan.grid.bits
        total = outcome.total + to_ring(moved, bits)
        return dataclasses.replace(outcome, total=to_ring(total.view(np.int64), bits))

    def left_over(self, order: RoundOrder, outcome: RoundSum, *, colluders: Collection[str] = ()) -> LeftOver:
        """Returns the sum minus everything known; ``colluders`` tell what they sent."""
        shares = self.shares(order, outcome.survivors)
        return left_over(outcome, shares, bits=self.plan.grid.bits, colluders=colluders)

    def _share(self, order: RoundOrder, silo: str) -> Share:
        grid, law = self._stage(order)
        update, rotation = self._update(order, silo), self._rotation(order)
        source = silo_source(self.randomness, order.sequence, silo)
        if grid.noise_first:
            real = signal_reals(update, grid, rotation)
            nearest = np.rint(real)
            rest = real - nearest
            return Share(nearest.astype(np.int64), rest, rounded_signal(real, law, source))
        whole = signal_integers(update, grid, source, rotation)
        message = whole + noise_integers(law, len(whole), source)
        return Share(whole, np.zeros(len(whole)), message)

    def _update(self, order: RoundOrder, silo: str) -> Floats:
        """Trains ``silo`` again; real units."""
        update = train_silo(
            self.plan,
            silo,
            order.release,
            model=self.model,
            parameters=order.parameters,
            records=self.federation.silo(silo).train,
            randomness=silo_source(self.randomness, order.sequence, silo),
        )
        if isinstance(update, NoisyUpdate):
            raise inseparable_noise()
        return update.vector

    def _stage(self, order: RoundOrder) -> tuple[Grid, IntegerNoise]:
        """Returns the grid and the noise of a round."""
        stage = self.plan.stage_of(order.release)
        return stage.grid, stage.release.share

    def _rotation(self, order: RoundOrder) -> Rotation | None:
        return round_rotation(self.plan, order.sequence)


def left_over(
    outcome: RoundSum, shares: Mapping[str, Share], *, bits: int, colluders: Collection[str] = ()
) -> LeftOver:
    """Takes the updates of the honest and the messages of ``colluders`` off a sum.

    Args:
        outcome: of the round.
        shares: of every survivor.
        bits: width of the ring.
        colluders: survivors who tell what they sent; adding no noise would help the server no more.
    """
    honest = [shares[name] for name in outcome.survivors if name not in colluders]
    known = sum_of([share.whole for share in honest] + [shares[name].message for name in colluders])
    fractions = np.zeros(len(known))
    for share in honest:
        fractions += share.rest
    noise = from_ring(outcome.total - to_ring(known, bits), bits) - fractions
    return LeftOver(noise, fractions)


def stacked(parts: Sequence[LeftOver]) -> LeftOver:
    """Returns the remainders of many sums, one a row; ``parts`` may have rows already."""
    return LeftOver(np.vstack([part.noise for part in parts]), np.vstack([part.fractions for part in parts]))


def sum_of(vectors: Iterable[Integers]) -> Integers:
    """Adds integer vectors of one shape."""
    return np.asarray(np.sum(list(vectors), axis=0, dtype=np.int64))
