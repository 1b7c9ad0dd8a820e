"""When every silo trains and is summed, known before the first round: a pure function of public numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from heapq import heappop, heappush
from itertools import takewhile


@dataclass(frozen=True, slots=True)
class Turn:
    """One silo's part in one sum.

    Attributes:
        silo: its name.
        base: number of sums that the model had seen on which the silo trained.
        weight: factor on the silo's update, 1 or a power of 1/2; never on its noise.
    """

    silo: str
    base: int
    weight: float


@dataclass(frozen=True, slots=True)
class PlannedSum:
    """One sum of a timetable.

    Attributes:
        tick: when it is made.
        turns: who is in it, in the order of the plan's silos.
    """

    tick: int
    turns: tuple[Turn, ...]

    @property
    def silos(self) -> tuple[str, ...]:
        """The silos that are asked for it."""
        return tuple(turn.silo for turn in self.turns)

    def turn_of(self, silo: str) -> Turn | None:
        """Returns a silo's part in it; None if it has none."""
        return next((turn for turn in self.turns if turn.silo == silo), None)


@dataclass(frozen=True)
class Timetable:
    """Every sum of a training, in order; the model after ``n`` of them is version ``n``.

    Guarantee:
        As `timetable` makes it: no silo is twice in a sum, none is in more than its contributions, every sum
        has at least the floor of silos, and no base is older than allowed.

    Attributes:
        sums: in order.
        window: how many models, up to the one of its base, a silo begins on the mean of.
    """

    sums: tuple[PlannedSum, ...]
    window: int = 1

    @cached_property
    def _counted(self) -> tuple[dict[str, int], tuple[int, ...]]:
        """How many sums each silo is in; and of the first 0, 1, 2, … sums, whoever is in most of them."""
        counts: dict[str, int] = {}
        most = [0]
        for one in self.sums:
            for turn in one.turns:
                counts[turn.silo] = counts.get(turn.silo, 0) + 1
            most.append(max(most[-1], *(counts[turn.silo] for turn in one.turns)))
        return counts, tuple(most)

    def most_contributions(self, sums: int) -> int:
        """Returns how many of the first ``sums`` sums a silo's records can be in, whichever silo that is."""
        _, most = self._counted
        return most[min(sums, len(self.sums))]

    def contributions_of(self, silo: str, sums: int | None = None) -> int:
        """Returns how many sums, of the first ``sums`` or of all, ``silo`` is in."""
        if sums is not None and sums < len(self.sums):
            return sum(one.turn_of(silo) is not None for one in self.sums[:sums])
        counts, _ = self._counted
        return counts.get(silo, 0)

    def without_room(self, floor: int) -> int:
        """Returns how many sums ask no more silos than must survive, so that one dropout loses them."""
        return sum(len(one.turns) <= floor for one in self.sums)

    @property
    def alone_at_the_end(self) -> int:
        """How many sums at the end are of one and the same silo alone."""
        end = self.sums[-1].silos if self.sums else ()
        if len(end) != 1:
            return 0
        return sum(1 for _ in takewhile(lambda one: one.silos == end, reversed(self.sums)))

    @cached_property
    def most_stale(self) -> int:
        """How many sums old the oldest base is when it is used."""
        return max((done - turn.base for done, one in enumerate(self.sums) for turn in one.turns), default=0)


@dataclass(frozen=True, slots=True)
class Pace:
    """What a timetable is made of; every number is public.

    Attributes:
        contributions: how many each silo makes at most.
        buffer: how many silos must be ready for a sum.
        floor: the fewest silos that a sum may have.
        ticks: silo to how long one contribution takes it.
        max_staleness: a silo whose base is older by more sums starts anew from the newest model.
        halving: whether stale updates weigh less: the largest power of 1/2 that is at most 1/√(1 + age).
    """

    contributions: int
    buffer: int
    floor: int
    ticks: Mapping[str, int]
    max_staleness: int
    halving: bool


@dataclass(slots=True)
class _Clock:
    """Who trains until when and on what, who waits, and how many contributions each has left."""

    pace: Pace
    training: list[tuple[int, str]] = field(default_factory=list)
    base: dict[str, int] = field(default_factory=dict)
    left: dict[str, int] = field(default_factory=dict)
    waiting: set[str] = field(default_factory=set)
    sums: list[PlannedSum] = field(default_factory=list)

    def begin(self, silo: str, tick: int) -> None:
        """Lets a silo train on the newest model."""
        self.base[silo] = len(self.sums)
        heappush(self.training, (tick + self.pace.ticks[silo], silo))

    def next_tick(self) -> int:
        """Moves to when somebody is ready next; who is too stale begins anew, the others wait."""
        tick = self.training[0][0]
        while self.training and self.training[0][0] == tick:
            _, silo = heappop(self.training)
            if len(self.sums) - self.base[silo] > self.pace.max_staleness:
                self.begin(silo, tick)
            else:
                self.waiting.add(silo)
        return tick

    def sum_at(self, tick: int) -> None:
        """Sums those who wait; each begins the next contribution, if it has one left."""
        members = [silo for silo in self.pace.ticks if silo in self.waiting]
        self.waiting.clear()
        self.sums.append(PlannedSum(tick, tuple(map(self._turn, members))))
        for silo in members:
            self.left[silo] -= 1
            if self.left[silo]:
                self.begin(silo, tick)
            else:
                del self.left[silo]

    def _turn(self, silo: str) -> Turn:
        age = len(self.sums) - self.base[silo]
        return Turn(silo, self.base[silo], stale_weight(age) if self.pace.halving else 1.0)


def timetable(pace: Pace) -> Timetable:
    """Plays the clock of a training.

    A silo takes the newest model, trains for as many ticks as it needs, and waits until enough others are
    ready; then they are summed, and each takes the new model. Silos that made all contributions are gone; as
    few others then fill the buffer as there are, down to the floor.

    Example:
        >>> pace = Pace(2, buffer=2, floor=2, ticks={"a": 1, "b": 1, "c": 3}, max_staleness=9, halving=True)
        >>> [(one.tick, one.silos) for one in timetable(pace).sums]
        [(1, ('a', 'b')), (2, ('a', 'b'))]
    """
    clock = _Clock(pace, left=dict.fromkeys(pace.ticks, pace.contributions))
    for silo in pace.ticks:
        clock.begin(silo, 0)
    while clock.training and len(clock.left) >= pace.floor:
        tick = clock.next_tick()
        if len(clock.waiting) >= max(pace.floor, min(pace.buffer, len(clock.left))):
            clock.sum_at(tick)
    return Timetable(tuple(clock.sums))


def timetable_text(planned: Timetable, silos: tuple[str, ...]) -> str:
    """Says in one line how many sums there are, and who is in how many of them."""
    by_count: dict[int, list[str]] = {}
    for silo in silos:
        by_count.setdefault(planned.contributions_of(silo), []).append(silo)
    in_them = "; ".join(
        f"{', '.join(names)} in {count}" for count, names in sorted(by_count.items(), reverse=True)
    )
    stale = f"models at most {planned.most_stale} sums old" if planned.most_stale else "every model new"
    alone, last = planned.alone_at_the_end, planned.sums[-1]
    ending = f"; the last {alone} are of {last.silos[0]} alone" if alone > 1 else ""
    return f"{len(planned.sums)} in {last.tick} ticks, {stale}: {in_them}{ending}"


def room_text(planned: Timetable, floor: int) -> str:
    """Says in one line what a dropout costs; ``floor`` is ``aggregation.min_survivors``."""
    tight = planned.without_room(floor)
    if not tight:
        return "every sum can lose a silo"
    return (
        f"{tight} of {len(planned.sums)} sums ask only the {floor} silos that must survive: a dropout leaves "
        f"such a sum out, and it stays charged; a 'buffer' of min_survivors + 1 = {floor + 1} has room"
    )


def stale_weight(age: int) -> float:
    """Returns the largest power of 1/2 that is at most 1/√(1 + age), so that scaling by it is exact.

    Example:
        >>> [stale_weight(age) for age in (0, 1, 3, 4, 15, 16)]
        [1.0, 0.5, 0.5, 0.25, 0.25, 0.125]
    """
    weight = 1.0
    while weight * weight * (1 + age) > 1.0:
        weight /= 2.0
    return weight
