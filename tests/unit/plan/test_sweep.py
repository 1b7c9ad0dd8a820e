"""A sweep plans what a config with those settings would plan, and keeps what was refused."""

import pytest

from discreet.config import Config, parse_config
from discreet.errors import ConfigurationError
from discreet.models import LinearHead
from discreet.plan import FederationFacts, make_plan
from discreet.plan.sweep import Costs, costs, parse_axis, sweep

FACTS = FederationFacts(("a", "b", "c", "d"), (6,), 2, 1.0, 6, "0" * 64, 1, linear=True)
MODEL = LinearHead(6, 1)


@pytest.fixture
def config() -> Config:
    return parse_config(
        {
            "data": {"source": "heart-disease", "record_capacity": 200},
            "training": {
                "rounds": 4,
                "local": {"kind": "stable-steps", "learning_rate": 0.1, "records_per_step": 16},
            },
            "privacy": {"epsilon": 1.0, "delta": 1e-5},
        }
    )


def test_every_combination_is_the_plan_of_that_config(config: Config) -> None:
    axes = [parse_axis("local.steps=16,64", config), parse_axis("rounds=2,8", config)]
    rows = sweep(config, FACTS, axes)
    assert [dict(row.settings) for row in rows] == [
        {"local.steps": steps, "rounds": rounds} for steps in (16, 64) for rounds in (2, 8)
    ]
    for row in rows:
        chosen = dict(row.settings)
        local = {"kind": "stable-steps", "learning_rate": 0.1, "steps": chosen["local.steps"]}
        data = config.model_dump(mode="json", exclude_none=True)
        data["training"] = {**data["training"], "local": local, "rounds": chosen["rounds"]}
        assert row.outcome == costs(make_plan(parse_config(data), FACTS))


def test_more_rounds_cost_more_noise_and_bytes_at_the_same_epsilon(config: Config) -> None:
    rows = sweep(config, FACTS, [parse_axis("training.rounds=2,8", config)])
    few, many = (row.outcome for row in rows)
    assert isinstance(few, Costs)
    assert isinstance(many, Costs)
    assert few.epsilon == pytest.approx(many.epsilon, rel=1e-3)
    assert many.noise_multiplier == pytest.approx(2.0 * few.noise_multiplier, rel=0.01)
    assert many.signal_to_noise < few.signal_to_noise
    assert many.bytes_per_training == 8 * many.bytes_per_silo


def test_a_refused_combination_keeps_its_reason(config: Config) -> None:
    rows = sweep(config, FACTS, [parse_axis("local.steps=1,64", config)])
    assert isinstance(rows[0].outcome, str)
    assert "non-expansive" in rows[0].outcome
    assert isinstance(rows[1].outcome, Costs)


def test_values_are_read_as_toml(config: Config) -> None:
    assert parse_axis("privacy.epsilon=0.5,1", config).values == (0.5, 1)
    assert parse_axis("mechanism=skellam,rounded-gaussian", config).values == ("skellam", "rounded-gaussian")
    assert parse_axis("mechanism=skellam", config).key == ("privacy", "mechanism")


@pytest.mark.parametrize("text", ["rounds", "=3", "rounds=", "roundz=3", "local.magic=1", "local.rounds.x=1"])
def test_what_is_no_axis_is_refused(config: Config, text: str) -> None:
    with pytest.raises(ConfigurationError, match="a sweep must"):
        parse_axis(text, config)
