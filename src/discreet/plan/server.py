"""What the server makes of a sum: the public number that it divides by, and the rule that moves the model."""

from __future__ import annotations

from collections.abc import Mapping

from discreet.config.sections import (
    AdaptiveConfig,
    AveragingConfig,
    ClippedUpdateConfig,
    Config,
    MomentumConfig,
    NoisyStepsConfig,
    ServerConfig,
    ShardedConfig,
    SingleStepConfig,
    StableStepsConfig,
    TangentStepsConfig,
)
from discreet.optim import (
    Adaptive,
    Averaging,
    Chain,
    Circulant,
    ExponentialDecay,
    LaplacianSmoothing,
    Momentum,
    SecondMoment,
    ServerRule,
)
from discreet.plan.training import expected_batch, sampling_probability


def server_rule(config: Config) -> ServerRule:
    """Returns the rule by which the server turns an aggregate into the next model."""
    server = config.training.server
    rule = _plain_rule(server)
    if server.smoothing is None:
        return rule
    graph = Circulant if server.smoothing.graph == "cycle" else Chain
    return LaplacianSmoothing(graph(server.smoothing.sigma), rule)


def _plain_rule(server: ServerConfig) -> ServerRule:
    schedule = ExponentialDecay(server.decay)
    match server:
        case AveragingConfig():
            return Averaging(server.learning_rate, schedule)
        case MomentumConfig():
            return Momentum(server.learning_rate, server.momentum, schedule)
        case AdaptiveConfig():
            return Adaptive(
                learning_rate=server.learning_rate,
                second_moment=SecondMoment(server.kind),
                first_decay=server.first_decay,
                second_decay=server.second_decay,
                adaptivity=server.adaptivity,
                schedule=schedule,
            )


def normaliser(config: Config, capacities: Mapping[str, int], survivors: tuple[str, ...]) -> float:
    """Returns the public number that the sum is divided by; never a count of private records.

    single-step: the expected number of sampled records if every survivor were full; stable-, tangent- and
    noisy-steps: the number of survivors; sharded: the expected number of sampled shards of the survivors;
    clipped-update: the expected number of sampled clients of the plan, because a client's presence is what
    the guarantee hides.
    """
    match config.training.local:
        case SingleStepConfig():
            return sum(expected_batch(config, capacities[silo]) for silo in survivors)
        case StableStepsConfig() | TangentStepsConfig() | NoisyStepsConfig():
            return float(len(survivors))
        case ShardedConfig(num_shards=num_shards):
            return sampling_probability(config) * num_shards * len(survivors)
        case ClippedUpdateConfig():
            return sampling_probability(config) * len(capacities)
