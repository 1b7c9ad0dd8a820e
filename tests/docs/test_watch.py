"""The page about watching a federation names every metric as the code does, and no other."""

from __future__ import annotations

import dataclasses
from datetime import date
from pathlib import Path
from typing import Any

from discreet.health import RunState, RunStatus, SiloStatus, SiloWatch, run_metrics
from discreet.health.exposition import Metric
from discreet.privacy.ledger import spending
from discreet.silo.policy.document import BudgetTable
from discreet.silo.spending import Level, Odometer

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "watch-a-federation.md"


def silo_metrics() -> tuple[Metric, ...]:
    budget = BudgetTable(
        max_epsilon=1.0, max_delta=1e-5, max_epsilon_per_training=1.0, max_delta_per_training=1e-5
    )
    spent = Odometer("a", "record", budget.lifetime, Level(0.0, 0.0, 0.0), None, None, (), ())
    status = SiloStatus("a", False, date(2026, 12, 31), budget, spent, None, (), ())
    return SiloWatch(status).metrics()


def server_metrics() -> tuple[Metric, ...]:
    values: dict[str, Any] = dict.fromkeys((field.name for field in dataclasses.fields(RunStatus)), 1.0)
    values |= {"state": RunState.RUNNING, "spent": spending(()), "last_round": None, "silos": ()}
    return run_metrics(RunStatus(**values))


def test_every_metric_is_in_the_tables_and_nothing_else_is() -> None:
    rows = [
        tuple(cell.strip() for cell in line.strip("|").split("|"))
        for line in PAGE.read_text(encoding="utf-8").splitlines()
        if line.startswith("| `discreet_")
    ]
    code = [(f"`{one.name}`", str(one.kind), one.meaning) for one in (*silo_metrics(), *server_metrics())]
    assert rows == code
