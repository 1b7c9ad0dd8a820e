"""The plan meets its target against the strongest adversary, survives its file, refuses the infeasible."""

import dataclasses
import json
import math
from pathlib import Path
from typing import Any

import pytest

from discreet.accounting import epsilon
from discreet.config import Config, parse_config
from discreet.data.map_answers import MapAnswers
from discreet.errors import ConfigurationError
from discreet.plan import FederationFacts, Plan, event_for, load_plan, make_plan
from discreet.plan.counted import normaliser
from discreet.plan.public_model import made_model
from discreet.privacy.adversary import (
    AggregationServer,
    ReleasedModels,
    ServerWithColluders,
    WithoutSecureAggregation,
)
from discreet.privacy.units import NeighboringRelation, Unit

SILOS = ("north", "east", "south", "west")
FACTS = FederationFacts(
    silos=SILOS,
    feature_shape=(6,),
    num_classes=2,
    feature_norm_bound=1.0,
    dimension=6,
    model_digest="0" * 64,
    outputs=1,
    linear=True,
)


def config(**changes: Any) -> Config:
    data: dict[str, Any] = {
        "data": {"source": "heart-disease", "record_capacity": 200},
        "training": {
            "rounds": 4,
            "local": {"kind": "stable-steps", "learning_rate": 0.1, "records_per_step": 16},
        },
        "privacy": {"epsilon": 1.0, "delta": 1e-5},
        "aggregation": {"min_survivors": 3, "max_colluding": 1},
    }
    for path, value in changes.items():
        table, _, key = path.partition("__")
        data[table] = {**data.get(table, {}), key: value}
    return parse_config(data)


def plan(**changes: Any) -> Plan:
    return make_plan(config(**changes), FACTS)


@pytest.mark.parametrize("mechanism", ["rounded-gaussian", "discrete-gaussian", "skellam"])
@pytest.mark.parametrize("target", [0.3, 1.0, 4.0])
def test_the_strongest_adversary_gets_the_target_and_nearly_all_of_it(mechanism: str, target: float) -> None:
    made = plan(privacy__mechanism=mechanism, privacy__epsilon=target)
    spent = made.spent(made.rounds)
    assert isinstance(spent.adversary, ServerWithColluders)
    assert 0.985 * target <= spent.epsilon <= target
    assert spent.delta == 1e-5


def test_weaker_adversaries_get_a_smaller_epsilon_and_a_lone_message_a_larger_one() -> None:
    by_type = {type(row.adversary): row.epsilon for row in plan().guarantees}
    assert by_type[ReleasedModels] == by_type[AggregationServer] < by_type[ServerWithColluders]
    assert by_type[ServerWithColluders] < by_type[WithoutSecureAggregation]


def test_each_share_is_sized_for_the_certain_honest_survivors() -> None:
    made = plan()
    certain = made.thresholds.honest_survivors
    assert certain == 2
    share_variance = made.release.share.variance / made.release.share.num_silos
    multiplier = math.sqrt(certain * share_variance) / made.release.l2_sensitivity
    assert multiplier == pytest.approx(made.noise_multiplier)
    event = event_for(made.release, honest_silos=certain, rounds=made.rounds)
    assert epsilon(event, delta=1e-5).epsilon <= 1.0
    fewer = event_for(made.release, honest_silos=certain - 1, rounds=made.rounds)
    assert epsilon(fewer, delta=1e-5).epsilon > 1.0


def test_the_sensitivity_of_the_plan_covers_the_training_of_every_silo() -> None:
    made = plan()
    for silo in SILOS:
        real = made.silo_training(silo).l2_sensitivity()
        assert made.release.l2_sensitivity >= real * made.grid.scale


def test_a_given_noise_multiplier_is_used_as_it_is() -> None:
    data = config().model_dump(mode="json", exclude_none=True)
    data["privacy"] = {"noise_multiplier": 5.0, "delta": 1e-5}
    made = make_plan(parse_config(data), FACTS)
    assert made.noise_multiplier == pytest.approx(5.0, rel=1e-9)
    assert made.noise_multiplier >= 5.0


def test_the_run_table_is_not_part_of_the_agreement() -> None:
    assert plan().digest() == plan(run__seed=3).digest() == plan(run__compare=True).digest()
    assert plan().digest() != plan(privacy__epsilon=1.01).digest()


def test_a_saved_plan_is_read_back_and_an_altered_one_refused(tmp_path: Path) -> None:
    made = plan(aggregation__bits=40)
    made.save(tmp_path / "plan.json")
    loaded = load_plan(tmp_path / "plan.json")
    assert loaded.digest() == made.digest()
    assert loaded.guarantees == made.guarantees
    assert loaded.release == made.release
    assert loaded.grid == made.grid
    document = json.loads((tmp_path / "plan.json").read_text())
    document["plan"]["thresholds"]["min_survivors"] = 2
    (tmp_path / "plan.json").write_text(json.dumps(document))
    with pytest.raises(ConfigurationError, match="it was altered"):
        load_plan(tmp_path / "plan.json")


def test_the_ring_is_the_smallest_unless_a_larger_one_is_asked_for() -> None:
    smallest = plan().grid.bits
    assert plan(aggregation__bits=smallest + 3).grid.bits == smallest + 3
    with pytest.raises(ConfigurationError, match=f"'aggregation.bits' must be at least {smallest}"):
        plan(aggregation__bits=smallest - 1)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"aggregation__min_survivors": 5}, "must be at most the number of silos, 4"),
        ({"aggregation__max_colluding": 2}, "must be at least 2"),
        ({"data__record_capacity": {"north": 5}}, "must name every silo once"),
        ({"privacy__unit": "client"}, "'privacy.unit' must be record or person for stable-steps"),
        ({"privacy__clip_norm": 1.0}, "'privacy.clip_norm' must be left out"),
        ({"training__local": {"kind": "single-step"}}, "'privacy.clip_norm' must be given"),
    ],
)
def test_what_does_not_fit_together_is_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        plan(**changes)


def test_a_missing_capacity_is_asked_for() -> None:
    data = config().model_dump(mode="json", exclude_none=True)
    del data["data"]["record_capacity"]
    with pytest.raises(ConfigurationError, match=r"'data\.record_capacity' must be given"):
        make_plan(parse_config(data), FACTS)


@pytest.mark.parametrize(("outputs", "sensitivity"), [(1, 0.02), (2, 0.02 * math.sqrt(2.0))])
def test_tangent_steps_read_the_loss_off_the_outputs(outputs: int, sensitivity: float) -> None:
    """One logit is binary logistic, L = C; two are softmax, L = √2·C. Nobody types a constant in."""
    local = {"kind": "tangent-steps", "learning_rate": 0.01, "records_per_step": 16}
    asked = config(training__local=local, privacy__clip_norm=2.0)
    facts = dataclasses.replace(FACTS, outputs=outputs, linear=False)
    training = make_plan(asked, facts).silo_training("north")
    assert training.l2_sensitivity() == pytest.approx(sensitivity, rel=1e-3)


def test_tangent_steps_need_a_clipping_norm() -> None:
    asked = config(training__local={"kind": "tangent-steps", "learning_rate": 0.01, "steps": 8})
    with pytest.raises(ConfigurationError, match=r"'privacy\.clip_norm' must be given for tangent-steps"):
        make_plan(asked, dataclasses.replace(FACTS, outputs=2))


def test_stable_steps_need_a_convex_model() -> None:
    with pytest.raises(ConfigurationError, match=r"must train a convex model.*tangent-steps"):
        make_plan(config(), dataclasses.replace(FACTS, linear=False))


def test_the_client_unit_hides_an_update_and_not_who_is_there() -> None:
    made = plan(
        privacy__unit="client",
        privacy__clip_norm=0.5,
        training__local={"kind": "clipped-update", "learning_rate": 0.1},
    )
    assert {row.neighboring for row in made.guarantees} == {NeighboringRelation.REPLACE_SPECIAL}
    assert all(row.unit is Unit.CLIENT for row in made.guarantees)
    assert normaliser(made, SILOS[:3]) == 4.0


def test_sampling_amplifies_and_the_normaliser_is_public() -> None:
    single = {"privacy__clip_norm": 1.0, "training__local": {"kind": "single-step"}}
    everyone = plan(**single)
    sampled = plan(**single, training__sampling={"kind": "poisson", "probability": 0.1})
    assert sampled.noise_multiplier < 0.5 * everyone.noise_multiplier
    assert normaliser(sampled, SILOS[:3]) == pytest.approx(0.1 * 600)


def test_sampling_narrows_the_ring_because_a_batch_is_smaller_than_the_silo() -> None:
    single = {
        "privacy__clip_norm": 1.0,
        "training__local": {"kind": "single-step"},
        "data__record_capacity": 100_000,
    }
    rare = plan(**single, training__sampling={"kind": "poisson", "probability": 0.01})
    assert rare.grid.silo_bound == pytest.approx(1000 + 10 * math.sqrt(1000) + 10, rel=2e-3)
    assert rare.grid.bits <= plan(**single).grid.bits - 3


def test_the_folder_of_a_file_is_not_part_of_the_agreement() -> None:
    here = plan(data__source="csv:/home/a/patients.csv")
    there = plan(data__source="csv:D/patients.csv")
    assert here.digest() == there.digest()
    assert here.digest() != plan(data__source="csv:D/others.csv").digest()
    assert "home" not in str(here.to_json())


@pytest.mark.parametrize("transform", [None, "centred-pixels"])
def test_answers_of_a_map_that_needs_none_are_refused(transform: str | None) -> None:
    facts = dataclasses.replace(FACTS, map_answers=MapAnswers((6,), (0.0,) * 72))
    data = {} if transform is None else {"data__transform": transform, "data__source": "digits"}
    with pytest.raises(ConfigurationError, match=r"'facts\.map_answers' must be left out") as caught:
        make_plan(config(**data), facts)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("kind", "more"),
    [("single-step", {}), ("noisy-steps", {"learning_rate": 0.1, "steps": 2})],
)
def test_shares_of_another_number_of_layers_are_refused_before_a_silo_could_send_noise_alone(
    kind: str, more: dict[str, Any]
) -> None:
    def made(shares: list[float]) -> int:
        local = {"kind": kind, "style": {"kind": "per-layer", "shares": shares}, **more}
        asked = config(training__local=local, model__name="mlp", privacy__clip_norm=1.0)
        return made_model(asked, (6,), 2)[1].dimension

    with pytest.raises(ConfigurationError, match=r"must give one share .* 2 trainable layers; got 3\."):
        made([1.0, 2.0, 3.0])
    assert made([]) == made([1.0, 2.0])
