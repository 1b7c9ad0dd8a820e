"""Fixed-size sampling: its relation, what it costs, and where it is refused."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import pytest
from torch import nn

from discreet.accounting import epsilon
from discreet.config import parse_config
from discreet.errors import ConfigurationError
from discreet.kinds import SingleStep
from discreet.models import LinearHead
from discreet.plan import FederationFacts, Plan, load_plan, make_plan
from discreet.plan.counted import normaliser
from discreet.privacy.events import Composed, Failure, FixedSizeSampling, GaussianNoise, Release, Repeated
from discreet.privacy.units import NeighboringRelation
from discreet.sampling import FixedSize

CAPACITIES = {"north": 100, "east": 37, "south": 201, "west": 64}
FACTS = FederationFacts(
    silos=tuple(CAPACITIES),
    feature_shape=(6,),
    num_classes=2,
    feature_norm_bound=1.0,
    dimension=6,
    model_digest="0" * 64,
    outputs=1,
    linear=True,
)
SINGLE_STEP = {"kind": "single-step"}


def plan(
    local: dict[str, Any] = SINGLE_STEP,
    fraction: float = 0.29,
    facts: FederationFacts = FACTS,
    **privacy: Any,
) -> Plan:
    config = parse_config(
        {
            "data": {"source": "heart-disease", "record_capacity": CAPACITIES},
            "training": {
                "rounds": 12,
                "local": local,
                "sampling": {"kind": "fixed-size", "fraction": fraction},
            },
            "privacy": {"noise_multiplier": 4.0, "delta": 1e-5, "clip_norm": 1.0, **privacy},
        }
    )
    return make_plan(config, facts)


def drawn(made: Plan, silo: str, model: nn.Module) -> FixedSize:
    training = made.silo_training(silo)
    assert isinstance(training, SingleStep)
    assert isinstance(training.sampler, FixedSize)
    return training.sampler


def test_every_silo_draws_its_own_number_and_the_largest_share_is_accounted() -> None:
    """0.29 of 100 is 29, which no product of floats says; 10/37, 58/201 and 18/64 are less than 29/100."""
    made, model = plan(), LinearHead(6, 1)
    assert {silo: drawn(made, silo, model).sample_size for silo in CAPACITIES} == {
        "north": 29, "east": 10, "south": 58, "west": 18,
    }  # fmt: skip
    assert made.release.sampling == FixedSizeSampling(29, 100)
    assert normaliser(made, ("north", "west")) == 29 + 18


def test_the_guarantee_is_about_exchanging_a_record() -> None:
    made = plan()
    assert {row.neighboring for row in made.guarantees} == {NeighboringRelation.REPLACE_ONE}
    spent = made.spent(12)
    release = Release(GaussianNoise(4.0), 1.0, 6, FixedSizeSampling(29, 100))
    exact = epsilon(Repeated(release, 12), delta=1e-5, neighboring=NeighboringRelation.REPLACE_ONE)
    assert spent.epsilon == pytest.approx(exact.epsilon, rel=2e-3)


def test_both_of_two_exchanged_records_may_miss_the_rounding_bound() -> None:
    made = plan(facts=dataclasses.replace(FACTS, feature_shape=(2000,), dimension=2000))
    assert made.grid.rounding_failure_prob > 0.0
    event = made.event(4, 12)
    assert isinstance(event, Composed)
    failures = [part.prob for part in event.events if isinstance(part, Failure)]
    assert failures == [pytest.approx(2 * 12 * made.grid.rounding_failure_prob)]


def test_noise_is_calibrated_in_the_same_relation() -> None:
    made = plan(noise_multiplier=None, epsilon=1.5)
    assert 0.985 * 1.5 <= made.spent(12).epsilon <= 1.5


def test_all_records_cost_what_exchanging_costs_without_sampling() -> None:
    release = Release(GaussianNoise(4.0), 2.0, 6)
    whole = epsilon(Repeated(release, 12), delta=1e-5).epsilon
    assert plan(fraction=1.0).spent(12).epsilon == pytest.approx(whole, rel=2e-3)


def test_a_saved_plan_is_read_back(tmp_path: Path) -> None:
    made = plan()
    made.save(tmp_path / "plan.json")
    loaded = load_plan(tmp_path / "plan.json")
    assert loaded.digest() == made.digest()
    assert loaded.release == made.release


def test_a_moving_norm_goes_with_it() -> None:
    made = plan(clip_norm={"quantile": 0.5, "initial": 1.0})
    assert made.release.sampling == FixedSizeSampling(29, 100)
    assert made.spent(12).epsilon == pytest.approx(plan().spent(12).epsilon, rel=1e-3)


@pytest.mark.parametrize(
    ("local", "changes"),
    [
        ({"kind": "clipped-update", "learning_rate": 0.1}, {"unit": "client"}),
        ({"kind": "sharded", "groups": 4, "learning_rate": 0.1}, {}),
        ({"kind": "noisy-steps", "steps": 2, "learning_rate": 0.1}, {}),
        ({"kind": "stable-steps", "steps": 2, "learning_rate": 0.01}, {"clip_norm": None}),
        ({"kind": "tangent-steps", "steps": 2, "learning_rate": 0.001}, {}),
    ],
    ids=lambda value: value.get("kind", ""),
)
def test_other_kinds_are_refused_in_one_line(local: dict[str, Any], changes: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationError) as caught:
        plan(local, **changes)
    assert f"'training.sampling' must be none or poisson for {local['kind']}" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_share_of_less_than_one_record_is_refused() -> None:
    with pytest.raises(ConfigurationError, match=r"at least one record in each silo; got 0\.02 of 37"):
        plan(fraction=0.02)
