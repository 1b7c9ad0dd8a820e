"""Writes the owner's page of a silo that took part in a training and is asked for another, for owner.sh."""

from __future__ import annotations

import sys
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

from discreet.config import Config
from discreet.engines.flower.engine import FlowerEngine
from discreet.engines.local import prepare
from discreet.errors import PrivacyRefusal
from discreet.models import build_model, flatten
from discreet.randomness import SeededRandom
from discreet.report.owner import write_owner_page
from discreet.rounds import RoundOrder
from discreet.silo.policy import load_policy
from tests.engines.conftest import DirectWire, SmallConsortium, make_consortium, small_config

SILO = "cleveland"
BUDGET = {"max_epsilon": 3.0, "max_delta": 1e-4}


def main(work: Path) -> None:
    made = make_consortium(work / "consortium", _config("heart disease, 2025", "To rehearse.", epsilon=0.7))
    _limit(made)
    _train(made, 1, 2, 3)
    made.edit_policy(SILO, "[require]\n", '[require]\napproval = "person"\n')
    purpose = "A score that tells who should see a cardiologist first. It is not for insurance."
    prepare(_config("heart disease, 2026", purpose, epsilon=1.0)).plan.save(made.folder.server.plan)
    with suppress(PrivacyRefusal):  # it waits for a person
        _train(made)
    path = made.folder.policy(SILO)
    place = write_owner_page(load_policy(path), path, datetime.now(UTC), work / "page.html")
    # Where the consortium was rehearsed says nothing to a reader.
    page = place.read_text(encoding="utf-8").replace(str(path.parent), "/var/lib/discreet-silo")
    place.write_text(page, encoding="utf-8")
    for silo in made.silos.values():
        silo.close()


def _config(name: str, purpose: str, *, epsilon: float) -> Config:
    about = {
        "controller": "University Hospital North",
        "contact": "privacy@north.example",
        "purpose": purpose,
    }
    return small_config(name=name, about=about, privacy={"epsilon": epsilon, "delta": 1e-5})


def _limit(made: SmallConsortium) -> None:
    """Gives every silo a budget for several trainings."""
    for name in made.plan.facts.silos:
        path = made.folder.policy(name)
        lines = [
            f"{key} = {BUDGET[key]}" if (key := line.partition(" = ")[0]) in BUDGET else line
            for line in path.read_text().splitlines()
        ]
        path.write_text("\n".join(lines) + "\n")
        made.reopen(name)


def _train(made: SmallConsortium, *releases: int) -> None:
    proposal, wire = made.folder.server.proposal(), DirectWire(made.silos)
    engine = FlowerEngine(proposal, wire, SeededRandom(1), patience_seconds=0.05, announce=lambda _: None)
    engine.open()
    facts = made.plan.facts
    model = flatten(build_model("logistic", facts.feature_shape, facts.num_classes, seed=0))
    for release in releases:
        engine.sum_round(RoundOrder(release, release, model))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
