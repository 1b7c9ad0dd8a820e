"""The table ``training.server``: how the server turns a released aggregate into the next model."""

from __future__ import annotations

from abc import abstractmethod
from typing import Annotated, Any, Literal

from pydantic import Field

from discreet.kinds.decay import Decay, decay_text, schedule_of
from discreet.kinds.fields import Momentum, NonNegative, Positive, Section
from discreet.optim import (
    Adaptive,
    Averaging,
    Chain,
    Circulant,
    LaplacianSmoothing,
    SecondMoment,
    ServerRule,
    TailMean,
)
from discreet.optim import Momentum as HeavyBall


class SmoothingConfig(Section):
    """Laplacian smoothing of the aggregate with strength ``sigma``, on a cycle or a chain of weights."""

    graph: Literal["cycle", "chain"] = "cycle"
    sigma: NonNegative


class _ServerSection(Section):
    """What every server rule has; all of it is post-processing of what is released, so it is free.

    Attributes:
        learning_rate: length of the server's step.
        decay: factor on the learning rate from round to round, or ``{ kind = "inverse-time", rate = … }``.
        smoothing: Laplacian smoothing of the aggregate before the rule sees it.
    """

    learning_rate: Positive = 1.0
    decay: Decay = 1.0
    smoothing: SmoothingConfig | None = None

    @abstractmethod
    def plain_rule(self, rounds: int) -> ServerRule:
        """Returns the rule without smoothing."""

    def rule(self, rounds: int) -> ServerRule:
        """Returns the rule by which the server turns an aggregate into the next of ``rounds`` models."""
        if self.smoothing is None:
            return self.plain_rule(rounds)
        graph = Circulant if self.smoothing.graph == "cycle" else Chain
        return LaplacianSmoothing(graph(self.smoothing.sigma), self.plain_rule(rounds))

    def describe(self) -> str:
        """Says in one line what the server does."""
        settings: dict[str, Any] = self.model_dump(exclude={"smoothing"}, exclude_none=True)
        parts = [settings.pop("kind")]
        for name, value in settings.items():
            parts.append(decay_text(self.decay) if name == "decay" else f"{name.replace('_', ' ')} {value:g}")
        if self.smoothing is not None:
            parts.append(f"Laplacian smoothing on a {self.smoothing.graph}, sigma {self.smoothing.sigma:g}")
        return ", ".join(parts)


class AveragingConfig(_ServerSection):
    """θ ← θ + learning_rate · aggregate."""

    kind: Literal["averaging"] = "averaging"

    def plain_rule(self, rounds: int) -> Averaging:  # noqa: ARG002 - one contract for all rules
        """Returns the rule without smoothing."""
        return Averaging(self.learning_rate, schedule_of(self.decay))


class TailMeanConfig(_ServerSection):
    """As averaging, and the training's last model is the mean of the last half of its models."""

    kind: Literal["tail-mean"]

    def plain_rule(self, rounds: int) -> TailMean:
        """Returns the rule without smoothing."""
        return TailMean(Averaging(self.learning_rate, schedule_of(self.decay)), rounds)


class MomentumConfig(_ServerSection):
    """Heavy-ball momentum on the server."""

    kind: Literal["momentum"]
    momentum: Momentum = 0.9

    def plain_rule(self, rounds: int) -> HeavyBall:  # noqa: ARG002 - one contract for all rules
        """Returns the rule without smoothing."""
        return HeavyBall(self.learning_rate, self.momentum, schedule_of(self.decay))


class AdaptiveConfig(_ServerSection):
    """Adagrad, Adam or Yogi on the server (Reddi et al. 2021)."""

    kind: Literal["adagrad", "adam", "yogi"]
    first_decay: Momentum = 0.9
    second_decay: Momentum = 0.99
    adaptivity: Positive = 1e-3

    def plain_rule(self, rounds: int) -> Adaptive:  # noqa: ARG002 - one contract for all rules
        """Returns the rule without smoothing."""
        return Adaptive(
            learning_rate=self.learning_rate,
            second_moment=SecondMoment(self.kind),
            first_decay=self.first_decay,
            second_decay=self.second_decay,
            adaptivity=self.adaptivity,
            schedule=schedule_of(self.decay),
        )


ServerConfig = Annotated[
    AveragingConfig | TailMeanConfig | MomentumConfig | AdaptiveConfig, Field(discriminator="kind")
]
