"""The clock of silos that send by themselves: who begins on which model, however models travel."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from discreet.errors import ConfigurationError
from discreet.kinds import AloneConfig
from discreet.kinds.alone import Network, OwnPace, own_timetable
from discreet.kinds.timetable import Pace, timetable, timetable_text

SILOS = tuple("abcd")


@st.composite
def paces(draw: st.DrawFn) -> OwnPace:
    names = [f"silo {number}" for number in range(draw(st.integers(1, 8)))]
    return OwnPace(
        contributions=draw(st.integers(1, 10)),
        ticks={name: draw(st.integers(1, 9)) for name in names},
        network=Network(
            delay=draw(st.dictionaries(st.sampled_from(names), st.integers(1, 9), max_size=4)),
            lost=draw(st.sampled_from([0.0, 0.1, 0.5, 0.9])),
        ),
        oldest=draw(st.none() | st.integers(0, 6)),
    )


@given(pace=paces())
@settings(max_examples=300, deadline=None)
def test_whatever_is_lost_or_late_a_silo_begins_on_a_model_that_has_reached_it(pace: OwnPace) -> None:
    made = own_timetable(pace)
    sent = [0, *(one.tick for one in made.sums)]
    counts, free, known = (dict.fromkeys(pace.ticks, 0) for _ in range(3))
    for done, one in enumerate(made.sums):
        assert len(set(one.silos)) == len(one.silos) >= 1
        assert done == 0 or made.sums[done - 1].tick < one.tick, "those of one tick are one sum"
        for turn in one.turns:
            began = one.tick - pace.ticks[turn.silo]
            assert began >= free[turn.silo], "one contribution at a time"
            assert turn.base >= known[turn.silo], "an older model that comes later is dropped"
            if turn.base:
                arrived = pace.network.arrival(turn.silo, turn.base, sent[turn.base])
                assert arrived is not None
                assert arrived <= began
            there = sum(tick <= began for tick in sent) - 1
            newer = (
                pace.network.arrival(turn.silo, version, sent[version])
                for version in range(turn.base + 1, there + 1)
            )
            assert not [tick for tick in newer if tick is not None and tick <= began], (
                "the newest that is there"
            )
            if pace.oldest is not None:
                assert there - turn.base <= pace.oldest, "it waits while its model is too old"
            counts[turn.silo] += 1
            free[turn.silo], known[turn.silo] = one.tick, turn.base
            assert turn.weight == 1.0
    assert max(counts.values(), default=0) <= pace.contributions
    assert counts == {silo: made.contributions_of(silo) for silo in pace.ticks}
    for sums in range(len(made.sums) + 1):
        assert made.contributions_of("silo 0", sums) == sum("silo 0" in one.silos for one in made.sums[:sums])


@given(pace=paces())
@settings(max_examples=100, deadline=None)
def test_over_a_perfect_network_it_is_a_buffer_of_one(pace: OwnPace) -> None:
    perfect = replace(pace, network=Network(), oldest=None)
    buffered = Pace(pace.contributions, 1, 1, pace.ticks, max_staleness=10_000, halving=False)
    assert own_timetable(perfect).sums == timetable(buffered).sums


def stated(**given: object) -> AloneConfig:
    return AloneConfig.model_validate({"kind": "local", **given})


def test_a_silo_waits_for_a_newer_model_or_begins_on_an_old_one() -> None:
    network = {"pace": {"d": 2}, "delay": {"d": 9}}
    latest = stated(**network).timetable(SILOS, contributions=12, floor=1)
    waiting = stated(**network, on_model="wait", max_staleness=2)
    patient = waiting.timetable(SILOS, contributions=12, floor=1)
    assert latest.most_stale > 2
    assert patient.sums != latest.sums
    assert patient.contributions_of("d") == 12


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"on_model": "interrupt"}, r"\(1 \+ 2I\) clipping norms for I models"),
        ({"on_model": "wait"}, "'max_staleness' must be given where 'on_model' is wait"),
        ({"window": 3}, "'window' must be left out where 'on_model' is latest"),
        ({"lost": 1.0}, "less than or equal to 0.9"),
    ],
)
def test_what_means_nothing_is_refused(given: dict[str, object], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        stated(**given)


def test_strangers_and_silos_that_never_contribute_are_refused() -> None:
    with pytest.raises(ConfigurationError, match=r"schedule.delay' must name silos of the plan, a, .*'z'"):
        stated(delay={"z": 2}).timetable(SILOS, contributions=3, floor=1)
    with pytest.raises(ConfigurationError, match="at most 200,000 with a schedule"):
        stated().timetable(SILOS, contributions=100_000, floor=1)


def test_what_silos_wait_for_and_who_ends_alone_is_said() -> None:
    stated = AloneConfig.model_validate(
        {"kind": "local", "pace": {"d": 4}, "delay": {"b": 3, "a": 2}, "lost": 0.125}
    )
    assert stated.describe().endswith(
        "; most ticks that a model needs: a 2, b 3, others 0; 12.5 % of the models never reach a silo"
    )
    assert AloneConfig(kind="local").describe().endswith("the newest model that has reached it")
    text = timetable_text(stated.timetable(SILOS, contributions=3, floor=1), SILOS)
    assert text.endswith("; the last 3 are of d alone"), text
    even = AloneConfig(kind="local").timetable(SILOS, contributions=3, floor=1)
    assert "alone" not in timetable_text(even, SILOS)
