"""The clock of a training with a schedule: who is in which sum, and on which model, for any paces."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import ConfigurationError
from discreet.kinds import BufferedConfig, Timetable, room_text, timetable_text
from discreet.kinds.timetable import Pace, stale_weight, timetable

SILOS = tuple("abcdefghij")


def drawn(integer: Callable[[int, int], int]) -> Pace:
    """Returns some pace, from what draws an integer between two, both included."""
    count = integer(2, 12)
    floor = integer(2, count)
    return Pace(
        contributions=integer(1, 12),
        buffer=integer(floor, count),
        floor=floor,
        ticks={f"silo {number}": integer(1, 15) for number in range(count)},
        max_staleness=integer(0, 12),
        halving=integer(0, 1) == 1,
    )


@st.composite
def paces(draw: st.DrawFn) -> Pace:
    return drawn(lambda least, most: draw(st.integers(least, most)))


@given(pace=paces())
@settings(max_examples=1_000, deadline=None)
def test_no_paces_break_what_the_proof_needs(pace: Pace) -> None:
    keeps_what_the_proof_needs(pace)


def test_nor_does_any_of_many_at_random() -> None:
    """Each costs a tenth of one that Hypothesis draws, who prefers what is near the ends and shrinks it."""
    source = Random(5)
    for _ in range(10_000):
        keeps_what_the_proof_needs(drawn(source.randint))


def keeps_what_the_proof_needs(pace: Pace) -> None:
    made = timetable(pace)
    counts = dict.fromkeys(pace.ticks, 0)
    free = dict.fromkeys(pace.ticks, 0)  # since when, in sums, a silo may begin
    last_tick = 0
    for done, one in enumerate(made.sums):
        assert len(set(one.silos)) == len(one.silos) >= pace.floor
        assert one.tick >= last_tick
        last_tick = one.tick
        for turn in one.turns:
            assert free[turn.silo] <= turn.base <= done, "nobody trains on a model of before its last sum"
            assert done - turn.base <= pace.max_staleness
            assert 0 < turn.weight <= 1.0
            assert turn.weight == (stale_weight(done - turn.base) if pace.halving else 1.0)
            counts[turn.silo] += 1
            free[turn.silo] = done + 1
        assert made.most_contributions(done + 1) == max(counts.values())
    assert max(counts.values()) <= pace.contributions
    assert counts == {silo: made.contributions_of(silo) for silo in pace.ticks}


def buffered(**stated: object) -> Timetable:
    section = BufferedConfig.model_validate({"kind": "buffered", "buffer": 10, **stated})
    return section.timetable(SILOS, contributions=20, floor=8)


def test_equal_paces_and_a_buffer_of_everybody_are_ordinary_rounds() -> None:
    made = buffered()
    assert [(one.tick, one.silos) for one in made.sums] == [(tick, SILOS) for tick in range(1, 21)]
    assert made.most_stale == 0
    assert timetable_text(made, SILOS).startswith("20 in 20 ticks, every model new: a, b")


def test_a_slow_silo_holds_nobody_up() -> None:
    waiting, made = buffered(pace={"j": 10}), buffered(pace={"j": 10}, buffer=9)
    assert waiting.sums[-1].tick == 200
    assert made.sums[-1].tick == 20
    assert made.contributions_of("j") == 2
    assert made.sums[9].turns[-1].base == 0
    assert made.sums[9].turns[-1].weight == 0.25
    assert made.most_contributions(20) == made.contributions_of("a") == 20
    assert timetable_text(made, SILOS).endswith("i in 20; j in 2")


def test_a_plan_says_how_many_sums_a_dropout_would_cost() -> None:
    assert room_text(buffered(pace={"j": 10}, buffer=9), 8) == "every sum can lose a silo"
    tight = buffered(pace={"j": 10}, buffer=9)
    assert tight.without_room(9) == 18
    said = room_text(tight, 9)
    assert said.startswith("18 of 20 sums ask only the 9 silos that must survive")
    assert "'buffer' of min_survivors + 1 = 10 has room" in said


def test_a_silo_that_is_too_stale_begins_anew() -> None:
    with pytest.raises(ConfigurationError, match=r"j never does.*max_staleness', now 3"):
        buffered(pace={"j": 10}, buffer=9, max_staleness=3)


@pytest.mark.parametrize(
    ("stated", "message"),
    [
        ({"pace": {"k": 2}}, r"pace' must name silos of the plan, a, .*; got 'k'"),
        ({"buffer": 7}, r"buffer' must be from 'aggregation.min_survivors', 8, .* 10; got 7"),
        ({"buffer": 11}, r"buffer' must be from .* got 11"),
    ],
)
def test_what_does_not_fit_the_silos_is_refused(stated: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        buffered(**stated)


def test_too_many_turns_are_refused_before_they_are_played() -> None:
    section = BufferedConfig(kind="buffered", buffer=2)
    with pytest.raises(ConfigurationError, match=r"at most 200,000 with a schedule; got 100000 times 3"):
        section.timetable(("a", "b", "c"), contributions=100_000, floor=2)


@given(age=st.integers(0, 10**6))
def test_a_stale_weight_is_a_power_of_a_half_near_the_root(age: int) -> None:
    weight = stale_weight(age)
    assert float.hex(weight).startswith("0x1.0000000000000p")
    assert 0.25 < weight * weight * (1 + age) <= 1.0
