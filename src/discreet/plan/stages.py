"""Stages: rounds of a training that are alike, in what is asked for and in what each releases."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from discreet.config import Config
from discreet.config.segments import SegmentConfig
from discreet.config.training import TrainingConfig
from discreet.encoding import Grid
from discreet.errors import ConfigurationError
from discreet.kinds import LocalConfig
from discreet.plan.releases import RoundRelease


@dataclass(frozen=True, slots=True)
class Stage:
    """Consecutive rounds that differ in nothing that is planned.

    Attributes:
        config: what is asked for, as if all rounds of the training were like these.
        rounds: how many there are.
        grid: the integers that travel.
        release: what one of them releases.
    """

    config: Config
    rounds: int
    grid: Grid
    release: RoundRelease


@dataclass(frozen=True, slots=True)
class Asked:
    """What a config asks of one stage: the config of rounds like these, how many, and how much noise."""

    config: Config
    rounds: int
    noise_scale: float


def asked_stages(config: Config) -> tuple[Asked, ...]:
    """Returns what is asked of each stage of a training with segments; nothing without.

    Raises:
        ConfigurationError: for what has no proof with segments; the message names the key.
    """
    segments = config.training.segments
    if segments is None:
        return ()
    _require_provable(config, segments)
    return tuple(
        Asked(_config_of(config, one, local), one.rounds, one.noise_scale)
        for one, local in zip(segments, config.training.segment_locals, strict=True)
    )


def require_no_segments(training: TrainingConfig, what: str) -> None:
    """Refuses segments where nothing keeps rounds apart.

    Args:
        training: a plan's.
        what: what is asked for, such as "an audit".

    Raises:
        ConfigurationError: if there are any.
    """
    if training.segments is not None:
        raise ConfigurationError(
            f"'training.segments' must be left out for {what}, which takes all rounds for alike; got "
            f"{len(training.segments)} segments."
        )


def _config_of(config: Config, segment: SegmentConfig, local: LocalConfig) -> Config:
    training, privacy = config.training, config.privacy
    changed: dict[str, Any] = {"segments": None, "rounds": training.planned_rounds, "local": local}
    if segment.sampling is not None:
        changed["sampling"] = segment.sampling
    if segment.clip_norm is not None:
        privacy = privacy.model_copy(update={"clip_norm": segment.clip_norm})
    training = training.model_copy(update=changed)
    return config.model_copy(update={"training": training, "privacy": privacy})


def _require_provable(config: Config, segments: tuple[SegmentConfig, ...]) -> None:
    """Refuses what the proof of docs/theory/schedules.md does not cover."""
    training = config.training
    if training.local.noise_inside:
        raise ConfigurationError(
            "'training.segments' must be left out for noisy-steps, whose steps are releases of their own. "
            "Take another local kind, or leave the segments out."
        )
    if config.privacy.norm_rule is not None:
        raise ConfigurationError(
            "'privacy.clip_norm' must be a number with 'training.segments': a norm that follows a quantile "
            "goes its own way from round to round."
        )
    if config.evaluate is not None:
        raise ConfigurationError(
            "'evaluate' must be left out with 'training.segments', between whose rounds nothing is asked. "
            'Ask about the released model: [[ask]] kind = "evaluation".'
        )
    samplings = [segment.sampling or training.sampling for segment in segments]
    if len({one.exchanges for one in samplings}) > 1:
        raise ConfigurationError(
            "'training.segments' must all have fixed-size sampling, or none: in a batch of fixed size one "
            "record takes the place of another, elsewhere it is there or not."
        )
