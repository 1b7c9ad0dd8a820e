"""From a file to integers: the release before the first round, and rounds after any announced map."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from discreet.audit.crafted_search import loader_findings
from discreet.audit.findings import NeighbourFinding
from discreet.audit.neighbours import Rounds
from discreet.config import Config, parse_config
from discreet.config.federation import federation_of
from discreet.data import Records
from discreet.data.projection import Projection, hashed
from discreet.data.standard import Standard
from discreet.kinds.preparation import ClassWeightsConfig
from discreet.kinds.weighted import Weighted
from discreet.models import flatten
from discreet.plan import Plan
from discreet.plan.prepared import preparation_of
from discreet.plan.public_model import public_model
from discreet.rounds import initial_state
from discreet.rounds.preparing import RecordsInUse
from discreet.session import plan_without_data
from discreet.statistics import contribution
from tests.contracts.neighbours import own_code
from tests.contracts.neighbours.test_neighbours import told_apart
from tests.contracts.neighbours.test_questions import table

KINDS: dict[str, dict[str, Any]] = {
    "stable-steps": {"local": {"kind": "stable-steps", "learning_rate": 0.01, "steps": 3}},
    "single-step": {"local": {"kind": "single-step"}, "clip_norm": 0.1},
}
NUMBERS = 3
FORGED: dict[str, list[list[float]]] = {
    "the public ranges": [[0.0] * NUMBERS, [1.0] * NUMBERS],
    "a narrow place": [[0.31] * NUMBERS, [1e-9] * NUMBERS],
    "no numbers": [[float("nan")] * NUMBERS, [float("inf"), 0.0, -1.0]],
    "huge": [[1e300, -1e300, 1e300], [1e300] * NUMBERS],
}


PREPARES: dict[str, dict[str, Any]] = {
    "standardise": {"standardise": {"kind": "private"}},
    "centre": {"centre": {"kind": "private"}},
    "project": {"project": {"kind": "private-pca", "components": 3}},
}
PROJECTIONS: dict[str, list[float]] = {
    "one direction": [1.0],
    "no numbers": [float("nan"), float("inf")],
    "huge": [1e300, -1e300, 1.0],
}


def config(kind: str = "stable-steps", *, person: bool = False, prepares: str = "standardise") -> Config:
    capacity = dict.fromkeys(own_code.SILOS, 300)
    whose: dict[str, Any] = {"record_capacity": capacity}
    if person:
        whose = {"person": {"column": "who", "capacity": capacity, "most_records": 3}}
    stated = dict(KINDS[kind])
    privacy = {"epsilon": 4.0, "delta": 1e-5, "unit": "person" if person else "record"}
    privacy |= {"clip_norm": stated.pop("clip_norm")} if "clip_norm" in stated else {}
    return parse_config(
        {
            "data": {
                "source": "csv:unset.csv",
                "test_fraction": 0.0,
                "label": "died",
                "ranges": {"age": [0.0, 600.0], "days": [0.0, 900.0]},
                "dates": {"seen": {"from": "2020-01-01", "to": "2024-12-31"}},
                "categories": {"stage": ["I", "II", "III"]},
                "missing": {"age": "indicator", "seen": "indicator"},
                "partition": {"kind": "column", "column": "site", "names": list(own_code.SILOS)},
                **PREPARES[prepares],
                **whose,
            },
            "training": {"rounds": 2, **stated},
            "privacy": privacy,
        },
        source="test",
    )


def read(asked: Config) -> Callable[[str], Records]:
    def own(written: str) -> Records:
        return federation_of(asked.data.model_copy(update={"source": written})).silo("a").train

    return own


def searched(plan: Plan, asked: Config, seen: Callable[[Records], Records]) -> list[NeighbourFinding]:
    """Changes a row of the file, one after the other, and returns how far the integers moved."""
    model, load = public_model(plan), read(asked)
    start = initial_state(plan, flatten(model)).announced()
    file = replace(table(), label="died", used=("age", "stage", "days", "seen"))
    rounds = Rounds(plan, model, "a")
    return list(loader_findings(rounds, file, lambda written: seen(load(written)), start, most_places=4))


def of_release_0(plan: Plan, records: Records) -> Records:
    return RecordsInUse(plan, {"a": records}).as_asked()["a"]


def under(plan: Plan, forged: str) -> Callable[[Records], Records]:
    return lambda records: RecordsInUse(plan, {"a": records}).under(np.array(FORGED[forged]))["a"]


def unexpected(findings: list[NeighbourFinding], *, person: bool) -> bool:
    # Of a person another record may take the place of one that is left out: twice the claim, within the unit.
    kept = [found for found in findings if not (person and found.largest <= 2.0 and not found.differences)]
    return bool(told_apart(kept))


@pytest.mark.parametrize("prepares", PREPARES)
@pytest.mark.parametrize("person", [False, True], ids=["record", "person"])
def test_a_row_moves_the_preparation_by_the_claim(person: bool, prepares: str) -> None:
    asked = config(person=person, prepares=prepares)
    plan = plan_without_data(asked)
    assert plan.preparation is not None
    findings = searched(plan.preparation, asked, lambda records: of_release_0(plan, records))
    assert not unexpected(findings, person=person)
    # A record is a 1 in one cell of every number, or as long as the bound; a person's are together no more.
    assert max(found.largest for found in findings) >= (0.3 if person else 0.99)


@pytest.mark.parametrize(
    ("kind", "forged"), [*(("stable-steps", name) for name in FORGED), ("single-step", "a narrow place")]
)
def test_a_row_moves_a_round_by_the_claim_whatever_was_announced(kind: str, forged: str) -> None:
    asked = config(kind)
    plan = plan_without_data(asked)
    assert not told_apart(searched(plan, asked, under(plan, forged)))


@pytest.mark.parametrize("forged", PROJECTIONS)
def test_a_row_moves_a_round_by_the_claim_whatever_was_projected_on(forged: str) -> None:
    asked = config("single-step" if forged == "huge" else "stable-steps", prepares="project")
    plan = plan_without_data(asked)
    told = np.resize(PROJECTIONS[forged], preparation_of(plan.config, plan.facts).map_shape)

    def seen(records: Records) -> Records:
        return RecordsInUse(plan, {"a": records}).under(told)["a"]

    assert not told_apart(searched(plan, asked, seen))


def test_directions_of_the_records_at_hand_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted: records are projected from their own mean, and not from what was released."""
    own = Projection.features

    def centred(self: Projection, features: Any) -> Any:
        moved = features.copy()
        if len(features):
            moved[:, :-1] -= features[:, :-1].mean(axis=0)
        return own(self, moved)

    monkeypatch.setattr(Projection, "features", centred)
    asked = config(prepares="project")
    plan = plan_without_data(asked)
    told = hashed(preparation_of(plan.config, plan.facts).map_shape)
    findings = searched(plan, asked, lambda records: RecordsInUse(plan, {"a": records}).under(told)["a"])
    assert any(found.exceeded for found in findings)


def test_products_that_count_twice_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted: 2 in place of √2 beside the diagonal."""
    monkeypatch.setattr(contribution, "_BESIDE", 2.0)
    asked = config(prepares="project")
    plan = plan_without_data(asked)
    assert plan.preparation is not None
    findings = searched(plan.preparation, asked, lambda records: of_release_0(plan, records))
    assert any(found.exceeded for found in findings)


def weighed() -> Config:
    asked = config()
    local = asked.training.local.model_copy(update={"class_weights": ClassWeightsConfig(kind="private")})
    training = asked.training.model_copy(update={"local": local})
    data = asked.data.model_copy(update={"standardise": None})
    return asked.model_copy(update={"training": training, "data": data})


def test_a_row_moves_the_counts_of_classes_by_the_claim() -> None:
    asked = weighed()
    plan = plan_without_data(asked)
    assert plan.preparation is not None
    findings = searched(plan.preparation, asked, lambda records: of_release_0(plan, records))
    assert not told_apart(findings)
    assert max(found.largest for found in findings) >= 0.99


@pytest.mark.parametrize("weights", [[0.05, 1.0]])
def test_a_row_moves_a_round_by_the_claim_under_any_class_weights(weights: list[float]) -> None:
    asked = weighed()
    plan = plan_without_data(asked)
    assert not told_apart(searched(plan.under(np.array([weights])), asked, lambda records: records))


def test_class_weights_that_grew_a_step_would_be_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted: the rare class counts 20 times as much, in place of the other's a twentieth."""
    own = Weighted.losses_and_residuals

    def grown(self: Weighted, logits: Any, labels: Any) -> Any:
        losses, residuals = own(self, logits, labels)
        return losses, residuals * 20.0

    monkeypatch.setattr(Weighted, "losses_and_residuals", grown)
    asked = weighed()
    plan = plan_without_data(asked).under(np.array([[0.05, 1.0]]))
    assert any(found.exceeded for found in searched(plan, asked, lambda records: records))


def test_a_map_that_lengthened_records_would_gain_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted: a record is 30 times as long as the bound. Stable steps shorten what is too long."""

    def lengthened(_: Standard, features: Any) -> Any:
        return features * np.float32(30.0)

    monkeypatch.setattr(Standard, "features", lengthened)
    asked = config()
    plan = plan_without_data(asked)
    assert not told_apart(searched(plan, asked, under(plan, "a narrow place")))


def test_a_map_that_looks_at_other_records_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted: numbers are centred by the mean of the records at hand, and not by what was released."""
    own = Standard.features

    def centred(self: Standard, features: Any) -> Any:
        moved = features.copy()
        if len(features):
            moved[:, :NUMBERS] -= features[:, :NUMBERS].mean(axis=0)
        return own(self, moved)

    monkeypatch.setattr(Standard, "features", centred)
    asked = config()
    plan = plan_without_data(asked)
    findings = searched(plan, asked, under(plan, "a narrow place"))
    assert any(found.exceeded for found in findings)
