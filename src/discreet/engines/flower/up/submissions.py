"""Submitting the run, and again whenever its ServerApp died: one at a time, until there is an outcome."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from discreet.engines.flower.occupancy import occupied
from discreet.engines.flower.outcome import read_outcome
from discreet.engines.flower.service import ServerFolder
from discreet.engines.flower.up.deployment import Deployment
from discreet.engines.flower.up.processes import Child
from discreet.engines.flower.up.supervision import pause_seconds
from discreet.errors import ConfigurationError, DiscreetError

_MOST_IN_VAIN: Final = 8


@dataclass(slots=True)
class Submissions:
    """Keeps one ServerApp at work.

    A ServerApp is known to work by the lock on its folder, which no death leaves behind. Where something
    died after the last round, a training that stopped for want of silos is tried again; a refusal stands.

    Attributes:
        deployment: where it runs.
        server: the ServerApp's folder.
        app: the Flower app.
        run_config: for the app.
        announce: is told in one line of every new submission.
    """

    deployment: Deployment
    server: ServerFolder
    app: Path
    run_config: str
    announce: Callable[[str], None] = field(kw_only=True)
    _current: _Submission | None = None
    _rounds: int = 0
    _in_vain: int = 0
    _deaths: int = 0
    _due: float = 0.0

    def look(self, rounds: int) -> dict[str, Any] | None:
        """Returns the final outcome, if there is one; submits the run if none is at work.

        Args:
            rounds: how many rounds the server's log has told of.

        Raises:
            ConfigurationError: if submissions end again and again without a round.
        """
        # In this order: a ServerApp writes its outcome before it leaves its folder.
        at_work = occupied(self.server.lock)
        outcome = read_outcome(self.server.outcome)
        current = self._current
        if rounds > self._rounds:
            self._rounds, self._in_vain, self._deaths = rounds, 0, self.deployment.supervision.deaths
        if outcome is not None and (_stands(outcome) or self._calm):
            return outcome
        if current is None:
            self._submit()
        elif at_work:
            current.worked = True
        elif outcome is not None or current.over:
            self._count(current)
        return None

    @property
    def _calm(self) -> bool:
        """Says whether nothing died after the last round, the ServerApp included."""
        return not self._in_vain and self._deaths == self.deployment.supervision.deaths

    def _count(self, ended: _Submission) -> None:
        """Takes note that a submission ended without a final outcome; the next follows after a pause."""
        refused = ended.refused and self._calm
        self._in_vain += 1
        if refused or self._in_vain >= _MOST_IN_VAIN:
            raise ConfigurationError(
                "the run must keep running; it ended without a word from the ServerApp:\\n"
                f"{ended.process.last_lines(12)}"
            )
        self._due = time.monotonic() + pause_seconds(self._in_vain)
        self._current = None
        self.server.outcome.unlink(missing_ok=True)
        self.announce(
            "the ServerApp ended before the training did; the run is submitted again, and goes "
            "on by itself when its silos are back"
        )

    def _submit(self) -> None:
        if time.monotonic() < self._due or not self.deployment.reachable:
            return
        self._current = _Submission(self.deployment.submit(self.app, self.run_config))
        self.announce("run submitted; waiting for the silos to join")


def _stands(outcome: dict[str, Any]) -> bool:
    """Says whether an outcome is final whatever died: done, refused, or ended by the operator."""
    return bool(outcome["status"] == "aborted" or outcome["exit_code"] != DiscreetError.exit_code)


@dataclass(slots=True)
class _Submission:
    """One submission: the process that follows it, and whether its ServerApp got to work."""

    process: Child
    worked: bool = False

    @property
    def over(self) -> bool:
        """Says whether a ServerApp of it cannot come any more, asked when none is at work."""
        return self.worked or not self.process.alive

    @property
    def refused(self) -> bool:
        """Says whether Flower did not even take it."""
        return not self.worked and not self.process.alive and self.process.process.returncode != 0
