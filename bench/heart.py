"""Utility of the bundled federation over many seeds: accuracy, AUC and per-hospital accuracy, mean ± SEM.

    python bench/heart.py [--seeds 20] [--config examples/heart.toml]

Each seed draws its own split, sampling, noise and keys.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import tempfile
from pathlib import Path

from discreet.config import Config, load_config
from discreet.engines.local import run

METRICS = ("accuracy", "auc")


def seeded(config: Config, seed: int) -> Config:
    """Returns ``config`` with its own split and randomness."""
    return config.model_copy(
        update={
            "data": config.data.model_copy(update={"split_seed": seed}),
            "run": config.run.model_copy(update={"seed": seed, "compare": True}),
        }
    )


def mean_and_sem(values: list[float]) -> str:
    """Returns "mean ± standard error of the mean"."""
    sem = statistics.stdev(values) / math.sqrt(len(values)) if len(values) > 1 else math.nan
    return f"{statistics.mean(values):.4f} ± {sem:.4f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--config", type=Path, default=Path("examples/heart.toml"))
    parser.add_argument("--json", type=Path, help="also write every seed's numbers here")
    arguments = parser.parse_args()
    config = load_config(arguments.config)
    private: dict[str, list[float]] = {}
    pooled: dict[str, list[float]] = {}
    guarantee = ""
    for seed in range(arguments.seeds):
        with tempfile.TemporaryDirectory() as folder:
            result = run(seeded(config, seed), Path(folder) / "run")
        guarantee = str(result.plan.spent(result.plan.rounds))
        for name, value in result.metrics.items():
            private.setdefault(name, []).append(value)
        if result.comparison is not None:
            for name, value in result.comparison.pooled.items():
                pooled.setdefault(name, []).append(value)
    print(f"{arguments.config}, {arguments.seeds} seeds, planned guarantee {guarantee}")
    print(f"{'':32}{'private':>20}{'pooled, not private':>24}")
    for name in sorted(private, key=lambda key: (key not in METRICS, key)):
        print(f"{name:32}{mean_and_sem(private[name]):>20}{mean_and_sem(pooled[name]):>24}")
    if arguments.json:
        arguments.json.write_text(json.dumps({"private": private, "pooled": pooled}, indent=1))


if __name__ == "__main__":
    main()
