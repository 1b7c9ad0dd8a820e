"""The [run] table: how this machine carries a plan out."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from discreet.kinds.fields import Count, Section


class Dropout(Section):
    """A rehearsed failure: ``silo`` disappears in ``round`` before it sends the message of ``stage``.

    Attributes:
        silo: which one.
        round: from 1.
        stage: the message before which it disappears.
    """

    silo: str
    round: Count
    stage: Literal["advertise", "share", "mask", "confirm", "unmask"] = "mask"


class RunConfig(Section):
    """How this machine carries the plan out. Nothing here may change the guarantee.

    Attributes:
        seed: makes a simulation reproducible; whoever knows it can remove the noise, and the report says so.
        evaluate: measure the model on held-out records after every round; these numbers are not private.
        compare: also train without privacy, pooled and alone; never released, for the price of privacy.
        dropouts: rehearsed failures; simulation only.
    """

    seed: Annotated[int, Field(ge=0)] | None = None
    evaluate: bool = True
    compare: bool = False
    dropouts: tuple[Dropout, ...] = ()
