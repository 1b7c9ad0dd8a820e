"""The table ``style``: how a record's gradient is brought into the ball of the clipping norm."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from discreet.kinds.fields import Positive, Section


class FlatStyle(Section):
    """A record's whole gradient is shortened to the clipping norm."""

    kind: Literal["flat"] = "flat"


class PerLayerStyle(Section):
    """Each layer is shortened to its share of the clipping norm; no shares: equal ones."""

    kind: Literal["per-layer"]
    shares: tuple[Positive, ...] = ()


class AutomaticStyle(Section):
    """Every gradient is scaled to the clipping norm, so that the norm needs no tuning."""

    kind: Literal["automatic"]
    stability: Positive = 0.01


StyleConfig = Annotated[FlatStyle | PerLayerStyle | AutomaticStyle, Field(discriminator="kind")]
