"""The questions of preparations about whole records, whose length is bounded: first and second moments."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from discreet.errors import ConfigurationError
from discreet.kinds.blocks import MOST_PROJECTED, FirstMoments, SecondMoments
from discreet.kinds.fields import Positive
from discreet.kinds.question import QuestionSection, Variables


class _RecordQuestion(QuestionSection):
    """What a preparation alone asks, of features that need no names.

    Attributes:
        features: of a record, the constant included.
        norm_bound: no record is longer.
    """

    features: Annotated[int, Field(ge=2)]
    norm_bound: Positive


class FirstMomentsQuestion(_RecordQuestion):
    """Where the middle of all records is."""

    kind: Literal["first-moments"]

    def describe(self) -> str:
        """Says in one line what is asked."""
        return f"What are the means of {self.features} features?"

    def block(self, variables: Variables) -> FirstMoments:  # noqa: ARG002 - one contract for all questions
        """Returns all features, and a count."""
        return FirstMoments(self.features, self.norm_bound)


class SecondMomentsQuestion(_RecordQuestion):
    """How features of a record come with each other."""

    kind: Literal["second-moments"]

    def describe(self) -> str:
        """Says in one line what is asked."""
        return f"How do {self.features} features come with each other?"

    def block(self, variables: Variables) -> SecondMoments:  # noqa: ARG002 - one contract for all questions
        """Returns all products of pairs.

        Raises:
            ConfigurationError: if there are too many.
        """
        if not self.features <= MOST_PROJECTED:
            raise ConfigurationError(
                f"records must have at most {MOST_PROJECTED} features for their second moments to be one sum "
                f"of d(d + 1)/2 numbers; got {self.features:,}. Use a feature map (data.transform), or name "
                "fewer columns."
            )
        return SecondMoments(self.features, self.norm_bound)
