"""How an operator stops a running training: a file in the server's folder that is looked for between rounds.

A file works for whoever may write to the folder, whatever process the training runs in, and whatever carries
its messages. That a training runs is said by a lock, which no crash leaves behind.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from discreet.engines.flower.occupancy import occupied
from discreet.errors import ConfigurationError, DiscreetError
from discreet.rounds.directory import write_durably


class StoppedByOperator(DiscreetError):
    """The operator asked for an end; what was released is charged, and another start goes on from there."""


@dataclass(frozen=True, slots=True)
class Stopping:
    """Messages between an operator and a server, as two files of the server's folder.

    Attributes:
        folder: the server's.
        lock: held by the server while it works.
    """

    folder: Path
    lock: Path

    @property
    def running(self) -> bool:
        """Whether a process carries a training out here."""
        return occupied(self.lock)

    @property
    def requested(self) -> bool:
        """Whether an end was asked for and is still to come."""
        return self._request.exists()

    def request(self) -> None:
        """Asks for an end before the next attempt at a round; asking again changes nothing.

        Raises:
            ConfigurationError: if nothing runs here.
        """
        if not self.running:
            raise ConfigurationError(f"a training must be running in {self.folder}; none is.")
        write_durably(self._request, b"")

    def require_none(self) -> None:
        """Ends the training if that was asked for.

        Raises:
            StoppedByOperator: if it was.
        """
        if self.requested:
            raise StoppedByOperator(
                "aborted by the operator; what was released is charged. Run the server again to go on."
            )

    @contextmanager
    def heeded(self) -> Iterator[None]:
        """To be held by the server while it works: a request never outlives the training that it was for."""
        self._request.unlink(missing_ok=True)
        try:
            yield
        finally:
            self._request.unlink(missing_ok=True)

    @property
    def _request(self) -> Path:
        return self.folder / "abort.request"
