"""Silos with settings of their own, over a wire: the local bytes, each silo's own charge, its owner's say."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from discreet.audit.campaign import AuditSettings, audit
from discreet.config import Config, load_config
from discreet.engines.flower.service import serve_training
from discreet.engines.local import prepare, run
from discreet.errors import ConfigurationError
from discreet.privacy.ledger import read_ledger
from discreet.report.owner_waiting import Waiting, waiting_plans
from discreet.silo.check import dry_run
from discreet.silo.policy import Account, Charge, PolicyRefusal, RefusalCode, load_policy, review
from discreet.silo.policy.ledger import spent_by_training
from discreet.silo.spending import odometer, proposed
from tests.engines.conftest import DirectWire, SmallConsortium

PATIENCE = 0.05
EXAMPLE = Path(__file__).parents[3] / "examples" / "own_settings.toml"
TODAY = date(2026, 1, 1)
POISSON = {"kind": "poisson", "probability": 0.5}
CASES: dict[str, dict[str, Any]] = {
    "stable-steps": {
        "training": {"rounds": 2, "local": {"kind": "stable-steps", "learning_rate": 0.02, "steps": 4}},
        "silos": {"cleveland": {"steps": 8}, "switzerland": {"learning_rate": 0.01, "sampling": POISSON}},
    },
    "single-step by a timetable": {
        "training": {
            "rounds": 2,
            "local": {"kind": "single-step"},
            "schedule": {"kind": "buffered", "buffer": 3},
        },
        "privacy": {"epsilon": 8.0, "delta": 1e-3, "clip_norm": 1.0},
        "silos": {"switzerland": {"pace": 2, "clip_norm": 0.5}, "hungary": {"sampling": POISSON}},
    },
    "noisy-steps": {
        "training": {"rounds": 2, "local": {"kind": "noisy-steps", "learning_rate": 0.01, "steps": 2}},
        "privacy": {"epsilon": 8.0, "delta": 1e-3, "clip_norm": 1.0},
        "silos": {"cleveland": {"steps": 3, "learning_rate": 0.004}},
    },
}


@pytest.fixture(scope="module")
def example() -> Config:
    asked = load_config(EXAMPLE)
    return asked.model_copy(update={"run": asked.run.model_copy(update={"evaluate": False})})


@pytest.mark.parametrize("case", CASES)
def test_wire_and_local_engine_give_the_same_bytes(
    case: str,
    make_consortium: Callable[..., SmallConsortium],
    small_config: Callable[..., Config],
    tmp_path: Path,
) -> None:
    config = small_config(**CASES[case])
    consortium = make_consortium(config)
    expected = run(config, tmp_path / "local").directory.model.read_bytes()
    serve_training(DirectWire(consortium.silos), consortium.folder.server, patience_seconds=PATIENCE)
    assert consortium.folder.server.run.model.read_bytes() == expected


class TestAnOwner:
    @pytest.fixture
    def consortium(self, make_consortium: Callable[..., SmallConsortium], example: Config) -> SmallConsortium:
        return make_consortium(example)

    def test_is_charged_and_asked_by_its_own_row(self, consortium: SmallConsortium) -> None:
        """A limit that the others' rows exceed lets through whoever gives less."""
        plan = consortium.plan
        rows = {row.silo: row.epsilon for row in plan.guarantees if row.silo is not None}
        for name in plan.facts.silos:
            consortium.edit_policy(
                name, "max_epsilon_per_training", "max_epsilon_per_training = 0.5\n# before:"
            )
            policy = load_policy(consortium.folder.policy(name))
            charge = Charge.under(plan, policy)
            assert charge.cost(plan.rounds).epsilon == pytest.approx(rows[name], rel=1e-9)
            if rows[name] <= 0.5:
                review(plan, policy, Account({}), today=TODAY, approved=frozenset())
                assert dry_run(policy, plan).cost.silo == name
            else:
                with pytest.raises(PolicyRefusal) as caught:
                    review(plan, policy, Account({}), today=TODAY, approved=frozenset())
                assert caught.value.code is RefusalCode.BUDGET
        assert sorted(rows[name] <= 0.5 for name in rows) == [False, False, True, True]

    def test_finds_its_own_spending_in_its_ledger(self, consortium: SmallConsortium) -> None:
        serve_training(DirectWire(consortium.silos), consortium.folder.server, patience_seconds=PATIENCE)
        rows = {row.silo: row.epsilon for row in consortium.plan.guarantees}
        for name in ("cleveland", "switzerland"):
            ledger = consortium.folder.silo(name) / "state" / "ledger.jsonl"
            entries = tuple(line.entry for line in read_ledger(ledger))
            assert sum(one.charged for one in spent_by_training(entries).values()) == 8
            spent = odometer(load_policy(consortium.folder.policy(name)), entries, TODAY)
            assert spent.lifetime.epsilon == pytest.approx(rows[name], rel=1e-9)

    def test_reads_its_own_rows_and_settings_on_its_page(self, consortium: SmallConsortium) -> None:
        plan, name = consortium.plan, "switzerland"
        policy = load_policy(consortium.folder.policy(name))
        budget = odometer(policy, (), TODAY)
        waiting = Waiting(
            silo=name,
            budget=budget,
            proposed=proposed(policy, (), TODAY, plan),
            cost=Charge.under(plan, policy).cost(plan.rounds),
            units=655,
            sends=(),
            approve="",
            refuse="",
            check="",
        )
        page = str(waiting_plans([waiting], asks_a_person=True))
        assert "learning rate 0.012" in page
        assert "records of switzerland" in page
        assert "records of cleveland" not in page
        assert ">0.373<" in page
        assert ">1.000<" not in page


def test_an_audit_of_silos_that_differ_is_refused(example: Config) -> None:
    with pytest.raises(ConfigurationError, match="'silos' must have no settings that a guarantee depends on"):
        audit(prepare(example), AuditSettings())
