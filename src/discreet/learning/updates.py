"""What local training returns: vectors that never leave the silo as they are."""

from __future__ import annotations

from dataclasses import dataclass

from discreet.arrays import Floats


@dataclass(frozen=True, slots=True, repr=False)
class LocalUpdate:
    """One silo's update of one round, before rounding and noise: it never leaves the silo in this form.

    Attributes:
        vector: what the secure sum adds up, shape ``(d,)``, real units, pointing downhill.
        loss: mean training loss that the silo saw; private. None where nothing is trained.
        batch: number of records (or clients) that took part; private.
    """

    vector: Floats
    loss: float | None
    batch: int

    def __repr__(self) -> str:
        return "LocalUpdate(<private>)"


@dataclass(frozen=True, slots=True, repr=False)
class CountedUpdate:
    """An update of clipped contributions, and how many of them were not shortened; private.

    Attributes:
        update: the sum of clipped contributions.
        within: number of units in it whose own norm was at most the clipping norm.
    """

    update: LocalUpdate
    within: int

    def __repr__(self) -> str:
        return "CountedUpdate(<private>)"
