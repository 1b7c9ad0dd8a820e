"""What stable-steps and tangent-steps share: guarded, non-expansive steps on a convex loss (theory §2.4)."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import ClassVar, Literal, Self

from pydantic import model_validator

from discreet.errors import ConfigurationError
from discreet.kinds.batch_guard import MOST_FAILURE_PROB, BatchGuard, batch_guard, require_capacity
from discreet.kinds.contract import DecayingSection, LocalTraining
from discreet.kinds.fields import Count, Positive, Probability, StepCount
from discreet.kinds.float_error import require_norm, with_slack
from discreet.kinds.persons import PersonWeights
from discreet.kinds.setting import SiloSetting
from discreet.kinds.weighted import ConvexLoss, StatedWeights, weights_text
from discreet.privacy.events import Sampling
from discreet.sampling import Poisson


class ConvexStepsSection(DecayingSection):
    """Local steps whose number does not enter the sensitivity.

    Give ``steps``, or ``records_per_step`` so that larger silos take more steps; ``steps = "each"`` gives
    every record (or person) a step of its own, in random order, at rates many times as large. The learning
    rate is per record: steps follow the sum over a batch. ``residual_cap`` bounds how far the model's
    probability of a record's own class counts as too low; the sensitivity, and so the noise, is proportional
    to it. 1 caps nothing. Where the label is a number it is Huber's threshold, in units of half the label's
    range: the most that a record's residual counts. ``class_weights`` has a public number for each class, in
    their order, by which its records count; they are divided by the largest, and cost no more noise. Or a
    table, by which noisy counts before the first round give them.

    Attributes:
        learning_rate: per record: steps follow the sum over a batch.
        steps: of a pass; ``each`` gives every record, or person, its own.
        records_per_step: in place of ``steps``: larger silos take more.
        passes: over the records in a round.
        residual_cap: the most that a record's residual counts; 1 caps nothing.
        class_weights: a public number for each class, or a table by which noisy counts give them.
    """

    sources: ClassVar[tuple[str, ...]] = ("wu2017", "hardt2016")
    steps_share_state: ClassVar[bool] = True
    title: ClassVar[str]

    learning_rate: Positive
    steps: StepCount | Literal["each"] | None = None
    records_per_step: Count | None = None
    passes: StepCount = 1
    residual_cap: Probability = 1.0
    class_weights: StatedWeights | None = None

    @model_validator(mode="after")
    def _one_of(self) -> Self:
        if (self.steps is None) == (self.records_per_step is None):
            got = "neither" if self.steps is None else "both"
            raise ValueError(
                "exactly one of 'steps' and 'records_per_step' must be given beside 'learning_rate', and "
                f"'rounds'; got {got}. Leave all of them out, and the plan works them out"
            )
        return self

    @property
    def weighs(self) -> StatedWeights | None:
        """The class weights, or the table by which noisy counts give them."""
        return self.class_weights

    @property
    def caps(self) -> float:
        """The residual cap."""
        return self.residual_cap

    def step_count(self, capacity: int) -> int | None:
        """Returns how many steps a silo of at most ``capacity`` records takes in a pass; None: one each."""
        if self.steps == "each":
            return None
        if self.steps is not None:
            return self.steps
        return max(1, -(-capacity // (self.records_per_step or 1)))

    def describe(self) -> str:
        """Says in one line what a silo computes in a round."""
        steps = f"one for {self.records_per_step} records" if self.steps is None else f"{self.steps}"
        rate = f"learning rate {self.learning_rate:g}{self.decay_text()}"
        said = f"{self.title}: {rate}, steps: {steps}, passes: {self.passes}"
        if self.class_weights is None:
            return said
        return f"{said}, class weights {weights_text(self.class_weights)}"

    def largest_move(self, setting: SiloSetting, lipschitz: float) -> float:
        """Bounds how far the records of one round move the weights; the update is projected onto that."""
        return self.passes * self.learning_rate * lipschitz * setting.batch_bound


@dataclass(frozen=True, slots=True)
class ConvexSteps(LocalTraining):
    r"""Settings of gradient steps on disjoint random batches, and what their convexity alone guarantees.

    Every record enters a round with probability ``sampling_prob``; one that enters is given one of the
    ``steps`` uniformly. Without a number of steps, those that entered take a step each, in random order.

    Guarantee:
        Adding or removing one sampled record moves the update by at most passes·γ·L for any number of steps,
        if each record's loss is convex, L-Lipschitz and β-smooth: γ(β·b + λ) ≤ 2 is checked for every batch
        size b that is not aborted. Hardt, Recht, Singer (2016), Lemma 3.7 (convex gradient steps are
        non-expansive); Wu et al. (2017), Theorem 1, for noise added after the last step. One record a step:
        docs/theory/steps.md, theorem of that section.

    Attributes:
        loss: of the logits, perhaps capped, perhaps weighted by class; gives L and β.
        norm_bound: R, public: the norm of a record's features, or the spread of its tangent, is at most this.
        learning_rate: γ, per record (steps follow the *sum* over the batch).
        one_each: whether units may take a step each.
        steps: local steps a pass; None for one each.
        record_capacity: public upper bound on the number of training records of this silo.
        sampling_prob: probability that a record enters a round.
        passes: how often each record that entered is used, with a fresh step each time.
        projection_radius: the update is projected onto the ball of this radius, which keeps the
            sensitivity and lets the ring be smaller; infinite leaves it alone.
        guard_prob: probability, each round, that the guard may fail with.
        persons: how a person's records count, all in one step; None where each record is by itself. Persons
            are then what is sampled, dealt to steps and bounded by ``record_capacity``.
        unit_length: f, at most 1: the round's rate is f·γ, and the update is sent divided by f. So what
            travels moves by as much as in a round at γ (docs/theory/schedules.md).

    Raises:
        ConfigurationError: if a number is out of range, or γ(β·b_max + λ) > 2 for the batch guard b_max.
    """

    name: ClassVar[str] = "convex steps"
    one_each: ClassVar[bool] = False

    loss: ConvexLoss
    norm_bound: float
    learning_rate: float
    steps: int | None
    record_capacity: int
    sampling_prob: float = 1.0
    passes: int = 1
    projection_radius: float = math.inf
    guard_prob: float = MOST_FAILURE_PROB
    persons: PersonWeights | None = None
    unit_length: float = 1.0

    def __post_init__(self) -> None:
        require_norm(self.norm_bound, "norm_bound", self.name)
        if not (self.learning_rate > 0 and math.isfinite(self.learning_rate)):
            raise ConfigurationError(
                f"'learning_rate' of {self.name} must be positive; got {self.learning_rate}."
            )
        if not 0.0 < self.unit_length <= 1.0:
            raise ConfigurationError(
                f"'unit_length' of {self.name} must be in (0, 1]; got {self.unit_length}."
            )
        if not self.projection_radius > 0:
            raise ConfigurationError(
                f"'projection_radius' of {self.name} must be positive; got {self.projection_radius}."
            )
        for name in ("steps", "passes", "record_capacity"):
            if name == "steps" and self.steps is None and self.one_each:
                continue
            if getattr(self, name) is None or not getattr(self, name) >= 1:
                raise ConfigurationError(f"{name!r} of {self.name} must be >= 1; got {getattr(self, name)}.")
        if not 0.0 <= self.regulariser < math.inf:
            raise ConfigurationError(f"'l2_regulariser' of {self.name} must be >= 0; got {self.regulariser}.")
        if self.steps is None and self.regulariser > 0.0:
            # One record more would be one shrinking step more, as long as the weights are.
            raise ConfigurationError(
                f"'l2_regulariser' of {self.name} must be 0 where every record takes a step of its own; got "
                f"{self.regulariser}. Give a number of steps to use one."
            )
        if not 0.0 < self.guard_prob < 1.0:
            raise ConfigurationError(f"'guard_prob' of {self.name} must be in (0, 1); got {self.guard_prob}.")
        Poisson(self.sampling_prob)
        self._require_non_expansive()

    def at_rate(self, factor: float) -> Self:
        """Returns the training of a round at another rate, sent in units of that rate."""
        return replace(self, unit_length=factor)

    def in_weights(self) -> Self:
        """Returns the training that the round carries out, whose update is in weights."""
        f = self.unit_length
        if f == 1.0:
            return self
        rate, radius = f * self.learning_rate, f * self.projection_radius
        return replace(self, learning_rate=rate, projection_radius=radius, unit_length=1.0)

    @property
    def step_bound(self) -> int:
        """The most steps of a pass."""
        return self.record_capacity if self.steps is None else self.steps

    @property
    def regulariser(self) -> float:
        """λ, on the scale of the sum over one batch."""
        return 0.0

    def lipschitz(self) -> float:
        """L of any record's loss."""
        return self.loss.lipschitz(self.norm_bound)

    def guard(self) -> BatchGuard:
        """Returns the largest batch that is not aborted, and the probability of an abort."""
        if self.steps is None:
            return BatchGuard(1, 0.0)
        entry = self.sampling_prob / self.steps
        return batch_guard(self.record_capacity, entry, self.steps * self.passes, self.guard_prob)

    def l2_sensitivity(self) -> float:
        """passes·γ·L, enlarged for floating-point error."""
        return with_slack(self.passes * self.learning_rate * self.lipschitz())

    def update_bound(self, record_capacity: int) -> float:
        """Every record moves the update by at most its own sensitivity; the projection may be tighter."""
        require_capacity(record_capacity, self.record_capacity)
        return min(record_capacity * self.l2_sensitivity(), with_slack(self.projection_radius))

    def failure_prob(self, record_capacity: int) -> float:
        """Probability that a batch exceeds the guard; the round is then aborted."""
        require_capacity(record_capacity, self.record_capacity)
        return self.guard().failure_prob

    @property
    def roundings(self) -> int:
        """Two: a record's own coin, the step that it is given, decides what is rounded."""
        return 2

    def release_sampling(self) -> Sampling:
        """Poisson sampling of records, or none when all enter."""
        return Poisson(self.sampling_prob).event()

    def reach(self) -> float:
        """How far all records together can move the weights in one round."""
        return self.passes * self.record_capacity * self.learning_rate * self.lipschitz()

    def _require_non_expansive(self) -> None:
        largest = self.guard().max_batch
        curvature = self.loss.smoothness(self.norm_bound) * largest
        if not self.learning_rate * (curvature + self.regulariser) <= 2.0:
            raise ConfigurationError(
                f"{self.name} needs learning_rate * (smoothness * largest_batch + l2_regulariser) <= 2 to be "
                f"non-expansive; got learning_rate {self.learning_rate:.4g}, smoothness * largest_batch "
                f"{curvature:.4g} (batches of up to {largest} records) and l2_regulariser "
                f"{self.regulariser:.4g}. Use a learning_rate of at most "
                f"{2.0 / (curvature + self.regulariser):.4g}, more steps, or a smaller norm bound. The limit "
                f"shrinks as record_capacity, {self.record_capacity}, grows, for a batch may be larger then."
            )
