"""The world that a lying coordinator attacks: four hospitals with tables and policies, and a server."""

from __future__ import annotations

import importlib.util
import os
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from discreet.config import parse_config
from discreet.engines.flower.engine import FlowerEngine, Proposal
from discreet.errors import DiscreetError, NotEnoughSurvivors
from discreet.plan import Plan
from discreet.randomness import SecureRandom
from discreet.rounds import RoundOrder
from discreet.secagg import Identity
from discreet.session.public import plan_without_data
from discreet.silo.policy import Consortium, SignedAllowList, generate_key
from discreet.silo.requests import Propose, Reply
from discreet.silo.silo import Silo, Surroundings, open_silo

TESTS = Path(__file__).parents[1]
PATIENCE = 0.05
NAMES = ("a", "b", "c", "d")
STAGES = ("I", "II", "III", "IV")

POLICY = """silo = "{name}"
expires = 2099-12-31

[consortium]
public_key = "{consortium}"

[data]
source = "csv:records.csv"
columns = ["age", "sex", "stage"]
labels = ["outcome"]

[budget]
max_epsilon = {budget}
max_delta = 1e-3
max_epsilon_per_training = {budget}
max_delta_per_training = 1e-3

[require]
min_survivors = 3
max_colluding = 1
models = ["logistic"]
"""


def module_of(path: str) -> ModuleType:
    """Returns a module of the tests by its place, for worlds and attacks that tests of one package hold."""
    name = "attacked_" + path.removesuffix(".py").replace("/", "_")
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, TESTS / path)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module  # a dataclass looks its module up while it is made
        spec.loader.exec_module(module)
    return sys.modules[name]


def table(*, last_stage: str = "IV", count: int = 60) -> str:
    """Returns a hospital's records; only the last one may be of stage IV."""
    rows = [
        f"{20 + n % 70},{'fm'[n % 2]},{STAGES[n % 3] if n + 1 < count else last_stage},{n % 2}"
        for n in range(count)
    ]
    return "\n".join(["age,sex,stage,outcome", *rows, ""])


def plan_of(
    *,
    names: Sequence[str] = NAMES,
    data: Mapping[str, object] | None = None,
    privacy: Mapping[str, object] | None = None,
    aggregation: Mapping[str, object] | None = None,
    local: Mapping[str, object] | None = None,
) -> Plan:
    """Returns a plan over the hospitals' tables as a coordinator may choose it."""
    return plan_without_data(
        parse_config(
            {
                "name": "attack",
                "data": {
                    "source": "csv:records.csv",
                    "label": "outcome",
                    "ranges": {"age": [0.0, 120.0]},
                    "categories": {"sex": ["f", "m"], "stage": list(STAGES)},
                    "record_capacity": dict.fromkeys(names, 100),
                    "test_fraction": 0.0,
                    **(data or {}),
                },
                "training": {"rounds": 2, "local": {"kind": "single-step", **(local or {})}},
                "privacy": {"epsilon": 0.9, "delta": 1e-5, "clip_norm": 0.5, **(privacy or {})},
                "aggregation": {"min_survivors": 3, "max_colluding": 1, **(aggregation or {})},
            }
        )
    )


@dataclass
class Hospitals:
    """Four open silos and what a coordinator holds: the plan, the signed list, a wire to everybody.

    Attributes:
        logs: each owner's log, by name.
    """

    folder: Path
    plan: Plan
    consortium: Consortium
    keys: Mapping[str, bytes]
    silos: dict[int, Silo]
    logs: dict[str, list[str]]
    lines: list[str] = field(default_factory=list)

    def proposal(self, plan: bytes | None = None, *, epoch: int = 1, serial: int = 1) -> Propose:
        """Returns a proposal in a session of its own."""
        document = self.plan.document() if plan is None else plan
        return Propose(epoch, os.urandom(32), document, self.signed(serial))

    def signed(self, serial: int) -> bytes:
        """Returns the allow-list that the consortium signs."""
        return self.consortium.sign(self.keys, serial=serial).serialise()

    def propose(self, plan: bytes | None = None, **changes: int) -> Reply:
        """Returns what hospital ``a`` answers to a proposal."""
        return self.silos[100].handle(self.proposal(plan, **changes))

    def wire(self, strangers: Mapping[int, object] | None = None) -> Any:
        """Returns a wire to the hospitals, and to other nodes after them."""
        return module_of("engines/conftest.py").DirectWire({**self.silos, **(strangers or {})})

    def engine(self, wire: Any | None = None) -> FlowerEngine:
        """Returns the engine that a server runs, before it proposes anything."""
        proposal = Proposal(self.plan, self.plan.document(), SignedAllowList.parse(self.signed(1)))
        return FlowerEngine(
            proposal,
            self.wire() if wire is None else wire,
            SecureRandom(),
            patience_seconds=PATIENCE,
            announce=self.lines.append,
        )

    def order(self, attempt: int, weights: np.ndarray | None = None, *, release: int = 1) -> RoundOrder:
        """Returns the order of a round from given weights, or from zero."""
        start = np.zeros(self.plan.grid.dimension) if weights is None else weights
        return RoundOrder(release, attempt, start)


@contextmanager
def hospitals(
    plan: Plan | None = None,
    *,
    tables: Mapping[str, str] | None = None,
    policy: Callable[[str, str], str] = lambda _, text: text,
    budget: float = 100.0,
) -> Iterator[Hospitals]:
    """Opens the four hospitals in a folder that is gone afterwards.

    Args:
        plan: what the coordinator proposes.
        tables: records by hospital; `table` where left out.
        policy: changes a hospital's policy, given its name and text.
        budget: the ε that every hospital allows.
    """
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        signer = Consortium(generate_key(folder / "consortium.key"))
        proposed = plan or plan_of()
        keys = {one: Identity.generate(SecureRandom()).public_key for one in proposed.facts.silos}
        silos = {}
        logs: dict[str, list[str]] = {name: [] for name in NAMES}
        for number, one in enumerate(NAMES):
            home = folder / one
            home.mkdir()
            keys[one] = generate_key(home / "identity.key").public_key
            (home / "records.csv").write_text((tables or {}).get(one, table()))
            text = POLICY.format(name=one, consortium=signer.public_key.hex(), budget=budget)
            (home / "policy.toml").write_text(policy(one, text))
            silos[100 + number] = open_silo(home / "policy.toml", Surroundings(log=logs[one].append))
        try:
            yield Hospitals(folder, proposed, signer, keys, silos, logs)
        finally:
            for silo in silos.values():
                silo.close()


def survivors(engine: FlowerEngine, order: RoundOrder) -> tuple[str, ...]:
    """Runs a round; returns who survived it, nobody if it fails."""
    try:
        return engine.sum_round(order).survivors
    except NotEnoughSurvivors:
        return ()
    except DiscreetError as error:
        raise AssertionError(f"an attack met an error of another kind: {error}") from error
