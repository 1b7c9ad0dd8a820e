"""A whole federation: ours against Flower's simulation engine with Opacus, and where our rounds spend time.

    python bench/federation.py --data-dir DIR                     # ours: phases of a round, 1 and 2 workers
    python bench/federation.py --data-dir DIR --peer-python PY    # and the peer, interleaved with ours

Heikkilä (2025), Figure 1: ten silos of 5,600 Fashion-MNIST images, 11 noisy local steps a round on Poisson
batches of 512 expected, the network of 26,010 weights. Ours plans, encodes, masks (Bonawitz), keeps its
ledger and checkpoints; the peer (``bench/flower_opacus.py``) trains alike and averages plain floats. Neither
measures the model. Every number of ours is read from the log and the files that ``discreet run`` writes.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

SILOS, RECORDS, STEPS, BATCH, RATE, CLIP_NORM = 10, 5600, 11, 512, 2.0, 1.0
PEER_PATIENCE_SECONDS = 3600.0  # Ray waits forever for a raylet that has died
PEER = Path(__file__).with_name("flower_opacus.py")

CONFIG = """
name = "federation"
[data]
source = "npz:{data}/fashion_mnist.npz"
num_classes = 10
keep_test_set = false
test_fraction = 0.2
record_capacity = 5800
partition = {{ kind = "iid", silos = {silos} }}
[model]
name = "cnn-tanh"
[training]
rounds = {rounds}
local = {{ kind = "noisy-steps", learning_rate = {rate}, steps = {steps} }}
sampling = {{ kind = "poisson", probability = {prob} }}
server = {{ kind = "averaging" }}
[privacy]
epsilon = 1.0
delta = 1e-5
clip_norm = {clip_norm}
accept_assumptions = ["independent-local-state"]
[aggregation]
protocol = "bonawitz"
mode = "{mode}"
[run]
evaluate = {evaluate}
[speed]
workers = {workers}
"""


@dataclass(frozen=True)
class Timed:
    """Wall times of one run, in seconds: the whole process, and each round."""

    whole: float
    rounds: list[float]

    @property
    def start(self) -> float:
        """Everything but the rounds: imports, data, plan, report."""
        return self.whole - sum(self.rounds)

    def steady_round(self) -> float:
        """The median round; the first one also starts workers and warms caches, and is left out."""
        return statistics.median(self.rounds[1:])


def config(data: Path, rounds: int, workers: int, *, mode: str = "malicious", evaluate: bool = False) -> str:
    return CONFIG.format(
        data=data, silos=SILOS, rounds=rounds, steps=STEPS, rate=RATE / BATCH, prob=BATCH / RECORDS,
        clip_norm=CLIP_NORM, mode=mode, workers=workers, evaluate=str(evaluate).lower(),
    )  # fmt: skip


def ours(text: str) -> tuple[Timed, list[dict[str, float]]]:
    """Runs the command on a config; returns its times and the phases of every round."""
    with tempfile.TemporaryDirectory() as folder:
        path, out = Path(folder) / "federation.toml", Path(folder) / "out"
        path.write_text(text)
        command = [sys.executable, "-m", "discreet", "-v", "run", str(path), "--out", str(out), "--json"]
        began = time.monotonic()
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        whole = time.monotonic() - began
        lines = [json.loads(line) for line in (out / "metrics.jsonl").read_text().splitlines()]
    return Timed(whole, [line["seconds"] for line in lines]), phases(done.stderr)


def phases(log: str) -> list[dict[str, float]]:
    """Reads the wall time of every phase from the lines of the log that are about rounds."""
    rounds = [line for line in log.splitlines() if " event=round " in line]
    return [
        {
            name.removesuffix("_seconds"): float(value)
            for name, _, value in (field.partition("=") for field in line.split())
            if name.endswith("_seconds")
        }
        for line in rounds
    ]


def peer(python: str, data: Path, rounds: int) -> Timed:
    """Runs the same training with Flower and Opacus, in that environment."""
    settings = {
        "silos": SILOS, "rounds": rounds,
        "training": {
            "path": str(data / "fashion_mnist.npz"), "records": RECORDS, "steps": STEPS, "batch": BATCH,
            "learning_rate": RATE, "clip_norm": CLIP_NORM, "noise_multiplier": 2.0,
        },
    }  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "settings.json"
        path.write_text(json.dumps(settings))
        environment = {
            **os.environ, "PYTHONPATH": str(PEER.parent), "FLWR_TELEMETRY_ENABLED": "0", "FLWR_HOME": folder
        }  # fmt: skip
        began = time.monotonic()
        done = subprocess.run(
            [python, str(PEER), str(path)],
            check=True, capture_output=True, text=True, env=environment, timeout=PEER_PATIENCE_SECONDS,
        )  # fmt: skip
        whole = time.monotonic() - began
    return Timed(whole, json.loads(done.stdout.splitlines()[-1])["rounds"])


def report_phases(data: Path, rounds: int, workers: int, mode: str) -> None:
    """Prints what a round spends beyond local training."""
    timed, found = ours(config(data, rounds, workers, mode=mode, evaluate=True))
    print(f"ours, {workers} worker(s), {mode}: start {timed.start:.1f} s, round {timed.steady_round():.2f} s")
    steady = found[1:]
    median = {name: statistics.median(each[name] for each in steady) for name in steady[0]}
    training = median["training"]
    median["dispatch"] = median["sum"] - training - median["encoding"] - median["aggregation"]
    for name in ("training", "encoding", "aggregation", "dispatch", "server", "record", "measuring"):
        print(
            f"  {name:12s} {1e3 * median[name]:9.1f} ms  {100 * median[name] / training:6.2f} % of training"
        )
    beyond = median["sum"] - training + median["server"] + median["record"]
    print(f"  beyond training, without measuring: {100 * beyond / training:.2f} %")


def report_ratio(python: str, data: Path, rounds: int, repeats: int) -> None:
    """Prints ours and the peer's times of interleaved runs, and their ratios."""
    pairs = []
    for _ in range(repeats):
        # Right before each run a round of it, not counted: what the system has dropped from its cache of the
        # disk since this side ran last would otherwise count as its start.
        ours(config(data, 1, workers=2))
        own, _ = ours(config(data, rounds, workers=2))
        peer(python, data, 1)
        pairs.append((own, peer(python, data, rounds)))
        for name, timed in zip(("ours", "Flower + Opacus"), pairs[-1], strict=True):
            each = " ".join(f"{seconds:.1f}" for seconds in timed.rounds)
            print(
                f"{name:16s} whole {timed.whole:7.1f} s, start {timed.start:5.1f} s, rounds {each}",
                flush=True,
            )
    whole = statistics.median(other.whole / own.whole for own, other in pairs)
    steady = statistics.median(other.steady_round() / own.steady_round() for own, other in pairs)
    print(f"{rounds} rounds: whole run {whole:.2f} x faster, one round {steady:.2f} x")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--data-dir", type=Path, required=True)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--modes", nargs="*", default=["malicious", "semi-honest"])
    parser.add_argument("--workers", type=int, nargs="*", default=[1, 2], help="for the phases of a round")
    parser.add_argument("--peer-python", help="a Python that has flwr[simulation] and opacus")
    args = parser.parse_args()
    for workers in args.workers:
        for mode in args.modes:
            report_phases(args.data_dir, min(args.rounds, 4), workers, mode)
    if args.peer_python:
        report_ratio(args.peer_python, args.data_dir, args.rounds, args.repeats)


if __name__ == "__main__":
    main()
