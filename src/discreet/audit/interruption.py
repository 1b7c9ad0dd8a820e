"""A rehearsal that is interrupted after a sum was seen, and resumed: is any noise used twice?"""

from __future__ import annotations

import contextlib
from pathlib import Path

from discreet.audit.insider import Insider, LeftOver, stacked
from discreet.audit.rehearsal import initial_parameters
from discreet.engines.local import LocalEngine, Prepared
from discreet.errors import ConfigurationError
from discreet.privacy.ledger import LedgerWriter
from discreet.randomness import SeededRandom
from discreet.rounds import (
    Engine,
    RoundOrder,
    RoundReport,
    RoundSum,
    RunDirectory,
    Training,
    initial_state,
    open_ledger,
    restore,
    resume_ledger,
    train,
)


class Interruption(Exception):
    """Stands for the end of the process, right after the server saw a sum."""


class Watched:
    """An engine that writes down every sum of another one, and may end after the first."""

    def __init__(self, inner: Engine, seen: list[tuple[RoundOrder, RoundSum]], *, ends: bool) -> None:
        self._inner, self._seen, self._ends = inner, seen, ends

    def sum_round(self, order: RoundOrder) -> RoundSum:
        """Runs one round of the other engine."""
        outcome = self._inner.sum_round(order)
        self._seen.append((order, outcome))
        if self._ends:
            raise Interruption
        return outcome


def noise_across_interruption(prepared: Prepared, randomness: SeededRandom, folder: Path) -> LeftOver:
    """Trains, is interrupted in the first round after its sum was seen, resumes, and trains to the end.

    Args:
        prepared: the plan; it must have at least two rounds.
        randomness: of the seeded engine, the same before and after.
        folder: an empty or new directory for the run.

    Returns:
        What is left of every sum that was seen, one a row, shape ``(rounds, d)``.

    Raises:
        ConfigurationError: for a plan of one round, of which nothing would be left after the interruption.
    """
    plan = prepared.plan
    if not plan.rounds >= 2:
        raise ConfigurationError(
            f"an interruption can be audited from two rounds on; got 'training.rounds' = {plan.rounds}."
        )
    directory, seen = RunDirectory(folder), list[tuple[RoundOrder, RoundSum]]()
    initial = initial_parameters(prepared)
    start = initial_state(plan, initial)

    def part(ledger: LedgerWriter, state: Training, *, ends: bool) -> None:
        label = len(ledger.entries)
        engine = LocalEngine(plan, prepared.federation, prepared.model, randomness, session_label=label)
        watched = Watched(engine, seen, ends=ends)
        train(plan, watched, directory, ledger, state, measure=_no_metrics, observe=_ignore)

    with open_ledger(directory, plan, seeded=True) as ledger, contextlib.suppress(Interruption):
        part(ledger, start, ends=True)
    with resume_ledger(directory, plan, seeded=True) as ledger:
        part(ledger, restore(directory, ledger, start), ends=False)
    insider = Insider(plan, prepared.federation, prepared.model, randomness)
    return stacked([insider.left_over(order, outcome) for order, outcome in seen])


def _no_metrics(_: Training) -> dict[str, float]:
    return {}


def _ignore(_: RoundReport) -> None:
    """Shows nothing."""
