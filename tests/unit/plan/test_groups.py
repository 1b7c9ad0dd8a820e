"""Mixed clipping in a plan: the groups by both of their names, and batch norm over them."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
from pydantic import ValidationError

from discreet.config import parse_config
from discreet.errors import ConfigurationError
from discreet.kinds import ClippedUpdate, Sharded, ShardedConfig
from discreet.kinds.model_facts import NORMALISES
from discreet.plan import FederationFacts, Plan, make_plan
from discreet.plan.assumptions import STATELESS
from discreet.plan.batch_norm import few_together
from discreet.plan.reading import parse_plan
from discreet.report.citations import citations

FACTS = FederationFacts(tuple("abcd"), (6,), 2, 1.0, 6, "0" * 64, 1, linear=True)
NORMALISED = dataclasses.replace(FACTS, dimension=40, linear=False, batch_norm_channels=5)


def plan(
    local: dict[str, Any],
    facts: FederationFacts = FACTS,
    *,
    capacity: int = 100,
    server: dict[str, Any] | None = None,
) -> Plan:
    unit = "client" if local["kind"] == "clipped-update" else "record"
    config = parse_config(
        {
            "name": "x",
            "data": {"source": "heart", "record_capacity": capacity},
            "model": {"name": "logistic" if facts.linear else "my_model:make"},
            "training": {
                "rounds": 3,
                "local": {"learning_rate": 0.1, **local},
                "server": server or {"kind": "averaging"},
            },
            "privacy": {"unit": unit, "epsilon": 2.0, "delta": 1e-5, "clip_norm": 1.0},
            "aggregation": {"min_survivors": 3},
        }
    )
    return make_plan(config, facts)


def sharded(groups: int, **changes: Any) -> dict[str, Any]:
    return {"kind": "sharded", "groups": groups, **changes}


def test_the_old_name_of_groups_keeps_its_plan() -> None:
    """Made before the key was renamed, and before a model could have batch norm."""
    old, new = plan({"kind": "sharded", "num_shards": 20}), plan(sharded(20))
    assert old.digest() == "a2c0b4c1741544aecd63ce7bd7d902b897b328e486666fc10bde7eda1b7765e1"
    assert (old.grid, old.release, old.guarantees) == (new.grid, new.release, new.guarantees)
    assert old.silo_training("a") == new.silo_training("a")
    assert parse_plan(new.document()).digest() == new.digest()


@pytest.mark.parametrize("keys", [{}, {"groups": 3, "num_shards": 3}])
def test_exactly_one_of_the_names_is_given(keys: dict[str, int]) -> None:
    with pytest.raises(ValidationError, match="'groups' must be given"):
        ShardedConfig(kind="sharded", learning_rate=0.1, **keys)


def test_more_groups_than_records_are_refused() -> None:
    plan(sharded(100))
    with pytest.raises(ConfigurationError, match=r"'training.local.groups' must be at most .*101 for .* 100"):
        plan(sharded(101))


def test_a_report_names_mixed_clipping_and_its_source() -> None:
    assert (
        plan(sharded(20)).training.local.describe().startswith("sharded (mixed clipping): 20 random groups")
    )
    one = plan(sharded(1))
    assert "batch clipping, 1 group" in one.training.local.describe()
    assert any("2212.05796" in cited.bibtex for cited in citations(one))


@pytest.mark.parametrize("local", [sharded(10), {"kind": "clipped-update"}])
def test_what_is_assumed_of_batch_norm_takes_the_place_of_what_is_assumed_of_other_models(
    local: dict[str, Any],
) -> None:
    made = plan(local, NORMALISED)
    training = made.silo_training("a")
    assert isinstance(training, Sharded | ClippedUpdate)
    assert training.batch_norm
    assert all(NORMALISES in row.assumptions for row in made.guarantees)
    assert not any(STATELESS in row.assumptions for row in made.guarantees)
    assert parse_plan(made.document()).facts.batch_norm_channels == 5


@pytest.mark.parametrize(
    ("local", "records"),
    [
        (sharded(51), "1.96"),
        (sharded(10, batch_size=1), "1"),
        ({"kind": "clipped-update", "batch_size": 1}, "1"),
    ],
)
def test_batches_of_one_record_are_refused_with_batch_norm(local: dict[str, Any], records: str) -> None:
    plan(local)
    with pytest.raises(ConfigurationError, match=f"at least 2 records .* a full silo has {records}\\."):
        plan(local, NORMALISED)


@pytest.mark.parametrize(
    ("local", "told"),
    [
        (sharded(12), False),
        (sharded(13), True),
        (sharded(10, batch_size=7), True),
        ({"kind": "clipped-update", "batch_size": 8}, False),
        ({"kind": "clipped-update", "batch_size": 7}, True),
    ],
)
def test_batches_of_few_records_are_told_with_batch_norm(local: dict[str, Any], told: bool) -> None:
    assert bool(few_together(plan(local, NORMALISED))) == told
    assert not few_together(plan(local))


def test_a_rule_of_directions_does_not_move_running_statistics() -> None:
    server = {"kind": "muon", "shapes": [[5, 8]]}
    plan(sharded(10), dataclasses.replace(NORMALISED, batch_norm_channels=0), server=server)
    with pytest.raises(ConfigurationError, match='"muon" for a model with batch norm'):
        plan(sharded(10), NORMALISED, server=server)


@pytest.mark.parametrize("channels", [-1, 20])
def test_facts_have_no_more_statistics_than_weights(channels: int) -> None:
    with pytest.raises(ConfigurationError, match="batch_norm_channels"):
        dataclasses.replace(NORMALISED, batch_norm_channels=channels)
