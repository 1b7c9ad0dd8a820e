"""The local engine: all silos in one process, with real keys and real messages between them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import torch
from torch import nn

from discreet.config.run import Dropout
from discreet.data import Federation
from discreet.engines.local.crew import Crew
from discreet.engines.local.unmasked import UnmaskedRun
from discreet.errors import ConfigurationError
from discreet.models.threads import one_thread
from discreet.plan import Plan, sum_terms
from discreet.randomness import RandomSource
from discreet.rounds import (
    Contribution,
    RoundOrder,
    RoundSum,
    Stopwatch,
    SumSeconds,
    contributions,
    part_source,
)
from discreet.rounds.preparing import RecordsInUse
from discreet.secagg import (
    Bell,
    Bonawitz,
    RoundTerms,
    Speed,
    Stage,
    SumRun,
)


class LocalEngine:
    """Runs every silo of a federation in this process; an `Engine`.

    Secrecy between silos is not real here, since one process holds all keys; the messages are.
    """

    def __init__(
        self,
        plan: Plan,
        federation: Federation,
        model: nn.Module,
        randomness: RandomSource,
        *,
        session_label: int,
        dropouts: Sequence[Dropout] = (),
        crew: Crew | None = None,
        held_out: Federation | None = None,
    ) -> None:
        """Opens secure aggregation; ``session_label`` must differ for every opening under one seed.

        ``crew`` trains in this engine's place when that is faster; its contributions are the same.
        Evaluations ask the records of ``held_out``; they and a preparation have sessions of their own.
        """
        self._plan = plan
        self._records = RecordsInUse(plan, {silo.name: silo.train for silo in federation.silos})
        self._model = model
        self._randomness = randomness
        self._dropouts = tuple(dropouts)
        self._crew = crew
        session = randomness.derive("session", session_label)
        self._run = _opened(plan, session)
        self._held_out: RecordsInUse | None = None
        self._judging: SumRun | None = None
        self._preparing: SumRun | None = None
        if plan.evaluation is not None and held_out is not None:
            self._held_out = RecordsInUse(plan, {silo.name: silo.train for silo in held_out.silos})
            self._judging = _opened(plan.evaluation, session.derive("evaluation"))
        if plan.preparation is not None:
            self._preparing = _opened(plan.preparation, session.derive("preparation"))

    def sum_round(self, order: RoundOrder) -> RoundSum:
        """Runs one round over all silos, an evaluation, or the preparation."""
        watch = Stopwatch()
        run = self._run
        if self._plan.order.prepares(order.release) and self._preparing is not None:
            run, found = self._preparing, self._asked_before(order)
        elif self._plan.order.evaluates(order.release):
            if self._judging is None or self._held_out is None:
                raise ValueError("an engine must have held-out records to evaluate a training")
            run, found = self._judging, self._judged(order, self._held_out)
        else:
            found = self._contributions(order)
        contributed = watch.lap()
        terms = RoundTerms(
            round_index=order.release,
            attempt=order.sequence,
            context=order.context(),
        )
        outcome = run.sum_round(
            terms,
            {name: contribution.values for name, contribution in found.items()},
            {
                drop.silo: Stage[drop.stage.upper()]
                for drop in self._dropouts
                if drop.round == order.release and drop.silo in found
            },
        )
        losses = [one.loss for one in found.values() if one.loss is not None]
        share = _training_share(found.values())
        return RoundSum(
            total=outcome.total,
            survivors=outcome.survivors,
            transcript=outcome.transcript,
            bytes_per_silo=outcome.bytes_per_client,
            training_loss=sum(losses) / len(losses) if losses else None,
            seconds=SumSeconds(share * contributed, (1.0 - share) * contributed, watch.lap()),
        )

    def _asked_before(self, order: RoundOrder) -> dict[str, Contribution]:
        """Returns what the silos' training records answer before the first round."""
        if self._plan.preparation is None:
            raise ValueError("only a plan that prepares records asks them before the first round")
        return contributions(
            self._plan.preparation,
            self._records.as_asked(),
            order,
            model=self._model,
            randomness=part_source(self._plan, order.release, self._randomness),
        )

    def _judged(self, order: RoundOrder, held_out: RecordsInUse) -> dict[str, Contribution]:
        """Returns what the silos' held-out records answer about the model of ``order``."""
        return contributions(
            self._plan.carried_out(order.release, order.parameters),
            held_out.under(order.prepared),
            order,
            model=self._model,
            randomness=part_source(self._plan, order.release, self._randomness),
        )

    def _contributions(self, order: RoundOrder) -> dict[str, Contribution]:
        if self._crew is not None and self._crew.wanted:
            return self._crew.contributions(order)
        watch = Stopwatch()
        with one_thread():
            found = contributions(
                self._plan,
                self._records.under(order.prepared),
                order,
                model=self._model,
                randomness=self._randomness,
            )
        if self._crew is not None:
            self._crew.consider(watch.lap(), self._plan.rounds - self._plan.order.round_of(order.release))
        return found


def _opened(plan: Plan, session: RandomSource) -> SumRun:
    """Opens a session of the plan's secure sums, or of public ones where a silo's own noise is all."""
    name = session.random_bytes(32)
    if not plan.thresholds.summed:
        return UnmaskedRun(plan.grid, name)
    protocol = plan.protocol
    if isinstance(protocol, Bonawitz | Bell):
        protocol = replace(protocol, speed=Speed(torch.get_num_threads()))
    return protocol.open(sum_terms(plan, name), session.derive("protocol"))


def _training_share(found: Iterable[Contribution]) -> float:
    """Returns which part of the silos' time was local training."""
    training = encoding = 0.0
    for contribution in found:
        training += contribution.training_seconds
        encoding += contribution.encoding_seconds
    whole = training + encoding
    return training / whole if whole > 0.0 else 1.0


def check_dropouts(plan: Plan, dropouts: Sequence[Dropout]) -> None:
    """Refuses rehearsed failures that name no silo or no round of the plan.

    Raises:
        ConfigurationError: naming the entry.
    """
    for number, drop in enumerate(dropouts):
        if drop.silo not in plan.facts.silos:
            raise ConfigurationError(
                f"'run.dropouts.{number}.silo' must be one of {', '.join(plan.facts.silos)}; "
                f"got {drop.silo!r}."
            )
        if drop.round > plan.releases:
            most = f"'training.rounds' = {plan.rounds}"
            if plan.releases > plan.rounds:
                most = f"{plan.releases}, all that is released"
            raise ConfigurationError(
                f"'run.dropouts.{number}.round' must be at most {most}; got {drop.round}."
            )
