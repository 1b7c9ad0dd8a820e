"""The table ``training``: what silos and server compute, and in how many rounds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from discreet.config.segments import MOST_ROUNDS, Segments
from discreet.errors import ConfigurationError
from discreet.kinds import (
    AveragingConfig,
    LocalConfig,
    NoSamplingConfig,
    SamplingConfig,
    ScheduleConfig,
    ServerConfig,
    UntunedStepsConfig,
)
from discreet.kinds.fields import Section
from discreet.kinds.untuned_steps import AUTO


class TrainingConfig(Section):
    """How the model is trained.

    Attributes:
        rounds: releases; left to the plan, as "auto", where stable-steps have no learning rate; left out
            where segments state them. With a schedule, the contributions that a silo makes at most.
        local: what a silo computes in a round.
        sampling: who enters a round.
        server: how an aggregate becomes the next model; "auto", as left out, where stable-steps have no
            learning rate.
        schedule: whether a sum waits for every silo, or every silo sends by itself; left out, it waits.
        segments: rounds with settings of their own, one segment after the other; left out, all are alike.
    """

    rounds: Annotated[int, Field(ge=1, le=1_000_000)] | Literal["auto"] = "auto"
    local: LocalConfig
    sampling: SamplingConfig = NoSamplingConfig()
    server: ServerConfig = AveragingConfig()
    schedule: ScheduleConfig | None = None
    segments: Segments | None = None

    @model_validator(mode="before")
    @classmethod
    def _server_left_to_the_plan(cls, data: Any) -> Any:
        """Takes "auto" for a server rule that is left out, where a plan finds one."""
        if not isinstance(data, Mapping) or data.get("server") != AUTO:
            return data
        local = data.get("local")
        stated = isinstance(local, Mapping) and local.get("learning_rate", AUTO) != AUTO
        if stated or not isinstance(local, Mapping) or local.get("kind") != "stable-steps":
            raise ValueError(
                "'server' must be a table where the plan does not choose the learning rate; got \"auto\". "
                "Only stable-steps without 'learning_rate' leave it to the plan"
            )
        return {key: value for key, value in data.items() if key != "server"}

    @model_validator(mode="after")
    def _left_to_the_plan(self) -> TrainingConfig:
        if not isinstance(self.local, UntunedStepsConfig):
            if self.rounds == "auto" and self.segments is None:
                raise ValueError(
                    f"'rounds' must be given for {self.local.kind} with a learning rate of its own; it is "
                    "missing. Only stable-steps without 'learning_rate' leave it to the plan"
                )
        elif self.server != AveragingConfig() or self.sampling != NoSamplingConfig():
            raise ValueError(
                "'server' and 'sampling' must be left out where stable-steps have no 'learning_rate', "
                "for the plan chooses it without them. Leave them out, or give a learning rate and steps"
            )
        return self

    @model_validator(mode="after")
    def _in_segments(self) -> TrainingConfig:
        if self.segments is None:
            return self
        if isinstance(self.local, UntunedStepsConfig):
            raise ValueError(
                "'segments' must be left out where stable-steps have no 'learning_rate', for the plan "
                "chooses it for rounds that are alike. Leave them out, or give a learning rate and steps"
            )
        if self.rounds != "auto":
            raise ValueError(f"'rounds' must be left out where 'segments' state them; got {self.rounds}")
        if self.schedule is not None:
            raise ValueError(
                "'schedule' must be left out with 'segments': silos in one sum would be in different ones"
            )
        if len(self.segments) > 1 and self.planned_rounds > MOST_ROUNDS:
            raise ValueError(
                f"'rounds' of all 'segments' must come to at most {MOST_ROUNDS:,}, which every silo accounts "
                f"for; they come to {self.planned_rounds:,}. Plan fewer rounds, or leave 'segments' out"
            )
        _ = self.segment_locals
        return self

    @property
    def segment_locals(self) -> tuple[LocalConfig, ...]:
        """The table of local training in each segment.

        Raises:
            ValueError: in one line, if a segment's keys make no table of that kind.
        """
        found = []
        for number, segment in enumerate(self.segments or ()):
            try:
                found.append(segment.local_table(self.local))
            except ValueError as error:
                raise ValueError(f"'segments.{number}': {error}") from None
        return tuple(found)

    @property
    def planned_rounds(self) -> int:
        """How many rounds there are.

        Raises:
            ConfigurationError: if that is still left to a plan.
        """
        if self.segments is not None:
            return sum(segment.rounds for segment in self.segments)
        if self.rounds == "auto":
            raise ConfigurationError("'training.rounds' must be worked out by a plan first; it is \"auto\".")
        return self.rounds
