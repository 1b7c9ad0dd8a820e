"""The real silo, from its own file through every reply of a training: nothing tells neighbours apart."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file

from discreet.audit.crafted_files import ArrayFile, SiloFile
from discreet.engines.flower.consortium import ConsortiumFolder, rehearse
from discreet.engines.flower.service import serve_training
from discreet.plan import Plan, load_plan
from discreet.plan.counted import normaliser
from discreet.randomness import SeededRandom
from discreet.silo.requests import Reply, Request, decode, encode
from discreet.silo.silo import Silo, open_silo
from tests.contracts.neighbours.worlds import KINDS, config

NAMES = ("a", "b", "c")
CAPACITY = 30
PATIENCE = 0.05


@dataclass
class Overheard:
    """A wire that hands requests straight to silos and notes what the server sees of each."""

    silos: Mapping[int, Silo]
    seen: dict[str, list[tuple[str, str, int]]] = field(default_factory=dict)
    _replies: dict[str, bytes] = field(default_factory=dict)
    _count: int = 0

    def nodes(self) -> tuple[int, ...]:
        return tuple(self.silos)

    def post(self, requests: Mapping[int, bytes], *, label: str, lifetime_seconds: float) -> dict[str, int]:
        del label, lifetime_seconds  # this wire delivers at once
        posted = {}
        for node, body in requests.items():
            self._count += 1
            request: Request = decode(body)  # type: ignore[assignment]
            reply: Reply = self.silos[node].handle(request)
            seen = (type(request).__name__, type(reply).__name__, len(encode(reply)))
            self.seen.setdefault(self.silos[node].name, []).append(seen)
            self._replies[str(self._count)] = encode(reply)
            posted[str(self._count)] = node
        return posted

    def collect(self, posted: Mapping[str, int]) -> dict[str, bytes | None]:
        return {message: self._replies.pop(message) for message in posted if message in self._replies}


@dataclass(frozen=True)
class Seen:
    """What a server has of a training: every silo's replies, and the model."""

    plan: Plan
    replies: dict[str, list[tuple[str, str, int]]]
    model: np.ndarray[Any, np.dtype[np.float64]]


def federation(rows: int) -> dict[str, Any]:
    source = SeededRandom(3)
    return {
        "x": source.uniform(rows * 64).reshape(rows, 8, 8).astype(np.float32),
        "y": source.integers_below(rows, 3),
    }


def trained(folder: Path, own: SiloFile) -> Seen:
    """Trains a consortium for one round; the silo a reads ``own``, the others the rehearsal's file."""
    folder.mkdir()
    everyone = federation(36)
    names = np.array([NAMES[place % 3] for place in range(36)])
    np.savez(folder / "all.npz", **everyone, silo=names, classes=np.array(["0", "1", "2"]))
    made = config(
        KINDS["single-step"], {"source": f"npz:{folder / 'all.npz'}", "record_capacity": CAPACITY}, "mlp"
    )
    made = made.model_copy(update={"run": made.run.model_copy(update={"seed": 5, "evaluate": False})})
    rehearse(made, folder / "consortium")
    consortium = ConsortiumFolder(folder / "consortium")
    policy = consortium.policy("a")
    policy.write_text(
        re.sub(r'^source = ".*"$', f'source = "{own.write(folder / "own")}"', policy.read_text(), flags=re.M)
    )
    silos = {100 + place: open_silo(consortium.policy(name)) for place, name in enumerate(NAMES)}
    wire = Overheard(silos)
    try:
        serve_training(wire, consortium.server, patience_seconds=PATIENCE)
    finally:
        for silo in silos.values():
            silo.close()
    tensors = load_file(consortium.server.run.model)
    model = np.concatenate([tensors[name].ravel() for name in sorted(tensors)]).astype(np.float64)
    return Seen(load_plan(consortium.server.path / "plan.json"), wire.seen, model)


def own_file(rows: int) -> ArrayFile:
    arrays = federation(60)
    own = {name: array[36 : 36 + rows] for name, array in arrays.items()}
    return ArrayFile("x", "y", own, {"classes": np.array(["0", "1", "2"])})


def without(file: ArrayFile, place: int) -> ArrayFile:
    return file.rows(np.delete(np.arange(file.count), place))


def changed(file: ArrayFile, place: int, name: str, value: float) -> ArrayFile:
    array = file.own[name].copy()
    array[place] = value
    return ArrayFile(file.features, file.labels, {**file.own, name: array}, file.rest)


BASE = own_file(12)
NEIGHBOURS = {
    "the first row less": without(BASE, 0),
    "a row in the middle less": without(BASE, 6),
    "a row of 3e38": changed(BASE, 4, "x", 3e38),
    "a row of NaN": changed(BASE, 4, "x", np.nan),
    "a label that is none": changed(BASE, 4, "y", 99),
    "a negative label": changed(BASE, 4, "y", -1),
}


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Seen:
    return trained(tmp_path_factory.mktemp("base") / "run", BASE)


def require_alike(one: Seen, other: Seen, units: float) -> None:
    """The same replies of the same sizes from everybody, and a model that one unit may have moved so far."""
    assert other.plan.digest() == one.plan.digest()
    assert other.replies == one.replies
    moved = np.linalg.norm(other.model - one.model) * normaliser(one.plan, NAMES) * one.plan.grid.scale
    # The model is float32.
    assert moved <= units * one.plan.grid.l2_sensitivity * (1.0 + 2.0**-10)


@pytest.mark.parametrize("name", NEIGHBOURS)
def test_one_row_changes_no_reply_and_moves_the_model_by_the_claim(
    name: str, base: Seen, tmp_path: Path
) -> None:
    units = 1.0 if name.endswith("less") else 2.0
    require_alike(base, trained(tmp_path / "run", NEIGHBOURS[name]), units)


def test_an_empty_silo_replies_as_one_with_a_record_does(tmp_path: Path) -> None:
    require_alike(trained(tmp_path / "one", own_file(1)), trained(tmp_path / "none", own_file(0)), 1.0)


def test_a_record_beyond_the_capacity_changes_no_reply(tmp_path: Path) -> None:
    """Beyond the capacity one record may take another's place, so that two move."""
    arrays = {name: np.repeat(array[:1], 80, axis=0) for name, array in federation(1).items()}
    arrays["x"] += np.arange(80, dtype=np.float32)[:, None, None] * np.float32(2.0**-12)
    many = ArrayFile("x", "y", arrays, {"classes": np.array(["0", "1", "2"])})
    one, other = trained(tmp_path / "many", many), trained(tmp_path / "fewer", without(many, 40))
    require_alike(one, other, 2.0)
