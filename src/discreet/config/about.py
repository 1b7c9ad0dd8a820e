"""The [about] table: what a board asks and no program can know."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, Field

from discreet.kinds.fields import Section


def _text(words: str) -> str:
    """Refuses what is no text, or could steer a terminal."""
    if not words.strip() or not all(letter.isprintable() or letter == "\n" for letter in words):
        raise ValueError("must be some text of printable characters")
    return words


_Words = Annotated[str, Field(max_length=2000), AfterValidator(_text)]


class AboutConfig(Section):
    """What a board asks and no program can know: free text, agreed with the plan and shown in the report.

    Nothing here changes what is computed. What is left out is shown as not stated.

    Attributes:
        controller: who is responsible for the training.
        contact: whom to write to.
        purpose: what the model is for, and what it is not for.
        legal_basis: consent, law or contract; and until when.
        population: whose records these are: period, inclusion, where they come from.
        region: where these people live, or whose law applies.
        contributions: how many records one person may have, and who sees to it.
        why_epsilon: why this ε and this δ.
        decided_by: who decided on them.
        tuning: how settings, ranges and categories were found, and which runs were discarded.
    """

    controller: _Words | None = None
    contact: _Words | None = None
    purpose: _Words | None = None
    legal_basis: _Words | None = None
    population: _Words | None = None
    region: _Words | None = None
    contributions: _Words | None = None
    why_epsilon: _Words | None = None
    decided_by: _Words | None = None
    tuning: _Words | None = None
