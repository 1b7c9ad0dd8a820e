"""What held-out records say of a model under a guarantee, beside what a simulation counts exactly.

    python bench/evaluate_while_training.py --seeds 10

The four hospitals of the heart-disease table, a quarter held out, stable-steps with nothing tuned. Each row
is one ``[evaluate]``; each seed draws everything anew. The error is the distance of the answered accuracy
from the exact one of the same records and model, in points; mean ± standard error over seeds. The gain of
keeping is the exact accuracy of the model that ``keep = "best"`` releases, less that of the last one.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
from pathlib import Path
from typing import Any

from discreet import Config
from discreet.config import parse_config
from discreet.engines.local import run

ROWS: tuple[dict[str, Any], ...] = (
    {"every": 20, "epsilon": 1.0, "bins": 2},
    {"every": 20, "epsilon": 1.0},
    {"every": 20, "epsilon": 0.3, "bins": 2},
    {"every": 10, "epsilon": 1.0, "bins": 2},
    {"every": 5, "epsilon": 1.0, "bins": 2},
    {"every": 2, "epsilon": 1.0, "bins": 2},
    {"every": 2, "epsilon": 3.0, "bins": 2},
)


def config(evaluate: dict[str, Any], seed: int) -> Config:
    """Returns a training of 20 rounds at (1, 1e-5) that is evaluated."""
    return parse_config(
        {
            "name": "watched",
            "data": {
                "source": "heart-disease",
                "test_fraction": 0.25,
                "record_capacity": {
                    "cleveland": 260,
                    "hungary": 225,
                    "switzerland": 50,
                    "long_beach_va": 120,
                },
            },
            "training": {"rounds": 20, "local": {"kind": "stable-steps"}},
            "privacy": {"epsilon": 1.0, "delta": 1e-5},
            "evaluate": {"mechanism": "discrete-laplace", **evaluate},
            "run": {"seed": seed},
        }
    )


def errors(evaluate: dict[str, Any], seed: int) -> tuple[list[float], list[float], float]:
    """Returns the errors of one run's evaluations, half widths of intervals, and the gain; in points."""
    with tempfile.TemporaryDirectory() as folder:
        lines = run(config(evaluate, seed), Path(folder) / "run").directory.read_metrics()
    asked = [line for line in lines if "held_out" in line]
    answers = [line["held_out"]["accuracy"] for line in asked]
    missed = [100 * abs(answer[0] - line["accuracy"]) for answer, line in zip(answers, asked, strict=True)]
    best = max(range(len(asked)), key=lambda place: answers[place][0])
    gain = 100 * (asked[best]["accuracy"] - asked[-1]["accuracy"])
    return missed, [50 * (answer[2] - answer[1]) for answer in answers], gain


def mean_and_error(values: list[float]) -> str:
    """Returns mean ± standard error."""
    spread = statistics.stdev(values) / len(values) ** 0.5 if len(values) > 1 else 0.0
    return f"{statistics.fmean(values):.1f} ± {spread:.1f}"


def main() -> None:
    """Prints one line for each row."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--seeds", type=int, default=10)
    seeds = range(1, parser.parse_args().seeds + 1)
    print("every  ε  bins | evaluations a run | error | half of the 95 % interval | gain of keeping the best")
    for row in ROWS:
        each = [errors(row, seed) for seed in seeds]
        # One number a seed: the evaluations of one run are of one model and the same records.
        error = mean_and_error([statistics.fmean(missed) for missed, _, _ in each])
        width = statistics.fmean(half for _, halves, _ in each for half in halves)
        gain = mean_and_error([gain for _, _, gain in each])
        stated = f"{row['every']:5}  {row['epsilon']}  {row.get('bins', 'default')}"
        print(f"{stated} | {len(each[0][0])} | {error} | {width:.1f} | {gain}", flush=True)


if __name__ == "__main__":
    main()
