"""What a server rule is: pure functions from (state, parameters, released mean) to the next ones."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

FloatVector = npt.NDArray[np.float64]
State = Any  # each rule has its own frozen state type; the loop only hands it back


class ServerRule(Protocol):
    """Turns released aggregates into models; it sees nothing else, so it is post-processing.

    ``aggregate_mean`` is the decoded noisy sum of all silos' updates divided by a public normaliser. It
    points downhill: rules *add* it.
    """

    def init(self, dimension: int) -> State:
        """Returns the state before the first round, for ``dimension`` parameters."""
        ...

    def step(
        self, state: State, parameters: FloatVector, aggregate_mean: FloatVector
    ) -> tuple[State, FloatVector]:
        """Returns the next state and the next parameters; the arguments are left unchanged."""
        ...
