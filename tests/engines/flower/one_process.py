"""Trainings with further releases over a wire: one process beside it, kills, a server that asks again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import load_file

from discreet.config import Config
from discreet.engines.flower.engine import FlowerEngine
from discreet.engines.flower.outcome import finished_run
from discreet.engines.flower.service import serve_training
from discreet.engines.local import run
from discreet.errors import DiscreetError
from discreet.plan import Plan
from discreet.plan.guaranteed import against
from discreet.privacy.ledger import charged_in, read_ledger
from discreet.randomness import SecureRandom
from discreet.rounds import RoundOrder
from discreet.secagg import Stage
from discreet.session.finish import finish
from discreet.silo.policy import Charge, load_policy
from discreet.silo.requests import Deliver
from discreet.verify import verify
from tests.engines.conftest import DirectWire, SmallConsortium
from tests.engines.flower.test_equivalence import PATIENCE


def charged(consortium: SmallConsortium, name: str) -> Counter[str | None]:
    path = consortium.folder.silo(name) / "state" / "ledger.jsonl"
    return charged_in(line.entry for line in read_ledger(path))


def state(path: Path) -> dict[str, bytes]:
    return {name: array.tobytes() for name, array in load_file(path / "state.safetensors").items()}


def both(made: SmallConsortium, config: Config, local: Path, wire: DirectWire) -> None:
    """Carries a config out in one process and over a wire, and compares everything that is released."""
    run(config, local)
    serve_training(wire, made.folder.server, patience_seconds=PATIENCE)
    found = made.folder.server.run
    assert found.model.read_bytes() == (local / "model.safetensors").read_bytes()
    assert state(found.path) == state(local)


def seal_and_verify(made: SmallConsortium) -> None:
    found = made.folder.server.run
    finish(finished_run(found), None)
    assert {"plan.json", "metrics.jsonl", "result.json"} <= {one.subject for one in verify(found.path)}


def with_dropout(config: Config, release: int, stage: Stage) -> Config:
    """Returns the config where hungary drops out of one release."""
    drop = {"silo": "hungary", "round": release, "stage": stage.name.lower()}
    changed = config.run.model_validate(config.run.model_dump() | {"dropouts": [drop]})
    return config.model_copy(update={"run": changed})


def restarting(made: SmallConsortium, model: int) -> Callable[[int, Any], Any]:
    """Returns what opens hungary anew when so many models were sent to it."""
    sent = Counter[int]()

    def restart(node: int, request: Any) -> Any:
        if isinstance(request, Deliver) and request.parameters:
            sent[node] += 1
            if node == made.node("hungary") and sent[node] == model:
                made.reopen("hungary")
        return request

    return restart


def engine_of(consortium: SmallConsortium) -> FlowerEngine:
    """A server that may lie about the model, with keys made."""
    engine = FlowerEngine(
        consortium.folder.server.proposal(),
        DirectWire(consortium.silos),
        SecureRandom(),
        patience_seconds=PATIENCE,
        announce=lambda _: None,
    )
    engine.open()
    return engine


def asked_again_and_again(consortium: SmallConsortium, release: int, asked: Plan | None, part: str) -> None:
    """Opens sessions anew for one release, as a lying server may: each is charged, and the budget ends it."""
    assert asked is not None
    weights = np.zeros(consortium.plan.facts.dimension)
    for attempt in range(1, 30):
        try:
            engine_of(consortium).sum_round(RoundOrder(release, attempt, weights))
        except DiscreetError:
            break
    policy = load_policy(consortium.folder.policy("cleveland"))
    counts, charge = charged(consortium, "cleveland"), Charge.under(consortium.plan, policy)
    assert set(counts) == {part}
    assert 2 <= counts[part] < 20
    spent = against(asked, charge.adversary, charge.honest_silos, rounds=counts[part])
    assert spent.epsilon <= policy.budget.lifetime.epsilon
