"""Tables that a config and a plan hold: kinds of local training, sampling, clipping norms, server rules.

Each says everything of itself that is public: its numbers and their bounds, whom it protects, how far one
unit moves a sum and why, what the sum is divided by, one sentence for the report, its sources. None needs
torch: `discreet.learning` has the arithmetic.
"""

from typing import Annotated

from pydantic import Field

from discreet.kinds.asked import ANSWERS, Asked, QuestionsConfig
from discreet.kinds.capped import Capped
from discreet.kinds.clipped_update import ClippedUpdate, ClippedUpdateConfig
from discreet.kinds.contract import LocalSection, LocalTraining
from discreet.kinds.decay import InverseTimeConfig
from discreet.kinds.heads import BinaryLogistic, ConvexHead, MultiLabel, Ordinal, Softmax
from discreet.kinds.huber import Huber
from discreet.kinds.local_sgd import LocalSgd
from discreet.kinds.noisy_steps import NoisySteps, NoisyStepsConfig
from discreet.kinds.quantile_clipped import QuantileClipped, following
from discreet.kinds.quantile_clipping import ClipNorm, QuantileClipping
from discreet.kinds.sampling import (
    UNKNOWN_BATCH,
    ExpectedBatch,
    FixedSizeConfig,
    NoSamplingConfig,
    PoissonConfig,
    SamplingConfig,
    independent_share,
)
from discreet.kinds.schedule import AloneConfig, BufferedConfig, ScheduleConfig
from discreet.kinds.server import (
    AdaptiveConfig,
    AveragingConfig,
    MomentumConfig,
    MuonConfig,
    ServerConfig,
    ServerRule,
    TailMeanConfig,
)
from discreet.kinds.setting import SiloSetting
from discreet.kinds.sharded import Sharded, ShardedConfig
from discreet.kinds.single_step import SingleStep, SingleStepConfig
from discreet.kinds.smoothing import SmoothingConfig
from discreet.kinds.stable_steps import StableSteps, StableStepsConfig
from discreet.kinds.styles import FLAT, Automatic, ClippingStyle, Flat, PerLayer
from discreet.kinds.tangent_steps import TangentSteps, TangentStepsConfig
from discreet.kinds.timetable import Timetable, room_text, timetable_text
from discreet.kinds.untuned_steps import StableStepsTable, UntunedStepsConfig

LocalConfig = Annotated[
    SingleStepConfig
    | ClippedUpdateConfig
    | ShardedConfig
    | StableStepsTable
    | TangentStepsConfig
    | NoisyStepsConfig
    | QuestionsConfig,
    Field(discriminator="kind"),
]

OneRelease = SingleStep | ClippedUpdate | Sharded | StableSteps | TangentSteps | QuantileClipped | Asked
"""Kinds that send one vector a round, which gets its noise once."""
SiloTraining = OneRelease | NoisySteps
"""Every kind."""


__all__ = [
    "ANSWERS",
    "FLAT",
    "UNKNOWN_BATCH",
    "AdaptiveConfig",
    "AloneConfig",
    "Asked",
    "Automatic",
    "AveragingConfig",
    "BinaryLogistic",
    "BufferedConfig",
    "Capped",
    "ClipNorm",
    "ClippedUpdate",
    "ClippedUpdateConfig",
    "ClippingStyle",
    "ConvexHead",
    "ExpectedBatch",
    "FixedSizeConfig",
    "Flat",
    "Huber",
    "InverseTimeConfig",
    "LocalConfig",
    "LocalSection",
    "LocalSgd",
    "LocalTraining",
    "MomentumConfig",
    "MultiLabel",
    "MuonConfig",
    "NoSamplingConfig",
    "NoisySteps",
    "NoisyStepsConfig",
    "OneRelease",
    "Ordinal",
    "PerLayer",
    "PoissonConfig",
    "QuantileClipped",
    "QuantileClipping",
    "QuestionsConfig",
    "SamplingConfig",
    "ScheduleConfig",
    "ServerConfig",
    "ServerRule",
    "Sharded",
    "ShardedConfig",
    "SiloSetting",
    "SiloTraining",
    "SingleStep",
    "SingleStepConfig",
    "SmoothingConfig",
    "Softmax",
    "StableSteps",
    "StableStepsConfig",
    "TailMeanConfig",
    "TangentSteps",
    "TangentStepsConfig",
    "Timetable",
    "UntunedStepsConfig",
    "following",
    "independent_share",
    "room_text",
    "timetable_text",
]
