"""A silo under a timetable: its records move its own sums only, by at most the claim, as often as planned."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from discreet.config import Config, load_config
from discreet.data import Records
from discreet.engines.local import Prepared, prepare
from discreet.kinds import BufferedConfig
from discreet.learning import LocalUpdate
from discreet.models import flatten
from discreet.plan import counted
from discreet.randomness import SeededRandom
from discreet.rounds import contributions, initial_state, round_order
from discreet.rounds.contribution import encoded

HEART = Path(__file__).parents[2] / "support" / "tuned_heart.toml"
SLOW = "switzerland"


def prepared(pace: int) -> Prepared:
    config: Config = load_config(HEART)
    schedule = BufferedConfig(kind="buffered", buffer=3, pace={SLOW: pace})
    training = config.training.model_copy(update={"schedule": schedule})
    run = config.run.model_copy(update={"dropouts": (), "seed": 1, "compare": False})
    return prepare(config.model_copy(update={"training": training, "run": run}))


def with_one_more(records: Records) -> Records:
    """Adds a record as long as the bound allows, of the label that the model least expects."""
    longest = np.zeros_like(records.features[:1])
    longest[0, 0] = 1.0
    features = np.concatenate([records.features, longest])
    return replace(records, features=features, labels=np.append(records.labels, 1 - records.labels[0]))


@pytest.mark.parametrize("pace", [1, 3])
def test_a_record_moves_its_silos_sums_and_no_other(pace: int) -> None:
    """Every release from the same models, as adaptive composition asks: what came before is given."""
    made = prepared(pace)
    plan, source = made.plan, SeededRandom(5)
    assert plan.timetable is not None
    silos = {silo.name: silo.train for silo in made.federation.silos}
    own = silos[SLOW]
    fewer = replace(own, features=own.features[1:], labels=own.labels[1:])
    neighbours = [with_one_more(fewer), own]
    state, moved = initial_state(plan, flatten(made.model)), 0
    for release in range(1, plan.rounds + 1):
        order = round_order(plan, state, release, release)
        without, *others = (
            contributions(plan, {**silos, SLOW: held}, order, model=made.model, randomness=source)
            for held in (fewer, *neighbours)
        )
        for found in others:
            for name, contribution in found.items():
                distance = np.linalg.norm(contribution.values - without[name].values)
                assert distance == 0 or name == SLOW
                assert distance <= plan.grid.l2_sensitivity
            assert tuple(found) == plan.asked(release)
        moved += SLOW in others[0] and bool(np.any(others[0][SLOW].values != without[SLOW].values))
        # Any public model will do: what counts is that both worlds start from the same.
        if state.history is not None:
            history = state.history.after(release, state.parameters + 0.01 * release)
            state = replace(state, parameters=history.models[-1], history=history)
    assert moved == plan.timetable.contributions_of(SLOW) == plan.training.planned_rounds // pace
    assert moved <= counted.contributions(plan, plan.rounds)


def test_a_weight_scales_the_update_and_never_the_noise() -> None:
    made = prepared(3)
    plan = made.plan
    update = LocalUpdate(SeededRandom(3).uniform(plan.grid.dimension) / 100.0, loss=0.0, batch=1)
    nothing = replace(update, vector=np.zeros(plan.grid.dimension))

    def sent(of: LocalUpdate, weight: float) -> list[int]:
        found = encoded(plan, of, SeededRandom(9), None, weight=weight, training_seconds=0.0)
        return list(found.values)

    assert sent(nothing, 0.125) == sent(nothing, 1.0)
    assert np.any(np.array(sent(nothing, 1.0)))
    assert sent(update, 0.25) == sent(replace(update, vector=update.vector / 4.0), 1.0)
