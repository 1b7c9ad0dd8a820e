"""The walk: intent → silos train, encode, mask → secure sum → decode → server update → ledger, each round.

This module is the same for every engine. It sees sums only, never a silo's contribution.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from torch import nn

from discreet.errors import NotEnoughSurvivors, UnmaskingIncomplete
from discreet.models import model_file
from discreet.plan import Plan
from discreet.privacy.guarantee import Guarantee
from discreet.privacy.ledger import (
    Aborted,
    Completed,
    Entry,
    Intent,
    LedgerWriter,
    Lost,
    Spending,
    spending,
)
from discreet.rounds.contribution import round_rotation
from discreet.rounds.directory import Made, RunDirectory, write_durably
from discreet.rounds.engine import Engine, RoundOrder, RoundSum
from discreet.rounds.judging import HeldOut, held_out
from discreet.rounds.origin import origin_of
from discreet.rounds.phases import RoundSeconds, Stopwatch
from discreet.rounds.state import Training, announced_digest, judge, over, prepare, round_order, told, update

# Attempts at one round; or, by a timetable, sums one after the other.
_MOST_FAILURES_IN_A_ROW = 3

Measure = Callable[[Training], dict[str, float]]

_OF_THE_RELEASE = frozenset({
    "release", "tick", "epsilon_spent", "delta", "survivors", "bytes_per_silo", "training_loss", "seconds",
    "clip_norm", "held_out",
})  # fmt: skip


def _always() -> None:
    """Lets every attempt begin."""


@dataclass(frozen=True, slots=True)
class RoundReport:
    """What there is to say after a round, for displays and metrics.

    Attributes:
        release: number of the charged release, from 1.
        planned: how many releases are planned.
        spent: the guarantee against the plan's budget adversary after this release.
        sum: what secure aggregation returned.
        metrics: measurements of the new model on held-out records; not private, simulations only.
        seconds: wall time of the round.
        phases: where it went; ``sum.seconds`` says more about the first phase.
        clip_norm: the clipping norm of the round, if it follows a quantile; public.
        text: which release this was, for a person; empty for the round of its number.
        held_out: what held-out units said of the model, under the guarantee; None for a round.
    """

    release: int
    planned: int
    spent: Guarantee
    sum: RoundSum
    metrics: dict[str, float]
    seconds: float
    phases: RoundSeconds | None = None
    clip_norm: float | None = None
    text: str = ""
    held_out: HeldOut | None = None


def train(
    plan: Plan,
    engine: Engine,
    directory: RunDirectory,
    ledger: LedgerWriter,
    start: Training,
    *,
    measure: Measure,
    observe: Callable[[RoundReport], None],
    permit: Callable[[], None] = _always,
) -> Training:
    """Carries out what is left of ``plan`` and returns the last state; every step is durable.

    Guarantee:
        No more than ``plan.releases`` releases are ever charged in this ledger, whatever was interrupted,
        so the plan's guarantees hold for the whole ledger. Which of them ask held-out units is fixed; where
        these no longer improve, the rest is left out if the plan says so.

    Args:
        plan: what was agreed.
        engine: moves messages.
        directory: where state and metrics go.
        ledger: open for this plan.
        start: the state to go on from.
        measure: measures the model of a state on held-out records.
        observe: is told of every round.
        permit: is asked before every attempt, when nothing of it is charged; raises to stop here.

    Raises:
        DiscreetError: if a round fails for good, or three sums of a timetable in a row; the ledger says what
            was spent.
    """
    state, left_out = start, 0
    while not over(plan, state, charged := spending(ledger.entries).charged):
        release = charged + 1
        watch, evaluates = Stopwatch(), plan.order.evaluates(release)
        try:
            outcome, place = _secure_sum(engine, ledger, _Release(plan, release, state), permit)
        except UnmaskingIncomplete as abort:
            ledger.append(Lost(release, f"{abort.code}: shares had left, but too few for a sum"))
            continue
        except NotEnoughSurvivors as abort:
            left_out += 1
            if plan.timetable is None:
                raise
            if left_out == _MOST_FAILURES_IN_A_ROW:
                raise NotEnoughSurvivors(
                    abort.code,
                    f"{abort} That was the third sum in a row; resume the training when they are there.",
                ) from None
            continue
        summed, left_out = watch.lap(), 0
        prepares = plan.order.prepares(release)
        clip_norm = None if evaluates or prepares else state.clip_norm
        if prepares:
            state = prepare(plan, state, outcome)
        elif evaluates:
            state = judge(plan, state, release, outcome)
        else:
            state = update(plan, state, release, outcome, round_rotation(plan, place))
        updated = watch.lap()
        _record(directory, ledger, release, state, outcome)
        recorded = watch.lap()
        metrics = measure(state)
        phases = RoundSeconds(summed, updated, recorded, measuring=watch.lap())
        report = RoundReport(
            release,
            plan.releases,
            plan.spent(release),
            outcome,
            metrics,
            phases.total,
            phases,
            clip_norm,
            plan.order.text(release),
            held_out(plan, state.evaluated[-1]) if evaluates else None,
        )
        directory.append_metrics(_metrics_line(plan, report))
        observe(report)
    return state


def _record(
    directory: RunDirectory, ledger: LedgerWriter, release: int, state: Training, outcome: RoundSum
) -> None:
    """Makes the new state durable, then the entry that names it."""
    made = Made(release, outcome.survivors, outcome.transcript.hex())
    digest = directory.save_state(state.to_arrays(), made)
    ledger.append(Completed(release, made.survivors, made.transcript, digest))


def write_model(
    directory: RunDirectory, plan: Plan, model: nn.Module, last: Training, spent: Spending, *, seeded: bool
) -> None:
    """Writes the released model durably, with what it says of itself."""
    about = origin_of(plan, spent, last.evaluated, seeded=seeded).text()
    write_durably(directory.model, model_file(model, last.released, about, told(plan, last)))


@dataclass(frozen=True, slots=True)
class _Release:
    """One release to be made: its number, from 1, and the state that it starts from."""

    plan: Plan
    number: int
    state: Training

    def order(self, place: int) -> RoundOrder:
        """Returns what the server asks, ``place`` naming the randomness."""
        if self.plan.order.evaluates(self.number):
            prepared = told(self.plan, self.state)
            return RoundOrder(self.number, place, self.state.parameters, prepared=prepared)
        return round_order(self.plan, self.state, self.number, place)

    def place(self, entries: Iterable[Entry]) -> int:
        """Returns how many lines of a ledger are about no evaluation; or, for an evaluation, about no round.

        So a training draws the same noise from a seed, whether it is evaluated or not.
        """
        own = self.plan.order.evaluates(self.number)
        return sum(
            not isinstance(entry, Intent | Completed | Lost | Aborted)
            or self.plan.order.evaluates(entry.release) == own
            for entry in entries
        )


def _secure_sum(
    engine: Engine, ledger: LedgerWriter, wanted: _Release, permit: Callable[[], None]
) -> tuple[RoundSum, int]:
    """Runs one release, trying again with fresh randomness while nothing was unmasked.

    A sum of a timetable is tried once: those who are in it go on to their next, with the messages that were
    planned for them and no others (docs/theory/schedules.md).

    Returns the sum and the place of its intent in the ledger.
    """
    once = wanted.plan.timetable is not None
    for attempt in range(_MOST_FAILURES_IN_A_ROW):
        permit()
        place = wanted.place(ledger.entries)
        started_from = announced_digest(wanted.plan, wanted.state, wanted.number)
        ledger.append(Intent(wanted.number, started_from))
        try:
            return engine.sum_round(wanted.order(place)), place
        except UnmaskingIncomplete:
            raise
        except NotEnoughSurvivors as abort:
            if once:
                ledger.append(Lost(wanted.number, f"{abort.code}: too few silos were left for this sum"))
                raise
            ledger.append(Aborted(wanted.number, abort.code))
            if attempt == _MOST_FAILURES_IN_A_ROW - 1:
                raise
    raise AssertionError("unreachable")


def _metrics_line(plan: Plan, report: RoundReport) -> dict[str, object]:
    planned = plan.timetable
    return {
        "release": report.release,
        **({} if planned is None else {"tick": planned.sums[report.release - 1].tick}),
        "epsilon_spent": report.spent.epsilon,
        "delta": report.spent.delta,
        "survivors": list(report.sum.survivors),
        "bytes_per_silo": report.sum.bytes_per_silo,
        "training_loss": report.sum.training_loss,
        "seconds": round(report.seconds, 4),
        **({} if report.clip_norm is None else {"clip_norm": report.clip_norm}),
        **({} if report.held_out is None else {"held_out": report.held_out.to_json()}),
        **report.metrics,
    }


def measurements(line: Mapping[str, Any]) -> dict[str, Any]:
    """Returns what a line of ``metrics.jsonl`` says was measured of the model; empty if nothing was."""
    return {name: value for name, value in line.items() if name not in _OF_THE_RELEASE}
