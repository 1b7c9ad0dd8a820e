"""The table ``training.schedule``: whether a sum waits for every silo."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import Field

from discreet.errors import ConfigurationError, HowTo
from discreet.kinds.fields import Section
from discreet.kinds.timetable import Pace, Timetable, timetable

_MOST_TICKS = 1_000_000
# Work of playing the clock, which a silo repeats for whatever plan is proposed to it.
_MOST_TURNS = 200_000

Ticks = Annotated[int, Field(ge=1, le=_MOST_TICKS)]


class BufferedConfig(Section):
    """Sums of whoever is ready, by a timetable that everybody knows beforehand; slow silos hold up nobody.

    A silo trains on the newest model for as many ticks as ``pace`` says, while others are summed. As soon as
    ``buffer`` silos are ready, they are; each of them then begins anew. ``training.rounds`` is the number of
    contributions that a silo makes at most, so a record's guarantee is that of as many rounds of everybody
    (docs/theory/schedules.md). Proposed by Nguyen et al. (2022, FedBuff) without a timetable.

    Attributes:
        buffer: how many silos must be ready; at least ``aggregation.min_survivors``.
        pace: silo to the ticks that one contribution takes it; 1 for silos that are not named.
        max_staleness: a silo whose model has meanwhile seen more sums starts again from the newest.
        stale_weight: ``halving`` multiplies an update whose model is ``a`` sums old by the largest power of
            1/2 that is at most 1/√(1 + a); ``equal`` leaves all alike. Noise is never multiplied.
    """

    kind: Literal["buffered"]
    buffer: Annotated[int, Field(ge=2)]
    pace: Mapping[str, Ticks] = Field(default_factory=dict)
    max_staleness: Annotated[int, Field(ge=0, le=1000)] = 32
    stale_weight: Literal["halving", "equal"] = "halving"

    def describe(self) -> str:
        """Says in one line when sums are made."""
        slow = ", ".join(f"{silo} {ticks}" for silo, ticks in sorted(self.pace.items()))
        paces = f"; ticks a contribution takes: {slow}, others 1" if slow else ""
        return f"buffered: a sum as soon as {self.buffer} silos are ready{paces}"

    def timetable(self, silos: tuple[str, ...], *, contributions: int, floor: int) -> Timetable:
        """Returns every sum of a training over ``silos``.

        Args:
            silos: names, in the plan's order.
            contributions: how many each makes at most.
            floor: ``aggregation.min_survivors``.

        Raises:
            ConfigurationError: if the numbers do not fit these silos.
        """
        strangers = sorted(set(self.pace) - set(silos))
        if strangers:
            raise ConfigurationError(
                f"'training.schedule.pace' must name silos of the plan, {', '.join(silos)}; got "
                f"{strangers[0]!r}."
            )
        if not floor <= self.buffer <= len(silos):
            raise ConfigurationError(
                f"'training.schedule.buffer' must be from 'aggregation.min_survivors', {floor}, to the "
                f"number of silos, {len(silos)}; got {self.buffer}.",
                see=HowTo.DROPOUTS,
            )
        if contributions * len(silos) > _MOST_TURNS:
            raise ConfigurationError(
                f"'training.rounds' times the number of silos must be at most {_MOST_TURNS:,} with a "
                f"schedule; got {contributions} times {len(silos)}."
            )
        found = timetable(self._pace(silos, contributions, floor))
        _require_everybody(found, silos, self.max_staleness)
        return found

    def _pace(self, silos: tuple[str, ...], contributions: int, floor: int) -> Pace:
        ticks: Mapping[str, int] = {silo: self.pace.get(silo, 1) for silo in silos}
        return Pace(
            contributions, self.buffer, floor, ticks, self.max_staleness, self.stale_weight == "halving"
        )


def _require_everybody(found: Timetable, silos: tuple[str, ...], max_staleness: int) -> None:
    """Refuses a timetable in which a silo is never summed: its records would not be learned from at all."""
    never = [silo for silo in silos if found.contributions_of(silo) == 0]
    if never:
        raise ConfigurationError(
            f"'training.schedule' must let every silo contribute at least once; {never[0]} never does. Lower "
            f"its 'pace', raise 'max_staleness', now {max_staleness}, or give more 'training.rounds'."
        )
