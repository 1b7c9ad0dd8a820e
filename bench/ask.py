"""What questions cost: hazard ratios, the AUC of held-out records, and time. Curves: bench/ask_survival.py.

    python bench/ask.py auc --seeds 200
    DISCREET_DATA=FOLDER python bench/ask.py hazards --seeds 100
    python bench/ask.py speed

`hazards` asks TCGA-BRCA's six regions for hazard ratios of age and stage, and compares logarithms with the
fit to the counts without noise. The noise is that of the plan with one silo dropped out and one colluding.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import math
import os
import time
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from discreet.config import parse_config
from discreet.data import Federation, Records, Silo
from discreet.engines.local.engine import LocalEngine
from discreet.kinds.questions import RISKS
from discreet.mechanisms import per_silo, sample_share
from discreet.plan import Plan
from discreet.plan.asked import asked_blocks, variables
from discreet.plan.public_model import public_model
from discreet.quality.intervals import Interval
from discreet.randomness import SecureRandom
from discreet.rounds import RoundOrder
from discreet.rounds.judging import noise_variance
from discreet.session import plan_without_data
from discreet.statistics import Covariate, evaluation, hazards

LAST_DAY = 4000.0
REGIONS = ("Northeast", "South", "West", "Midwest", "Europe", "Canada")


def question_plan(
    silos: tuple[str, ...],
    capacity: int,
    data: dict[str, Any],
    asked: list[dict[str, Any]],
    epsilon: float,
    *,
    mechanism: str = "rounded-gaussian",
) -> Plan:
    survivors = max(3, len(silos) - 1)
    return plan_without_data(
        parse_config(
            {
                "data": {"source": "csv:tables/", "record_capacity": dict.fromkeys(silos, capacity), **data},
                "ask": asked,
                "privacy": {"epsilon": epsilon, "delta": 1e-5, "mechanism": mechanism},
                "aggregation": {"min_survivors": survivors, "max_colluding": 1},
            }
        )
    )


def variance_of(plan: Plan, survivors: int) -> float:
    """Returns the variance of the noise of the only question's numbers."""
    (block,) = asked_blocks(plan.config) or ()
    return noise_variance(plan, survivors) / block.factor**2


AGES, STAGES, TIMES = ("under 60", "60 or more"), ("I or unknown", "II", "III"), 5


def stage_of(row: dict[str, str]) -> int:
    """Returns 2 for stage III, 1 for II, and 0 for whatever else."""
    own = [name.rpartition("_")[2].upper() for name, told in row.items() if "stage_" in name and told == "1"]
    for place, text in ((2, "STAGE III"), (1, "STAGE II")):
        if any(name.startswith(text) for name in own):
            return place
    return 0


def hazard_errors(seeds: int) -> None:
    path = Path(os.environ["DISCREET_DATA"]) / "tcga_brca.csv.gz"
    with gzip.open(path, "rt", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    edges = np.append(np.linspace(0.0, LAST_DAY, TIMES + 1), math.inf)
    counts = np.zeros((len(AGES), len(STAGES), TIMES + 1, 2))
    for row in rows:
        days, died = float(row["T"]), int(float(row["E"]))
        place = TIMES if days >= LAST_DAY else max(0, int(np.searchsorted(edges, days, side="left")) - 1)
        counts[int(float(row["age_at_index"]) >= 60), stage_of(row), place, 1 - died] += 1
    covariates = (Covariate("age", AGES), Covariate("stage", STAGES))
    exact = hazards(counts.ravel(), 0.0, edges.tolist(), covariates).effects
    for one in exact:
        print(f"{one.name}: logarithm of the hazard ratio without noise {_shown(one.log_ratio)}")
    data = {
        "ranges": {"days": [0, LAST_DAY], "died": [0, 1]},
        "categories": {"age": list(AGES), "stage": list(STAGES)},
    }
    asked = [{"kind": "hazards", "time": "days", "event": "died", "on": ["age", "stage"]}]
    for epsilon in (0.3, 1.0, 3.0, 10.0):
        plan = question_plan(REGIONS, 400, data, asked, epsilon)
        variance, rng = variance_of(plan, len(REGIONS) - 1), np.random.default_rng(0)
        drawn = [
            hazards(
                (counts + math.sqrt(variance) * rng.normal(size=counts.shape)).ravel(),
                variance, edges.tolist(), covariates,
            ).effects
            for _ in range(seeds)
        ]  # fmt: skip
        for place, one in enumerate(exact):
            known = math.nan if one.log_ratio is None else one.log_ratio.value
            told = [ratio for found in drawn if (ratio := found[place].log_ratio) is not None]
            off = [abs(ratio.value - known) for ratio in told]
            line = f"ε = {epsilon:<4} noise {math.sqrt(variance):.2f} {one.name:<18} told {len(told)}/{seeds}"
            if off:
                wide = np.median([ratio.high - ratio.low for ratio in told]) / 2
                sem = np.std(off) / math.sqrt(len(off))
                line += f"  off by {np.mean(off):.3f} ± {sem:.3f}, half width {wide:.2f}"
            print(line)


def _shown(found: Interval | None) -> str:
    return "cannot be told" if found is None else f"{found.value:.3f} ({found.low:.3f} to {found.high:.3f})"


def auc_errors(seeds: int) -> None:
    print("noise             held out   positive   ε    mean absolute error of AUC      intervals that cover")
    silos = ("a", "b", "c", "d")
    mechanisms, sizes = ("rounded-gaussian", "discrete-laplace"), (200, 5_000)
    for mechanism, held_out, share, epsilon in product(mechanisms, sizes, (0.4, 0.05), (0.2, 1.0)):
        line = _auc_line(silos, held_out, share, epsilon, seeds, mechanism=mechanism)
        print(f"{mechanism:<18}{line}")


def _auc_line(
    silos: tuple[str, ...],
    held_out: int,
    positive_share: float,
    epsilon: float,
    seeds: int,
    *,
    mechanism: str,
) -> str:
    data = {
        "asked": "held-out", "test_fraction": 0.25, "label": "ill", "ranges": {"age": [0, 100]}
    }  # fmt: skip
    asked = [{"kind": "evaluation", "weights": [[1.0, 0.0]], "trained": "0" * 64, "silos": silos}]
    plan = question_plan(silos, held_out, data, asked, epsilon, mechanism=mechanism)
    variance, rng, secret = variance_of(plan, len(silos)), np.random.default_rng(1), SecureRandom()
    law = per_silo(plan.release.share, len(silos))
    (block,) = asked_blocks(plan.config) or ()
    edges, odds = np.array([0.0, *RISKS, 1.0]), math.log(positive_share / (1.0 - positive_share))
    bins = len(edges) - 1
    errors, covered, told = [], 0, 0
    for _ in range(seeds):
        labels = (rng.uniform(size=held_out) < positive_share).astype(int)
        # The probability that somebody is positive whose evidence is normal, 1.6 apart between the two.
        evidence = rng.normal(size=held_out) + 1.6 * labels
        scores = 1.0 / (1.0 + np.exp(-(1.6 * evidence - 1.6**2 / 2 + odds)))
        counts = np.zeros((bins, 2))
        np.add.at(counts, (np.clip(np.searchsorted(edges, scores, side="right") - 1, 0, bins - 1), labels), 1)
        order = np.argsort(np.argsort(scores)) + 1.0
        positive, negative = labels.sum(), held_out - labels.sum()
        exact = (order[labels == 1].sum() - positive * (positive + 1) / 2) / (positive * negative)
        drawn = sum(sample_share(law, counts.size, secret) for _ in silos)
        noisy = counts.ravel() + np.asarray(drawn) / (plan.grid.scale * block.factor)
        found = evaluation(noisy.ravel(), variance, edges.tolist()).auc
        if found is None:
            continue
        told += 1
        errors.append(abs(found.value - exact))
        covered += found.low <= 0.8711 <= found.high  # Φ(1.6/√2), the population's
    shown = f"{np.mean(errors):.4f} ± {np.std(errors) / math.sqrt(len(errors)):.4f}" if errors else "not told"
    share = f"{100 * covered / told:.1f} % of {told}" if told else "–"
    return f"{held_out:<10} {positive_share:<10} {epsilon:<4} {shown:<32} {share}"


def speed() -> None:
    columns = [f"x{number}" for number in range(6)]
    data = {
        "ranges": {name: [0, 1] for name in columns} | {"days": [0, 1000], "died": [0, 1]},
        "categories": {"group": ["a", "b", "c"], "sex": ["f", "m"]},
    }
    asked: list[dict[str, Any]] = [
        {"kind": "count"},
        {"kind": "table", "of": ["group", "sex"]},
        {"kind": "table", "of": ["x0"]},
        {"kind": "moments", "of": columns},
        {"kind": "quantiles", "of": "x1"},
        {"kind": "quantiles", "of": "x2"},
        {"kind": "linear-regression", "outcome": "x3", "on": ["x0", "x1", "group"]},
        {"kind": "survival", "time": "days", "event": "died", "by": "group"},
        {"kind": "table", "of": ["group", "x4"]},
        {"kind": "table", "of": ["sex", "x5"]},
    ]
    silos, rows = ("a", "b", "c", "d"), 250_000
    plan, seconds = timed(lambda: question_plan(silos, rows, data, asked, 1.0))
    print(f"plan: {seconds:.2f} s, {plan.grid.dimension} numbers of ten questions")
    federation = Federation(
        "made up", tuple(Silo(name, _records(plan, rows, seed), _records(plan, 0, 0)) for seed, name in
                         enumerate(silos)), 2, plan.facts.feature_shape,
    )  # fmt: skip
    engine = LocalEngine(plan, federation, public_model(plan), SecureRandom(), session_label=0)
    order = RoundOrder(1, 1, np.zeros(plan.facts.dimension))
    outcome, seconds = timed(lambda: engine.sum_round(order))
    phases = outcome.seconds
    print(
        f"ten questions on {len(silos) * rows:,} rows at four silos, one process: {seconds:.2f} s "
        f"(adding up {phases.training:.2f}, noise and rounding {phases.encoding:.2f}, secure sum "
        f"{phases.aggregation:.2f})"
    )


def _records(plan: Plan, rows: int, seed: int) -> Records:
    rng = np.random.default_rng(seed)
    features = np.zeros((rows, *plan.facts.feature_shape), dtype=np.float32)
    for variable in variables(plan.data).values():
        match variable:
            case _ if hasattr(variable, "place"):
                features[:, variable.place] = rng.uniform(-1, 1, rows)
            case _ if hasattr(variable, "first"):
                chosen = variable.first + rng.integers(0, len(variable.texts), rows)
                features[np.arange(rows), chosen] = 1.0
    return Records(features, np.zeros(rows, dtype=np.int64))


def timed(work: Callable[[], Any]) -> tuple[Any, float]:
    start = time.perf_counter()
    found = work()
    return found, time.perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=("hazards", "auc", "speed"))
    parser.add_argument("--seeds", type=int, default=200)
    given = parser.parse_args()
    match given.what:
        case "hazards":
            hazard_errors(given.seeds)
        case "auc":
            auc_errors(given.seeds)
        case _:
            speed()


if __name__ == "__main__":
    main()
