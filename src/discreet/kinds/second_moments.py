"""The question that a private PCA asks: the second moments of whole records, whose length is bounded."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from discreet.errors import ConfigurationError
from discreet.kinds.blocks import MOST_PROJECTED, SecondMoments
from discreet.kinds.fields import Positive
from discreet.kinds.question import QuestionSection, Variables


class SecondMomentsQuestion(QuestionSection):
    """How features of a record come with each other; a preparation alone asks it.

    Attributes:
        features: of a record, the constant included.
        norm_bound: no record is longer.
    """

    kind: Literal["second-moments"]
    features: Annotated[int, Field(ge=2)]
    norm_bound: Positive

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
