"""What every table of a config file has in common."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Self

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ModelWrapValidatorHandler,
    ValidationError,
    model_validator,
)
from pydantic_core import InitErrorDetails, PydanticCustomError

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
    """A table of the file: immutable, closed to unknown keys, and to values of another type.

    A text is no number and no truth value, nor is a truth value a number: who writes ``"1"`` or ``true`` may
    have meant something else.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, strict=False)

    @model_validator(mode="wrap")
    @classmethod
    def _as_written(cls, stated: Any, read: ModelWrapValidatorHandler[Self]) -> Self:
        """Refuses what was read as a number or a truth value and was written as something else."""
        table = read(stated)
        if isinstance(stated, Mapping):
            for name, field in cls.model_fields.items():
                key = name if name in stated else field.alias or name
                if key in stated:
                    _require_as_written(cls.__name__, (key,), stated[key], getattr(table, name))
        return table


def _require_as_written(title: str, place: tuple[str | int, ...], stated: Any, read: Any) -> None:
    if isinstance(stated, Mapping) and isinstance(read, Mapping):
        for key in read:
            _require_as_written(title, (*place, key), stated[key], read[key])
    elif isinstance(stated, list | tuple) and isinstance(read, tuple):
        for number, (one, other) in enumerate(zip(stated, read, strict=True)):
            _require_as_written(title, (*place, number), one, other)
    must = "true or false" if isinstance(read, bool) else "a number" if isinstance(read, int | float) else ""
    if must and (isinstance(stated, str | bool) or isinstance(read, bool)) and type(stated) is not type(read):
        error = PydanticCustomError("as_written", "must be {must}", {"must": must})
        raise ValidationError.from_exception_data(
            title, [InitErrorDetails(type=error, loc=place, input=stated)]
        )


def one_line(words: str) -> str:
    """Refuses words that could end a line of a file or of a terminal, or steer one."""
    if not words.isprintable():
        raise ValueError("must be one line of printable characters")
    return words
