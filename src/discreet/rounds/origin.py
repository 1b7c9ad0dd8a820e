"""Where the weights of a model file come from: it travels inside the file, which is then enough to use it."""

from __future__ import annotations

import json
from dataclasses import dataclass

from discreet.documents import read_json
from discreet.errors import ConfigurationError
from discreet.plan import Plan, guarantees_after
from discreet.plan.reading import parse_plan
from discreet.privacy.guarantee import Guarantee
from discreet.privacy.ledger import Spending
from discreet.privacy.typed import build
from discreet.privacy.wire import Json, canonical, from_json, to_json
from discreet.rounds.judging import Evaluated, rounds_made
from discreet.version import __version__

ORIGIN_VERSION = 2
"""From 2 on, columns of a table lie in the order of their names; before, in the order of the config."""


@dataclass(frozen=True, slots=True)
class Origin:
    """What is known of a released model; a function of plan, ledger and evaluations, so it names no date.

    Attributes:
        plan: what was agreed: how records are read, which model and seed, names and capacities of silos.
        guarantees: one for each adversary, over all that was released and every attempt besides. What the
            records themselves break of their assumptions is in no file, and not here.
        completed: rounds that led to these weights.
        seeded: whether the noise came from a seed, which lets anyone who has it remove it.
        software: the version of discreet that wrote the file.
    """

    plan: Plan
    guarantees: tuple[Guarantee, ...]
    completed: int
    seeded: bool
    software: str = __version__

    def to_json(self) -> dict[str, Json]:
        """Returns it as plain JSON."""
        return {
            "version": ORIGIN_VERSION,
            "plan": {"digest": self.plan.digest(), "plan": self.plan.to_json()},
            "guarantees": to_json(self.guarantees),
            "completed": self.completed,
            "seeded": self.seeded,
            "software": self.software,
        }

    def text(self) -> str:
        """Returns the one text that stands for it; `parse_origin` reads it."""
        return canonical(self.to_json()).decode()


def origin_of(plan: Plan, spent: Spending, found: tuple[Evaluated, ...], *, seeded: bool) -> Origin:
    """Returns the origin of the weights that a training released; ``found``, its evaluations, chose them."""
    return Origin(plan, guarantees_after(plan, spent), rounds_made(plan, spent, found), seeded)


def parse_origin(text: str, *, name: str) -> Origin:
    """Reads an origin; never anything but an origin or a `ConfigurationError`, and no code is imported.

    Raises:
        ConfigurationError: if it is none, of another version, or its plan was altered.
    """
    try:
        fields = read_json(text)
        version, document = fields.pop("version"), fields.pop("plan")
    except (ValueError, KeyError, TypeError, AttributeError):
        raise ConfigurationError(
            f"{name} must say which plan its model is of; what it says cannot be read."
        ) from None
    if version != ORIGIN_VERSION:
        raise ConfigurationError(
            f"{name} must be a model file of version {ORIGIN_VERSION}; got {version!r}. "
            "Use the version of discreet that wrote it."
        )
    plan = parse_plan(json.dumps(document).encode(), name=f"the plan in {name}")
    guarantees = from_json(fields.pop("guarantees", None))
    origin = build(Origin, {"plan": plan, "guarantees": guarantees, **fields})
    if origin.text() != text:
        raise ConfigurationError(f"{name} must describe its model as it was written; it was altered.")
    return origin
