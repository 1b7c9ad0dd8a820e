"""How rarely a bound may fail: rarely against the δ that is asked for (docs/theory/rows.md)."""

from __future__ import annotations

import math

from discreet.config import Config
from discreet.kinds.batch_guard import MOST_FAILURE_PROB

# Share of δ that one kind of failure may take over a whole training, each time that it counts.
_FAILURE_SHARE = 1e-4


def rare(config: Config, times: int, *, most: float = MOST_FAILURE_PROB) -> float:
    """Returns how often a bound that is relied on ``times`` times may fail each time; above 0."""
    return max(math.ulp(0.0), min(most, _FAILURE_SHARE * config.privacy.delta / times))
