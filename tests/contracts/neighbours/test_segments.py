"""Rounds with settings of their own: a record moves each by at most its own claim, under its own noise."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from discreet.config import load_config
from discreet.data import Records
from discreet.engines.local import Prepared, prepare
from discreet.models import flatten
from discreet.plan import Plan
from discreet.randomness import SeededRandom
from discreet.rounds import contribute, contributions, initial_state, round_order

EXAMPLE = Path(__file__).parents[3] / "examples" / "segments.toml"
SILO = "switzerland"
# The first and the last round of each of the three segments.
ENDS = [(1, 8), (9, 14), (15, 18)]


@pytest.fixture(scope="module")
def made() -> Prepared:
    return prepare(load_config(EXAMPLE))


def sent(made: Prepared, plan: Plan, records: Records, release: int, seed: int) -> np.ndarray:
    return contribute(
        plan,
        SILO,
        release,
        model=made.model,
        parameters=flatten(made.model),
        records=records,
        randomness=SeededRandom(seed),
    ).values


@pytest.mark.parametrize("stage", range(3))
def test_a_record_moves_a_round_by_its_own_sensitivity(made: Prepared, stage: int) -> None:
    """A record alone moves the sum by much of what is claimed, so that a smaller claim would fail."""
    own = made.federation.silo(SILO).train
    longest = np.zeros_like(own.features[:1])
    longest[0, 0] = 1.0
    lone = replace(own, features=longest, labels=own.labels[:1])
    claimed = made.plan.stages[stage].grid.l2_sensitivity
    for release in ENDS[stage]:
        for seed in range(30):
            moved = [
                sent(made, made.plan, records, release, seed) for records in (lone, own.take(np.arange(0)))
            ]
            distance = float(np.linalg.norm(moved[0] - moved[1]))
            assert distance <= claimed
            if distance:
                assert distance > 0.3 * claimed
                break
        else:
            raise AssertionError("the record was never sampled")


@pytest.mark.parametrize("stage", range(3))
def test_a_round_carries_its_own_noise(made: Prepared, stage: int) -> None:
    """Of no record at all: the standard deviation is within 5 %, and the stages' are further apart."""
    share = made.plan.stages[stage].release.share
    nothing = made.federation.silo(SILO).train.take(np.arange(0))
    drawn = np.stack(
        [sent(made, made.plan, nothing, release, seed) for release in ENDS[stage] for seed in range(60)]
    )
    claimed = (share.variance / share.num_silos) ** 0.5
    assert drawn.std() == pytest.approx(claimed, rel=0.05)
    stddevs = [(one.release.share.variance / one.release.share.num_silos) ** 0.5 for one in made.plan.stages]
    assert min(abs(np.log(stddevs[a] / stddevs[b])) for a, b in ((0, 1), (1, 2), (0, 2))) > 0.1


def test_everybody_alone_sends_what_everybody_together_does(made: Prepared) -> None:
    plan, source = made.plan, SeededRandom(5)
    silos = {silo.name: silo.train for silo in made.federation.silos}
    state = initial_state(plan, flatten(made.model))
    whole = {
        release: contributions(
            plan, silos, round_order(plan, state, release, release), model=made.model, randomness=source
        )
        for release in (1, 9, 18)
    }
    assert all(tuple(found) == plan.facts.silos for found in whole.values())
    assert len({found[SILO].values.tobytes() for found in whole.values()}) == 3
