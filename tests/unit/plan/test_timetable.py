"""A plan with a schedule: the guarantee of as many rounds of everybody, and who carries none out."""

from __future__ import annotations

from pathlib import Path

import pytest

from discreet import Frames, Target, plan_training, train
from discreet.config import load_config
from discreet.config.aggregation import AggregationConfig
from discreet.engines.local import prepare
from discreet.errors import ConfigurationError
from discreet.kinds import BufferedConfig
from discreet.plan import Plan, make_plan
from discreet.plan.counted import contributions, divisor, normaliser
from discreet.plan.persons import for_persons
from tests.unit.plan.planned import plan

PATH = Path(__file__).parents[3] / "examples" / "paces.toml"


def buffered(made: Plan, **stated: object) -> Plan:
    """Returns the plan of the same training with a schedule."""
    schedule = BufferedConfig.model_validate({"kind": "buffered", **stated})
    training = made.config.training.model_copy(update={"schedule": schedule})
    return make_plan(made.config.model_copy(update={"training": training}), made.facts)


def test_every_row_is_that_of_as_many_rounds() -> None:
    plain = plan(aggregation={"min_survivors": 3})
    made = buffered(plain, buffer=3, pace={"silo-2": 2, "silo-3": 2, "silo-4": 3})
    assert made.rounds > plain.rounds == 20
    assert contributions(made, made.rounds) == 20
    for ours, theirs in zip(made.guarantees, plain.guarantees, strict=True):
        assert (ours.adversary, ours.status) == (theirs.adversary, theirs.status)
        assert ours.epsilon == pytest.approx(theirs.epsilon, rel=1e-9)
    assert for_persons(made, records=(2,))[0][1].epsilon == pytest.approx(
        for_persons(plain, records=(2,))[0][1].epsilon, rel=1e-9
    )
    # After as many sums, silos have contributed as often or less.
    for sums in (1, 5, 20):
        assert made.spent(sums).epsilon <= plain.spent(sums).epsilon * (1 + 1e-9)
    assert made.spent(made.rounds).epsilon == pytest.approx(plain.spent(20).epsilon, rel=1e-9)


def test_a_sum_moves_the_model_by_its_part_of_the_federation() -> None:
    made = buffered(plan(aggregation={"min_survivors": 3}), buffer=3, pace={"silo-4": 7, "silo-3": 7})
    assert made.asked(1) == ("silo-0", "silo-1", "silo-2")
    whole = normaliser(made, made.facts.silos)
    assert divisor(made, 1, made.asked(1)) == pytest.approx(whole)
    two = made.asked(1)[:2]
    assert divisor(made, 1, two) == pytest.approx(
        whole * normaliser(made, two) / normaliser(made, made.asked(1))
    )


def test_a_buffer_below_the_floor_is_refused() -> None:
    config = load_config(PATH)
    whole = config.model_copy(update={"aggregation": AggregationConfig(max_colluding=1)})
    with pytest.raises(ConfigurationError, match=r"from 'aggregation.min_survivors', 4, to .* 4; got 3"):
        prepare(whole)


def test_a_program_states_a_schedule_too(tmp_path: Path) -> None:
    tables = {
        silo: {"age": [float(20 + n) for n in range(60)], "sick": [n % 2 for n in range(60)]}
        for silo in "abcd"
    }
    own = Frames(tables, label="sick", ranges={"age": (20, 90)})
    made = plan_training(
        own.public(capacity=80),
        target=Target(4.0, 1e-3),
        schedule={"kind": "buffered", "buffer": 3, "pace": {"d": 4}},
        aggregation={"min_survivors": 3},
    )
    assert made.asked(1) == ("a", "b", "c")
    run = train(made, own, out=tmp_path / "run", seed=1, evaluate=False)
    assert run.record.spending.charged == made.rounds
    run.verify()
