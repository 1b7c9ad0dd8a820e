"""Questions about ratios of hazards and of odds: one cell for each combination of covariates and outcome."""

from __future__ import annotations

import math
from abc import abstractmethod
from typing import Annotated, Literal

from pydantic import Field, model_validator

from discreet.errors import ConfigurationError
from discreet.kinds.blocks import Axis, Cells
from discreet.kinds.question import (
    Column,
    QuestionSection,
    StatedBins,
    Variables,
    axis_of,
    event_axis,
    happened_at,
    time_axis,
    within,
)
from discreet.kinds.variables import Choice

_MOST_COVARIATES = 8
# Each cell has noise of its own, and whoever verifies a run fits them all again.
_MOST_COMBINATIONS = 512
_MOST_TIMES = 64
_BINS_OF_TIME = 5
_BINS_OF_A_NUMBER = 3


class _EffectsQuestion(QuestionSection):
    """What every level of a column does to an outcome, the other columns held fixed.

    Attributes:
        on: columns of texts, or of numbers, which are cut into bins.
        reference: by column, the text or bin that the others are compared with; left out, the first one, or
            the one that has no indicator.
        bins: by column, how many of equal width or which edges.
        happened: the text that says that the outcome happened; left out, the second, or 1.
    """

    on: Annotated[tuple[Column, ...], Field(min_length=1, max_length=_MOST_COVARIATES)]
    reference: dict[str, str] = Field(default_factory=dict)
    bins: dict[str, StatedBins] = Field(default_factory=dict)
    happened: str | None = None

    @property
    @abstractmethod
    def other_columns(self) -> tuple[str, ...]:
        """Names of the columns that are asked besides `on`."""

    @model_validator(mode="after")
    def _of_columns(self) -> _EffectsQuestion:
        named = (*self.other_columns, *self.on)
        if len(set(named)) < len(named):
            raise ValueError(f"columns must be distinct; got {', '.join(named)}")
        for key, stated, known in (("bins", self.bins, named), ("reference", self.reference, self.on)):
            odd = sorted(set(stated) - set(known))
            if odd:
                raise ValueError(f"{key} must be of columns that are asked; {odd[0]!r} is none")
        return self

    def covariates(self, variables: Variables) -> tuple[Axis, ...]:
        """Returns one axis for each column of `on`.

        Raises:
            ConfigurationError: if one is missing, has a single level or no such reference, or there are too
                many combinations.
        """
        axes = tuple(
            axis_of(variables, name, self.bins.get(name, _BINS_OF_A_NUMBER), "on") for name in self.on
        )
        for axis in axes:
            self.reference_of(axis)
        combinations = math.prod(axis.size for axis in axes)
        if not combinations <= _MOST_COMBINATIONS:
            raise ConfigurationError(
                f"'on' must have at most {_MOST_COMBINATIONS} combinations, blank cells included; got "
                f"{combinations:,}. Name fewer columns, or cut numbers into fewer 'bins'."
            )
        return axes

    def reference_of(self, axis: Axis) -> int:
        """Returns the place of the level that others are compared with among `levels_of`.

        Raises:
            ConfigurationError: if there is none of that name, or nothing to compare it with.
        """
        levels, variable = levels_of(axis), axis.variable
        if len(levels) < 2:
            raise ConfigurationError(f"'on' must name columns of two levels or more; {axis.name!r} has one.")
        last = len(levels) - 1
        baseline = variable.baseline if isinstance(variable, Choice) else None
        stated = self.reference.get(axis.name)
        if stated is None or (baseline is not None and stated == baseline):
            return 0 if baseline is None else last
        if stated not in levels:
            raise ConfigurationError(
                f"'reference' of {axis.name!r} must be one of {', '.join(levels[:20])}; got {stated!r}."
            )
        return levels.index(stated)


class HazardsQuestion(_EffectsQuestion):
    """How much sooner an event comes: hazard ratios of a proportional-hazards model in grouped time.

    Attributes:
        time: a column of numbers: when the event was, or when somebody was last seen without it.
        event: a column of two texts, or of numbers 0 and 1 with the range [0, 1].
        link: "cloglog" for proportional hazards, as Cox's model has them; "logit" for proportional odds of
            the event in a bin.
    """

    kind: Literal["hazards"]
    time: Column
    event: Column
    link: Literal["cloglog", "logit"] = "cloglog"

    @property
    def other_columns(self) -> tuple[str, ...]:
        """Time and event."""
        return (self.time, self.event)

    def describe(self) -> str:
        """Says in one line what is asked."""
        return f"How does the hazard of {self.event} over {self.time} change with {', '.join(self.on)}?"

    def block(self, variables: Variables) -> Cells:
        """Returns one cell for each combination of covariates, bin of time, and whether it happened."""
        event = event_axis(variables, self.event, "event")
        happened_at(event, self.happened)
        time = time_axis(variables, self.time, self.bins.get(self.time, _BINS_OF_TIME))
        if not len(time.cuts) <= _MOST_TIMES:
            raise ConfigurationError(
                f"'bins' of {self.time!r} must be at most {_MOST_TIMES}; got {len(time.cuts)}."
            )
        return within(Cells((*self.covariates(variables), time, event)), "the hazards")


class LogisticQuestion(_EffectsQuestion):
    """What makes an outcome more likely: odds ratios by logistic regression.

    Attributes:
        outcome: a column of two texts, or of numbers 0 and 1 with the range [0, 1].
    """

    kind: Literal["logistic-regression"]
    outcome: Column

    @property
    def other_columns(self) -> tuple[str, ...]:
        """The outcome."""
        return (self.outcome,)

    def describe(self) -> str:
        """Says in one line what is asked."""
        return f"How do the odds of {self.outcome} change with {', '.join(self.on)}?"

    def block(self, variables: Variables) -> Cells:
        """Returns one cell for each combination of covariates and outcome."""
        outcome = event_axis(variables, self.outcome, "outcome")
        happened_at(outcome, self.happened)
        return within(Cells((*self.covariates(variables), outcome)), "the logistic regression")


EffectsQuestion = HazardsQuestion | LogisticQuestion


def levels_of(axis: Axis) -> tuple[str, ...]:
    """Returns the texts of the cells that are levels: all but unknown and missing, if that is told apart."""
    choice = axis.variable
    told_apart = not isinstance(choice, Choice) or choice.baseline is None
    return axis.texts[:-1] if told_apart else axis.texts
