"""What a clipping norm that follows a quantile is worth, when the first guess is right and when it is not.

    OPENBLAS_NUM_THREADS=1 python bench/clip_norm.py

Single-step softmax regression on the bundled digits: five silos, 40 rounds, (1, 1e-5) per record, seeded.
Prints held-out accuracy, mean ± standard error over the seeds, and the norm of the last round.
"""

from __future__ import annotations

import argparse
import math
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from discreet.config import parse_config
from discreet.engines.local import run

FIRST_NORMS = (0.05, 0.2, 0.7, 2.0, 10.0)
QUANTILE, FOLLOWING = 0.5, 0.5


def accuracy_and_norm(clip_norm: Any, learning_rate: float, seed: int) -> tuple[float, float | None]:
    """Trains once; returns the held-out accuracy and, if it moved, the norm of the last round."""
    config = parse_config(
        {
            "data": {"source": "digits", "record_capacity": 400, "partition": {"kind": "iid", "silos": 5}},
            "training": {
                "rounds": 40,
                "local": {"kind": "single-step"},
                "server": {"kind": "averaging", "learning_rate": learning_rate},
            },
            "privacy": {"epsilon": 1.0, "delta": 1e-5, "clip_norm": clip_norm},
            "aggregation": {"protocol": "ideal"},
            "run": {"seed": seed},
            "speed": {"workers": 1},
        }
    )
    with tempfile.TemporaryDirectory() as folder:
        result = run(config, Path(folder) / "run")
        last = result.directory.read_metrics()[-1]
    return result.metrics["accuracy"], last.get("clip_norm")


def row(label: str, clip_norm: Any, learning_rate: float, seeds: int) -> None:
    found = [accuracy_and_norm(clip_norm, learning_rate, seed) for seed in range(seeds)]
    accuracies = [100.0 * accuracy for accuracy, _ in found]
    error = np.std(accuracies, ddof=1) / math.sqrt(seeds) if seeds > 1 else math.nan
    norms = [norm for _, norm in found if norm is not None]
    last = f", last norm {np.mean(norms):.2f}" if norms else ""
    print(f"  {label:24s} {np.mean(accuracies):5.1f} ± {error:.1f} %{last}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--learning-rates", type=float, nargs="*", default=[4.0, 16.0])
    parser.add_argument("--seeds", type=int, default=5)
    args = parser.parse_args()
    for learning_rate in args.learning_rates:
        print(f"server learning rate {learning_rate:g}")
        for first in FIRST_NORMS:
            row(f"fixed at {first:g}", first, learning_rate, args.seeds)
        for first in FIRST_NORMS:
            moving = {"quantile": QUANTILE, "initial": first, "learning_rate": FOLLOWING}
            row(f"median, from {first:g}", moving, learning_rate, args.seeds)


if __name__ == "__main__":
    main()
