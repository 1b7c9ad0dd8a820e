"""Settings that are left to the plan: what the rule says, that the plan holds them, and what is refused."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest

from discreet.config import parse_config
from discreet.config.silos import SiloConfig
from discreet.errors import ConfigurationError
from discreet.kinds import AveragingConfig, QuantileClipping, StableStepsConfig, TailMeanConfig
from discreet.kinds.heads import head_on
from discreet.plan import FederationFacts, make_plan, parse_plan
from discreet.plan.follows import unlike_its_config
from discreet.plan.untuned import PublicNumbers, choice, choose, settled

FACTS = FederationFacts(tuple("abcde"), (64,), 10, 1.0, 650, "0" * 64, 10, linear=True)
NUMBERS = PublicNumbers(total=2000, silos=5, shares=5, multiplier=3.73, outputs=10, norm_bound=1.0)


def config(training: dict[str, Any] | None = None, **privacy: Any) -> Any:
    return parse_config(
        {
            "data": {"source": "digits", "record_capacity": 400},
            "training": {"local": {"kind": "stable-steps"}} | (training or {}),
            "privacy": {"epsilon": 1.0, "delta": 1e-5} | privacy,
        }
    )


def chosen(**changes: Any) -> Any:
    return choose(replace(NUMBERS, **changes))


@pytest.mark.parametrize(
    ("changes", "cap", "kappa"),
    [
        ({}, 0.15, 2.0),
        ({"outputs": 1}, 0.35, 1.4),
        ({"begun": True}, 0.15, 1.0),
        ({"begun": True, "outputs": 1}, 0.35, 0.7),
        ({"begun": True, "cap": 0.35}, 0.35, (0.15 / 0.35) ** 0.7),
        ({"outputs": 1, "cap": 0.5}, 0.5, 1.4 * 0.7**0.7),
        ({"outputs": 1, "cap": 0.01}, 0.01, 3.0),
        ({"outputs": 1, "cap": 1.0}, 1.0, 1.0),
        ({"several": True, "outputs": 8}, 0.5, 1.0),
        ({"ordinal": True}, 0.35, 1.0),
        ({"ordinal": True, "total": 20_000}, 0.35, 2.0**0.2),
    ],
)
def test_the_noise_moves_a_logit_by_kappa(changes: dict[str, Any], cap: float, kappa: float) -> None:
    """κ is z·γ·L·R·T/N."""
    found = chosen(**changes)
    numbers = replace(NUMBERS, **changes)
    head = head_on(numbers.outputs, ordinal=numbers.ordinal, several=numbers.several)
    assert found.local.residual_cap == cap
    moved = found.local.learning_rate * found.rounds * 3.73 * cap * head.lipschitz(1.0) / 5
    assert moved == pytest.approx(kappa)


def test_a_larger_cap_saves_rounds() -> None:
    """Up to a cap of 0.35, 20 rounds are enough; the noise in a logit falls with the cap."""
    found = chosen(multiplier=0.5)
    assert (found.rounds, "less" in found.reason) == (20, False)
    cap = found.local.residual_cap
    assert 0.15 < cap < 0.35
    assert found.local.learning_rate == pytest.approx(0.95 * 4.0)
    moved = found.local.learning_rate * 20 * 0.5 * math.sqrt(2) * cap / 5
    assert moved == pytest.approx(2.0 * (0.15 / cap) ** 0.7)


def test_fewer_sure_shares_are_more_noise() -> None:
    whole, part = chosen(), chosen(shares=3)
    reach = [found.local.learning_rate * found.rounds for found in (whole, part)]
    assert reach[1] == pytest.approx(reach[0] * math.sqrt(3 / 5))


def test_rounds_grow_where_one_record_binds_and_the_reach_stays() -> None:
    found = chosen(multiplier=0.05)
    kappa = 2.0 * (0.15 / 0.35) ** 0.7
    assert (found.rounds > 20, found.local.residual_cap) == (True, 0.35)
    assert found.local.learning_rate <= 0.95 * 4.0
    assert found.local.learning_rate * found.rounds * 0.05 * math.sqrt(2) * 0.35 / 5 == pytest.approx(kappa)
    lowered = chosen(multiplier=0.05, rounds=20)
    assert lowered.local.learning_rate == pytest.approx(0.95 * 4.0)
    assert "or less, as longer steps would not be stable" in lowered.reason


def test_much_signal_is_averaged() -> None:
    """From 60 records for each unit of noise on; what was not tried with it keeps its own bound."""
    assert isinstance(chosen(total=223).server, AveragingConfig)
    assert chosen(total=224).server == TailMeanConfig(kind="tail-mean", share=0.25)
    assert isinstance(chosen(total=4_800, several=True, outputs=8).server, AveragingConfig)
    assert chosen(total=48_000, ordinal=True).server == TailMeanConfig(kind="tail-mean")


@pytest.mark.parametrize(("total", "kappa"), [(50, 0.28), (400, 2.5 / math.sqrt(400 / 3.73)), (10**6, 0.07)])
def test_the_noise_in_a_number_falls_with_the_records(total: int, kappa: float) -> None:
    found = chosen(total=total, outputs=1, number=True)
    assert found.local.residual_cap == 0.2
    assert found.local.learning_rate * found.rounds * 3.73 * 0.2 / 5 == pytest.approx(kappa)
    assert isinstance(found.server, TailMeanConfig)
    assert "moves an output, of 2 for the whole range," in found.reason


def test_the_steps_of_a_number_stay_stable() -> None:
    found = chosen(total=400, multiplier=0.01, outputs=1, number=True)
    assert found.rounds > 20
    assert found.local.learning_rate <= 0.95 * 2.0


def test_many_silos_at_a_large_budget_are_refused() -> None:
    with pytest.raises(ConfigurationError, match=r"'training\.rounds' must be at most 1000"):
        chosen(silos=2000, shares=2000, multiplier=0.2)


@pytest.mark.parametrize(
    "training",
    [
        {},
        {
            "rounds": "auto",
            "local": dict.fromkeys(("learning_rate", "steps", "residual_cap"), "auto")
            | {"kind": "stable-steps"},
            "server": "auto",
        },
    ],
)
def test_a_plan_holds_the_numbers_and_follows_from_them(training: dict[str, Any]) -> None:
    asked = config(training)
    plan = make_plan(asked, FACTS)
    found = choice(asked, FACTS)
    assert found is not None
    assert (plan.rounds, plan.training.local, plan.training.server) == (
        found.rounds,
        found.local,
        found.server,
    )
    assert isinstance(plan.training.local, StableStepsConfig)
    read = parse_plan(plan.document())
    assert read.digest() == plan.digest()
    assert unlike_its_config(read) is None
    assert choice(read.config, FACTS) is None


def test_stated_numbers_are_kept() -> None:
    found = choice(config({"rounds": 7, "local": {"kind": "stable-steps", "residual_cap": 0.2}}), FACTS)
    assert found is not None
    assert (found.rounds, found.local.residual_cap) == (7, 0.2)
    tuned = config({"rounds": 7, "local": {"kind": "stable-steps", "learning_rate": 0.01, "steps": 400}})
    assert settled(tuned, FACTS) is tuned


@pytest.mark.parametrize(
    ("training", "named"),
    [
        ({"local": {"kind": "stable-steps", "learning_rate": 0.1, "steps": 4}}, "'rounds' must be given"),
        ({"local": {"kind": "single-step"}}, "'rounds' must be given"),
        ({"server": {"kind": "momentum"}}, "'server' and 'sampling' must be left out"),
        ({"sampling": {"kind": "poisson", "probability": 0.5}}, "'server' and 'sampling' must be left out"),
        ({"local": {"kind": "stable-steps", "steps": 4}}, "training.local.steps"),
        ({"rounds": 3, "local": {"kind": "single-step"}, "server": "auto"}, "'server' must be a table"),
        (
            {
                "rounds": 3,
                "local": {"kind": "stable-steps", "learning_rate": 0.1, "steps": 4},
                "server": "auto",
            },
            "'server' must be a table",
        ),
    ],
)
def test_what_the_rule_does_not_know_is_refused(training: dict[str, Any], named: str) -> None:
    with pytest.raises(ConfigurationError, match=named):
        config(training)


@pytest.mark.parametrize(
    ("facts", "privacy", "said"),
    [
        (replace(FACTS, feature_norm_bound=None), {}, r"'data\.feature_norm_bound' must be given .* to 1\.0"),
        (replace(FACTS, linear=False), {}, r"must be of a linear model .*; got 'logistic'"),
        (FACTS, {"epsilon": None, "noise_multiplier": 2.0}, r"'privacy\.epsilon' must be given"),
    ],
)
def test_no_public_numbers_no_rule(facts: FederationFacts, privacy: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigurationError, match=said):
        make_plan(config(None, **privacy), facts)


def test_persons_at_several_silos_are_hidden_by_shorter_steps() -> None:
    """Noise for s silos is s times as large, so a step that it bears is an s-th."""
    found = []
    for silos in (1, 2):
        person = {"column": "who", "capacity": 400, "most_records": 4, "most_silos": silos}
        data = {"source": "csv:t.csv", "label": "ill", "ranges": {"age": [0, 90]}, "person": person}
        training = {"local": {"kind": "stable-steps"}}
        privacy = {"epsilon": 1.0, "delta": 1e-5, "unit": "person"}
        found.append(choice(parse_config({"data": data, "training": training, "privacy": privacy}), FACTS))
    one, two = found
    assert one is not None
    assert two is not None
    assert two.local.learning_rate == pytest.approx(one.local.learning_rate / 2, rel=1e-6)
    assert two.rounds == one.rounds
    assert "(2,000 persons at most, 5 silos" in one.reason


def test_noise_that_hides_several_silos_makes_steps_shorter() -> None:
    def of_persons(silos: int) -> Any:
        person = {"column": "who", "capacity": 400, "most_records": 5, "most_silos": silos}
        data = {"source": "digits", "person": person}
        local = {"kind": "stable-steps"}
        stated = {"data": data, "training": {"local": local}, "privacy": {"epsilon": 1.0, "delta": 1e-5}}
        stated["privacy"] = {"epsilon": 1.0, "delta": 1e-5, "unit": "person"}
        return choice(parse_config(stated), FACTS)

    one, two = of_persons(1), of_persons(2)
    assert two.local.learning_rate * two.rounds == pytest.approx(one.local.learning_rate * one.rounds / 2)
    assert "2,000 persons at most" in two.reason
    planned = make_plan(
        parse_config(
            {
                "data": {
                    "source": "digits",
                    "person": {"column": "who", "capacity": 400, "most_records": 5, "most_silos": 2},
                },
                "training": {"rounds": two.rounds, "local": two.local.model_dump(exclude_none=True)},
                "privacy": {"epsilon": 1.0, "delta": 1e-5, "unit": "person"},
            }
        ),
        FACTS,
    )
    # All rounds' noise moves a logit by 2, as the plan's own noise says.
    noise = (
        planned.noise_multiplier / math.sqrt(two.rounds) * math.sqrt(5 / planned.thresholds.honest_survivors)
    )
    moved = two.local.learning_rate * two.rounds * noise * math.sqrt(2) * two.local.residual_cap / 5
    assert moved == pytest.approx(2.0, rel=0.05)


def test_the_reason_does_not_state_noise_that_a_silos_own_rate_changes() -> None:
    stated = config()
    alike, unlike = (
        choice(stated.model_copy(update={"silos": own}), FACTS)
        for own in (None, {"a": SiloConfig(learning_rate=0.5)})
    )
    assert alike is not None
    assert unlike is not None
    assert "then moves a logit by 2" in alike.reason
    assert "moves a logit" not in unlike.reason
    assert "the noise is of the silo that needs most" in unlike.reason
    assert unlike.local == alike.local


def test_one_of_something_is_said_of_one() -> None:
    assert "1 silo, 1 sure share of noise" in chosen(silos=1, shares=1).reason
    assert "5 silos, 5 sure shares of noise" in chosen().reason


def test_an_automatic_clipping_norm_is_written_down_as_what_it_is() -> None:
    stated = {"epsilon": 1.0, "delta": 1e-5, "clip_norm": "auto"}
    tables = {"data": {"source": "digits", "record_capacity": 100}, "privacy": stated}
    clipping = parse_config(tables | {"training": {"rounds": 3, "local": {"kind": "single-step"}}}).privacy
    assert clipping.clip_norm == QuantileClipping(quantile=0.5, initial=0.1, learning_rate=0.5)
    assert parse_config(tables | {"training": {"local": {"kind": "stable-steps"}}}).privacy.clip_norm is None
    sharded = {"kind": "sharded", "groups": 2, "learning_rate": 0.1, "batch_size": 2}
    refused = parse_config(tables | {"training": {"rounds": 3, "local": sharded}})
    with pytest.raises(ConfigurationError, match="clip_norm"):
        make_plan(refused, FACTS)
