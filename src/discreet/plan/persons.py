"""What a guarantee about one record says of a person who has several: read off the curve, not k times ε.

docs/theory/persons.md has the proof.
"""

from __future__ import annotations

from dataclasses import replace

from discreet.errors import UnsupportedAnalysisError
from discreet.plan.plan import Plan, adversary_guarantee
from discreet.plan.releases import RoundRelease
from discreet.privacy.events import NoSampling, PoissonSampling, RepeatedPoissonSampling, Sampling
from discreet.privacy.guarantee import Guarantee
from discreet.privacy.units import Unit

USUAL_RECORDS = (2, 5, 10)


def for_persons(plan: Plan, *, records: tuple[int, ...] = USUAL_RECORDS) -> tuple[tuple[int, Guarantee], ...]:
    """Returns the guarantee against the budget adversary for a person with so many records at one silo.

    Guarantee:
        Two data sets that differ in up to ``k`` records of one silo, present in the one and absent in the
        other, are told apart by all rounds together no better than the k-th row says, at the plan's δ.

    Args:
        plan: about the record unit.
        records: numbers k of records, each at least 1.

    Returns:
        Pairs of k and guarantee; none where the unit is the client, which holds all of its records already,
        or where no analysis is known (batches of fixed size).
    """
    if plan.unit is Unit.CLIENT:
        return ()
    adversary, honest = plan.budget_adversary()
    try:
        return tuple(
            (
                count,
                adversary_guarantee(
                    plan.config,
                    _of_group(plan.release, count),
                    adversary=adversary,
                    honest_silos=honest,
                    rounds=plan.rounds,
                ),
            )
            for count in records
        )
    except UnsupportedAnalysisError:
        return ()


def _of_group(release: RoundRelease, count: int) -> RoundRelease:
    """Returns a release as ``count`` records together see it: Theorem 1 of docs/theory/persons.md."""
    sampling, sensitivity = _sampled(release.sampling, count), release.l2_sensitivity
    return replace(
        release,
        sampling=sampling,
        l2_sensitivity=sensitivity if isinstance(sampling, RepeatedPoissonSampling) else count * sensitivity,
        # Twice, since the bad event may depend on which of the records are drawn.
        rounding_failure_prob=2 * count * release.rounding_failure_prob,
        guard_failure_prob=count * release.guard_failure_prob,
    )


def _sampled(sampling: Sampling, count: int) -> Sampling:
    """Returns how ``count`` records enter a release.

    Raises:
        UnsupportedAnalysisError: where they do not enter independently.
    """
    match sampling:
        case NoSampling() | PoissonSampling(prob=1.0):
            return sampling
        case PoissonSampling(prob=prob):
            return RepeatedPoissonSampling(prob, count)
        case _:
            raise UnsupportedAnalysisError(
                "records of one person must be sampled independently of each other; got "
                f"{type(sampling).__name__}. Use poisson sampling."
            )
