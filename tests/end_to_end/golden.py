"""Seeded trainings of every kind, tiny: the plan, the bits of the weights, and the kernels that made them.

``python -m tests.end_to_end.golden`` writes `STORED` again. Do so where new bits are meant, and say why in
the commit: whoever reads it learns that a seeded run no longer repeats.
"""

from __future__ import annotations

import hashlib
import json
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import torch

from discreet import Arrays, Plan, Target, plan_questions, plan_training, train
from discreet.config import SpeedConfig
from discreet.models import flatten
from discreet.session import Frames

STORED = Path(__file__).parents[1] / "vectors" / "golden_runs.json"

_SHOWN = 8
_BRIEF: dict[str, Any] = {"rounds": 2, "aggregation": {"min_survivors": 3, "max_colluding": 1}}
_CLIPPED: dict[str, Any] = {"privacy": {"clip_norm": 0.5}}
_NETWORK: dict[str, Any] = {"model": "mlp"}


def _local(kind: str, **numbers: Any) -> dict[str, Any]:
    return {"local": {"kind": kind, **numbers}}


_STEP = _local("single-step") | _CLIPPED
KINDS: dict[str, dict[str, Any]] = {
    "stable-steps": _local("stable-steps", learning_rate=0.05, steps=3),
    "stable-steps, untuned": _local("stable-steps"),
    "tangent-steps": _local("tangent-steps", learning_rate=0.01, steps=2) | _CLIPPED | _NETWORK,
    "single-step": _STEP,
    "single-step of a network": _STEP | _NETWORK,
    "sharded": _local("sharded", num_shards=5, learning_rate=0.1, epochs=1) | _CLIPPED | _NETWORK,
    "noisy-steps": _local("noisy-steps", learning_rate=0.01, steps=2, momentum=0.5) | _CLIPPED,
    "clipped-update": _local("clipped-update", learning_rate=0.1, epochs=1)
    | _CLIPPED
    | {"target": Target(20.0, unit="client")},
    "sampled": _STEP | {"sampling": {"kind": "poisson", "probability": 0.5}},
    "fixed size": _STEP | {"sampling": {"kind": "fixed-size", "fraction": 0.25}},
    "quantile": _local("clipped-update", learning_rate=0.1, epochs=1)
    | {
        "privacy": {"clip_norm": {"quantile": 0.5, "initial": 0.5}},
        "target": Target(20.0, unit="client"),
    },
    "rotated": _STEP | {"aggregation": _BRIEF["aggregation"] | {"rotation": True}},
    "momentum": _STEP | {"server": {"kind": "momentum", "momentum": 0.5}},
    "adam": _STEP | {"server": {"kind": "adam", "learning_rate": 0.1, "adaptivity": 0.05}},
    "ideal": _STEP | {"aggregation": _BRIEF["aggregation"] | {"protocol": "ideal"}},
    "evaluated": _local("stable-steps", learning_rate=0.05, steps=3)
    | {"evaluate": {"every": 2, "epsilon": 1.0}, "target": Target(5.0)},
}


def records() -> Arrays:
    """Returns three small silos, the same everywhere."""
    silos = {}
    for number, name in enumerate(("east", "north", "west")):
        place = np.arange(40.0)[:, None] + 40 * number
        features = np.sin(place * np.array([1.0, 2.0, 3.0])).astype(np.float32)
        silos[name] = (features, (features[:, 0] + 0.3 * features[:, 2] > 0).astype(np.int64))
    return Arrays(silos, num_classes=2, norm_bound=1.0)


def planned(kind: str) -> Plan:
    """Returns the plan of one of `KINDS`."""
    settings = {"target": Target(5.0), **_BRIEF, **KINDS[kind]}
    return plan_training(records().public(capacity=45), **settings)


def trained(kind: str, out: Path, *, workers: int = 1) -> dict[str, Any]:
    """Carries one of `KINDS` out from its seed; returns the plan's digest, the weights' and some weights."""
    run = train(planned(kind), records(), out=out, seed=7, evaluate=False, speed=SpeedConfig(workers=workers))
    weights = flatten(run.model)
    return {
        "plan": run.plan.digest(),
        "weights": hashlib.sha256(weights.astype("<f8").tobytes()).hexdigest(),
        "first": [round(float(one), 9) for one in weights[:_SHOWN]],
    }


def asked(out: Path) -> dict[str, Any]:
    """Returns what a seeded question is answered: integers up to the sum, so the same everywhere."""
    tables = {name: {"age": list(range(low, low + 30))} for name, low in (("a", 20), ("b", 35), ("c", 50))}
    people = Frames(tables, ranges={"age": (20, 90)})
    questions = [{"kind": "table", "of": ["age"], "bins": {"age": 7}}]
    plan = plan_questions(
        people.public(capacity=40), questions, target=Target(1.0), aggregation=_BRIEF["aggregation"]
    )
    run = train(plan, people, out=out, seed=7, speed=SpeedConfig(workers=1))
    rows = [row for answer in run.answers for row in answer.rows]
    return {"plan": plan.digest(), "answers": {row.name: round(row.value or 0.0, 6) for row in rows}}


def kernels() -> str:
    """Says how this machine rounds what training computes: by what PyTorch's kernels make of fixed numbers.

    It is worked out without any of our code, so that no change of ours hides behind another machine.
    """
    found = hashlib.sha256(torch.__version__.encode())
    for kind in (torch.float32, torch.float64):
        rows = torch.sin(torch.arange(45 * 65, dtype=kind).reshape(45, 65))
        for columns in (4, 65):
            part = rows[:, :columns].contiguous()
            made = (part @ part.T, part.T @ part, part @ part[0], part.exp(), part.sigmoid(), part.tanh(),
                    part.log_softmax(1), part.sum(0), part.sum(1), part.norm(dim=1))  # fmt: skip
            for one in made:
                found.update(one.numpy().tobytes())
    return found.hexdigest()


def main() -> None:
    """Writes what this machine finds."""
    with tempfile.TemporaryDirectory() as folder:
        runs = {kind: trained(kind, Path(folder) / str(at)) for at, kind in enumerate(KINDS)}
        stored = {"kernels": kernels(), "runs": runs, "questions": asked(Path(folder) / "questions")}
    STORED.write_text(json.dumps(stored, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
