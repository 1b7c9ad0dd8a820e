"""The arithmetic of local training: from a silo's records to one update of bounded sensitivity."""

from discreet.learning.arithmetic import counted_update, local_update, silo_update
from discreet.learning.losses import mean_loss, record_losses
from discreet.learning.metrics import Evaluation, evaluation, logits
from discreet.learning.noisy_steps import NoisyUpdate, StepNoise, noisy_update
from discreet.learning.updates import CountedUpdate, LocalUpdate

__all__ = [
    "CountedUpdate",
    "Evaluation",
    "LocalUpdate",
    "NoisyUpdate",
    "StepNoise",
    "counted_update",
    "evaluation",
    "local_update",
    "logits",
    "mean_loss",
    "noisy_update",
    "record_losses",
    "silo_update",
]
