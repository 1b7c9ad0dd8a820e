"""The order of a plan's releases, fixed beforehand: which is which, and how many are of each sort."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import accumulate

from discreet.errors import LedgerError

EVALUATION = "evaluation"
"""What the part of a plan is called that evaluations are; the rounds have no name."""

PREPARATION = "preparation"
"""What the release before the first round is called, where training records are asked."""


@dataclass(frozen=True, slots=True)
class Order:
    """Which releases prepare, which are rounds, of which segment, and which evaluations.

    After every so many rounds, and after the last one, is an evaluation. Releases are numbered from 1.

    Attributes:
        rounds: of the training.
        every: how many lie between two evaluations; None where there are none.
        preparing: how many releases come before the first round.
        segments: how many rounds each segment has, ``rounds`` in all; none where all rounds are alike.
        room: how many rounds more follow the last release, and as many evaluations where there are any,
            behind a further preparation where there is one. Then all begins anew.

    Example:
        >>> order = Order(rounds=5, every=2)
        >>> [order.evaluates(release) for release in range(1, order.releases + 1)]
        [False, False, True, False, False, True, False, True]
    """

    rounds: int
    every: int | None = None
    preparing: int = 0
    segments: tuple[int, ...] = ()
    room: int = 0

    @property
    def evaluations(self) -> int:
        """How many there are."""
        return 0 if self.every is None else -(-self.rounds // self.every)

    @property
    def releases(self) -> int:
        """All together, without the room behind them."""
        return self.preparing + self.rounds + self.evaluations

    @property
    def with_room(self) -> int:
        """All together, and the room behind them."""
        tried_again = self.preparing + self.room * (1 if self.every is None else 2)
        return self.releases + (tried_again if self.room else 0)

    @property
    def first_round(self) -> int:
        """The release that is the first round: 1, or the one behind the preparation."""
        return 1 + self.preparing

    @property
    def beginnings(self) -> tuple[int, ...]:
        """The first release of each segment; the first round where there are none."""
        return tuple(accumulate(self.segments[:-1], initial=self.first_round))

    def prepares(self, release: int) -> bool:
        """Says whether a release asks training records what they are prepared by."""
        return release <= self.preparing

    def evaluates(self, release: int) -> bool:
        """Says whether a release asks held-out records."""
        return self.evaluated(release) > self.evaluated(release - 1)

    def trains(self, release: int) -> bool:
        """Says whether a release is a round."""
        return not (self.prepares(release) or self.evaluates(release))

    def evaluated(self, releases: int) -> int:
        """Returns how many of the first so many releases are evaluations; more than all begin them anew."""
        if self.every is None:
            return 0
        whole, more = divmod(releases, self.with_room)
        planned, again = min(more, self.releases), max(0, more - self.releases)
        begun = max(0, planned - self.preparing) // (self.every + 1)
        # The last evaluation may follow fewer rounds than the others.
        begun = self.evaluations if planned == self.releases else begun
        return whole * (self.evaluations + self.room) + begun + max(0, again - self.preparing) // 2

    def prepared(self, releases: int) -> int:
        """Returns how many of the first so many releases prepare; more than all begin them anew."""
        whole, more = divmod(releases, self.with_room)
        again = max(0, more - self.releases)
        all_of_them = self.preparing * (2 if self.room else 1)
        return whole * all_of_them + min(more, self.preparing) + min(again, self.preparing)

    def round_of(self, release: int) -> int:
        """Returns the round that a release is, or that it follows; 0 before the first."""
        return release - self.prepared(release) - self.evaluated(release)

    def segment_of(self, release: int) -> int:
        """Returns the place, from 0, of the segment of a release; of one beyond the plan, the last."""
        ends = tuple(accumulate(self.segments))
        return sum(end < self.round_of(release) for end in ends[:-1])

    def by_segment(self, rounds: int) -> tuple[int, ...]:
        """Returns how many of the first so many rounds may be of each segment.

        Nobody says of which segment those are that are more than planned: they count for every one.
        """
        begun = [min(length, max(0, rounds - start)) for start, length in self._starting]
        return tuple(count + max(0, rounds - self.rounds) for count in begun)

    def part_of(self, release: int) -> str | None:
        """Returns the name of the part that a release is of."""
        if self.prepares(release):
            return PREPARATION
        return EVALUATION if self.evaluates(release) else None

    def sort_of(self, release: int) -> str | None:
        """Returns by which name a silo's ledger counts a release: its part, or its segment."""
        part = self.part_of(release)
        return part if part is not None or not self.segments else _segment_name(self.segment_of(release))

    def by_sort(self, releases: int) -> Counter[str | None]:
        """Returns how many of so many releases are of each sort; more than planned begin all of them anew."""
        whole, more = divmod(releases, self.with_room)
        rounds = tuple(map(_segment_name, range(len(self.segments)))) or (None,)
        all_of_them, begun = self._counts(self.with_room), self._counts(more)
        names = (*rounds, EVALUATION, PREPARATION)
        return Counter({name: whole * all_of_them[name] + begun[name] for name in names})

    def covering(self, contributed: Mapping[str | None, int]) -> int:
        """Returns after how many releases, in their order, every sort had at least so many.

        Behind the last one they begin anew. So whoever was in some releases of each sort is charged for those
        at least (docs/theory/questions.md).

        Args:
            contributed: number of releases by the name that `sort_of` gives them.

        Raises:
            LedgerError: for a sort that the plan has no release of: no number of releases would do.
        """
        planned = self._counts(self.releases)
        for name, own in contributed.items():
            if own > 0 and not planned.get(name, 0):
                raise LedgerError(
                    "a ledger must name parts that its plan has; got "
                    f"{own} of {name or 'rounds'!r}, which this plan has none of. Restore the ledger and the "
                    "plans beside it from one backup."
                )
        count = sum(contributed.values())
        while any(self._counts(count).get(name, 0) < own for name, own in contributed.items()):
            count += 1
        return count

    def text(self, release: int) -> str:
        """Says which release this is, for a person."""
        if self.prepares(release):
            return "preparation, before round 1"
        number = f"round {self.round_of(release)}/{self.rounds}"
        return f"held out, after {number}" if self.evaluates(release) else number

    def name(self, release: int) -> str:
        """Returns what a release is called in a sentence: a round by its number."""
        if self.prepares(release):
            return "the preparation"
        number = f"round {self.round_of(release)}"
        return f"the evaluation after {number}" if self.evaluates(release) else number

    @property
    def _starting(self) -> tuple[tuple[int, int], ...]:
        """How many rounds lie before each segment, and how many it has."""
        return tuple(zip(accumulate(self.segments, initial=0), self.segments, strict=False))

    def _counts(self, releases: int) -> dict[str | None, int]:
        """Returns how many of the first so many releases may be of each sort."""
        rounds = self.round_of(releases)
        return {
            None: rounds,
            EVALUATION: self.evaluated(releases),
            PREPARATION: self.prepared(releases),
            **{_segment_name(place): count for place, count in enumerate(self.by_segment(rounds))},
        }


def count_of(number: int, noun: str) -> str:
    """Writes how many there are, such as "1 round" and "2 rounds"."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _segment_name(place: int) -> str:
    return f"segment {place + 1}"
