"""A report with one of everything, for the tests of this folder."""

import math
import shutil
from pathlib import Path
from typing import Any

import pytest

from discreet.config import parse_config
from discreet.engines.local import run
from discreet.privacy.adversary import (
    AggregationServer,
    ReleasedModels,
    ServerWithColluders,
    WithoutSecureAggregation,
)
from discreet.privacy.guarantee import Guarantee
from discreet.privacy.tradeoff import GaussianTradeoff
from discreet.privacy.units import NeighboringRelation, Status, Unit
from discreet.report.attack import attack_bound
from discreet.report.content import (
    AbortedRound,
    Citation,
    Comparison,
    CompletedRound,
    Fact,
    LostRound,
    Measured,
    Refusal,
    ReportInput,
    SiloBudget,
)

HOSTILE = '<script src="https://evil.example/x.js">&\'"'


CONFIG: dict[str, Any] = {
    "name": "hospitals",
    "data": {"source": "heart-disease", "record_capacity": 303},
    "training": {
        "rounds": 2,
        "local": {"kind": "stable-steps", "learning_rate": 0.02, "steps": 8},
    },
    "privacy": {"epsilon": 1.0, "delta": 1e-5},
    "aggregation": {"protocol": "ideal", "min_survivors": 3, "max_colluding": 1},
    "run": {
        "seed": 5,
        "compare": True,
        "dropouts": [{"silo": "switzerland", "round": 2, "stage": "mask"}],
    },
}


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("report") / "run"
    run(parse_config(CONFIG), out)
    return out


@pytest.fixture
def directory(finished: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(finished, tmp_path / "run"))


def guarantee(adversary: object, epsilon: float, **changes: Any) -> Guarantee:
    values: dict[str, object] = {
        "epsilon": epsilon,
        "delta": 1e-5,
        "unit": Unit.RECORD,
        "neighboring": NeighboringRelation.ADD_REMOVE,
        "adversary": adversary,
        "status": Status.PROVEN,
    }
    return Guarantee(**(values | changes))  # type: ignore[arg-type]


@pytest.fixture
def report() -> ReportInput:
    budget = guarantee(ServerWithColluders(1), 0.98765)
    good = Measured(
        accuracy=0.7777, loss=0.4567, auc=0.8765, by_silo=(("a", 0.75), (HOSTILE, 0.8)), base_rate=0.6
    )
    return ReportInput(
        title=f"trial {HOSTILE}",
        seeded=False,
        silos=("a", HOSTILE, "c"),
        planned_rounds=4,
        budget=budget,
        spent=guarantee(ServerWithColluders(1), 0.8123),
        persons=((2, guarantee(AggregationServer(), 2.31)), (10, guarantee(AggregationServer(), 15.2))),
        guarantees=(
            guarantee(ReleasedModels(), 0.76501),
            guarantee(
                AggregationServer(),
                0.7655,
                status=Status.CONDITIONAL,
                assumptions=(f"the local state {HOSTILE} stays secret",),
            ),
            budget,
            guarantee(WithoutSecureAggregation(HOSTILE), math.inf),
        ),
        units=1_000,
        silo_budgets=(
            SiloBudget(
                "a",
                guarantee(ServerWithColluders(1), 0.8123),
                added=(0.8123, 1e-5),
                elsewhere=(1.5, 2e-5),
                limit_of_a_training=(1.0, 1e-4),
                limit=(5.0, 1e-3),
            ),
            SiloBudget(
                HOSTILE,
                guarantee(ServerWithColluders(2), 1.2001),
                added=(1.2001, 1e-5),
                elsewhere=(0.0, 0.0),
                limit_of_a_training=(1.0, 1e-4),
                limit=(1.0, 1e-4),
            ),
        ),
        attack=attack_bound(GaussianTradeoff(0.25)),
        outcomes=(
            CompletedRound(1, ("a", HOSTILE, "c"), 0.4321, 1234, 0.69, 0.5, good),
            AbortedRound(2, "not-enough-survivors"),
            LostRound(2, f"power cut {HOSTILE}"),
            CompletedRound(3, ("a", "c"), 0.8123, None, None, None, None),
        ),
        final=good,
        comparison=Comparison(
            pooled=Measured(0.8123, None, 0.9012, ()),
            alone=(("a", Measured(0.6543, 0.7, None, (("a", 0.66),))),),
        ),
        facts=(Fact("Noise", f"rounded {HOSTILE}", "drawn at the silo"),),
        refusals=(Refusal(f"claim {HOSTILE}", "unproven"),),
        citations=(Citation("Accounting", "@article{x, title = {<b>}}"),),
        plan_digest="ab" * 32,
        ledger_head="cd" * 32,
        signer="ef" * 32,
        versions=(("discreet", "0.1.0"),),
        attribution="Someone <someone@example.org>",
    )
