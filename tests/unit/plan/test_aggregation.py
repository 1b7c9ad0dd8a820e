"""What a guarantee against the server takes for granted is said in the guarantee."""

from typing import Any

import pytest

from discreet.config import parse_config
from discreet.plan import FederationFacts, Plan, make_plan
from discreet.privacy.adversary import AggregationServer, ReleasedModels, ServerWithColluders
from discreet.privacy.units import Status
from discreet.secagg import Bell, Bonawitz, Ideal, Malicious, SemiHonest


def plan(num_silos: int = 4, **aggregation: Any) -> Plan:
    config = parse_config(
        {
            "data": {"source": "heart-disease", "record_capacity": 200},
            "training": {
                "rounds": 2,
                "local": {"kind": "stable-steps", "learning_rate": 0.1, "records_per_step": 16},
            },
            "privacy": {"epsilon": 1.0, "delta": 1e-5},
            "aggregation": {"min_survivors": num_silos - 1, "max_colluding": 1, **aggregation},
        }
    )
    silos = tuple(f"silo-{number:03d}" for number in range(num_silos))
    facts = FederationFacts(silos, (6,), 2, 1.0, 6, "0" * 64, 1, linear=True)
    return make_plan(config, facts)


def test_the_oracle_makes_every_guarantee_against_the_server_conditional() -> None:
    rows = {type(row.adversary): row for row in plan(protocol="ideal").guarantees}
    assert rows[ReleasedModels].status is Status.PROVEN
    for adversary in (AggregationServer, ServerWithColluders):
        assert rows[adversary].status is Status.CONDITIONAL
        assert "everyone trusts it with every input" in rows[adversary].assumptions


def test_the_number_of_colluders_and_the_cryptography_are_named() -> None:
    rows = {type(row.adversary): row for row in plan().guarantees}
    assert "no silo conspires with the server" in rows[AggregationServer].assumptions
    assert "at most 1 silo conspires with the server" in rows[ServerWithColluders].assumptions
    assert any("X25519" in text for text in rows[ServerWithColluders].assumptions)
    assert not any("X25519" in text for text in rows[ReleasedModels].assumptions)
    assert all(any("AES-256" in text for text in row.assumptions) for row in rows.values())


def test_a_semi_honest_mode_says_that_the_server_must_follow_the_protocol() -> None:
    def server_assumptions(mode: str) -> tuple[str, ...]:
        rows = {type(row.adversary): row for row in plan(mode=mode).guarantees}
        return rows[AggregationServer].assumptions

    follows = "the server follows the protocol but keeps all that it sees"
    assert follows in server_assumptions("semi-honest")
    assert follows in server_assumptions("one-phase")
    assert follows not in server_assumptions("malicious")
    late = "the server discards unread what arrives from a client that it has declared gone"
    assert [late in server_assumptions(mode) for mode in ("one-phase", "semi-honest")] == [True, False]


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"protocol": "ideal"}, Ideal()),
        ({}, Bonawitz(Malicious())),
        ({"mode": "semi-honest"}, Bonawitz(SemiHonest())),
        ({"protocol": "bell", "mode": "semi-honest"}, Bell(SemiHonest())),
        ({"mode": "one-phase"}, Bonawitz(SemiHonest(one_phase=True))),
        ({"protocol": "bell", "mode": "one-phase"}, Bell(SemiHonest(one_phase=True))),
    ],
)
def test_the_config_names_the_protocol(settings: dict[str, Any], expected: object) -> None:
    assert plan(**settings).protocol == expected


def test_the_threshold_of_a_sparse_graph_comes_from_its_bounds() -> None:
    made = plan(num_silos=100, protocol="bell", mode="semi-honest", min_survivors=90, max_colluding=10)
    sparsity = Bell(SemiHonest()).sparsity(100, 90, 10)
    assert made.thresholds.threshold == sparsity.threshold
    assert (
        made.thresholds.threshold
        < plan(num_silos=100, min_survivors=90, max_colluding=10).thresholds.threshold
    )
