"""Events flattened: which releases how often, and the additive terms of δ."""

from __future__ import annotations

from dataclasses import dataclass

from discreet.errors import UnsupportedAnalysisError
from discreet.privacy.events import (
    Composed,
    Event,
    Failure,
    Release,
    Repeated,
    ShuffledSampling,
    StatisticalDistance,
)


@dataclass(frozen=True, slots=True)
class Tally:
    """What an event amounts to; the order of adaptive composition does not matter to any accountant here.

    Attributes:
        releases: each distinct release with its number of occurrences; of a shuffled release, the number of
            times that one unit takes part.
        failure: sum of the probabilities of all failures (union bound).
        distance: sum of all statistical distances (hybrid argument).
    """

    releases: tuple[tuple[Release, int], ...]
    failure: float
    distance: float


def tally(event: Event) -> Tally:
    """Flattens ``event``.

    Raises:
        UnsupportedAnalysisError: for an event that is not known here; it is never guessed.
    """
    counts: dict[Release, int] = {}
    failure, distance = _collect(event, 1, counts)
    return Tally(tuple(counts.items()), failure, distance)


def _collect(event: Event, count: int, counts: dict[Release, int]) -> tuple[float, float]:
    """Adds ``event`` ``count`` times to ``counts``; returns what it adds to failure and distance."""
    match event:
        case Release():
            counts[event] = counts.get(event, 0) + count
            return 0.0, 0.0
        case Failure(prob=prob):
            return count * prob, 0.0
        case StatisticalDistance(distance=distance):
            return 0.0, count * distance
        case Repeated(
            event=Release(sampling=ShuffledSampling(batches_per_epoch=size)) as release, count=inner
        ):
            return _collect(release, count * -(-inner // size), counts)
        case Repeated(event=part, count=inner):
            return _collect(part, count * inner, counts) if inner else (0.0, 0.0)
        case Composed(events=events):
            sums = [_collect(part, count, counts) for part in events]
            return sum(failure for failure, _ in sums), sum(distance for _, distance in sums)
    raise UnsupportedAnalysisError(
        f"accounting must know every event; got {type(event).__name__}. Describe it by the events of "
        "discreet.privacy.events."
    )
