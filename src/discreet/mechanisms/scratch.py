"""The buffers of one thread: every block of a long draw writes over those of the block before.

Fresh temporaries of this size would be mapped and unmapped by the operating system block after block, which
costs more than the arithmetic and makes threads wait for one another.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from discreet.arrays import Booleans, Floats, Integers

Words = npt.NDArray[np.uint64]


class Scratch:
    """Arrays by purpose, each as long as the longest that was asked for; for one thread and one call.

    What they hold determines the noise, so nobody keeps a `Scratch` beyond the call that it was made for. Its
    memory is then freed like that of any temporary: not overwritten (docs/threat-model.md).
    """

    def __init__(self) -> None:
        self._buffers: dict[str, Words] = {}
        self._flags = np.empty(0, dtype=np.bool_)

    def words(self, purpose: str, count: int) -> Words:
        """``count`` words of arbitrary content; the same memory whenever the purpose is the same."""
        buffer = self._buffers.get(purpose)
        if buffer is None or len(buffer) < count:
            buffer = self._buffers[purpose] = np.empty(count, dtype=np.uint64)
        return buffer[:count]

    def floats(self, purpose: str, count: int) -> Floats:
        """The memory of `words`, as float64."""
        return self.words(purpose, count).view(np.float64)

    def integers(self, purpose: str, count: int) -> Integers:
        """The memory of `words`, as int64."""
        return self.words(purpose, count).view(np.int64)

    def flags(self, count: int) -> Booleans:
        """``count`` truth values of arbitrary content; one buffer for all purposes."""
        if len(self._flags) < count:
            self._flags = np.empty(count, dtype=np.bool_)
        return self._flags[:count]
