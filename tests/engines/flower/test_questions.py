"""Questions over silos: the same sums as in one process, by the owners' leave, charged before they leave."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from discreet.config import Config, parse_config
from discreet.engines.flower.service import serve_training
from discreet.engines.local import run
from discreet.errors import DiscreetError
from discreet.privacy.ledger import read_ledger, spending
from discreet.secagg import Stage
from discreet.silo.requests import Refused
from tests.engines.conftest import DirectWire, SmallConsortium
from tests.engines.flower.test_equivalence import PATIENCE, dropping

CAPACITY = {"cleveland": 310, "hungary": 270, "switzerland": 70, "long_beach_va": 140}


def questions(**changes: Any) -> Config:
    return parse_config(
        {
            "data": {"source": "heart-disease", "record_capacity": CAPACITY},
            "ask": [
                {"kind": "count"},
                {"kind": "table", "of": ["sex", "label"]},
                {"kind": "linear-regression", "outcome": "thalach", "on": ["age", "cp"]},
                {"kind": "hazards", "time": "age", "event": "exang", "on": ["sex"]},
                {"kind": "logistic-regression", "outcome": "label", "on": ["sex", "cp", "age"]},
            ],
            "privacy": {"epsilon": 1.0, "delta": 1e-5},
            "aggregation": {"min_survivors": 3, "max_colluding": 1},
            "run": {"seed": 7},
            **changes,
        }
    )


def charged(consortium: SmallConsortium, name: str) -> int:
    path = consortium.folder.silo(name) / "state" / "ledger.jsonl"
    return spending(line.entry for line in read_ledger(path)).charged


@pytest.mark.parametrize("drop", [False, True])
def test_the_sums_are_those_of_one_process(
    make_consortium: Callable[..., SmallConsortium], tmp_path: Path, drop: bool
) -> None:
    dropouts = [{"silo": "hungary", "round": 1, "stage": "mask"}] if drop else []
    config = questions(run={"seed": 7, "dropouts": dropouts})
    consortium = make_consortium(config)
    run(config, tmp_path / "local")
    wire = DirectWire(consortium.silos)
    if drop:
        wire.tamper = dropping(consortium, "hungary", 1, Stage.MASK)
    serve_training(wire, consortium.folder.server, patience_seconds=PATIENCE)
    found = consortium.folder.server.run.model.read_bytes()
    assert found == (tmp_path / "local" / "model.safetensors").read_bytes()
    assert charged(consortium, "cleveland") == 1


def test_an_owner_who_does_not_permit_questions_is_asked_none(
    make_consortium: Callable[..., SmallConsortium],
) -> None:
    consortium = make_consortium(questions())
    digest = consortium.plan.facts.model_digest
    consortium.edit_policy("cleveland", f'"answers@sha256:{digest}"', '"logistic"')
    wire = DirectWire(consortium.silos)
    serve_training(wire, consortium.folder.server, patience_seconds=PATIENCE)
    (refusal,) = {reply for reply in wire.answered if isinstance(reply, Refused)}
    assert "model must be one of logistic at this silo; the plan has answers" in refusal.reason
    assert charged(consortium, "cleveland") == 0


def test_a_question_after_the_budget_is_spent_is_refused_and_charges_nothing(
    make_consortium: Callable[..., SmallConsortium],
) -> None:
    first = make_consortium(questions())
    for name in CAPACITY:
        path = first.folder.policy(name)
        text = path.read_text()
        assert "[budget]" in text
        path.write_text(
            text.replace("[budget]\n", "[budget]\nmax_epsilon_per_year = 0.5\nmax_delta_per_year = 1e-5\n", 1)
        )
        first.reopen(name)
    wire = DirectWire(first.silos)
    with pytest.raises(DiscreetError):
        serve_training(wire, first.folder.server, patience_seconds=PATIENCE)
    assert all(charged(first, name) == 0 for name in CAPACITY)
    assert any(isinstance(reply, Refused) and "year" in reply.reason for reply in wire.answered)
