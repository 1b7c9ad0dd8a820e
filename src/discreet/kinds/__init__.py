"""Tables that a config and a plan hold: kinds of local training, sampling, clipping norms, server rules.

Each says everything of itself that is public: its numbers and their bounds, whom it protects, what a sum is
divided by, one sentence for the report, its sources. None needs torch.
"""

from typing import Annotated

from pydantic import Field

from discreet.kinds.clip_norm import ClipNorm, QuantileNormConfig
from discreet.kinds.clipped_update import ClippedUpdateConfig
from discreet.kinds.contract import LocalSection
from discreet.kinds.convex_steps import StableStepsConfig, TangentStepsConfig
from discreet.kinds.noisy_steps import NoisyStepsConfig
from discreet.kinds.sampling import (
    FixedSizeConfig,
    NoSamplingConfig,
    PoissonConfig,
    SamplingConfig,
    independent_share,
)
from discreet.kinds.server import (
    AdaptiveConfig,
    AveragingConfig,
    MomentumConfig,
    ServerConfig,
    SmoothingConfig,
)
from discreet.kinds.setting import SiloSetting
from discreet.kinds.sharded import ShardedConfig
from discreet.kinds.single_step import SingleStepConfig
from discreet.kinds.styles import AutomaticStyle, FlatStyle, PerLayerStyle, StyleConfig

LocalConfig = Annotated[
    SingleStepConfig
    | ClippedUpdateConfig
    | ShardedConfig
    | StableStepsConfig
    | TangentStepsConfig
    | NoisyStepsConfig,
    Field(discriminator="kind"),
]

__all__ = [
    "AdaptiveConfig",
    "AutomaticStyle",
    "AveragingConfig",
    "ClipNorm",
    "ClippedUpdateConfig",
    "FixedSizeConfig",
    "FlatStyle",
    "LocalConfig",
    "LocalSection",
    "MomentumConfig",
    "NoSamplingConfig",
    "NoisyStepsConfig",
    "PerLayerStyle",
    "PoissonConfig",
    "QuantileNormConfig",
    "SamplingConfig",
    "ServerConfig",
    "ShardedConfig",
    "SiloSetting",
    "SingleStepConfig",
    "SmoothingConfig",
    "StableStepsConfig",
    "StyleConfig",
    "TangentStepsConfig",
    "independent_share",
]
