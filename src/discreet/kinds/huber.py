r"""The loss of a linear head whose label is a number: squared for small residuals, linear beyond a threshold.

Let t in [-1, 1] be where a record's number lies in its public range, z = ⟨w, x⟩ the model's output, and c the
threshold, in units of half the range. The loss of the record is h(z - t), with h(r) = r²/2 where |r| <= c and
c·|r| - c²/2 beyond (Huber 1964). For features of norm at most R, as a function of the weights:

- It is convex: h' is r, cut off at -c and c, which never falls.
- Its gradient is h'(z - t)·x, so L = c·R: whatever the weights and the record's number are.
- h' moves no faster than r, so the gradient moves by at most |⟨w - w', x⟩|·‖x‖, and β = R².

The guarantee needs no bound on z or t; the range of the label only says what the threshold is a share of.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from discreet.arrays import Floats, Integers
from discreet.data.labels import Outcome
from discreet.errors import ConfigurationError


@dataclass(frozen=True, slots=True)
class Huber:
    """One output; labels are places in a public range, as of `discreet.data.labels.Outcome`.

    Attributes:
        threshold: c, in (0, 1]; noise is proportional to it, and so is what a badly predicted record
            contributes.

    Raises:
        ConfigurationError: if ``threshold`` is not in (0, 1].

    Example:
        >>> Huber(0.25).lipschitz(2.0), Huber(0.25).smoothness(2.0)
        (0.5, 4.0)
    """

    threshold: float

    def __post_init__(self) -> None:
        if not 0.0 < self.threshold <= 1.0:
            raise ConfigurationError(f"The 'threshold' of Huber must be in (0, 1]; got {self.threshold}.")

    @property
    def outputs(self) -> int:
        """Number of rows of the weight matrix."""
        return 1

    def lipschitz(self, feature_norm_bound: float) -> float:
        """Bounds the norm of any record's gradient: c·R."""
        return self.threshold * feature_norm_bound

    def smoothness(self, feature_norm_bound: float) -> float:
        """Bounds how far a record's gradient moves for each unit that the weights move: R²."""
        return feature_norm_bound**2

    def losses_and_residuals(self, logits: Floats, labels: Integers) -> tuple[Floats, Floats]:
        """Each record's loss, shape ``(n,)``, and its derivative by the output, shape ``(n, 1)``.

        Any integer is a label: one outside of the range is clipped into it.
        """
        off = logits[:, 0] - Outcome.positions(labels)
        residuals = np.clip(off, -self.threshold, self.threshold)
        losses: Floats = residuals * (off - residuals / 2.0)
        return losses, residuals[:, None]
