"""How records are prepared before a training, from public ranges and one noisy sum."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from discreet.kinds.fields import Section

MOST_BINS = 64
"""Into how many bins of equal width a range is cut at most."""


class StandardiseConfig(Section):
    """Numbers are centred and scaled by what one release before the first round says of them.

    Guarantee:
        The release is composed with the training: both together satisfy ``privacy.epsilon``. What it leads to
        is a public map of one record, so that every bound of the training holds under any map, also under one
        that a server made up (docs/theory/questions.md).

    Attributes:
        kind: ``private``, from a noisy sum over the training records.
        share: of the budget, as the part μ² · share of the Gaussian privacy that ε and δ leave.
        floor: the least scale, where the public range has a half-width of 1.
    """

    kind: Literal["private"]
    share: Annotated[float, Field(gt=0, lt=1)] = 0.1
    floor: Annotated[float, Field(gt=0, le=1)] = 0.02
