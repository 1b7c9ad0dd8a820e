"""The local engine: all silos in one process, with real keys and real messages between them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from torch import nn

from discreet.config.sections import Dropout
from discreet.data import Federation
from discreet.engines.local.crew import Crew
from discreet.engines.local.unmasked import UnmaskedRun
from discreet.errors import ConfigurationError
from discreet.learning.torch_state import one_thread
from discreet.plan import Plan, sum_terms
from discreet.randomness import RandomSource
from discreet.rounds import (
    Contribution,
    RoundOrder,
    RoundSum,
    Stopwatch,
    SumSeconds,
    contributions,
)
from discreet.secagg import (
    RoundTerms,
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
        Evaluations ask the records of ``held_out``, in sessions of their own.
        """
        self._plan = plan
        self._federation = federation
        self._model = model
        self._randomness = randomness
        self._dropouts = tuple(dropouts)
        self._crew = crew
        session = randomness.derive("session", session_label)
        self._run = _opened(plan, session)
        self._held_out = held_out
        self._judging: SumRun | None = None
        if plan.evaluation is not None and held_out is not None:
            own = session.derive("evaluation")
            self._judging = _opened(plan.evaluation, own)

    def sum_round(self, order: RoundOrder) -> RoundSum:
        """Runs one round over all silos, or one evaluation."""
        watch = Stopwatch()
        run = self._run
        if self._plan.evaluates(order.release):
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

    def _judged(self, order: RoundOrder, held_out: Federation) -> dict[str, Contribution]:
        """Returns what the silos' held-out records answer about the model of ``order``."""
        return contributions(
            self._plan.questions_about(order.parameters),
            {silo.name: silo.train for silo in held_out.silos},
            order,
            model=self._model,
            randomness=self._randomness.derive("evaluation"),
        )

    def _contributions(self, order: RoundOrder) -> dict[str, Contribution]:
        if self._crew is not None and self._crew.wanted:
            return self._crew.contributions(order)
        watch = Stopwatch()
        with one_thread():
            found = contributions(
                self._plan,
                {silo.name: silo.train for silo in self._federation.silos},
                order,
                model=self._model,
                randomness=self._randomness,
            )
        if self._crew is not None:
            self._crew.consider(watch.lap(), self._plan.rounds - self._plan.round_of(order.release))
        return found


def _opened(plan: Plan, session: RandomSource) -> SumRun:
    """Opens a session of the plan's secure sums, or of public ones where a silo's own noise is all."""
    name = session.random_bytes(32)
    if not plan.thresholds.summed:
        return UnmaskedRun(plan.grid, name)
    return plan.protocol.open(sum_terms(plan, name), session.derive("protocol"))


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
            if plan.evaluation is not None:
                most = f"{plan.releases}, the rounds and the evaluations between them"
            raise ConfigurationError(
                f"'run.dropouts.{number}.round' must be at most {most}; got {drop.round}."
            )
