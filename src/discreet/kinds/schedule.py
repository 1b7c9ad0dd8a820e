"""The table ``training.schedule``: whether a sum waits for every silo, or nobody waits for anybody."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, model_validator

from discreet.errors import ConfigurationError, HowTo
from discreet.kinds.alone import Network, OwnPace, own_timetable
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

    sums: ClassVar[bool] = True
    """Whether contributions are summed in secret."""

    kind: Literal["buffered"]
    buffer: Annotated[int, Field(ge=2)]
    pace: Mapping[str, Ticks] = Field(default_factory=dict)
    max_staleness: Annotated[int, Field(ge=0, le=1000)] = 32
    stale_weight: Literal["halving", "equal"] = "halving"

    def describe(self) -> str:
        """Says in one line when sums are made."""
        return f"buffered: a sum as soon as {self.buffer} silos are ready{_paces(self.pace)}"

    def timetable(self, silos: tuple[str, ...], *, contributions: int, floor: int) -> Timetable:
        """Returns every sum of a training over ``silos``.

        Args:
            silos: names, in the plan's order.
            contributions: how many each makes at most.
            floor: ``aggregation.min_survivors``.

        Raises:
            ConfigurationError: if the numbers do not fit these silos.
        """
        _require_known("pace", self.pace, silos)
        if not floor <= self.buffer <= len(silos):
            raise ConfigurationError(
                f"'training.schedule.buffer' must be from 'aggregation.min_survivors', {floor}, to the "
                f"number of silos, {len(silos)}; got {self.buffer}.",
                see=HowTo.DROPOUTS,
            )
        _require_playable(contributions, silos)
        found = timetable(self._pace(silos, contributions, floor))
        _require_everybody(found, silos, self.max_staleness)
        return found

    def _pace(self, silos: tuple[str, ...], contributions: int, floor: int) -> Pace:
        ticks: Mapping[str, int] = {silo: self.pace.get(silo, 1) for silo in silos}
        return Pace(
            contributions, self.buffer, floor, ticks, self.max_staleness, self.stale_weight == "halving"
        )


class AloneConfig(Section):
    """No secure sum: every silo sends its own update with all of its own noise, when it likes.

    Who is ready sends; the server adds what comes to the model and sends that on. A silo takes a model when
    it begins a contribution, and keeps it until it sends: one that took a newer model within a batch would
    move by more than it claims, so that cannot be stated here. ``training.rounds`` is the number of
    contributions that a silo makes at most, and the guarantee of each silo that of its own messages,
    whoever sees them (docs/theory/schedules.md). The setting of van Dijk and Nguyen (2022, section 2).

    Attributes:
        pace: silo to the ticks that one contribution takes it; 1 for silos that are not named.
        on_model: which model a contribution begins on: the ``latest`` that has reached the silo, whatever its
            age; or the same, but the silo will ``wait`` for a newer one while that is too old; or the mean of
            the last ones, a ``window`` of them.
        max_staleness: with ``wait``, how many sums old a model may be.
        window: with ``window``, of how many models.
        delay: silo to the most ticks that a model needs to it: 0 to so many, by public coins. A model that is
            overtaken is dropped when it comes.
        lost: share of the models that never reach a silo.
    """

    sums: ClassVar[bool] = False

    kind: Literal["local"]
    pace: Mapping[str, Ticks] = Field(default_factory=dict)
    on_model: Literal["latest", "wait", "window"] = "latest"
    max_staleness: Annotated[int, Field(ge=0, le=1000)] | None = None
    window: Annotated[int, Field(ge=2, le=64)] | None = None
    delay: Mapping[str, Annotated[int, Field(ge=1, le=1000)]] = Field(default_factory=dict)
    lost: Annotated[float, Field(ge=0.0, le=0.9)] = 0.0

    @model_validator(mode="before")
    @classmethod
    def _batches_keep_their_model(cls, data: Any) -> Any:
        if isinstance(data, Mapping) and data.get("on_model") == "interrupt":
            raise ValueError(
                "'on_model' must be latest, wait or window: a silo that takes a newer model within a Poisson "
                "batch is moved by a record by (1 + 2I) clipping norms for I models, and not by one; got "
                "interrupt (docs/theory/schedules.md)"
            )
        return data

    @model_validator(mode="after")
    def _numbers_belong_to_the_rule(self) -> AloneConfig:
        for name, rule in (("max_staleness", "wait"), ("window", "window")):
            if (getattr(self, name) is not None) != (self.on_model == rule):
                verb = "be given" if self.on_model == rule else "be left out"
                raise ValueError(f"'{name}' must {verb} where 'on_model' is {self.on_model}")
        return self

    def describe(self) -> str:
        """Says in one line who sends when, and on what."""
        rule = {
            "latest": "the newest model that has reached it",
            "wait": f"the newest model that has reached it, if at most {self.max_staleness} sums old",
            "window": f"the mean of the last {self.window} models that have reached it",
        }[self.on_model]
        late = ", ".join(f"{silo} {ticks}" for silo, ticks in sorted(self.delay.items()))
        network = [
            *([f"; most ticks that a model needs: {late}, others 0"] if late else []),
            *([f"; {100 * self.lost:g} % of the models never reach a silo"] if self.lost else []),
        ]
        by_itself = f"local: every silo sends by itself, with all of its noise, and begins on {rule}"
        return "".join([by_itself, _paces(self.pace), *network])

    def timetable(
        self,
        silos: tuple[str, ...],
        *,
        contributions: int,
        floor: int,  # noqa: ARG002 - one contract for all schedules
    ) -> Timetable:
        """Returns when each of ``silos`` sends; see `BufferedConfig.timetable`.

        Raises:
            ConfigurationError: if the numbers do not fit these silos.
        """
        _require_known("pace", self.pace, silos)
        _require_known("delay", self.delay, silos)
        _require_playable(contributions, silos)
        found = own_timetable(
            OwnPace(
                contributions,
                {silo: self.pace.get(silo, 1) for silo in silos},
                Network(self.delay, self.lost),
                self.max_staleness,
                self.window or 1,
            )
        )
        _require_everybody(found, silos, self.max_staleness)
        return found


ScheduleConfig = Annotated[BufferedConfig | AloneConfig, Field(discriminator="kind")]


def _paces(pace: Mapping[str, int]) -> str:
    slow = ", ".join(f"{silo} {ticks}" for silo, ticks in sorted(pace.items()))
    return f"; ticks a contribution takes: {slow}, others 1" if slow else ""


def _require_known(key: str, stated: Mapping[str, int], silos: tuple[str, ...]) -> None:
    strangers = sorted(set(stated) - set(silos))
    if strangers:
        raise ConfigurationError(
            f"'training.schedule.{key}' must name silos of the plan, {', '.join(silos)}; got "
            f"{strangers[0]!r}."
        )


def _require_playable(contributions: int, silos: tuple[str, ...]) -> None:
    if contributions * len(silos) > _MOST_TURNS:
        raise ConfigurationError(
            f"'training.rounds' times the number of silos must be at most {_MOST_TURNS:,} with a "
            f"schedule; got {contributions} times {len(silos)}."
        )


def _require_everybody(found: Timetable, silos: tuple[str, ...], max_staleness: int | None) -> None:
    """Refuses a timetable in which a silo is never summed: its records would not be learned from at all."""
    never = [silo for silo in silos if found.contributions_of(silo) == 0]
    if never:
        raise ConfigurationError(
            f"'training.schedule' must let every silo contribute at least once; {never[0]} never does. Lower "
            f"its 'pace', raise 'max_staleness', now {max_staleness}, or give more 'training.rounds'."
        )
