"""The order in which a config lists columns means nothing: not to weights, and not to predictions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import discreet
from discreet.config import parse_config
from discreet.errors import ConfigurationError
from discreet.plan import parse_plan
from discreet.privacy.wire import canonical

LISTED = ("zinc", "age", "mass", "blood")
SILOS = ("north", "south", "east")


def table(count: int, seed: int) -> dict[str, Any]:
    """Only zinc says anything; age must not be taken for it."""
    rng = np.random.default_rng(seed)
    own = {name: rng.uniform(0, 10, count) for name in LISTED}
    own["ward"] = rng.choice(["w", "a", "k"], count)
    own["site"] = rng.choice(["y", "b"], count)
    own["ill"] = (own["zinc"] + 2 * (own["ward"] == "w") > 6).astype(int)
    return own


def frames(listed: tuple[str, ...], texts: tuple[str, ...]) -> discreet.Frames:
    values = {"ward": ("w", "a", "k"), "site": ("y", "b")}
    return discreet.Frames(
        {silo: table(250, seed) for seed, silo in enumerate(SILOS)},
        label="ill",
        ranges=dict.fromkeys(listed, (0, 10)),
        categories={name: values[name] for name in texts},
    )


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> discreet.Run:
    held = frames(LISTED, ("ward", "site"))
    plan = discreet.plan_training(held.public(capacity=260), target=discreet.Target(epsilon=8.0))
    return discreet.train(plan, held, out=tmp_path_factory.mktemp("order") / "run", seed=1)


def test_the_model_file_alone_predicts_as_the_run_does_and_well(run: discreet.Run) -> None:
    new = table(400, 9)
    truth = new.pop("ill")
    by_run = run.predict_proba(new)
    by_file = discreet.load_model(run.path / "model.safetensors").predict_proba(new)
    assert np.array_equal(by_run, by_file)
    assert float((by_file.argmax(axis=1) == truth).mean()) > 0.85


def test_configs_of_another_order_have_one_digest_and_one_model(run: discreet.Run, tmp_path: Path) -> None:
    held = frames(tuple(sorted(LISTED)), ("site", "ward"))
    plan = discreet.plan_training(held.public(capacity=260), target=discreet.Target(epsilon=8.0))
    assert plan.digest() == run.plan.digest()
    again = discreet.train(plan, held, out=tmp_path / "run", seed=1)
    new = table(100, 9)
    assert np.array_equal(again.predict_proba(new), run.predict_proba(new))


def test_a_plan_that_was_sorted_on_its_way_reads_records_alike(run: discreet.Run) -> None:
    """A coordinator who sends one digest in two orders to two silos changes nothing."""
    sorted_plan = parse_plan(canonical({"digest": run.plan.digest(), "plan": run.plan.to_json()}))
    assert list(sorted_plan.data.ranges or {}) != list(run.plan.data.ranges or {})
    from discreet.config.federation import public_facts
    from discreet.data import table_columns

    plans = (run.plan, sorted_plan)
    orders = [[one.column for one in table_columns(public_facts(plan.data))] for plan in plans]
    assert orders[0] == orders[1] == ["age", "blood", "mass", "zinc", "site", "ward"]


def test_a_model_from_before_is_refused(run: discreet.Run, tmp_path: Path) -> None:
    old = tmp_path / "old.safetensors"
    data = (run.path / "model.safetensors").read_bytes()
    assert data.count(b'\\"version\\":2') >= 1
    old.write_bytes(data.replace(b'\\"version\\":2', b'\\"version\\":1', 1))
    with pytest.raises(ConfigurationError, match="must be a model file of version 2; got 1"):
        discreet.load_model(old)


def test_a_label_first_table_from_a_file_too(tmp_path: Path) -> None:
    own = table(300, 4)
    names = ["ill", *LISTED, "ward", "site"]
    rows = zip(*(own[name] for name in names), strict=True)
    lines = [",".join(names), *(",".join(map(str, row)) for row in rows)]
    (tmp_path / "all.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    config = {
        "data": {
            "source": f"csv:{tmp_path}/all.csv",
            "label": "ill",
            "ranges": dict.fromkeys(LISTED, (0, 10)),
            "categories": {"ward": ("w", "a", "k"), "site": ("y", "b")},
            "partition": {"kind": "iid", "silos": 3},
            "record_capacity": 120,
        },
        "training": {"local": {"kind": "stable-steps"}},
        "privacy": {"epsilon": 8.0, "delta": 1e-5},
    }
    discreet.train(parse_config(config), out=tmp_path / "run")
    new = table(400, 9)
    truth = new.pop("ill")
    found = discreet.load_model(tmp_path / "run").predict_proba(new).argmax(axis=1)
    assert float((found == truth).mean()) > 0.8
