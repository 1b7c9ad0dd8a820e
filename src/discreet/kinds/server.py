"""The table ``training.server``: how the server turns a released aggregate into the next model.

A table is the rule itself: pure functions from (state, parameters, released mean) to the next ones. Rules see
nothing but what is released, so they are post-processing and cost no privacy. Each has its own frozen state,
of numbers and arrays, which the loop only hands back.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from discreet.arrays import Floats
from discreet.kinds.decay import Decay, decay_text, factor_of
from discreet.kinds.fields import Count, Momentum, Positive, Probability, Section
from discreet.kinds.orthogonal import orthogonalised
from discreet.kinds.smoothing import SmoothingConfig


@dataclass(frozen=True, slots=True)
class RoundCount:
    """How many rounds a rule has stepped."""

    rounds: int = 0


@dataclass(frozen=True, slots=True)
class Velocity:
    """The running direction of heavy-ball momentum, shape ``(d,)``, and the round number."""

    rounds: int
    velocity: Floats


@dataclass(frozen=True, slots=True)
class TailSum:
    """How many rounds are over, and the sum of those models that count, shape ``(d,)``."""

    averaging: RoundCount
    models: Floats


@dataclass(frozen=True, slots=True)
class Moments:
    """Round number and running first and second moments, shape ``(d,)`` each."""

    rounds: int
    first: Floats
    second: Floats


class ServerRule(Section):
    """What every server rule has.

    Attributes:
        learning_rate: η, the length of the server's step.
        decay: factor on the learning rate from round to round, or ``{ kind = "inverse-time", rate = … }``.
        smoothing: Laplacian smoothing of the aggregate before the rule sees it.
    """

    learning_rate: Positive = 1.0
    decay: Decay = 1.0
    smoothing: SmoothingConfig | None = None

    is_linear: ClassVar[bool] = True
    """Whether the models are a linear function of the means."""
    averages: ClassVar[bool] = False
    """Whether a round's mean alone moves a model, and what is released is a mean of such models."""

    moves_statistics: ClassVar[bool] = True
    """Whether batch norm's running statistics can be moved like weights."""

    @property
    def num_weights(self) -> int | None:
        """How many weights its settings describe; None if they fit any model."""
        return None

    def init(self, dimension: int) -> Any:  # noqa: ARG002 - one contract for all rules
        """Returns the state before the first round, for ``dimension`` parameters."""
        return RoundCount()

    def step(self, state: Any, parameters: Floats, aggregate_mean: Floats, rounds: int) -> tuple[Any, Floats]:
        """Returns the next state and the next parameters; the arguments are left unchanged.

        Args:
            state: of `init`, or of the step before.
            parameters: shape ``(d,)``.
            aggregate_mean: the decoded noisy sum of all silos' updates divided by a public normaliser. It
                points downhill: rules *add* it.
            rounds: how many the whole training has.
        """
        mean = aggregate_mean if self.smoothing is None else self.smoothing.smooth(aggregate_mean)
        return self.plain_step(state, parameters, mean, rounds)

    @abstractmethod
    def plain_step(self, state: Any, parameters: Floats, mean: Floats, rounds: int) -> tuple[Any, Floats]:
        """Takes a step along the mean as it is."""

    def rate(self, rounds_over: int) -> float:
        """Returns η, as it has fallen after so many rounds."""
        return float(self.learning_rate * factor_of(self.decay, rounds_over))

    @property
    def is_non_expansive(self) -> bool:
        """Whether it moves no two models apart by silos' rounds that move no two apart: proven."""
        return self.averages and self.smoothing is None and self.learning_rate <= 1.0

    def unsmoothed(self) -> ServerRule:
        """Returns the rule without smoothing."""
        return self.model_copy(update={"smoothing": None})

    def describe(self) -> str:
        """Says in one line what the server does."""
        settings: dict[str, Any] = self.model_dump(exclude={"smoothing", "shapes"}, exclude_none=True)
        parts = [settings.pop("kind")]
        for name, value in settings.items():
            parts.append(decay_text(self.decay) if name == "decay" else f"{name.replace('_', ' ')} {value:g}")
        if self.smoothing is not None:
            parts.append(f"Laplacian smoothing on a {self.smoothing.graph}, sigma {self.smoothing.sigma:g}")
        return ", ".join(parts)


class AveragingConfig(ServerRule):
    """θ ← θ + η·decay^t·mean: federated averaging with a server learning rate.

    Example:
        >>> rule = AveragingConfig(learning_rate=0.5)
        >>> rule.step(rule.init(2), np.zeros(2), np.array([1.0, -2.0]), rounds=1)[1].tolist()
        [0.5, -1.0]
    """

    averages: ClassVar[bool] = True

    kind: Literal["averaging"] = "averaging"

    def plain_step(
        self,
        state: RoundCount,
        parameters: Floats,
        mean: Floats,
        rounds: int,  # noqa: ARG002 - one contract for all rules
    ) -> tuple[RoundCount, Floats]:
        """Adds the scaled mean."""
        return RoundCount(state.rounds + 1), parameters + self.rate(state.rounds) * mean


class TailMeanConfig(ServerRule):
    """As averaging, and the last of the rounds gives the mean of the last ⌈share·rounds⌉ models.

    Until then rounds start from the models themselves. A training that ends earlier, since rounds came to
    nothing, releases its last model.

    Attributes:
        share: the part of the rounds whose models are averaged; a half if left out.

    Example:
        >>> rule, model = TailMeanConfig(kind="tail-mean"), np.zeros(1)
        >>> state = rule.init(1)
        >>> for _ in range(3):
        ...     state, model = rule.step(state, model, np.ones(1), rounds=3)
        >>> model.tolist()
        [2.5]
    """

    averages: ClassVar[bool] = True

    kind: Literal["tail-mean"]
    share: Probability | None = None

    def init(self, dimension: int) -> TailSum:
        """Returns an empty sum."""
        return TailSum(RoundCount(), np.zeros(dimension))

    def plain_step(
        self, state: TailSum, parameters: Floats, mean: Floats, rounds: int
    ) -> tuple[TailSum, Floats]:
        """Follows the mean; in the last round, returns the mean of the models that were summed."""
        model = parameters + self.rate(state.averaging.rounds) * mean
        over, counted = state.averaging.rounds + 1, math.ceil((self.share or 0.5) * rounds)
        models = state.models + model if over > rounds - counted else state.models
        return TailSum(RoundCount(over), models), models / counted if over == rounds else model


class VelocityRule(ServerRule):
    """What rules with a velocity share: v ← μ·v + mean, and a move of η·decay^t in a direction made of it."""

    momentum: Momentum = 0.9

    def init(self, dimension: int) -> Velocity:
        """Returns a velocity of zero."""
        return Velocity(0, np.zeros(dimension))

    def plain_step(
        self,
        state: Velocity,
        parameters: Floats,
        mean: Floats,
        rounds: int,  # noqa: ARG002 - one contract for all rules
    ) -> tuple[Velocity, Floats]:
        """Updates the velocity, then moves."""
        velocity = self.momentum * state.velocity + mean
        moved = parameters + self.rate(state.rounds) * self.direction(velocity, mean)
        return Velocity(state.rounds + 1, velocity), moved

    @abstractmethod
    def direction(self, velocity: Floats, mean: Floats) -> Floats:
        """Returns the move at a learning rate of 1, from the new velocity and the round's mean."""


class MomentumConfig(VelocityRule):
    """Heavy ball: v ← μ·v + mean, θ ← θ + η·decay^t·v.

    Attributes:
        momentum: μ: how much of the last velocity is kept.
    """

    kind: Literal["momentum"]

    def direction(self, velocity: Floats, mean: Floats) -> Floats:  # noqa: ARG002 - one contract for both
        """Follows the velocity."""
        return velocity


class AdaptiveConfig(ServerRule):
    """Adagrad, Adam or Yogi: θ ← θ + η·decay^t·m/(√v + τ), m and v running moments of the mean.

    Reddi et al. (2021), Algorithm 2. Noise in the mean raises v in every coordinate, so ``adaptivity`` should
    be of the size of the noise.

    Attributes:
        kind: how v follows the squared mean.
        first_decay: β₁, how slowly m forgets.
        second_decay: β₂, how slowly v forgets; Adagrad never forgets.
        adaptivity: τ, added to √v; v starts at τ².
    """

    is_linear: ClassVar[bool] = False

    kind: Literal["adagrad", "adam", "yogi"]
    first_decay: Momentum = 0.9
    second_decay: Momentum = 0.99
    adaptivity: Positive = 1e-3

    def init(self, dimension: int) -> Moments:
        """Returns zero and τ²."""
        return Moments(0, np.zeros(dimension), np.full(dimension, self.adaptivity**2))

    def plain_step(
        self,
        state: Moments,
        parameters: Floats,
        mean: Floats,
        rounds: int,  # noqa: ARG002 - one contract for all rules
    ) -> tuple[Moments, Floats]:
        """Updates both moments, then follows their quotient."""
        first = self.first_decay * state.first + (1.0 - self.first_decay) * mean
        second = self._second(state.second, mean**2)
        moved = parameters + self.rate(state.rounds) * first / (np.sqrt(second) + self.adaptivity)
        return Moments(state.rounds + 1, first, second), moved

    def _second(self, second: Floats, squared: Floats) -> Floats:
        match self.kind:
            case "adagrad":
                return second + squared
            case "adam":
                return self.second_decay * second + (1.0 - self.second_decay) * squared
            case "yogi":
                return second - (1.0 - self.second_decay) * squared * np.sign(second - squared)


# Bounded, because a plan is somebody else's proposal, and the numbers of a shape are multiplied.
Shape = Annotated[tuple[Annotated[Count, Field(le=1 << 32)], ...], Field(min_length=1, max_length=8)]


class MuonConfig(VelocityRule):
    """v ← μ·v + mean, and each of the model's arrays moves by η·decay^t along mean + μ·v, orthogonalised.

    A matrix moves by about the same length in every direction that its gradients have, a vector by η. So few
    rounds go far, and small directions, which late rounds need, are not drowned by large ones. A matrix
    with more rows than columns moves by √(rows/columns) times as much. Jordan et al. (2024). Last bits are
    those of the machine's matrix products.

    Attributes:
        momentum: μ: how much of the last velocity is kept.
        shapes: of every trained array in the model's order: ``[list(w.shape) for w in model.parameters()]``.
    """

    is_linear: ClassVar[bool] = False
    moves_statistics: ClassVar[bool] = False

    kind: Literal["muon"]
    shapes: Annotated[tuple[Shape, ...], Field(min_length=1, max_length=10_000)]

    @property
    def num_weights(self) -> int:
        """Those of all shapes."""
        return sum(map(math.prod, self.shapes))

    def direction(self, velocity: Floats, mean: Floats) -> Floats:
        """Looks one step ahead, and makes every array's part orthogonal."""
        ahead, moves, begin = mean + self.momentum * velocity, [], 0
        for shape in self.shapes:
            end = begin + math.prod(shape)
            columns = math.prod(shape[1:]) if len(shape) > 1 else shape[0]
            longer = math.sqrt(max(1.0, shape[0] / columns))
            moves.append(longer * orthogonalised(ahead[begin:end].reshape(shape)).ravel())
            begin = end
        return np.concatenate(moves)


ServerConfig = Annotated[
    AveragingConfig | TailMeanConfig | MomentumConfig | AdaptiveConfig | MuonConfig,
    Field(discriminator="kind"),
]
