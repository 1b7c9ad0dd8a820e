"""How fast a machine carries a plan out: nothing here is part of the agreement or of any guarantee."""

from __future__ import annotations

from typing import Literal

from discreet.kinds.fields import Count, Section


class SpeedConfig(Section):
    """The ``[speed]`` table of a simulation.

    Attributes:
        workers: processes that train silos at the same time. "auto" starts one a processor once a round has
            shown that it pays. A seeded run gives the same bits with any number.
        device: where networks run. "cuda" gives the same results in distribution, not the same bits; linear
            heads stay on the processor.
    """

    workers: Count | Literal["auto"] = "auto"
    device: Literal["cpu", "cuda"] = "cpu"
