"""What the head of `examples/abstracts.toml` reaches, from public texts or from zero, private or not.

    python bench/abstracts.py --data-dir FOLDER

Accuracy in percent on the fifth of records that is held out, mean and standard error over ten splits; the
seed of a split draws that fifth, the silos and the noise. Differences are to the first line, split by split.
Without privacy, one head is trained on the records of all silos together. FOLDER has
medical_abstracts_minilm384.npz; about ten minutes on two cores.
"""

from __future__ import annotations

import argparse
import math
import os
import tempfile
import tomllib
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

from adapters import shown
from discreet.config import Config, parse_config
from discreet.engines.local import prepare, run
from discreet.engines.local.comparison import compare
from discreet.engines.local.measure import measure
from discreet.models import flatten

ROOT = Path(__file__).parents[1]
Way = Callable[[int], float]


def config(seed: int, epsilon: float = 1.0, *, texts: bool = True, **local: Any) -> Config:
    """Returns the example's config for one split."""
    stated = tomllib.loads((ROOT / "examples" / "abstracts.toml").read_text(encoding="utf-8"))
    begins = stated["model"].pop("pretrained")
    if texts:
        stated["model"]["pretrained"] = begins | {"file": str(ROOT / begins["file"])}
    stated["training"]["local"] |= local
    stated["data"]["split_seed"] = seed
    stated["privacy"]["epsilon"] = epsilon
    stated["aggregation"]["protocol"] = "ideal"
    return parse_config(stated | {"run": {"seed": seed, "compare": False}, "speed": {"workers": 1}})


def private(epsilon: float, **how: Any) -> Way:
    """Returns what trains with privacy."""

    def accuracy(seed: int) -> float:
        with tempfile.TemporaryDirectory() as made:
            return run(config(seed, epsilon, **how), Path(made) / "run").metrics["accuracy"]

    return accuracy


def pooled(*, texts: bool) -> Way:
    """Returns what trains without privacy, on the records of all silos."""

    def accuracy(seed: int) -> float:
        at_start = prepare(config(seed, texts=texts))
        found = compare(at_start.model, at_start.federation, flatten(at_start.model))
        return math.nan if found is None else found.pooled["accuracy"]

    return accuracy


def untrained(seed: int) -> float:
    """Returns the accuracy of the public texts' head, which has seen no record."""
    at_start = prepare(config(seed))
    return measure(at_start.model, at_start.federation, flatten(at_start.model))["accuracy"]


WAYS: dict[str, Way] = {
    "from zero, residual cap 0.35, ε = 1": private(1.0, texts=False, residual_cap=0.35),
    "from zero, the rule's cap 0.15, ε = 1": private(1.0, texts=False),
    "public texts alone, no record": untrained,
    "from public texts, ε = 1": private(1.0),
    "from zero, residual cap 0.35, ε = 4": private(4.0, texts=False, residual_cap=0.35),
    "from public texts, ε = 4": private(4.0),
    "from zero, without privacy": pooled(texts=False),
    "from public texts, without privacy": pooled(texts=True),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--data-dir", default=os.environ.get("DISCREET_DATA"), help="or DISCREET_DATA")
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument("--ways", nargs="+", choices=list(WAYS), default=list(WAYS), metavar="WAY")
    stated = parser.parse_args()
    file = Path(stated.data_dir or "") / "medical_abstracts_minilm384.npz"
    if not file.is_file():
        raise SystemExit(
            f"--data-dir must name the folder of {file.name}; got {stated.data_dir!r}, without it."
        )
    os.environ["DISCREET_DATA"] = str(file.parent)
    warnings.simplefilter("ignore")
    first: list[float] = []
    print("| | accuracy, % | beside the first line |\n|---|---|---|")
    for way in stated.ways:
        reached = [100.0 * WAYS[way](seed) for seed in range(1, 1 + stated.splits)]
        first = first or reached
        print(
            f"| {way} | {shown(reached)} | {shown(a - b for a, b in zip(reached, first, strict=True))} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
