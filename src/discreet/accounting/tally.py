"""Events flattened: which releases how often, and the additive terms of δ."""

from __future__ import annotations

import math
from dataclasses import dataclass

from discreet.errors import UnsupportedAnalysisError
from discreet.privacy.events import (
    Composed,
    Event,
    Failure,
    PoissonBinomialRelease,
    Release,
    Repeated,
    StatisticalDistance,
)

Atom = Release | PoissonBinomialRelease


@dataclass(frozen=True, slots=True)
class Tally:
    """What an event amounts to; the order of adaptive composition does not matter to any accountant here.

    Attributes:
        releases: each distinct release with its number of occurrences.
        failure: sum of the probabilities of all failures (union bound).
        distance: sum of all statistical distances (hybrid argument).
    """

    releases: tuple[tuple[Atom, int], ...]
    failure: float
    distance: float


def tally(event: Event) -> Tally:
    """Flattens ``event``.

    Raises:
        UnsupportedAnalysisError: for an event that is not known here; it is never guessed.
    """
    counts: dict[Atom, int] = {}
    failure, distance = _collect(event, 1, counts)
    return Tally(tuple(counts.items()), failure, distance)


def _collect(event: Event, count: int, counts: dict[Atom, int]) -> tuple[float, float]:
    """Adds ``event`` ``count`` times to ``counts``; returns what it adds to failure and distance."""
    match event:
        case Release() | PoissonBinomialRelease():
            counts[event] = counts.get(event, 0) + count
            return 0.0, 0.0
        case Failure(prob=prob):
            return count * prob, 0.0
        case StatisticalDistance(distance=distance):
            return 0.0, count * distance
        case Repeated(event=part, count=inner):
            return _collect(part, count * inner, counts) if inner else (0.0, 0.0)
        case Composed(events=events):
            return _collect_all(events, count, counts)
    raise UnsupportedAnalysisError(
        f"accounting must know every event; got {type(event).__name__}. Describe it by the events of "
        "discreet.privacy.events."
    )


def _collect_all(events: tuple[Event, ...], count: int, counts: dict[Atom, int]) -> tuple[float, float]:
    """Collects all of ``events``, ``count`` times each."""
    sums = [_collect(part, count, counts) for part in events]
    return math.fsum(failure for failure, _ in sums), math.fsum(distance for _, distance in sums)
