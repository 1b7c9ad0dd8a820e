"""A contribution that is computed while others are summed, and kept for the sum that it was begun for."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import final

import numpy as np
import numpy.typing as npt

Values = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Purpose:
    """What a contribution was computed for; it enters nothing else.

    Attributes:
        agreement: digest of the start of the server, its plan and its silos.
        release: number of the sum.
        attempt: number of the invitation, which names the randomness.
        model: SHA-256 of the weights that training started from.
    """

    agreement: bytes
    release: int
    attempt: int
    model: bytes


@final
class EarlyWork:
    """Computes on one thread of its own, and keeps one contribution at a time.

    Guarantee:
        A contribution is handed out once at most, and for its purpose alone, so that no coin of training
        enters two releases. Nothing here sends or charges anything.
    """

    def __init__(self) -> None:
        # Torch keeps its generator for the whole process: never two trainings at a time.
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="early")
        self._kept: tuple[Purpose, Future[Values]] | None = None

    @property
    def busy(self) -> Purpose | None:
        """What is being computed at the moment; None if nothing is."""
        return None if self._kept is None or self._kept[1].done() else self._kept[0]

    def begin(self, purpose: Purpose, compute: Callable[[], Values]) -> None:
        """Starts to compute, in place of what was kept; nothing else may be under way."""
        if self.busy is not None:
            raise RuntimeError("one contribution is computed at a time")
        if self._kept is None or self._kept[0] != purpose:
            self._kept = purpose, self._thread.submit(compute)

    def take(self, purpose: Purpose, compute: Callable[[], Values]) -> Values:
        """Returns the contribution for ``purpose``, or computes one now; waits for whatever is under way.

        Raises:
            Exception: whatever ``compute`` raised, now or when it was begun.
        """
        self.wait()
        kept, self._kept = self._kept, None
        return kept[1].result() if kept is not None and kept[0] == purpose else compute()

    def wait(self) -> None:
        """Waits until nothing is under way."""
        if self._kept is not None:
            self._kept[1].exception()

    def forget(self) -> None:
        """Drops what is kept; what is under way ends by itself."""
        self._kept = None

    def close(self) -> None:
        """Drops everything and waits until nothing is under way."""
        self.forget()
        self._thread.shutdown(cancel_futures=True)
