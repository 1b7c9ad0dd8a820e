"""One hospital asks for a stronger guarantee than the others: what that costs, by how it is given.

The bundled heart-disease federation, ε = 1 for everybody, and one hospital that wants ε = 0.3. Either
everybody gets 0.3, or that hospital alone: by a lower learning rate, or by sampling, each chosen from
the plan's numbers so that its own row is 0.3. All else is what the plan works out from public numbers, too.

    python bench/own_settings.py --seeds 20
"""

from __future__ import annotations

import argparse
import math
import statistics
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from discreet.config import Config, parse_config
from discreet.engines.local import run
from discreet.plan import FederationFacts, Plan, make_plan
from discreet.plan.guaranteed import against
from discreet.plan.over_records import plan_over_records
from discreet.plan.untuned import choice

EVERYBODY, ASKED = 1.0, 0.3
CAPACITIES = {"cleveland": 260, "hungary": 225, "switzerland": 50, "long_beach_va": 120}


def config(epsilon: float, silos: dict[str, Any] | None = None, seed: int = 1) -> Config:
    """Returns the federation with nothing tuned."""
    return parse_config(
        {
            "name": "own settings",
            "data": {"source": "heart-disease", "record_capacity": CAPACITIES, "split_seed": seed},
            "training": {"local": {"kind": "stable-steps"}},
            "privacy": {"epsilon": epsilon, "delta": 1e-5},
            "aggregation": {"min_survivors": 3, "max_colluding": 1},
            "run": {"seed": seed},
            **({} if silos is None else {"silos": silos}),
        }
    )


def row_of(plan: Plan, silo: str) -> float:
    """Returns the guarantee of one silo's records."""
    return against(plan, *plan.budget_adversary(), rounds=plan.rounds, silo=silo).epsilon


def largest(settings: Callable[[float], dict[str, Any]], silo: str, facts: FederationFacts) -> float:
    """Returns the largest number up to 1 at which the silo's own row is what it asks for."""
    low, high = 0.0, 1.0
    while high - low > 1e-3:
        middle = 0.5 * (low + high)
        plan = make_plan(config(EVERYBODY, {silo: settings(middle)}), facts)
        low, high = (middle, high) if row_of(plan, silo) <= ASKED else (low, middle)
    return low


def measured(make: Callable[[int], Config], seeds: int) -> str:
    """Returns mean ± standard error of accuracy and AUC on held-out records of all hospitals."""
    found: dict[str, list[float]] = {"accuracy": [], "auc": []}
    for seed in range(1, seeds + 1):
        with tempfile.TemporaryDirectory() as folder:
            metrics = run(make(seed), Path(folder) / "run").metrics
        for name, values in found.items():
            values.append(100.0 * metrics[name])
    return "  ".join(
        f"{name} {statistics.mean(values):.1f} ± {statistics.stdev(values) / math.sqrt(seeds):.1f}"
        for name, values in found.items()
    )


def main() -> None:
    """Prints a line for each way, for a large hospital and for a small one."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=20)
    seeds = parser.parse_args().seeds
    facts = plan_over_records(config(EVERYBODY)).plan.facts
    chosen = choice(config(EVERYBODY), facts)
    if chosen is None:
        raise ValueError("the plan must have worked the rate out")
    rate = chosen.local.learning_rate

    def slower(factor: float) -> dict[str, Any]:
        return {"learning_rate": factor * rate}

    def rarer(prob: float) -> dict[str, Any]:
        return {"sampling": {"kind": "poisson", "probability": prob}}

    print(f"everybody ε = {EVERYBODY:g}: {measured(lambda seed: config(EVERYBODY, seed=seed), seeds)}")
    print(f"everybody ε = {ASKED:g}: {measured(lambda seed: config(ASKED, seed=seed), seeds)}")
    for silo in ("cleveland", "switzerland"):
        for name, settings in (("rate", slower), ("sampling", rarer)):
            factor = largest(settings, silo, facts)
            own = {silo: settings(factor)}
            found = measured(lambda seed, own=own: config(EVERYBODY, own, seed), seeds)  # type: ignore[misc]
            print(f"{silo} alone ε = {ASKED:g}, by its {name}, times {factor:.3f}: {found}")


if __name__ == "__main__":
    main()
