"""What every table of a config file has in common."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]
NonNegative = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Momentum = Annotated[float, Field(ge=0, lt=1)]
Probability = Annotated[float, Field(gt=0, le=1)]
Count = Annotated[int, Field(ge=1)]
# More keep a silo busy for hours, and a plan is somebody else's proposal.
StepCount = Annotated[int, Field(ge=1, le=1_000_000)]


def within(low: float, high: float, words: str) -> BeforeValidator:
    """Refuses a truth value, NaN, and a number outside [low, high] in the same words, such as "above 0"."""

    def checked(stated: object) -> object:
        if isinstance(stated, bool) or (isinstance(stated, int | float) and not low <= stated <= high):
            raise ValueError(f"must be a number {words}")
        return stated

    return BeforeValidator(checked)


class Section(BaseModel):
    """A table of the file: immutable, and closed to unknown keys."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=False)


def one_line(words: str) -> str:
    """Refuses words that could end a line of a file or of a terminal, or steer one."""
    if not words.isprintable():
        raise ValueError("must be one line of printable characters")
    return words
