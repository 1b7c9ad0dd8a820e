"""What a server rule is: pure functions from (state, parameters, released mean) to the next ones."""

from __future__ import annotations

from typing import Any, Protocol

from discreet.arrays import Floats

State = Any  # each rule has its own frozen state type; the loop only hands it back


class ServerRule(Protocol):
    """Turns released aggregates into models; it sees nothing else, so it is post-processing.

    ``aggregate_mean`` is the decoded noisy sum of all silos' updates divided by a public normaliser. It
    points downhill: rules *add* it.
    """

    def init(self, dimension: int) -> State:
        """Returns the state before the first round, for ``dimension`` parameters."""
        ...

    def step(self, state: State, parameters: Floats, aggregate_mean: Floats) -> tuple[State, Floats]:
        """Returns the next state and the next parameters; the arguments are left unchanged."""
        ...
