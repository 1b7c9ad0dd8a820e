r"""The Poisson binomial mechanism: the data themselves bias the coins, and no noise is added.

Chen, Özgür, Kairouz (2022), arXiv:2207.09916, Algorithm 1: a coordinate x in [−c, c] is sent as
Z ~ Bin(m, 1/2 + θx/c), 0 < θ ≤ 1/4. The sum over n senders is Poisson binomial, and
c/(mθ)·(ΣZ − nm/2) is an unbiased estimate of Σx. What travels is Z − ⌊m/2⌋: bounded by m/2, and for a small
bias far narrower, so that the number of trials may exceed what a ring holds.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from discreet.errors import ConfigurationError, PrivacyViolation
from discreet.mechanisms.binomial import binomial_tv, check_magnitude, check_trials, draw_binomial
from discreet.privacy.events import PoissonBinomialRelease
from discreet.randomness import RandomSource


@dataclass(frozen=True, slots=True)
class PoissonBinomial:
    """Public parameters of the mechanism.

    Attributes:
        coordinate_bound: c, on every coordinate's magnitude, real units.
        trials: m, coins a coordinate and sender; up to 2^82, if the bias is small enough for 62 bits.
        bias: θ, how far a coordinate at its bound moves the coins from 1/2.

    Raises:
        ConfigurationError: if a parameter is out of range.
    """

    coordinate_bound: float
    trials: int
    bias: float

    def __post_init__(self) -> None:
        if not self.coordinate_bound > 0:
            raise ConfigurationError(f"coordinate_bound must be positive; got {self.coordinate_bound}.")
        check_trials(self.trials)
        if not 0.0 < self.bias <= 0.25:
            raise ConfigurationError(f"bias must be in (0, 1/4]; got {self.bias}. Lower bias.")
        check_magnitude(self.trials, self.bias)

    def release(self, *, num_senders: int, dimension: int) -> PoissonBinomialRelease:
        """What accounting has to know; its θ is how far a float64 probability can really be from 1/2."""
        theta = (0.5 + self.bias) - 0.5
        return PoissonBinomialRelease(self.trials, num_senders, max(theta, self.bias), dimension)

    def sampler_tv(self, size: int) -> float:
        """Bounds the total variation between ``size`` coins' counts and their laws; the plan adds it to δ."""
        return binomial_tv(self.trials, size)

    def encode(self, values: npt.NDArray[np.float64], randomness: RandomSource) -> npt.NDArray[np.int64]:
        """Returns how many coins of one sender came up, less ⌊trials/2⌋; shape kept (one dimension).

        The success probability is the float64 nearest to 1/2 + θx/c; the coins follow that one, within
        `sampler_tv`.

        Raises:
            PrivacyViolation: if a coordinate is not finite or beyond the bound.
        """
        if not np.all(np.abs(values) <= self.coordinate_bound):
            raise PrivacyViolation(
                f"every coordinate must be finite and at most {self.coordinate_bound} in magnitude; "
                "one is not. Clip or flatten the update first."
            )
        probs = 0.5 + self.bias * (values / self.coordinate_bound)
        return draw_binomial(self.trials, probs, randomness)

    def decode(self, total: npt.NDArray[np.int64], num_senders: int) -> npt.NDArray[np.float64]:
        """Returns the unbiased estimate of the sum of ``num_senders`` encoded vectors, real units."""
        centred = total.astype(np.float64) - 0.5 * num_senders * (self.trials % 2)
        return centred * (self.coordinate_bound / (self.trials * self.bias))
