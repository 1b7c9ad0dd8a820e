"""When silos send by themselves, each with its own noise, and which model has reached them by then."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from heapq import heappop, heappush

from discreet.kinds.timetable import PlannedSum, Timetable, Turn

_WHOLE = 1 << 32


@dataclass(frozen=True, slots=True)
class Network:
    """How models reach silos: by public coins, so that everybody knows who has which.

    Attributes:
        delay: silo to the most ticks that a model needs to it; 0 for silos that are not named. Each needs 0
            to so many, so that models overtake one another.
        lost: share of the models that never reach a silo.
    """

    delay: Mapping[str, int] = field(default_factory=dict)
    lost: float = 0.0

    def arrival(self, silo: str, version: int, sent: int) -> int | None:
        """Returns when the model of ``version``, sent at tick ``sent``, reaches ``silo``; None if never."""
        if not (self.lost or silo in self.delay):
            return sent
        coins = hashlib.sha256(f"{version} {silo}".encode()).digest()
        if int.from_bytes(coins[:4], "little") < self.lost * _WHOLE:
            return None
        return sent + int.from_bytes(coins[4:8], "little") % (1 + self.delay.get(silo, 0))


@dataclass(frozen=True, slots=True)
class OwnPace:
    """What the timetable of silos that send by themselves is made of; every number is public.

    Attributes:
        contributions: how many each silo makes at most.
        ticks: silo to how long one contribution takes it.
        network: when models reach silos.
        oldest: a silo does not begin on a model that has seen more sums fewer than the newest: it waits for a
            newer one. None: it always begins.
        window: how many of the last models a silo begins on the mean of.
    """

    contributions: int
    ticks: Mapping[str, int]
    network: Network = Network()
    oldest: int | None = None
    window: int = 1


@dataclass(slots=True)
class _Clock:
    """Who trains until when and on what, who waits for a model, and which models were sent when.

    An event is a tick at which a silo sends, or at which one that waits looks whether a model came.
    """

    pace: OwnPace
    events: list[tuple[int, str]] = field(default_factory=list)
    ready: dict[str, int] = field(default_factory=dict)
    base: dict[str, int] = field(default_factory=dict)
    held: dict[str, int] = field(default_factory=dict)
    left: dict[str, int] = field(default_factory=dict)
    waiting: set[str] = field(default_factory=set)
    sent: list[int] = field(default_factory=lambda: [0])
    sums: list[PlannedSum] = field(default_factory=list)

    def begin(self, silo: str, tick: int) -> None:
        """Lets a silo train on the newest model that it has; or wait, if that is too old."""
        held = self.held[silo] = self._newest(silo, tick)
        oldest = self.pace.oldest
        if oldest is not None and len(self.sums) - held > oldest:
            self.waiting.add(silo)
            ahead = self._next_arrival(silo, tick)
            if ahead is not None:
                heappush(self.events, (ahead, silo))
            return
        self.waiting.discard(silo)
        self.base[silo], self.ready[silo] = held, tick + self.pace.ticks[silo]
        heappush(self.events, (self.ready[silo], silo))

    def play(self) -> None:
        """Goes to the next tick: whoever is ready sends, then whoever has sent or waits begins."""
        tick = self.events[0][0]
        while self.events and self.events[0][0] == tick:
            heappop(self.events)
        sending = [silo for silo in self.pace.ticks if self.ready.get(silo) == tick]
        if sending:
            self.sums.append(PlannedSum(tick, tuple(Turn(silo, self.base[silo], 1.0) for silo in sending)))
            self.sent.append(tick)
        for silo in sending:
            del self.ready[silo]
            self.left[silo] -= 1
        for silo in self.pace.ticks:
            if (silo in sending and self.left[silo]) or silo in self.waiting:
                self.begin(silo, tick)

    def _newest(self, silo: str, tick: int) -> int:
        """Returns the newest version that has reached a silo; an older one that comes later is dropped."""
        for version in range(len(self.sums), self.held[silo], -1):
            arrival = self.pace.network.arrival(silo, version, self.sent[version])
            if arrival is not None and arrival <= tick:
                return version
        return self.held[silo]

    def _next_arrival(self, silo: str, tick: int) -> int | None:
        """Returns when the next model on its way, newer than what a silo has, reaches it."""
        arrivals = (
            self.pace.network.arrival(silo, version, self.sent[version])
            for version in range(self.held[silo] + 1, len(self.sums) + 1)
        )
        return min((one for one in arrivals if one is not None and one > tick), default=None)


def own_timetable(pace: OwnPace) -> Timetable:
    """Plays the clock of silos that send as soon as they are ready; those of one tick are added up in public.

    Example:
        >>> made = own_timetable(OwnPace(2, {"a": 1, "b": 3}))
        >>> [(one.tick, one.silos, [turn.base for turn in one.turns]) for one in made.sums]
        [(1, ('a',), [0]), (2, ('a',), [1]), (3, ('b',), [0]), (6, ('b',), [3])]
    """
    silos = pace.ticks
    clock = _Clock(pace, held=dict.fromkeys(silos, 0), left=dict.fromkeys(silos, pace.contributions))
    for silo in silos:
        clock.begin(silo, 0)
    while clock.events:
        clock.play()
    return Timetable(tuple(clock.sums), pace.window)
