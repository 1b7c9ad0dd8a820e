r"""Private quantile clipping: the clipping norm follows a quantile of the units' norms, and pays for it.

Andrew, Thakkar, McMahan, Ramaswamy (2021), Algorithm 1, with one change that fits an integer sum: the count
of units below the norm travels as one more coordinate of the same noisy vector. Updates are sent in units of
the current norm, so that the sensitivity is the same public constant in every round.
"""

from __future__ import annotations

import math
from typing import Annotated, Any

import numpy as np
from pydantic import Discriminator, Field, Tag

from discreet.arrays import Floats
from discreet.errors import PrivacyViolation
from discreet.kinds.fields import Positive, Section, within
from discreet.kinds.float_error import MAX_NORM, MIN_NORM, with_slack


class QuantileClipping(Section):
    r"""The table ``privacy.clip_norm``: how the clipping norm is found, and what finding it costs.

    For single-step and clipped-update. A unit contributes (update/C, weight·(b - 1/2)), b = 1 if its norm was
    at most C and 0 otherwise.

    Guarantee:
        Adding or removing a sampled unit moves the sum of these vectors by at most √(1 + weight²/4) in L2,
        whatever C is; one release of it with noise multiplier z costs what one release at z does. Per
        coordinate the noise on the update grows by the same factor: at weight 0.5 by 3 %. Proof:
        docs/theory/steps.md.

    Attributes:
        quantile: share of the units (records, or clients) that should not be clipped.
        initial: C of the first round, a public guess; rather too small than too large.
        weight: how much of the sensitivity is spent on the count.
        learning_rate: how fast the norm follows: its logarithm moves by less than this in a round.

    Example:
        >>> rule = QuantileClipping(initial=2.0, quantile=0.5)
        >>> rule.next_norm(2.0, released_count=0.0, expected_units=100.0)  # half of the units were within
        2.0
    """

    quantile: Annotated[float, Field(gt=0, lt=1)]
    initial: Annotated[
        float, Field(ge=MIN_NORM, le=MAX_NORM), within(MIN_NORM, MAX_NORM, "above 0, from 2^-64 to 2^64")
    ]
    weight: Positive = 0.5
    learning_rate: Positive = 0.2

    def l2_sensitivity(self) -> float:
        """√(1 + weight²/4) in units of the clipping norm, enlarged for floating-point error."""
        return with_slack(math.sqrt(1.0 + self.weight**2 / 4.0))

    def joined(self, clipped: Floats, norm: float, *, within: int, units: int) -> Floats:
        """Returns the sum over units of what each contributes, shape ``(d + 1,)``, in units of ``norm``.

        Args:
            clipped: the sum of the units' clipped updates, shape ``(d,)``, real units.
            norm: the round's C.
            within: how many of the units had b = 1.
            units: how many units took part.
        """
        return np.append(clipped / norm, self.weight * (within - units / 2.0))

    def next_norm(self, norm: float, released_count: float, expected_units: float) -> float:
        """Returns C for the next round from the last coordinate of the released sum.

        A unit that was expected and is missing counts as half within: it moves the estimate towards 1/2.

        Args:
            norm: the round's C.
            released_count: that coordinate: Σ weight·(b - 1/2) plus noise.
            expected_units: public expected number of sampled units.

        Returns:
            C·exp(-learning_rate·(estimated share below C - quantile)); post-processing of the release.
        """
        share = released_count / (self.weight * expected_units) + 0.5
        moved = norm * math.exp(-self.learning_rate * (min(max(share, 0.0), 1.0) - self.quantile))
        return min(max(moved, MIN_NORM), MAX_NORM)


def require_usable_norm(norm: float) -> None:
    """Refuses a round's clipping norm for which no bound would hold, as a server gone wrong may send it.

    Raises:
        PrivacyViolation: if it is not between 2^-64 and 2^64.
    """
    if not MIN_NORM <= norm <= MAX_NORM:
        raise PrivacyViolation(
            f"the clipping norm of a round must be between 2^-64 and 2^64; got {norm}. Nothing left the "
            "silo. Plan again with another 'privacy.clip_norm.initial'."
        )


def _norm_tag(value: Any) -> str:
    return "number" if isinstance(value, int | float | str) else "table"


ClipNorm = Annotated[
    Annotated[Positive, Tag("number")] | Annotated[QuantileClipping, Tag("table")],
    Discriminator(_norm_tag),
]
"""The key ``privacy.clip_norm``: a number, or a table by which the norm follows a quantile."""
