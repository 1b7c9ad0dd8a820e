"""A serving silo's counts: events in, metrics and health out.

Every number is a count of messages, a time at which a request arrived, or what the ledger charges. How long
an answer took is not among them: it depends on the records.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import assert_never, final

from discreet.health.exposition import Kind, Metric, counter, gauge
from discreet.health.silo_status import SiloStatus
from discreet.log_line import iso_time
from discreet.silo.events import (
    RequestAnswered,
    RequestArrived,
    RoundAnswered,
    RoundUnmasked,
    SiloEvent,
    TrainingEnded,
    TrainingJoined,
)
from discreet.version import __version__


@dataclass(slots=True)
class _Counts:
    """Counts since the process began."""

    verdicts: Counter[tuple[str, str]]
    rounds_answered: int = 0
    rounds_unmasked: int = 0
    last_request: float | None = None
    last_invitation: float | None = None
    training: bool = False


@final
class SiloWatch:
    """Watches one silo from any thread.

    Args:
        status: how the silo stands when it begins to serve.
        clock: seconds since 1970.
    """

    def __init__(self, status: SiloStatus, clock: Callable[[], float] = time.time) -> None:
        self._silo, self._budget, self._expires = status.silo, status.budget, status.expires
        self._epsilon, self._delta = status.epsilon, status.delta
        self._share, self._year_share = status.share, status.year_share
        self._clock = clock
        self._began = clock()
        self._counts = _Counts(Counter())
        self._lock = threading.Lock()

    def observe(self, event: SiloEvent) -> None:
        """Takes one event in."""
        with self._lock:
            self._take(event)

    def health(self) -> dict[str, object]:
        """Returns the body of ``/healthz``."""
        with self._lock:
            training = self._counts.training
        since = iso_time(datetime.fromtimestamp(self._began, UTC))
        return {"silo": self._silo, "serving": True, "since": since, "training": training}

    def metrics(self) -> tuple[Metric, ...]:
        """Returns the body of ``/metrics``, every family in every state of the silo."""
        with self._lock:
            return (*self._of_process(), *self._of_requests(), *self._of_budget())

    def _take(self, event: SiloEvent) -> None:
        counts = self._counts
        match event:
            case RequestArrived():
                counts.last_request = self._clock()
            case RequestAnswered(request=kind, refusal=refusal):
                verdict = "granted" if refusal is None else str(refusal)
                counts.verdicts[kind.__name__.lower(), verdict] += 1
            case TrainingJoined():
                counts.training = True
            case RoundAnswered():
                counts.rounds_answered += 1
                # The arrival of the invitation, not the end of training, whose length depends on records.
                counts.last_invitation = counts.last_request
                self._epsilon, self._delta = event.epsilon, event.delta
                self._share, self._year_share = event.share, event.year_share
            case RoundUnmasked():
                counts.rounds_unmasked += 1
            case TrainingEnded():
                counts.training = False
            case _:
                assert_never(event)

    def _of_process(self) -> tuple[Metric, ...]:
        info = ({"silo": self._silo, "version": __version__}, 1.0)
        return (
            Metric("discreet_silo_info", Kind.GAUGE, "Name and version; always 1.", (info,)),
            gauge("discreet_silo_start_time_seconds", "When the process began to serve.", self._began),
            gauge(
                "discreet_silo_training_in_progress",
                "1 between joining a training and its end, else 0.",
                float(self._counts.training),
            ),
            gauge(
                "discreet_silo_policy_expires_timestamp_seconds",
                "End of the policy's last day, UTC.",
                _end_of(self._expires),
            ),
        )

    def _of_requests(self) -> tuple[Metric, ...]:
        counts = self._counts
        samples = tuple(
            ({"request": request, "verdict": verdict}, float(count))
            for (request, verdict), count in sorted(counts.verdicts.items())
        )
        return (
            Metric(
                "discreet_silo_requests_total",
                Kind.COUNTER,
                "Requests answered, by kind and verdict: granted, or the code of the refusal.",
                samples,
            ),
            counter(
                "discreet_silo_rounds_answered_total",
                "Rounds that a masked contribution left for.",
                counts.rounds_answered,
            ),
            counter(
                "discreet_silo_rounds_unmasked_total",
                "Rounds that this silo helped to unmask.",
                counts.rounds_unmasked,
            ),
            gauge(
                "discreet_silo_last_request_timestamp_seconds",
                "When the last request arrived.",
                counts.last_request,
            ),
            gauge(
                "discreet_silo_last_round_timestamp_seconds",
                "When the invitation to the last answered round arrived.",
                counts.last_invitation,
            ),
        )

    def _of_budget(self) -> tuple[Metric, ...]:
        return (
            gauge(
                "discreet_silo_epsilon_charged",
                "Epsilon charged in all trainings under the policy.",
                self._epsilon,
            ),
            gauge(
                "discreet_silo_epsilon_budget", "The policy's budget.max_epsilon.", self._budget.max_epsilon
            ),
            gauge("discreet_silo_delta_charged", "Delta charged in all trainings.", self._delta),
            gauge("discreet_silo_delta_budget", "The policy's budget.max_delta.", self._budget.max_delta),
            Metric(
                "discreet_silo_budget_share",
                Kind.GAUGE,
                "Share of the policy's limits that is used, by limits: lifetime, and year if it has such.",
                self._shares(),
            ),
        )

    def _shares(self) -> tuple[tuple[dict[str, str], float], ...]:
        year = () if self._year_share is None else (({"limits": "year"}, self._year_share),)
        return ({"limits": "lifetime"}, self._share), *year


def _end_of(day: date) -> float:
    following = day + timedelta(days=1)
    return datetime(following.year, following.month, following.day, tzinfo=UTC).timestamp()
