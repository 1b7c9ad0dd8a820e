"""Local training kinds: each turns a silo's records into one update of bounded sensitivity."""

from discreet.learning.adaptive_clipping import QuantileClipping
from discreet.learning.clipped_update import ClippedUpdate
from discreet.learning.contract import LocalTraining, LocalUpdate
from discreet.learning.local_sgd import LocalSgd
from discreet.learning.losses import mean_loss, record_losses
from discreet.learning.metrics import Evaluation, evaluation, logits
from discreet.learning.noisy_steps import NoisySteps, NoisyUpdate, StepNoise
from discreet.learning.planned import planned
from discreet.learning.quantile_clipped import QuantileClipped
from discreet.learning.sharded import Sharded
from discreet.learning.single_step import SingleStep
from discreet.learning.stable_steps import StableSteps
from discreet.learning.tangent_steps import TangentSteps

__all__ = [
    "ClippedUpdate",
    "Evaluation",
    "LocalSgd",
    "LocalTraining",
    "LocalUpdate",
    "NoisySteps",
    "NoisyUpdate",
    "QuantileClipped",
    "QuantileClipping",
    "Sharded",
    "SingleStep",
    "StableSteps",
    "StepNoise",
    "TangentSteps",
    "evaluation",
    "logits",
    "mean_loss",
    "planned",
    "record_losses",
]
