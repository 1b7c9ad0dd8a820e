"""One unit more, less or another, anywhere in a silo's file: the integers move by the claim, nothing else."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import save_file

from discreet.audit.crafted_search import loader_findings, record_findings
from discreet.audit.findings import NeighbourFinding
from discreet.config.federation import federation_of
from discreet.config.model import ModelConfig
from discreet.data import Federation
from discreet.engines.local import prepare
from discreet.kinds import Huber, Ordinal
from discreet.randomness import SeededRandom
from tests.contracts.neighbours.worlds import (
    CAPACITY,
    FIXED_SIZE,
    HANDED_OVER,
    IMAGE,
    KINDS,
    LINEAR_ONLY,
    NUMBER,
    OWN,
    config,
    planned,
    start_of,
    world,
)

SOURCES = [
    ("csv", "local"),
    ("npz", "local"),
    ("function", "local"),
    ("arrays", "local"),
    ("dataset", "local"),
    ("csv", "real"),
    ("messy", "real"),
    ("parquet", "real"),
    ("npz", "real"),
    ("function", "real"),
]
NETWORKS = {
    "kinks": (f"{OWN}:rectified", IMAGE),
    "cancellation": (f"{OWN}:smooth", IMAGE),
    "ties": (f"{OWN}:pooled", (8, 8)),
    "a linear head": ("logistic", IMAGE),
}


def told_apart(findings: list[NeighbourFinding]) -> str:
    """Returns the findings that break the contract, one a line; empty if it is kept."""
    return "\n".join(
        f"{found.path}, {found.crafted}: {found.largest:.4f} of the claim {' | '.join(found.differences)}"
        for found in findings
        if found.exceeded
    )


def searched(kind: dict[str, Any], model: str, shape: tuple[int, ...], trials: int, seed: int) -> str:
    """Trains on crafted records, at batch sizes where kernels and chunks change, and on one fewer."""
    bound = 1.0 if kind["local"]["kind"] == LINEAR_ONLY else None
    rounds = planned(config(kind, {"source": "npz:unset.npz"}, model), shape, 3, bound)
    source = SeededRandom(seed)
    return told_apart(list(record_findings(rounds, start_of(rounds), trials=trials, source=source)))


def test_crafted_records_move_the_integers_by_the_claim_from_public_weights(tmp_path: Path) -> None:
    head = np.random.default_rng(4).normal(0.0, 3.0, (3, IMAGE[0] * IMAGE[1])).astype(np.float32)
    file = tmp_path / "start.safetensors"
    save_file({"weight": head}, file)
    digest = hashlib.sha256(file.read_bytes()).hexdigest()
    begins = {"file": str(file), "sha256": digest, "source": "drawn", "licence": "CC0-1.0"}
    model = ModelConfig.model_validate({"name": "logistic", "pretrained": begins})
    asked = config(KINDS[LINEAR_ONLY], {"source": "npz:unset.npz"}, "logistic")
    rounds = planned(asked.model_copy(update={"model": model}), IMAGE, 3, 1.0)
    start = start_of(rounds)
    np.testing.assert_allclose(start, head.ravel(), atol=1e-6)
    assert not told_apart(list(record_findings(rounds, start, trials=26, source=SeededRandom(3))))


def by_class(kind: str, *weights: int) -> dict[str, Any]:
    """A kind whose classes have weights."""
    return KINDS[kind] | {"local": KINDS[kind]["local"] | {"class_weights": list(weights)}}


def fits(kind: str, network: str) -> bool:
    return (kind == LINEAR_ONLY) <= (network == "a linear head") and (
        kind not in ("tangent-steps", "sharded") or network != "a linear head"
    )


CELLS = [(kind, network) for kind in KINDS for network in NETWORKS if fits(kind, network)]


@pytest.mark.parametrize(("kind", "network"), CELLS)
def test_crafted_records_move_the_integers_by_the_claim(kind: str, network: str) -> None:
    # A whole network for each shard or client: fewer of them, whose numbers do not hang on one another.
    trials = 12 if kind in ("sharded", "clipped-update") else 43
    assert not searched(KINDS[kind], *NETWORKS[network], trials=trials, seed=2)


@pytest.mark.parametrize("kind", ["sharded", "clipped-update"])
def test_crafted_records_move_a_network_with_batch_norm_by_the_claim(kind: str) -> None:
    """Down to empty groups and groups of one record, whose numbers no step may ask for."""
    assert not searched(KINDS[kind], f"{OWN}:normalised", IMAGE, trials=12, seed=2)


@pytest.mark.parametrize("kind", ["stable-steps", "tangent-steps"])
def test_classes_with_weights_move_the_integers_by_the_claim(kind: str) -> None:
    network = NETWORKS["a linear head" if kind == LINEAR_ONLY else "kinks"]
    assert not searched(by_class(kind, 10, 1, 3), *network, trials=26, seed=3)


def test_a_crafted_row_of_a_file_does_so_where_classes_have_weights() -> None:
    tried = world(by_class("stable-steps", 1, 10), "csv", "local")
    start = start_of(tried.rounds)
    assert not told_apart(list(loader_findings(tried.rounds, tried.file, tried.read, start, most_places=6)))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("kind", "network"), CELLS)
def test_more_crafted_records_move_the_integers_by_the_claim(kind: str, network: str, seed: int) -> None:
    assert not searched(KINDS[kind], *NETWORKS[network], trials=104, seed=10 + seed)


@pytest.mark.parametrize(("source", "engine"), SOURCES)
@pytest.mark.parametrize("kind", KINDS)
def test_a_crafted_row_of_the_file_moves_the_integers_by_the_claim(
    kind: str, source: str, engine: str
) -> None:
    if source == "parquet":
        pytest.importorskip("pyarrow")
    if kind == LINEAR_ONLY and source == "function":
        pytest.skip("this function promises no bound on its features, so nothing would be planned")
    # Values are looked at by loaders, which do not know the kind: all places for one kind, some for others.
    tried = world(KINDS[kind], source, engine)
    places = tried.file.count if kind == "single-step" else 3
    findings = loader_findings(
        tried.rounds, tried.file, tried.read, start_of(tried.rounds), most_places=places
    )
    assert not told_apart(list(findings))


REGRESSION = config(
    KINDS[LINEAR_ONLY],
    {"source": "csv:unset.csv", "label": "stay", "ranges": {"age": [0, 60]}, **NUMBER},
    "logistic",
)


@pytest.mark.parametrize("seed", range(3))
def test_crafted_records_move_a_regression_by_the_claim_and_reach_it(seed: int) -> None:
    rounds = planned(REGRESSION, IMAGE, 1, 1.0)
    source = SeededRandom(seed)
    found = list(record_findings(rounds, start_of(rounds), trials=43, source=source))
    assert not told_apart(found)
    assert max(one.largest for one in found) >= 0.95


def test_half_the_lipschitz_constant_of_a_regression_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Huber, "lipschitz", lambda self, bound: 0.5 * self.threshold * bound)
    rounds = planned(REGRESSION, IMAGE, 1, 1.0)
    found = list(record_findings(rounds, start_of(rounds), trials=43, source=SeededRandom(2)))
    assert max(one.largest for one in found) > 1.5


LEVELS = config(KINDS[LINEAR_ONLY], {"source": "npz:unset.npz"}, "ordinal")


@pytest.mark.parametrize("seed", [1, 2])
def test_crafted_records_move_levels_in_an_order_by_the_claim_and_come_near(seed: int) -> None:
    rounds = planned(LEVELS, IMAGE, 4, 1.0)
    found = list(record_findings(rounds, start_of(rounds), trials=43, source=SeededRandom(seed)))
    assert not told_apart(found)
    assert max(one.largest for one in found) >= 0.7


def test_half_the_lipschitz_constant_of_levels_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = Ordinal.lipschitz
    monkeypatch.setattr(Ordinal, "lipschitz", lambda self, bound: 0.5 * honest(self, bound))
    rounds = planned(LEVELS, IMAGE, 4, 1.0)
    found = list(record_findings(rounds, start_of(rounds), trials=43, source=SeededRandom(1)))
    assert told_apart(found)


@pytest.mark.parametrize(
    ("source", "engine"),
    [("csv", "local"), ("csv", "real"), ("messy", "real"), ("parquet", "real")],
)
def test_a_crafted_row_moves_a_regression_by_the_claim(source: str, engine: str) -> None:
    """Cells of the label that are no number, and numbers outside of the range, among them."""
    if source == "parquet":
        pytest.importorskip("pyarrow")
    tried = world(KINDS[LINEAR_ONLY], source, engine, **NUMBER)
    places = tried.file.count
    findings = loader_findings(
        tried.rounds, tried.file, tried.read, start_of(tried.rounds), most_places=places
    )
    assert not told_apart(list(findings))


@pytest.mark.parametrize(("source", "engine"), [cell for cell in SOURCES if cell[0] != "function"])
def test_a_replaced_row_moves_a_fixed_size_sum_by_twice_the_claim_of_one(source: str, engine: str) -> None:
    """Replace-one: the place keeps its coins, whoever fills it; an unusable row leaves the place empty."""
    if source == "parquet":
        pytest.importorskip("pyarrow")
    tried = world(FIXED_SIZE, source, engine, rows=24, record_capacity=24)
    findings = loader_findings(tried.rounds, tried.file, tried.read, start_of(tried.rounds), most_places=1)
    kept = [found for found in findings if found.crafted not in ("a row less", "a row twice")]
    assert not told_apart(kept)


def parts(federation: Federation) -> dict[tuple[str, str], list[bytes]]:
    return {
        (silo.name, part): [
            row.tobytes() + bytes([label]) for row, label in zip(own.features, own.labels, strict=True)
        ]
        for silo in federation.silos
        for part, own in (("train", silo.train), ("test", silo.test))
    }


@pytest.mark.parametrize("source", ["csv", "npz", "function", "arrays", "dataset"])
def test_a_row_less_anywhere_moves_nobody_else_and_changes_no_plan(source: str, tmp_path: Path) -> None:
    """Training and test parts of all silos: at most one record leaves at most one part."""
    from tests.contracts.neighbours import own_code

    tried = world(KINDS["single-step"], source, "local")
    (tmp_path / "all").mkdir()
    (tmp_path / "less").mkdir()

    def federation(written: str) -> tuple[Federation, str]:
        if written in HANDED_OVER:
            own = federation_of(tried.config.data, by_silo=HANDED_OVER[written])
            return own, tried.prepared(written).plan.digest()
        if source == "function":
            own_code.PATH, written = (
                Path(written.removeprefix("npz:")),
                f"{OWN}:federation",
            )
        data = tried.config.data.model_copy(update={"source": written})
        return federation_of(data), tried.prepared(written).plan.digest()

    whole, digest = federation(tried.file.write(tmp_path / "all" / "own"))
    before = parts(whole)
    for place in range(tried.file.count):
        less = tried.file.rows(np.delete(np.arange(tried.file.count), place))
        fewer, other = federation(less.write(tmp_path / "less" / "own"))
        after = parts(fewer)
        assert other == digest
        changed = [name for name in before if before[name] != after[name]]
        assert len(changed) == 1
        longer, shorter = before[changed[0]], after[changed[0]]
        assert any(longer[:at] + longer[at + 1 :] == shorter for at in range(len(longer)))


@pytest.mark.parametrize(("source", "engine"), [cell for cell in SOURCES if cell[0] != "function"])
@pytest.mark.parametrize("kind", KINDS)
def test_an_empty_silo_trains_like_any_other(kind: str, source: str, engine: str) -> None:
    """One record of silo a against none: the only one, whether it is held out or not."""
    if source == "parquet":
        pytest.importorskip("pyarrow")
    column = {"csv": "site", "messy": "site", "npz": "silo"}
    named = {"partition": {"kind": "column", "column": column.get(source), "names": ["a", "b", "c"]}}
    named = named if engine == "local" and source in column else {}
    tried = world(KINDS[kind], source, engine, rows=12, **named)
    own = np.array([0, 1, 2, 4, 5]) if engine == "local" else np.array([0])
    findings = loader_findings(
        tried.rounds, tried.file.rows(own), tried.read, start_of(tried.rounds), most_places=1
    )
    assert not told_apart(list(findings))


@pytest.mark.parametrize(
    ("source", "engine"),
    [(s, "local") for s in ("csv", "npz", "arrays", "dataset")] + [("csv", "real"), ("npz", "real")],
)
@pytest.mark.parametrize("sampling", ["poisson", "fixed-size"])
def test_more_records_than_the_capacity_are_never_refused(
    source: str, engine: str, sampling: str, tmp_path: Path
) -> None:
    """The plan assumes that no silo holds more; a silo that does must not be told apart by a refusal."""
    kind = KINDS["single-step"] if sampling == "poisson" else FIXED_SIZE
    tried = world(kind, source, engine, rows=CAPACITY // 4, record_capacity=12)
    read = tried.read(tried.file.write(tmp_path / "own"))
    assert len(read) == 12
    if engine == "local":
        assert tried.prepared(tried.file.write(tmp_path / "own")).plan.capacities == (12, 12, 12)


def test_the_local_engine_prepares_whatever_one_row_holds(tmp_path: Path) -> None:
    """`prepare` reads, plans and checks: with every crafted row it ends with the same plan."""
    tried = world(KINDS["single-step"], "csv", "local")
    digests = set()
    for _, changed in tried.file.altered(5):
        written = changed.write(tmp_path / "own")
        data = tried.config.data.model_copy(update={"source": written})
        digests.add(prepare(tried.config.model_copy(update={"data": data})).plan.digest())
    assert len(digests) == 1
