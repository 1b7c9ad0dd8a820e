r"""Stable-steps: many local steps of a convex model at the sensitivity of one (theory §2.4); record unit."""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass
from typing import ClassVar, Literal

from discreet.errors import ConfigurationError, HowTo
from discreet.kinds.capped import capped
from discreet.kinds.convex_steps import ConvexSteps, ConvexStepsSection
from discreet.kinds.fields import NonNegative
from discreet.kinds.float_error import (
    FEATURE_NORM_TOLERANCE,
    FLOAT_SLACK,
    MARGIN_TERMS,
    entropy_residual_error,
    huber_residual_error,
    labels_residual_error,
    linear_step_error,
    ordinal_residual_error,
    weighted_residual_error,
)
from discreet.kinds.heads import MultiLabel, Ordinal
from discreet.kinds.huber import Huber
from discreet.kinds.persons import records_of
from discreet.kinds.setting import SiloSetting
from discreet.kinds.stated_loss import ROUNDING, StatedLoss
from discreet.kinds.weighted import ConvexLoss, Weighted, linear_head_of, unweighted, weighted, weights_text


class StableStepsConfig(ConvexStepsSection):
    """Several local steps of a convex model with sensitivity γL (theory §2.4); record unit.

    Attributes:
        l2_regulariser: strength of the L2 penalty; 0 is none.
    """

    title: ClassVar[str] = "stable-steps"
    takes_own_loss: ClassVar[bool] = True

    kind: Literal["stable-steps"]
    l2_regulariser: NonNegative = 0.0

    @property
    def is_non_expansive(self) -> bool:
        """Yes, but with a regulariser, which may let the projection of updates act."""
        return self.l2_regulariser == 0.0

    def describe(self) -> str:
        """Says in one line what a silo computes in a round."""
        regularised = f"{super().describe()}, L2 regulariser {self.l2_regulariser:g}"
        return f"{regularised}, residual cap {self.residual_cap:g}"

    def planned(self, setting: SiloSetting) -> StableSteps:
        """Returns the training of a silo; nothing of it is clipped.

        Raises:
            ConfigurationError: if the model is not linear, or nobody says how long features may be.
        """
        if not setting.linear:
            raise ConfigurationError(
                "'training.local' stable-steps must train a convex model (a linear head); "
                f"{setting.model!r} is not one. Use tangent-steps or single-step (record), or clipped-update "
                "(client).",
                see=HowTo.LOCAL_KIND,
            )
        if setting.feature_norm_bound is None:
            raise ConfigurationError(
                "stable-steps needs features of publicly bounded norm; this data source states none. "
                "Give 'data.feature_norm_bound' (arrays), 'data.ranges' (tables), or use single-step.",
                see=HowTo.DATA,
            )
        if setting.norm is not None:
            raise ConfigurationError(
                "'privacy.clip_norm' must be left out with stable-steps: its sensitivity follows from the "
                "model and the learning rate, and nothing is clipped."
            )
        if setting.own_loss is not None and self.residual_cap != 1.0:
            raise ConfigurationError(
                "'training.local.residual_cap' must be 1 with a loss of your own; got "
                f"{self.residual_cap:g}. Cap the residual in the loss, and state its norm."
            )
        if (setting.number or setting.several) and self.class_weights is not None:
            what = "the label is a number" if setting.number else "there are several labels"
            raise ConfigurationError(
                f"'training.local.class_weights' must be left out where {what}; got "
                f"{weights_text(self.class_weights)}."
            )
        cap = self.residual_cap
        plain = Huber(cap) if setting.number else setting.own_loss or capped(setting.head, cap)
        loss = weighted(plain, self.class_weights)
        return StableSteps(
            learning_rate=self.learning_rate,
            steps=self.step_count(setting.capacity),
            sampling_prob=setting.share,
            record_capacity=setting.capacity,
            loss=loss,
            norm_bound=setting.feature_norm_bound,
            projection_radius=self.largest_move(setting, loss.lipschitz(setting.feature_norm_bound)),
            passes=self.passes,
            guard_prob=setting.guard_prob,
            persons=setting.persons,
            l2_regulariser=self.l2_regulariser,
        )


@dataclass(frozen=True, slots=True)
class StableSteps(ConvexSteps):
    r"""Gradient steps on disjoint random batches; unclipped, because each step is non-expansive.

    Step s moves the weights by -γ(Σ_batch ∇f + λ·weights). The update is how far the last step ended from
    the first. The loss is that of the model's convex head, from `discreet.models.convexity`, perhaps capped;
    `Huber` where the label is a number;
    ``norm_bound`` is that of the features, constant feature included. Longer features are scaled down to it;
    a record whose label is not one of the classes contributes zero. The guarantee is that of `ConvexSteps`.

    Attributes:
        l2_regulariser: λ, on the scale of the sum over one batch.
    """

    name: ClassVar[str] = "stable-steps"
    one_each: ClassVar[bool] = True

    l2_regulariser: float = 0.0

    @property
    def assumptions(self) -> tuple[str, ...]:
        """None: steps are continuous functions of bounded features in float64, whose rounding is bounded."""
        return ()

    @property
    def regulariser(self) -> float:
        """λ."""
        return self.l2_regulariser

    def rounding_share(self, num_features: int, weight_norm: float | None = None) -> float:
        """Twice the errors of all steps over the slack: those of two neighbouring data sets may add up."""
        norm, sent = self.reach() if weight_norm is None else weight_norm, self.in_weights()
        return sent._rounding_share(num_features, norm)

    def _rounding_share(self, num_features: int, weight_norm: float) -> float:
        ordinal, largest = isinstance(linear_head_of(self.loss), Ordinal), self.guard().max_batch
        error = linear_step_error(
            num_features=num_features + MARGIN_TERMS * ordinal,
            residual_norm=self.loss.lipschitz(1.0),
            residual_lipschitz=self.loss.smoothness(1.0),
            residual_error=_residual_error(self.loss),
            batch=largest,
            feature_norm=self.norm_bound,
            weight_norm=weight_norm + self.reach(),
            learning_rate=self.learning_rate,
            terms=None if self.persons is None else records_of(self.persons, largest),
        )
        slack = self.l2_sensitivity() * (FLOAT_SLACK - 2.0 * FEATURE_NORM_TOLERANCE) / (1.0 + FLOAT_SLACK)
        # At the smallest learning rates nothing is left of the slack, and what underflows, which the error of
        # a step leaves out, is not small beside it.
        holds = slack > 0.0 and error >= sys.float_info.min
        return 2.0 * self.step_bound * self.passes * error / slack if holds else math.inf


def _residual_error(loss: ConvexLoss) -> float:
    bare = unweighted(loss)
    if isinstance(bare, StatedLoss):
        error = ROUNDING * bare.residual_norm
    elif isinstance(bare, Huber):
        error = huber_residual_error(bare.threshold)
    elif isinstance(linear_head_of(loss), MultiLabel):
        error = labels_residual_error(bare.outputs)
    elif isinstance(linear_head_of(loss), Ordinal):
        error = ordinal_residual_error(bare.outputs)
    else:
        error = entropy_residual_error(bare.outputs)
    return weighted_residual_error(bare.lipschitz(1.0), error) if isinstance(loss, Weighted) else error
