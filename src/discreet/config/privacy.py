"""The table ``privacy``: what must be guaranteed, to whom and against whom."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from discreet.kinds import ClipNorm, QuantileClipping
from discreet.kinds.fields import Positive, Section

AUTO_NORM = {"quantile": 0.5, "initial": 0.1, "learning_rate": 0.5}
"""The median of the lengths, from a guess that is rather too short for features of length 1."""


class PrivacyConfig(Section):
    """What must be guaranteed: a target (ε, δ), or a fixed ``noise_multiplier`` instead of ``epsilon``.

    The target holds against the strongest adversary of the plan: another member, which knows its own noise,
    or the server together with ``aggregation.max_colluding`` silos, when only ``aggregation.min_survivors``
    silos survive. A CONDITIONAL analysis is used only if its assumption is named in ``accept_assumptions``.

    Attributes:
        unit: what is protected: one record, one person with all records, or one silo (``client``).
        epsilon: the target ε; in its place ``noise_multiplier``.
        noise_multiplier: noise of the silos that the target counts, over the sensitivity of a round's sum; in
            place of ``epsilon``.
        delta: the δ at which ε is stated.
        accept_assumptions: names of assumptions without which an analysis is not used.
        mechanism: law of the noise. ``discrete-laplace`` is for questions that count records: narrower than
            Gaussian noise for one to a few questions, and dearer where many releases compose.
        against: whom the target is for. ``outsiders`` leaves other members out, as publications do that count
            every share of noise; their row is then printed with its larger ε.
        clip_norm: L2 norm that every contribution is shortened to: a number, or a table with a ``quantile``;
            "auto" is such a table, ``{ quantile = 0.5, initial = 0.1, learning_rate = 0.5 }``, and nothing
            where stable-steps clip nothing.
    """

    unit: Literal["record", "person", "client"] = "record"
    epsilon: Positive | None = None
    noise_multiplier: Positive | None = None
    delta: Annotated[float, Field(gt=0, lt=1)]
    against: Literal["members", "outsiders"] = "members"
    mechanism: Literal["rounded-gaussian", "discrete-gaussian", "skellam", "discrete-laplace"] = (
        "rounded-gaussian"
    )
    clip_norm: ClipNorm | None = None
    accept_assumptions: tuple[str, ...] = ()

    @model_validator(mode="after")
    def _one_of(self) -> PrivacyConfig:
        if (self.epsilon is None) == (self.noise_multiplier is None):
            raise ValueError("exactly one of 'epsilon' and 'noise_multiplier' must be given")
        return self

    @property
    def norm_rule(self) -> QuantileClipping | None:
        """The rule by which the clipping norm moves; None if it is fixed, or nothing is clipped."""
        return self.clip_norm if isinstance(self.clip_norm, QuantileClipping) else None
