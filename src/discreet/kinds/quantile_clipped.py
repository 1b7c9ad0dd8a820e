"""A kind that clips, at a norm that follows a quantile: its count of unclipped units travels with the sum."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

from discreet.arrays import Floats
from discreet.errors import ConfigurationError, HowTo
from discreet.kinds.clipped_update import ClippedUpdate
from discreet.kinds.contract import LocalTraining
from discreet.kinds.quantile_clipping import QuantileClipping, require_usable_norm
from discreet.kinds.single_step import SingleStep
from discreet.kinds.styles import Automatic
from discreet.privacy.events import Sampling
from discreet.privacy.units import Unit


@dataclass(frozen=True, slots=True)
class QuantileClipped(LocalTraining):
    r"""Single-step or clipped-update in units of the round's clipping norm, and one coordinate more.

    Guarantee:
        At every norm, adding or removing one sampled unit moves the vector, shape ``(d + 1,)``, by at most
        √(1 + weight²/4) in units of that norm. The sum and the count are projected separately, and each
        projection is non-expansive. Andrew et al. (2021), Algorithm 1; docs/theory/steps.md.

    Attributes:
        kind: what is clipped; its ``clip_norm`` is the round's.
        rule: how the norm moves, and what the count costs.

    Raises:
        ConfigurationError: if clipping at ``kind.clip_norm`` does not say how long contributions are.
    """

    kind: SingleStep | ClippedUpdate
    rule: QuantileClipping

    def __post_init__(self) -> None:
        if isinstance(self.kind, ClippedUpdate) and self.kind.project_steps:
            raise ConfigurationError(
                "'project_steps' must be false where the clipping norm follows a quantile: steps that are "
                "kept in the ball do not say how far they would have gone; got true. Use a fixed clip_norm.",
                see=HowTo.CLIP_NORM,
            )
        if isinstance(self.kind, SingleStep) and isinstance(self.kind.style, Automatic):
            raise ConfigurationError(
                "'style' must be flat or per-layer where the clipping norm follows a quantile: automatic "
                "clipping scales every gradient to the norm, so none needs to be found; got automatic."
            )

    @property
    def unit(self) -> Unit:
        """Whom the sensitivity protects."""
        return self.kind.unit

    @property
    def assumptions(self) -> tuple[str, ...]:
        """Those of ``kind``."""
        return self.kind.assumptions

    def at(self, norm: float) -> Self:
        """Returns the same training at the norm of a round.

        Raises:
            PrivacyViolation: for a norm at which no bound would hold.
        """
        require_usable_norm(norm)
        return replace(self, kind=self.kind.with_clip_norm(norm))

    def starting_from(self, announced: Floats) -> tuple[Self, Floats]:
        """Returns the training at the round's norm, which is the last number, and the weights."""
        return self.at(float(announced[-1])), announced[:-1]

    def at_rate(self, factor: float) -> Self:
        """Returns the same training with ``kind`` at another rate."""
        return replace(self, kind=self.kind.at_rate(factor))

    def l2_sensitivity(self) -> float:
        """√(1 + weight²/4) clipping norms, enlarged for floating-point error."""
        return self.rule.l2_sensitivity()

    def update_bound(self, record_capacity: int) -> float:
        """The longest contribution times as many units as the projections leave, in clipping norms."""
        return min(record_capacity, self.kind.most_units) * self.l2_sensitivity()

    def release_sampling(self) -> Sampling:
        """How units enter the release."""
        return self.kind.release_sampling()


def following(training: LocalTraining, rule: QuantileClipping, *, kind: str) -> QuantileClipped:
    """Returns ``training``, which users call ``kind``, at a clipping norm that moves by ``rule``.

    Raises:
        ConfigurationError: for a kind that cannot say how many contributions were not shortened.
    """
    if not isinstance(training, SingleStep | ClippedUpdate):
        raise ConfigurationError(
            "'privacy.clip_norm' can follow a quantile with single-step (record) or clipped-update (client); "
            f"got {kind}. Use one of these, or give the norm as a number.",
            see=HowTo.CLIP_NORM,
        )
    return QuantileClipped(training, rule)
