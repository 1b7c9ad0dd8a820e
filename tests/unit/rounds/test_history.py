"""The models that slow silos still train on, through lost releases and checkpoints."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from discreet.kinds.timetable import PlannedSum, Timetable, Turn
from discreet.rounds.history import History


def _timetable(most_stale: int) -> Timetable:
    sums = tuple(PlannedSum(tick, (Turn("a", max(0, tick - 1 - most_stale), 1.0),)) for tick in range(1, 41))
    return Timetable(sums)


@given(most_stale=st.integers(0, 6), lost=st.sets(st.integers(1, 30)))
def test_every_base_that_may_be_needed_is_there(most_stale: int, lost: set[int]) -> None:
    """Version ``n`` is the model after ``n`` releases; a lost one leaves the model as it was."""
    models = {0: 0}
    history = History.beginning(_timetable(most_stale), np.zeros(2))
    for release in range(1, 31):
        models[release] = models[release - 1] if release in lost else release
        if release not in lost:
            history = history.after(release, np.full(2, float(release)))
            history = history.from_arrays(history.to_arrays())
        for base in range(max(0, release - most_stale), release + 1):
            assert history.version(base).tolist() == [models[base]] * 2


def test_it_holds_no_more_than_is_needed() -> None:
    history = History.beginning(_timetable(3), np.zeros(2))
    for release in range(1, 41):
        history = history.after(release, np.zeros(2))
    assert history.versions == (37, 38, 39, 40)
