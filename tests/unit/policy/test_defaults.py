"""What ``discreet init`` writes is accepted by a policy whose owner changed no default."""

from __future__ import annotations

import tomllib
from datetime import date
from pathlib import Path

import pytest

from discreet.cli.init import Answers, write_config
from discreet.config import parse_config
from discreet.engines.flower.consortium import ConsortiumFolder, rehearse
from discreet.silo.policy import Account, load_policy, review
from discreet.silo.policy.document import RequireTable


@pytest.mark.parametrize("silos", [3, 4, 5])
def test_a_first_config_is_not_refused_by_a_first_policy(tmp_path: Path, silos: int) -> None:
    answers = Answers("digits", str(silos), label="", features="", epsilon=1.0, capacity=500)
    plan = rehearse(parse_config(tomllib.loads(write_config(answers, name="first"))), tmp_path / "c")
    own = load_policy(ConsortiumFolder(tmp_path / "c").policy(plan.facts.silos[0]))
    policy = own.model_copy(update={"require": RequireTable(models=own.require.models)})
    found = review(plan, policy, Account({}), today=date(2026, 1, 1), approved=frozenset())
    assert found.charge.max_colluding == plan.thresholds.max_colluding == policy.require.max_colluding
