"""Events flattened: which releases how often, and the additive terms of δ."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import scipy

from discreet.errors import UnsupportedAnalysisError
from discreet.privacy.events import (
    Composed,
    Event,
    Failure,
    PoissonBinomialRelease,
    PoissonSampling,
    Release,
    Repeated,
    ScalarRelease,
    ShuffledSampling,
    StatisticalDistance,
    TruncatedPoissonSampling,
)

Atom = Release | ScalarRelease | PoissonBinomialRelease


@dataclass(frozen=True, slots=True)
class Tally:
    """What an event amounts to; the order of adaptive composition does not matter to any accountant here.

    Attributes:
        releases: each distinct release with its number of occurrences; of a shuffled release, the number of
            times that one unit takes part.
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


def _collect(  # noqa: PLR0911 - one return per kind of event
    event: Event, count: int, counts: dict[Atom, int]
) -> tuple[float, float]:
    """Adds ``event`` ``count`` times to ``counts``; returns what it adds to failure and distance."""
    match event:
        case Release(sampling=TruncatedPoissonSampling(prob=prob, max_batch=size, population=population)):
            # Equal to Poisson sampling unless a batch is too large, on either data set.
            distance = float(scipy.stats.binom.sf(size, population, prob))
            plain = replace(event, sampling=PoissonSampling(prob))
            return _collect_all((plain, StatisticalDistance(distance, "truncation")), count, counts)
        case Release() | ScalarRelease() | PoissonBinomialRelease():
            counts[event] = counts.get(event, 0) + count
            return 0.0, 0.0
        case Failure(prob=prob):
            return count * prob, 0.0
        case StatisticalDistance(distance=distance):
            return 0.0, count * distance
        case Repeated(
            event=Release(sampling=ShuffledSampling(batches_per_epoch=size)) as release, count=inner
        ):
            # A partial pass may already contain any one unit.
            return _collect(release, count * -(-inner // size), counts)
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
