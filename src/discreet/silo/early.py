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

    def begin(self, purpose: Purpose, compute: Callable[[], Values]) -> None:
        """Starts to compute, or lets it follow what is under way; in place of what was kept.

        What is under way, and whether anything is, changes nothing that the caller could see: how long a
        training takes is a matter of records and coins.
        """
        if self._kept is None or self._kept[0] != purpose:
            self.forget()
            self._kept = purpose, self._thread.submit(compute)

    def take(self, purpose: Purpose, compute: Callable[[], Values]) -> Values:
        """Returns the contribution for ``purpose``, or computes one now; waits for whatever is under way.

        Raises:
            Exception: whatever ``compute`` raised, now or when it was begun.
        """
        kept, self._kept = self._kept, None
        if kept is not None and kept[0] == purpose:
            return kept[1].result()
        self._drop(kept)
        self.wait()
        return compute()

    def wait(self) -> None:
        """Waits until nothing is under way."""
        self._thread.submit(int).result()

    def forget(self) -> None:
        """Drops what is kept; what is under way ends by itself, and what waits for that never begins."""
        kept, self._kept = self._kept, None
        self._drop(kept)

    @staticmethod
    def _drop(kept: tuple[Purpose, Future[Values]] | None) -> None:
        if kept is not None:
            kept[1].cancel()

    def close(self) -> None:
        """Drops everything and waits until nothing is under way."""
        self.forget()
        self._thread.shutdown(cancel_futures=True)
