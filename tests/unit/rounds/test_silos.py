"""Silos that share a process contribute what they would alone, whoever shares it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from discreet.config import parse_config
from discreet.engines.local import Prepared, prepare
from discreet.errors import DataError
from discreet.models import flatten
from discreet.randomness import SeededRandom
from discreet.rounds import RoundOrder, contribute, contributions, initial_state, round_rotation, silo_source

PLANS: dict[str, dict[str, Any]] = {
    "all take part": {},
    "half take part": {"training": {"sampling": {"kind": "poisson", "probability": 0.5}}},
    "a norm that moves": {"privacy": {"clip_norm": {"quantile": 0.5, "initial": 0.1}}},
    "a network": {"model": {"name": "mlp"}},
    "rotated": {"aggregation": {"rotation": True}},
    "noise first": {"aggregation": {"noise_first": True}},
    "records": {
        "training": {"local": {"kind": "single-step"}},
        "privacy": {"unit": "record", "epsilon": 3.0, "delta": 1e-5},
    },
}


def prepared(name: str) -> Prepared:
    """Thirty clients of about 45 digits each."""
    tables: dict[str, dict[str, Any]] = {
        "data": {"source": "digits", "record_capacity": 100, "partition": {"kind": "iid", "silos": 30}},
        "model": {"name": "logistic"},
        "training": {"rounds": 3, "local": {"kind": "clipped-update", "learning_rate": 0.1, "epochs": 2}},
        "privacy": {"unit": "client", "epsilon": 8.0, "delta": 1e-3, "clip_norm": 0.1},
        "aggregation": {"protocol": "ideal"},
    }
    changed = {table: {**rows, **PLANS[name].get(table, {})} for table, rows in tables.items()}
    return prepare(parse_config(changed, source="test"))


def order_of(made: Prepared) -> RoundOrder:
    return RoundOrder(1, 4, initial_state(made.plan, flatten(made.model) + 0.01).announced())


@pytest.mark.parametrize("name", PLANS)
def test_company_does_not_change_a_bit(name: str) -> None:
    made, source = prepared(name), SeededRandom(9)
    silos = {silo.name: silo.train for silo in made.federation.silos}
    order = order_of(made)
    together = contributions(made.plan, silos, order, model=made.model, randomness=source)
    assert list(together) == list(silos)
    some = {silo: records for number, (silo, records) in enumerate(silos.items()) if number % 3 == 1}
    apart = contributions(made.plan, some, order, model=made.model, randomness=source)
    for silo in some:
        alone = contribute(
            made.plan,
            silo,
            order.release,
            model=made.model,
            parameters=order.parameters,
            records=silos[silo],
            randomness=silo_source(source, order.sequence, silo),
            rotation=round_rotation(made.plan, order.sequence),
        )
        for found in (together[silo], apart[silo]):
            np.testing.assert_array_equal(found.values, alone.values)
            assert found.loss == alone.loss
    out = sum(found.loss == 0.0 for found in together.values())
    assert (0 < out < 30) == (name == "half take part")


def test_a_client_over_its_capacity_is_refused_before_anybody_trains() -> None:
    made = prepared("all take part")
    silos = {silo.name: silo.train for silo in made.federation.silos}
    last = list(silos)[-1]
    many = silos[last]
    silos[last] = many.take(np.arange(200) % len(many))
    with pytest.raises(DataError, match=f"{last} must hold at most the 100"):
        contributions(made.plan, silos, order_of(made), model=made.model, randomness=SeededRandom(9))
