"""What every table of a config file has in common."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]
NonNegative = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Momentum = Annotated[float, Field(ge=0, lt=1)]
Probability = Annotated[float, Field(gt=0, le=1)]
Count = Annotated[int, Field(ge=1)]
# More keep a silo busy for hours, and a plan is somebody else's proposal.
StepCount = Annotated[int, Field(ge=1, le=1_000_000)]


class Section(BaseModel):
    """A table of the file: immutable, and closed to unknown keys."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=False)


def one_line(words: str) -> str:
    """Refuses words that could end a line of a file or of a terminal, or steer one."""
    if not words.isprintable():
        raise ValueError("must be one line of printable characters")
    return words
