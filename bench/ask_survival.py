"""One Kaplan-Meier curve of several hospitals: ours beside OpenDP's noise and lifelines' curve.

    python -m venv peer && peer/bin/pip install opendp==0.16.0 lifelines==0.30.3
    DISCREET_DATA=FOLDER python bench/ask_survival.py --peer-python peer/bin/python --seeds 200

Two tables: TCGA-BRCA by its six regions, and the NCCTG lung table that lifelines ships, by its 18 hospitals.
The question asks for 24 bins of time. Our noise is that of the plan, one silo dropped out and one colluding.

Beside it stand, all noise drawn by OpenDP: each silo's own histogram of (bin, event) with Laplace noise at
the same ε and no δ, the best that it can do alone; its numbers at risk and of events for every bin, as is
usual; and somebody who has all records and adds Gaussian noise at the same ε and δ, or Laplace noise, to one
histogram. Error: mean absolute difference from the curve without noise, over the ends of all bins. What the
bins themselves cost is the distance of that curve from lifelines' curve of exact times.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import json
import math
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ask import REGIONS, question_plan, variance_of
from discreet.arrays import Floats
from discreet.mechanisms import per_silo, sample_share
from discreet.randomness import SecureRandom
from discreet.statistics import survival

BINS, DELTA = 24, 1e-5
EPSILONS = (0.3, 1.0, 3.0)

LUNG = """
import json
from lifelines.datasets import load_lung
rows = load_lung().dropna(subset=["inst"])
print(json.dumps([[str(int(i)), float(t), int(s)] for i, t, s in zip(rows.inst, rows.time, rows.status)]))
"""

EXACT = """
import json, sys
from lifelines import KaplanMeierFitter
told = json.load(sys.stdin)
fitted = KaplanMeierFitter().fit([row[1] for row in told["rows"]], [row[2] for row in told["rows"]])
print(json.dumps(fitted.predict(told["at"]).tolist()))
"""

NOISY = """
import json, sys
import opendp.prelude as dp
dp.enable_features("contrib")
told = json.load(sys.stdin)
epsilon, delta = told["epsilon"], told["delta"]
cells = dp.vector_domain(dp.atom_domain(T=int))

def laplace(moved):
    make = lambda scale: (cells, dp.l1_distance(T=int)) >> dp.m.then_laplace(scale=scale)
    return make(dp.binary_search_param(make, moved, epsilon, bounds=(1e-3, 1e4)))

def gaussian():
    make = lambda scale: (cells, dp.l2_distance(T=float)) >> dp.m.then_gaussian(scale=scale)
    kept = lambda scale: dp.c.make_fix_delta(dp.c.make_zCDP_to_approxDP(make(scale)), delta)
    scale = dp.binary_search_param(kept, 1.0, (epsilon, delta), bounds=(1e-2, 1e4))
    return scale, make(scale)

whole, sites, usual = told["whole"], told["sites"], told["usual"]
(scale, normal), one, many = gaussian(), laplace(1), laplace(told["moved"])
found = [
    [normal(whole), one(whole), [one(site) for site in sites], [many(site) for site in usual]]
    for _ in range(told["seeds"])
]
print(json.dumps([scale, found]))
"""


@dataclass(frozen=True, slots=True)
class Table:
    """Records of several silos: where, when, and whether it was an event."""

    name: str
    last_day: float
    rows: tuple[tuple[str, float, int], ...]

    @property
    def silos(self) -> tuple[str, ...]:
        """Returns the names of all silos, in order."""
        return tuple(sorted({where for where, _, _ in self.rows}))

    @property
    def edges(self) -> Floats:
        """Returns the edges of the bins."""
        return np.linspace(0.0, self.last_day, BINS + 1)

    def counts(self) -> Floats:
        """Returns numbers of events and of censored, shape (silos, bins, 2)."""
        found = np.zeros((len(self.silos), BINS, 2))
        for where, day, event in self.rows:
            place = int(np.clip(np.searchsorted(self.edges, day, side="right") - 1, 0, BINS - 1))
            found[self.silos.index(where), place, 1 - event] += 1
        return found


def tcga() -> Table:
    """Returns TCGA-BRCA by its regions."""
    path = Path(os.environ["DISCREET_DATA"]) / "tcga_brca.csv.gz"
    with gzip.open(path, "rt", encoding="utf-8") as file:
        rows = tuple((row["region"], float(row["T"]), int(float(row["E"]))) for row in csv.DictReader(file))
    if {where for where, _, _ in rows} != set(REGIONS):
        raise ValueError("the table must hold the six regions of TCGA-BRCA.")
    return Table("TCGA-BRCA", 4000.0, rows)


def lung(python: str) -> Table:
    """Returns the NCCTG lung table by its hospitals; the one patient without a hospital is left out."""
    rows: Any = peer(python, LUNG, None)
    return Table("NCCTG lung", 1100.0, tuple((where, day, event) for where, day, event in rows))


def peer(python: str, script: str, told: object) -> Any:
    """Runs a script of the peers, which reads and prints JSON."""
    done = subprocess.run(
        [python, "-c", script], input=json.dumps(told), text=True, capture_output=True, check=True
    )
    return json.loads(done.stdout)


def curve(counts: Floats, variance: float, edges: Floats) -> Floats:
    """Returns the survival at the end of each bin; what is not told stays as it was last."""
    (found,) = survival(counts.ravel(), variance, edges.tolist(), ("all",)).curves
    values, last = [], 1.0
    for one in found.survival:
        last = last if one is None else one.value
        values.append(last)
    return np.array(values)


def from_risk(noisy: Floats) -> Floats:
    """Returns the Kaplan-Meier curve of noisy numbers at risk and of events, made possible by clipping."""
    at_risk, events = noisy
    hazard = np.clip(events, 0, None) / np.maximum(at_risk, 1.0)
    return np.cumprod(1.0 - np.clip(hazard, 0.0, 1.0), dtype=np.float64)


def errors(table: Table, python: str, epsilon: float, seeds: int) -> list[tuple[float, ...]]:
    """Returns the errors of ours (Laplace, Gaussian), of silos alone (one-hot, usual), of all records."""
    counts, edges, rng = table.counts(), table.edges, np.random.default_rng(0)
    whole = counts.sum(axis=0)
    exact = curve(whole, 0.0, edges)
    at_risk = np.cumsum(counts[:, ::-1].sum(axis=2), axis=1)[:, ::-1]
    asked = [{"kind": "survival", "time": "days", "event": "died", "bins": BINS}]
    data = {"ranges": {"days": [0, table.last_day], "died": [0, 1]}}
    survivors = len(table.silos) - 1
    plan = question_plan(table.silos, 400, data, asked, epsilon)
    variance = variance_of(plan, survivors)
    shares = question_plan(table.silos, 400, data, asked, epsilon, mechanism="discrete-laplace")
    law = per_silo(shares.release.share, survivors)
    told = {
        "epsilon": epsilon, "delta": DELTA, "seeds": seeds,
        "whole": whole.astype(int).ravel().tolist(),
        "sites": counts.astype(int).reshape(len(counts), -1).tolist(),
        "usual": np.stack([at_risk, counts[:, :, 0]], axis=1).astype(int).reshape(len(counts), -1).tolist(),
        # A record is in all numbers at risk up to its bin, and in one of events.
        "moved": BINS + 1,
    }  # fmt: skip
    found = []
    scale, noisy = peer(python, NOISY, told)
    secret = SecureRandom()
    for gaussian, laplace, sites, usual in noisy:
        drawn = np.sum([sample_share(law, whole.size, secret) for _ in range(survivors)], axis=0)
        curves = (
            curve(whole + drawn.reshape(whole.shape), variance_of(shares, survivors), edges),
            curve(whole + math.sqrt(variance) * rng.normal(size=whole.shape), variance, edges),
            curve(_sum(sites), 2.0 * len(counts) / epsilon**2, edges),
            from_risk(_sum(usual).reshape(2, BINS)),
            curve(np.array(gaussian, dtype=float), scale**2, edges),
            curve(np.array(laplace, dtype=float), 2.0 / epsilon**2, edges),
        )
        found.append(tuple(float(np.abs(one - exact).mean()) for one in curves))
    return found


def _sum(sites: Any) -> Floats:
    added: Floats = np.sum(np.array(sites, dtype=float), axis=0)
    return added


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--peer-python", required=True, help="a Python with opendp and lifelines")
    parser.add_argument("--seeds", type=int, default=200)
    given = parser.parse_args()
    for table in (tcga(), lung(given.peer_python)):
        exact = curve(table.counts().sum(axis=0), 0.0, table.edges)
        theirs = peer(given.peer_python, EXACT, {"rows": table.rows, "at": table.edges[1:].tolist()})
        print(
            f"{table.name}: {len(table.rows)} records at {len(table.silos)} silos; without noise, bins of "
            f"time cost {np.abs(exact - theirs).mean():.4f} against lifelines' curve"
        )
        print(
            "ε    one secure sum: Laplace | Gaussian | silos alone: one-hot | at risk, events | "
            "all records: Gaussian | Laplace"
        )
        for epsilon in EPSILONS:
            found = errors(table, given.peer_python, epsilon, given.seeds)
            means, sems = np.mean(found, axis=0), np.std(found, axis=0) / math.sqrt(len(found))
            shown = "  ".join(f"{mean:.4f} ± {sem:.4f}" for mean, sem in zip(means, sems, strict=True))
            print(f"{epsilon:<4} {shown}")


if __name__ == "__main__":
    main()
