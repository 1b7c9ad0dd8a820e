"""The local training that rehearsals can take apart: noise once a round, after all local steps."""

from __future__ import annotations

from torch import nn

from discreet.errors import UnsupportedAnalysisError
from discreet.learning import LocalTraining, NoisySteps
from discreet.plan import Plan, silo_training


def rehearsed_training(plan: Plan, model: nn.Module, silo: str) -> LocalTraining:
    """Returns the local training of ``silo``.

    Raises:
        UnsupportedAnalysisError: for noisy-steps, whose noise is inside the steps and cannot be taken off.
    """
    training = silo_training(plan, model, silo)
    if isinstance(training, NoisySteps):
        raise inseparable_noise()
    return training


def inseparable_noise() -> UnsupportedAnalysisError:
    """Returns the refusal of a training whose noise cannot be told from what it hides."""
    return UnsupportedAnalysisError(
        "canaries need noise that is added once a round; noisy-steps adds it in every local step. Audit such "
        "a plan by the local-state attack."
    )
