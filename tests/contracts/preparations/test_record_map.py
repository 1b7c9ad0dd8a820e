"""What every preparation leads to is a public map of one record, whatever was announced."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest

from discreet.config import Config, parse_config
from discreet.data.norm import scaled_with_constant
from discreet.data.projection import Projection
from discreet.data.record_map import RecordMap
from discreet.errors import PrivacyViolation
from discreet.plan import FederationFacts, Plan
from discreet.plan.preparation import BlockSum, Preparation
from discreet.plan.prepared import preparation_of
from discreet.plan.standardising import Standardising
from discreet.rounds.preparing import told_in
from discreet.session import plan_without_data

BOUND, COUNT = 1.0, 40
STATED: dict[str, dict[str, Any]] = {
    "standardise": {"kind": "private"},
    "centre": {"kind": "private"},
    "project": {"kind": "private-pca", "components": 3},
}
FORGED: dict[str, list[float]] = {
    "zeros": [0.0],
    "too far": [0.9, -0.9],
    "negative": [-7.0, 7.0],
    "huge": [1e300, -1e300],
    "tiny": [5e-324, 1e-300],
    "not numbers": [np.nan, np.inf, -np.inf],
}


def planned(key: str) -> Plan:
    return plan_without_data(config(key))


def config(key: str) -> Config:
    data = {
        "source": "csv:unset.csv",
        "label": "sick",
        "ranges": {"age": [0.0, 600.0], "days": [0.0, 900.0]},
        "categories": {"stage": ["I", "II", "III"]},
        "missing": {"days": "indicator"},
        "record_capacity": dict.fromkeys("abc", 300),
        "partition": {"kind": "column", "column": "site", "names": list("abc")},
        key: STATED[key],
    }
    privacy = {"epsilon": 2.0, "delta": 1e-5, "clip_norm": 1.0}
    training = {"rounds": 2, "local": {"kind": "single-step"}}
    return parse_config({"data": data, "training": training, "privacy": privacy}, source="test")


@pytest.fixture(scope="module", params=STATED)
def plan(request: pytest.FixtureRequest) -> Plan:
    return planned(request.param)


@pytest.fixture(scope="module")
def kind(plan: Plan) -> Preparation:
    return preparation_of(plan.config, plan.facts)


def features() -> Any:
    """Numbers, a mark of what is missing, texts; at the ends of their ranges too."""
    draws = np.random.default_rng(0)
    raw = draws.uniform(-1, 1, (COUNT, 6))
    raw[:, 2] = draws.integers(0, 2, COUNT)
    raw[raw[:, 2] > 0, 1] = 0.0
    raw[:3] = [[1, 1, 0, 1, 0, 0], [-1, -1, 0, 0, 1, 0], [0, 0, 0, 0, 0, 0]]
    return scaled_with_constant(raw, BOUND)


def forged(kind: Preparation, name: str | None) -> RecordMap:
    found = kind.record_map(None if name is None else np.resize(FORGED[name], kind.map_shape))
    return honest_map(kind) if found is None else found


def honest(kind: Preparation) -> Any:
    """What a release of these records without noise leads to."""
    asked = kind.asked_features(features()).astype(np.float64)
    if isinstance(kind, Standardising):
        counts = [np.bincount([0, 1, 1, 2], minlength=10).astype(float) for _ in range(kind.map_shape[1])]
        return kind.found([BlockSum(own, 1e-6) for own in counts])
    upper = np.triu_indices(asked.shape[1], 1)
    gram = asked.T @ asked
    moments = np.append(asked.sum(axis=0), COUNT) / np.sqrt(2), [*np.diag(gram), *(np.sqrt(2) * gram[upper])]
    return kind.found([BlockSum(np.array(own), 1e-6) for own in moments])


def honest_map(kind: Preparation) -> RecordMap:
    found = kind.record_map(honest(kind))
    assert found is not None
    return found


@pytest.mark.parametrize("name", [None, *FORGED])
def test_no_announced_value_makes_a_record_longer_than_the_bound(
    plan: Plan, kind: Preparation, name: str | None
) -> None:
    found = forged(kind, name).features(features())
    assert found.shape == (COUNT, *plan.model_shape)
    assert found.dtype == np.float32
    assert np.isfinite(found).all()
    assert (np.square(found, dtype=np.float64).sum(axis=1) <= BOUND**2).all()
    assert (found[:, -1] > 0).all()


@pytest.mark.parametrize("name", [None, *FORGED])
def test_a_record_is_the_same_bits_among_any_others(kind: Preparation, name: str | None) -> None:
    whole, rule = features(), forged(kind, name)
    found = rule.features(whole)
    for kept in (slice(0, 1), slice(3, 7), slice(None, None, -1), slice(5, 40, 3), slice(0, 0)):
        assert rule.features(whole[kept]).tobytes() == found[kept].tobytes()
    again = rule.features(np.asfortranarray(whole))
    assert again.tobytes() == found.tobytes()


def test_what_a_release_leads_to_is_accepted_and_changes_records(plan: Plan, kind: Preparation) -> None:
    values = honest(kind)
    assert values.shape == kind.map_shape
    kind.require(values)
    start = np.zeros(plan.announced_length(2))
    _, told = told_in(plan, 2, np.concatenate([start, values.ravel()]).tobytes())
    assert told is not None
    assert told.tobytes() == values.tobytes()
    mapped = honest_map(kind).features(features())
    assert mapped.shape != (COUNT, 7) or not np.allclose(mapped, features())


@pytest.mark.parametrize("name", ["too far", "negative", "huge", "not numbers"])
def test_a_silo_refuses_what_no_release_leads_to(plan: Plan, kind: Preparation, name: str) -> None:
    values = np.concatenate(
        [np.zeros(plan.announced_length(2)), np.resize(FORGED[name], kind.map_shape).ravel()]
    )
    with pytest.raises(PrivacyViolation):
        told_in(plan, 2, values.tobytes())
    with pytest.raises(PrivacyViolation, match="bytes"):
        told_in(plan, 2, values[:-1].tobytes())


def test_a_silo_refuses_a_centre_that_is_no_number(kind: Preparation) -> None:
    """Behind directions that are: with them, it is the last column."""
    values = honest(kind)
    values[0, -1] = np.nan
    with pytest.raises(PrivacyViolation):
        kind.require(values)


@pytest.mark.parametrize("project", [True, False], ids=["project", "centre"])
def test_a_record_on_the_centre_whose_constant_float32_lost_is_no_zero(project: bool) -> None:
    """Else it could not be scaled, and would decide by itself whether its silo trains."""
    record = scaled_with_constant(np.array([[1e60, 0.0]]), BOUND)
    assert record[0, -1] == 0.0
    along = float(record[0, 0])
    told = np.array([[1.0, 0.0, along]] if project else [[along, 0.0]])
    found = Projection.announced(told, BOUND, shape=told.shape, project=project).features(record)
    assert np.isfinite(found).all()
    assert found[0, -1] > 0.0


def test_a_training_without_one_has_none(plan: Plan) -> None:
    data = plan.config.data.model_copy(update=dict.fromkeys(STATED))
    with pytest.raises(ValueError, match="must say what is prepared"):
        preparation_of(plan.config.model_copy(update={"data": data}), plan.facts)


def test_records_of_any_length_are_refused(kind: Preparation) -> None:
    facts: FederationFacts = dataclasses.replace(kind.facts, feature_norm_bound=None)
    with pytest.raises(ValueError, match="norm"):
        dataclasses.replace(kind, facts=facts).require_suitable()
