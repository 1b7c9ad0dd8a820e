"""Stages: rounds of a training that are alike, in what is asked for and in what each releases."""

from __future__ import annotations

from dataclasses import dataclass

from discreet.config import Config
from discreet.encoding import Grid
from discreet.plan.releases import RoundRelease


@dataclass(frozen=True, slots=True)
class Stage:
    """Consecutive rounds that differ in nothing that is planned.

    Attributes:
        config: what is asked for, as if all rounds of the training were like these.
        rounds: how many there are.
        grid: the integers that travel.
        release: what one of them releases.
    """

    config: Config
    rounds: int
    grid: Grid
    release: RoundRelease
