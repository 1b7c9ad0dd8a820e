"""What a proof hands back: what it found, and what the samplers rely on."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Bound:
    """A proven upper bound, and the larger one that the samplers use."""

    name: str
    proven: float
    claimed: float

    @property
    def holds(self) -> bool:
        """Whether the proof covers the claim; a NaN does not."""
        return self.proven <= self.claimed

    def __str__(self) -> str:
        proven, claimed = (math.log2(x) if x > 0 else -math.inf for x in (self.proven, self.claimed))
        return (
            f"{self.name:<62} 2^{proven:9.4f} <= 2^{claimed:9.4f}  {'proven' if self.holds else 'NOT PROVEN'}"
        )
