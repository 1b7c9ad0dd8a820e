"""Silos one after the other, on two threads, and in two worker processes: which use of two cores is better?

    OPENBLAS_NUM_THREADS=1 python bench/workers.py

Ten silos of random images, one round of contributions at a time, interleaved; medians and their ratios to one
process. Threads are not offered by the product: torch's random generator is one a process. See docs/adr/0025.
"""

from __future__ import annotations

import argparse
import copy
import statistics
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

from discreet.config import parse_config
from discreet.config.speed import SpeedConfig
from discreet.data import Federation, Records, Silo
from discreet.engines.local import Prepared, prepare
from discreet.engines.local.crew import Crew
from discreet.models import flatten
from discreet.randomness import SeededRandom
from discreet.rounds import Contribution, RoundOrder, contribute

SILOS, RECORDS, WORKERS = 10, 800, 2
KINDS: dict[str, dict[str, Any]] = {
    "linear head, 22 stable steps": {
        "model": {"name": "logistic"},
        "training": {"rounds": 20, "local": {"kind": "stable-steps", "learning_rate": 0.02, "steps": 22}},
        "privacy": {"epsilon": 1.0, "delta": 1e-5},
    },
    "cnn-tanh, one batch of 400": {
        "model": {"name": "cnn-tanh"},
        "training": {
            "rounds": 20,
            "local": {"kind": "single-step"},
            "sampling": {"kind": "poisson", "probability": 0.5},
        },
        "privacy": {"epsilon": 1.0, "delta": 1e-5, "clip_norm": 1.0},
    },
}


def images(test_fraction: float, split_seed: int) -> Federation:  # noqa: ARG001 - a data source's signature
    rng = np.random.default_rng(split_seed)

    def records(count: int) -> Records:
        pixels = rng.random((count, 28, 28), dtype=np.float32)
        return Records(pixels / np.float32(28.0), rng.integers(0, 10, count))

    silos = tuple(Silo(f"silo-{number}", records(RECORDS), records(1)) for number in range(SILOS))
    return Federation("random images", silos, 10, (28, 28), feature_norm_bound=1.0)


def prepared(tables: dict[str, Any]) -> Prepared:
    base = {
        "name": "workers",
        "data": {"source": "workers:images", "record_capacity": RECORDS},
        "aggregation": {"protocol": "ideal"},
        "run": {"seed": 1},
    }
    return prepare(parse_config(base | tables, source="bench"))


def ways(made: Prepared, crew: Crew) -> dict[str, Callable[[], object]]:
    """One round of contributions, three times the same."""
    order = RoundOrder(1, 1, flatten(made.model))
    silos, source = made.federation.silos, SeededRandom(1)

    def one(silo: Silo, model: nn.Module) -> Contribution:
        coins = source.derive("release", 1, "silo", silo.name)
        return contribute(
            made.plan,
            silo.name,
            order.release,
            model=model,
            parameters=order.parameters,
            records=silo.train,
            randomness=coins,
        )

    models = [copy.deepcopy(made.model) for _ in range(WORKERS)]
    pool = ThreadPoolExecutor(WORKERS, initializer=torch.set_num_threads, initargs=(1,))

    def lane(number: int) -> list[Contribution]:
        return [one(silo, models[number]) for silo in silos[number::WORKERS]]

    return {
        "one process": lambda: [one(silo, made.model) for silo in silos],
        "two threads": lambda: list(pool.map(lane, range(WORKERS))),
        "two processes": lambda: crew.contributions(order),
    }


def report(name: str, rounds: int) -> None:
    made = prepared(KINDS[name])
    with Crew(1, SpeedConfig(workers=WORKERS)) as crew:
        crew.assign(made.plan, made.federation)
        rows = ways(made, crew)
        times: dict[str, list[float]] = {row: [] for row in rows}
        for number in range(rounds + 1):
            for row, run in rows.items():
                began = time.perf_counter()
                run()
                if number > 0:
                    times[row].append(time.perf_counter() - began)
                elif row == "two processes":
                    print(f"{name}: workers started in {time.perf_counter() - began:.1f} s")
    base = times["one process"]
    for row, seconds in times.items():
        ratio = statistics.median(alone / own for alone, own in zip(base, seconds, strict=True))
        print(f"  {row:14s} {1e3 * statistics.median(seconds):8.1f} ms  {ratio:5.2f} x as fast")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--rounds", type=int, default=10)
    args = parser.parse_args()
    torch.set_num_threads(1)
    sys.path.append(str(Path(__file__).parent))
    for name in KINDS:
        report(name, args.rounds)


if __name__ == "__main__":
    main()
