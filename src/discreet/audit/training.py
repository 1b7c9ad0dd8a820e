"""The local training that rehearsals can take apart: noise once a round, after all local steps."""

from __future__ import annotations

from discreet.arrays import Floats
from discreet.errors import UnsupportedAnalysisError
from discreet.kinds import NoisySteps, OneRelease, SiloTraining
from discreet.plan import Plan
from discreet.rounds import round_training


def rehearsed_training(plan: Plan, silo: str) -> OneRelease:
    """Returns the local training of ``silo``, as of the first round.

    Raises:
        UnsupportedAnalysisError: for noisy-steps, whose noise is inside the steps and cannot be taken off.
    """
    return _separable(plan.silo_training(silo))


def rehearsed_round(plan: Plan, silo: str, release: int, announced: Floats) -> tuple[OneRelease, Floats]:
    """Returns the training of ``silo`` in a release that starts from ``announced``, and the weights in that.

    Raises:
        UnsupportedAnalysisError: as `rehearsed_training`.
    """
    training, weights = round_training(plan, silo, release, announced)
    return _separable(training), weights


def _separable(training: SiloTraining) -> OneRelease:
    if isinstance(training, NoisySteps):
        raise inseparable_noise()
    return training


def inseparable_noise() -> UnsupportedAnalysisError:
    """Returns the error for kinds whose noise an audit cannot subtract."""
    return UnsupportedAnalysisError(
        "canaries need noise that is added once a round; noisy-steps adds it in every local step. Audit "
        "several steps by the local-state attack, and a single one as the kind single-step: it trains alike."
    )
