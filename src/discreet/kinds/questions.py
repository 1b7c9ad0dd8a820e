"""The tables ``[[ask]]``: what a consortium may ask, and which block of the sum answers it; no torch."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from discreet.data.bins import cuts_of
from discreet.errors import ConfigurationError
from discreet.kinds.blocks import Axis, Cells, Indicator, Products, Term
from discreet.kinds.effects import HazardsQuestion, LogisticQuestion
from discreet.kinds.question import (
    Column,
    QuestionSection,
    StatedBins,
    Variables,
    axis_of,
    event_axis,
    happened_at,
    known,
    number,
    time_axis,
    within,
)
from discreet.kinds.record_moments import FirstMomentsQuestion, SecondMomentsQuestion
from discreet.kinds.variables import Choice, Contrast, Label, Number, Score

_MOST_AXES = 4
_MOST_COLUMNS = 256
MOST_QUESTIONS = 64
RISKS = (0.01, 0.02, 0.04, 0.07, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.65, 0.8, 0.9)
"""Edges that tell probabilities apart for rare classes and for common ones."""
_MOST_CLASSES = 256
_HALF = 0.5
# Two ways to write one edge, such as 3 · 0.1, differ by less.
_SAME = 1e-12
Threshold = Annotated[float, Field(gt=0, lt=1)]
# A plan holds them, and is read by everybody.
_MOST_WEIGHTS = 1 << 16
Weights = Annotated[
    tuple[Annotated[float, Field(allow_inf_nan=False)], ...], Field(min_length=1, max_length=_MOST_WEIGHTS)
]


class CountQuestion(QuestionSection):
    """How many units there are."""

    kind: Literal["count"]

    def describe(self) -> str:
        """Says in one line what is asked."""
        return "How many are there?"

    def block(self, variables: Variables) -> Cells:  # noqa: ARG002 - one contract for all questions
        """Returns a single cell."""
        return Cells()


class TableQuestion(QuestionSection):
    """How many there are of each combination: a histogram of one column, or a contingency table of several.

    Attributes:
        of: the columns; a number is cut into bins.
        bins: how many of equal width, or which edges; for one column, or by column.
    """

    kind: Literal["table"]
    of: Annotated[tuple[Column, ...], Field(min_length=1, max_length=_MOST_AXES)]
    bins: dict[str, StatedBins] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _of_columns(self) -> TableQuestion:
        odd = sorted(set(self.bins) - set(self.of))
        if odd:
            raise ValueError(f"bins must be of columns in 'of'; {odd[0]!r} is none")
        if len(set(self.of)) < len(self.of):
            raise ValueError(f"'of' must name every column once; got {list(self.of)}")
        return self

    def describe(self) -> str:
        """Says in one line what is asked."""
        return f"How many are there by {' and '.join(self.of)}?"

    def block(self, variables: Variables) -> Cells:
        """Returns one cell for each combination."""
        axes = tuple(axis_of(variables, name, self.bins.get(name, 10), "of") for name in self.of)
        return within(Cells(axes), f"the table of {', '.join(self.of)}")


class MomentsQuestion(QuestionSection):
    """Means, standard deviations and correlations of numbers; principal components if asked.

    Attributes:
        of: columns of numbers.
        components: how many principal components of the correlations are shown.
    """

    kind: Literal["moments"]
    of: Annotated[tuple[Column, ...], Field(min_length=1, max_length=_MOST_COLUMNS)]
    components: Annotated[int, Field(ge=0)] = 0

    @model_validator(mode="after")
    def _no_more_than_columns(self) -> MomentsQuestion:
        if len(set(self.of)) < len(self.of):
            raise ValueError(f"'of' must name every column once; got {list(self.of)}")
        if not self.components <= len(self.of):
            raise ValueError(
                f"components must be at most the number of columns, {len(self.of)}; got {self.components}"
            )
        return self

    def describe(self) -> str:
        """Says in one line what is asked."""
        what = "mean and spread" if len(self.of) == 1 else "means, spreads and correlations"
        return f"What are {what} of {', '.join(self.of)}?"

    def block(self, variables: Variables) -> Products:
        """Returns all products of pairs."""
        return within(Products(tuple(number(variables, name, "of") for name in self.of)), "the moments")


class QuantilesQuestion(QuestionSection):
    """Quantiles of a number, from a histogram of fine public bins.

    Attributes:
        of: a column of numbers.
        at: probabilities.
        bins: how many of equal width, or which edges.
    """

    kind: Literal["quantiles"]
    of: Column
    at: Annotated[tuple[Annotated[float, Field(gt=0, lt=1)], ...], Field(min_length=1, max_length=99)] = (
        0.25,
        0.5,
        0.75,
    )
    bins: StatedBins = 64

    def describe(self) -> str:
        """Says in one line what is asked."""
        return f"What are the quantiles of {self.of}?"

    def block(self, variables: Variables) -> Cells:
        """Returns one cell a bin."""
        number(variables, self.of, "of")
        return Cells((axis_of(variables, self.of, self.bins, "of"),))


class RegressionQuestion(QuestionSection):
    """How a number changes with others: linear regression by least squares.

    Attributes:
        outcome: a column of numbers.
        on: columns of numbers or texts; the first text of each, or the one that has no indicator, is what the
            others are compared with.
    """

    kind: Literal["linear-regression"]
    outcome: Column
    on: Annotated[tuple[Column, ...], Field(min_length=1, max_length=_MOST_COLUMNS)]

    @model_validator(mode="after")
    def _distinct(self) -> RegressionQuestion:
        if len({self.outcome, *self.on}) < 1 + len(self.on):
            raise ValueError(f"outcome and 'on' must be distinct; got {self.outcome} on {list(self.on)}")
        return self

    def describe(self) -> str:
        """Says in one line what is asked."""
        return f"How does {self.outcome} change with {', '.join(self.on)}?"

    def block(self, variables: Variables) -> Products:
        """Returns all products of pairs, the outcome last."""
        terms = [term for name in self.on for term in _terms(variables, name)]
        return within(Products((*terms, number(variables, self.outcome, "outcome"))), "the regression")


class SurvivalQuestion(QuestionSection):
    """How long until an event: Kaplan-Meier curves in grouped time, by group, and a log-rank test.

    Attributes:
        time: a column of numbers: when the event was, or when somebody was last seen without it.
        event: a column of two texts, or of numbers 0 and 1 with the range [0, 1].
        happened: the text that says that the event happened; left out, the second, or 1.
        by: a column of texts whose groups are compared.
        bins: how many of equal width the range of time is cut into, or at which edges; who is followed to
            its end is counted besides.
    """

    kind: Literal["survival"]
    time: Column
    event: Column
    happened: str | None = None
    by: Column | None = None
    bins: StatedBins = 24

    @model_validator(mode="after")
    def _distinct(self) -> SurvivalQuestion:
        named = [self.time, self.event, *([] if self.by is None else [self.by])]
        if len(set(named)) < len(named):
            raise ValueError(f"time, event and by must be distinct columns; got {', '.join(named)}")
        return self

    def describe(self) -> str:
        """Says in one line what is asked."""
        by = "" if self.by is None else f", by {self.by}"
        return f"How does {self.event} come with {self.time}{by}?"

    def block(self, variables: Variables) -> Cells:
        """Returns one cell for each group, bin of time, and whether the event happened."""
        event = event_axis(variables, self.event, "event")
        happened_at(event, self.happened)
        axes = [time_axis(variables, self.time, self.bins), event]
        if self.by is not None:
            if isinstance(known(variables, self.by, "by"), Number):
                raise ConfigurationError(
                    f"'by' must be a column of texts; {self.by!r} is one of numbers. Put its texts under "
                    "'data.categories'."
                )
            axes.insert(0, axis_of(variables, self.by, 2, "by"))
        return within(Cells(tuple(axes)), "the survival curves")


class EvaluationQuestion(QuestionSection):
    """How good a linear model is on held-out records: all from one histogram of its scores by label.

    Attributes:
        weights: of the released model, a row for each logit.
        trained: SHA-256 of the plan that it was trained under.
        silos: those of that plan, by whose names records were held out.
        bins: at which edges, or into how many of equal width, probabilities are cut; for two classes.
        by: a column of texts, or one that the training cut into bins: every group is measured too.
        threshold: the probability from which on a record is called the second class, an edge of the bins; for
            two classes. Left out, one half, or the next edge above.
    """

    kind: Literal["evaluation"]
    weights: Annotated[tuple[Weights, ...], Field(min_length=1, max_length=_MOST_CLASSES)]
    trained: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
    silos: Annotated[tuple[str, ...], Field(min_length=1)]
    bins: StatedBins = RISKS
    by: Column | None = None
    threshold: Threshold | None = None

    def describe(self) -> str:
        """Says in one line what is asked."""
        by = "" if self.by is None else f", by {self.by}"
        return f"How good is the model of plan {self.trained[:12]}… on held-out records{by}?"

    def block(self, variables: Variables) -> Cells:
        """Returns one cell for each bin of scores, label, and group."""
        labels = [variable for variable in variables.values() if isinstance(variable, Label)]
        if len(labels) != 1:
            raise ConfigurationError(
                "'data.asked' must be \"held-out\" where a model is evaluated, and its label one of classes: "
                "of a table's column, or of arrays whose 'num_classes' is stated."
            )
        (label,) = labels
        classes = 2 if len(self.weights) == 1 else len(self.weights)
        if len(label.texts) != classes:
            raise ConfigurationError(
                f"'weights' must have a row for each logit of {len(label.texts)} classes; got "
                f"{len(self.weights)}."
            )
        score = Axis(Score(self.weights, label.texts), self._cuts() if classes == 2 else ())
        self._require_threshold(score.edges)
        axes = [score, Axis(label)]
        if self.by is not None:
            if self.by not in variables:
                raise ConfigurationError(
                    f"'by' must name a column of texts, or of numbers that the training cut into bins; got "
                    f"{self.by!r}. Put it under 'bins' when you train."
                )
            group = known(variables, self.by, "by")
            if not isinstance(group, Choice | Contrast):
                raise ConfigurationError(f"'by' must name a column of texts; {self.by!r} is none.")
            axes.append(Axis(group))
        return within(Cells(tuple(axes)), "the histogram of scores")

    def require_of(self, silos: tuple[str, ...], features: int) -> None:
        """Refuses other silos than the training's, or weights of other features.

        Raises:
            ConfigurationError: if coins or weights would be of something else.
        """
        if set(silos) != set(self.silos):
            raise ConfigurationError(
                "an evaluation must be of the training's own silos, by whose names it held records out, "
                f"{', '.join(sorted(self.silos))}; got {', '.join(sorted(silos))}."
            )
        if any(len(row) != features for row in self.weights):
            raise ConfigurationError(
                f"'weights' must have a number for each of {features} features; got "
                f"{', '.join(str(len(row)) for row in self.weights)}."
            )

    def called_from(self, edges: tuple[float, ...]) -> float:
        """Returns the edge of scores from which on a record is called the second class."""
        stated = _HALF if self.threshold is None else self.threshold
        return next((edge for edge in edges if edge > stated - _SAME), stated)

    def threshold_text(self) -> str:
        """Says from where on a record is called the second class, if that is neither stated nor one half."""
        if self.threshold is not None or len(self.weights) > 1:
            return ""
        called = self.called_from((*self._cuts(), 1.0))
        if abs(called - _HALF) < _SAME:
            return ""
        return f"the second class is called from {called:g} on, for 'bins' have no edge at one half"

    def _require_threshold(self, edges: tuple[float, ...]) -> None:
        """Refuses a threshold that the histogram cannot tell."""
        stated = self.threshold
        if stated is None:
            return
        if not edges:
            raise ConfigurationError(
                "'threshold' must be left out where there are more than two classes: the likeliest is named."
            )
        if abs(self.called_from(edges) - stated) > _SAME:
            raise ConfigurationError(
                f"'threshold' must be an edge of 'bins', {', '.join(f'{edge:g}' for edge in edges[1:-1])}, "
                f"for records of one bin are not told apart; got {stated:g}. Put it among 'bins'."
            )

    def _cuts(self) -> tuple[float, ...]:
        try:
            return cuts_of(0.0, 1.0, self.bins)
        except ValueError as error:
            raise ConfigurationError(f"'bins': {error}.") from None


Question = Annotated[
    CountQuestion
    | TableQuestion
    | MomentsQuestion
    | QuantilesQuestion
    | RegressionQuestion
    | SurvivalQuestion
    | HazardsQuestion
    | LogisticQuestion
    | EvaluationQuestion
    | FirstMomentsQuestion
    | SecondMomentsQuestion,
    Field(discriminator="kind"),
]


def _terms(variables: Variables, name: str) -> tuple[Term, ...]:
    match known(variables, name, "on"):
        case Number() | Contrast() as one:
            return (one,)
        case Choice() as choice:
            first = 0 if choice.baseline is not None else 1
            return tuple(Indicator(choice, number) for number in range(first, len(choice.texts)))
        case Label() | Score():
            raise ConfigurationError(f"'on' must name a feature column; {name!r} is none.")
