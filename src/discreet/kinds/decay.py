"""The key ``decay``: how a learning rate falls from round to round, as a public function of the round."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Discriminator, Field, Tag

from discreet.kinds.fields import Positive, Section


class InverseTimeConfig(Section):
    """The rate is divided by 1 + ``rate``·t in round t = 0, 1, …: the diminishing steps of SGD's theory.

    Attributes:
        rate: how fast the learning rate falls, per round.
    """

    kind: Literal["inverse-time"]
    rate: Positive


def _tag(value: Any) -> str:
    return "number" if isinstance(value, int | float | str) else "inverse-time"


Decay = Annotated[
    Annotated[float, Field(gt=0, le=1), Tag("number")] | Annotated[InverseTimeConfig, Tag("inverse-time")],
    Discriminator(_tag),
]
"""A factor from round to round, such as 0.99, or a table."""


def factor_of(decay: Decay | None, rounds_over: int) -> float:
    """Returns the factor on a learning rate after so many rounds; None does not decay.

    Example:
        >>> factor_of(0.5, 2), factor_of(InverseTimeConfig(kind="inverse-time", rate=1.0), 3)
        (0.25, 0.25)
    """
    if isinstance(decay, InverseTimeConfig):
        return float(1.0 / (1.0 + decay.rate * rounds_over))
    return 1.0 if decay is None else float(decay**rounds_over)


def decay_text(decay: Decay) -> str:
    """Says in a few words how the rate falls.

    Example:
        >>> decay_text(0.99)
        'decay 0.99'
    """
    return f"decay 1/(1 + {decay.rate:g}·t)" if isinstance(decay, InverseTimeConfig) else f"decay {decay:g}"
