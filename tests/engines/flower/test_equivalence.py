"""The same plan gives the same bytes in one process and over a wire, with and without dropouts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file

from discreet.config import Config
from discreet.engines.flower.service import serve_training
from discreet.engines.flower.wire import Posted
from discreet.engines.local import run
from discreet.privacy.ledger import charged_in, read_ledger, spending
from discreet.secagg import Stage
from discreet.silo.requests import Deliver, Propose, Request
from tests.engines.conftest import DirectWire, SmallConsortium

PATIENCE = 0.05
IN_SEGMENTS = {
    "local": {"kind": "stable-steps", "learning_rate": 0.1, "records_per_step": 16},
    "segments": [
        {"rounds": 2, "sampling": {"kind": "poisson", "probability": 0.5}},
        {"rounds": 1, "noise_scale": 0.7, "local": {"learning_rate": 0.05}},
    ],
}
# Which request of a round asks for a stage's message, while everybody's input arrives.
STAGES = {Stage.MASK: 0, Stage.UNMASK: 1}


def local_model(config: Config, path: Path) -> bytes:
    run(config, path)
    return (path / "model.safetensors").read_bytes()


def dropping(consortium: SmallConsortium, name: str, release: int, stage: Stage) -> Callable[..., Any]:
    """Returns a tamper that loses what one silo needs for ``stage`` in the round ``release``."""
    node, position = consortium.node(name), {"round": 0, "stage": -1}

    def tamper(at: int, request: Any) -> Any:
        if at == node and isinstance(request, Deliver):
            if request.parameters:
                position["round"] += 1
                position["stage"] = 0
            elif position["round"]:
                position["stage"] += 1
            if position["round"] == release and position["stage"] == STAGES[stage]:
                return None
        return request

    return tamper


def test_wire_and_local_engine_give_the_same_bytes(
    consortium: SmallConsortium,
    direct_wire: type[DirectWire],
    small_config: Callable[..., Any],
    tmp_path: Path,
) -> None:
    expected = local_model(small_config(), tmp_path / "local")
    serve_training(direct_wire(consortium.silos), consortium.folder.server, patience_seconds=PATIENCE)
    assert consortium.folder.server.run.model.read_bytes() == expected


@pytest.mark.parametrize(
    "aggregation",
    [{"mode": "semi-honest"}, {"mode": "one-phase"}, {"protocol": "bell"}, {"rotation": True}],
)
def test_other_ways_to_aggregate_give_the_same_bytes_too(
    make_consortium: Callable[..., Any],
    direct_wire: type[DirectWire],
    small_config: Callable[..., Any],
    tmp_path: Path,
    aggregation: dict[str, Any],
) -> None:
    config = small_config(aggregation=aggregation)
    consortium = make_consortium(config)
    expected = local_model(config, tmp_path / "local")
    serve_training(direct_wire(consortium.silos), consortium.folder.server, patience_seconds=PATIENCE)
    assert consortium.folder.server.run.model.read_bytes() == expected


@pytest.mark.parametrize(
    "local",
    [
        {"kind": "noisy-steps", "learning_rate": 0.1, "steps": 2},
        {"kind": "sharded", "learning_rate": 0.1, "groups": 4},
        {"kind": "clipped-update", "learning_rate": 0.1},
    ],
    ids=lambda local: local["kind"],
)
def test_other_kinds_of_training_give_the_same_bytes_too(
    make_consortium: Callable[..., Any],
    direct_wire: type[DirectWire],
    small_config: Callable[..., Any],
    tmp_path: Path,
    local: dict[str, Any],
) -> None:
    unit = "client" if local["kind"] == "clipped-update" else "record"
    config = small_config(
        training={"rounds": 2, "local": local},
        privacy={"unit": unit, "epsilon": 8.0, "delta": 1e-3, "clip_norm": 1.0},
    )
    consortium = make_consortium(config)
    expected = local_model(config, tmp_path / "local")
    serve_training(direct_wire(consortium.silos), consortium.folder.server, patience_seconds=PATIENCE)
    assert consortium.folder.server.run.model.read_bytes() == expected


@pytest.mark.parametrize(
    "schedule", [None, {"kind": "buffered", "buffer": 3, "pace": {"switzerland": 2}}], ids=["all", "paces"]
)
def test_rates_that_decay_give_the_same_bytes_too(
    make_consortium: Callable[..., Any],
    direct_wire: type[DirectWire],
    small_config: Callable[..., Any],
    tmp_path: Path,
    schedule: dict[str, Any] | None,
) -> None:
    """Also where a silo trains early for a later sum, at the rate of that sum."""
    local = {"kind": "stable-steps", "learning_rate": 0.1, "records_per_step": 16, "decay": 0.7}
    training = {"rounds": 3, "local": local} | ({} if schedule is None else {"schedule": schedule})
    config = small_config(training=training)
    consortium = make_consortium(config)
    expected = local_model(config, tmp_path / "local")
    serve_training(direct_wire(consortium.silos), consortium.folder.server, patience_seconds=PATIENCE)
    assert consortium.folder.server.run.model.read_bytes() == expected


def test_rounds_that_differ_give_the_same_bytes_too(
    make_consortium: Callable[..., Any],
    direct_wire: type[DirectWire],
    small_config: Callable[..., Any],
    tmp_path: Path,
) -> None:
    """And a silo's ledger says of which segment each contribution was, since they cost differently."""
    config = small_config(training=IN_SEGMENTS, aggregation={"rotation": True})
    consortium = make_consortium(config)
    expected = local_model(config, tmp_path / "local")
    serve_training(direct_wire(consortium.silos), consortium.folder.server, patience_seconds=PATIENCE)
    assert consortium.folder.server.run.model.read_bytes() == expected
    plan = consortium.plan
    path = consortium.folder.silo("hungary") / "state" / "ledger.jsonl"
    counted = charged_in(tuple(line.entry for line in read_ledger(path)))
    assert counted == {"segment 1": 2, "segment 2": 1}
    assert plan.order.covering(counted) == 3


def test_a_silo_charges_the_rounds_up_to_those_that_it_was_in(
    make_consortium: Callable[..., Any], direct_wire: type[DirectWire], small_config: Callable[..., Any]
) -> None:
    """A silo that is out in the second round is charged as if it had been in it, and in the dear third."""
    consortium = make_consortium(small_config(training=IN_SEGMENTS))
    wire = direct_wire(consortium.silos, tamper=dropping(consortium, "hungary", 2, Stage.MASK))
    serve_training(wire, consortium.folder.server, patience_seconds=PATIENCE)
    path = consortium.folder.silo("hungary") / "state" / "ledger.jsonl"
    counted = charged_in(tuple(line.entry for line in read_ledger(path)))
    assert counted == {"segment 1": 1, "segment 2": 1}
    assert consortium.plan.order.covering(counted) == 3


def test_a_regression_gives_the_same_bytes_too(
    make_consortium: Callable[..., Any],
    direct_wire: type[DirectWire],
    small_config: Callable[..., Any],
    tmp_path: Path,
) -> None:
    """Silos read their labels as numbers, by the range that the plan states."""
    silos = ["cleveland", "hungary", "long_beach_va", "switzerland"]
    data = {
        "source": f"csv:{resources.files('discreet.data.bundled').joinpath('heart_disease.csv.gz')}",
        "label": "thalach",
        "label_range": [60, 210],
        "ranges": {"age": [30, 75], "oldpeak": [0, 3]},
        "categories": {"sex": ["0", "1"]},
        "partition": {"kind": "column", "column": "hospital", "names": silos},
        "record_capacity": dict.fromkeys(silos, 260),
    }
    config = small_config(data=data, training={"rounds": 2, "local": {"kind": "stable-steps"}})
    consortium = make_consortium(config)
    expected = local_model(config, tmp_path / "local")
    serve_training(direct_wire(consortium.silos), consortium.folder.server, patience_seconds=PATIENCE)
    assert consortium.plan.facts.num_classes == 1
    assert consortium.folder.server.run.model.read_bytes() == expected


def test_a_clipping_norm_that_moves_reaches_the_silos_behind_the_weights(
    make_consortium: Callable[..., Any],
    direct_wire: type[DirectWire],
    small_config: Callable[..., Any],
    tmp_path: Path,
) -> None:
    """The state holds weights and norm; both are the local engine's, and the wire carries both."""
    config = small_config(
        training={"rounds": 3, "local": {"kind": "single-step"}},
        privacy={"epsilon": 8.0, "delta": 1e-3, "clip_norm": {"quantile": 0.5, "initial": 5.0}},
    )
    consortium = make_consortium(config)
    run(config, tmp_path / "local")
    wire = direct_wire(consortium.silos)
    serve_training(wire, consortium.folder.server, patience_seconds=PATIENCE)
    expected, found = (
        load_file(path / "state.safetensors")
        for path in (tmp_path / "local", consortium.folder.server.run.path)
    )
    assert found["clip_norm"][0] == expected["clip_norm"][0] < 5.0
    assert found["parameters"].tobytes() == expected["parameters"].tobytes()
    invitations = [r for _, r in wire.seen if isinstance(r, Deliver) and r.parameters]
    sent = np.frombuffer(invitations[0].parameters, dtype="<f8")
    assert sent[-1] == 5.0
    assert len(sent) == consortium.plan.facts.dimension + 1


@pytest.mark.parametrize(
    ("mode", "exchanges"),
    [("malicious", [2, 2, 3]), ("semi-honest", [2, 2, 2]), ("one-phase", [1, 1, 2])],
)
def test_exchanges_of_a_round_are_as_few_as_the_mode_allows(
    make_consortium: Callable[..., Any],
    direct_wire: type[DirectWire],
    small_config: Callable[..., Any],
    mode: str,
    exchanges: list[int],
) -> None:
    """What one silo is asked in each round; another one drops out in the third."""
    consortium = make_consortium(small_config(aggregation={"mode": mode}))
    wire = direct_wire(consortium.silos, dropping(consortium, "hungary", 3, Stage.MASK))
    serve_training(wire, consortium.folder.server, patience_seconds=PATIENCE)
    asked = [
        request for node, request in wire.seen
        if node == consortium.node("cleveland") and isinstance(request, Deliver)
    ]  # fmt: skip
    invitations = [number for number, request in enumerate(asked) if request.parameters]
    ends = [*invitations[1:], len(asked)]
    assert [end - start for start, end in zip(invitations, ends, strict=True)] == exchanges


def test_a_silo_charges_one_phase_rounds_whose_end_it_does_not_see(
    make_consortium: Callable[..., Any], direct_wire: type[DirectWire], small_config: Callable[..., Any]
) -> None:
    consortium = make_consortium(small_config(aggregation={"mode": "one-phase"}))
    serve_training(direct_wire(consortium.silos), consortium.folder.server, patience_seconds=PATIENCE)
    lines = read_ledger(consortium.folder.silo("cleveland") / "state" / "ledger.jsonl")
    assert spending(line.entry for line in lines).charged == consortium.plan.rounds


@pytest.mark.parametrize("stage", list(STAGES))
def test_a_dropout_changes_both_in_the_same_way(
    consortium: SmallConsortium,
    direct_wire: type[DirectWire],
    small_config: Callable[..., Any],
    tmp_path: Path,
    stage: Stage,
) -> None:
    drop = {"silo": "long_beach_va", "round": 2, "stage": stage.name.lower()}
    expected = local_model(
        small_config(run={"seed": 7, "evaluate": False, "dropouts": [drop]}), tmp_path / "local"
    )
    wire = direct_wire(consortium.silos, dropping(consortium, "long_beach_va", 2, stage))
    serve_training(wire, consortium.folder.server, patience_seconds=PATIENCE)
    assert consortium.folder.server.run.model.read_bytes() == expected
    spent = spending(line.entry for line in read_ledger(consortium.folder.server.run.ledger))
    expected_survivors = [4, 3, 4] if stage is Stage.MASK else [4, 4, 4]
    assert [len(done.survivors) for done in spent.completed] == expected_survivors


def test_a_silo_that_was_gone_is_asked_again_and_comes_back(
    consortium: SmallConsortium, direct_wire: type[DirectWire]
) -> None:
    wire = direct_wire(consortium.silos, dropping(consortium, "hungary", 1, Stage.MASK))
    serve_training(wire, consortium.folder.server, patience_seconds=PATIENCE)
    log = consortium.folder.server.log.read_text()
    assert "hungary is back" in log
    asked = [node for node, request in wire.seen if isinstance(request, Propose)]
    assert asked.count(consortium.node("hungary")) == 2


def test_an_answer_to_a_greeting_may_take_longer_than_a_round(
    make_consortium: Callable[..., Any], direct_wire: type[DirectWire], small_config: Callable[..., Any]
) -> None:
    """As over a real network, where it never comes at once: it is still looked for a round later."""
    training = small_config().model_dump(mode="json", exclude_none=True)["training"]
    consortium = make_consortium(small_config(training={**training, "rounds": 5}))
    hungary = consortium.node("hungary")
    wire = direct_wire(consortium.silos, dropping(consortium, "hungary", 1, Stage.MASK))
    post, collect = wire.post, wire.collect
    asked: list[set[int]] = []
    slow: set[str] = set()

    def remember(requests: Mapping[int, bytes], *, label: str, lifetime_seconds: float) -> Posted:
        posted = post(requests, label=label, lifetime_seconds=lifetime_seconds)
        if label == "hello":
            asked.append(set(requests))
            slow.update(posted)
        return posted

    def late(posted: Posted) -> dict[str, bytes | None]:
        delayed = slow & posted.keys()
        slow.difference_update(delayed)
        return collect({message: node for message, node in posted.items() if message not in delayed})

    wire.post, wire.collect = remember, late  # type: ignore[method-assign]
    serve_training(wire, consortium.folder.server, patience_seconds=60.0)
    lines = read_ledger(consortium.folder.server.run.ledger)
    completed = spending(line.entry for line in lines).completed
    assert [len(release.survivors) for release in completed] == [3, 3, 4, 4, 4]
    assert asked == [{hungary}, set()], "no second greeting while one is on its way"


def test_too_few_survivors_abort_the_round_and_it_is_retried_with_fresh_randomness(
    consortium: SmallConsortium, direct_wire: type[DirectWire]
) -> None:
    away = {consortium.node("hungary"), consortium.node("switzerland")}
    lost: list[Any] = []

    def tamper(node: int, request: Request) -> Request | None:
        if node in away and isinstance(request, Deliver) and request.parameters and len(lost) < 2:
            lost.append(node)
            return None
        return request

    serve_training(direct_wire(consortium.silos, tamper), consortium.folder.server, patience_seconds=PATIENCE)
    lines = read_ledger(consortium.folder.server.run.ledger)
    assert [type(line.entry).__name__ for line in lines[:5]] == [
        "Opened", "Intent", "Aborted", "Intent", "Completed"
    ]  # fmt: skip
    spent = spending(line.entry for line in lines)
    assert (spent.aborted, spent.charged) == (1, 3)


def test_every_silo_that_sent_a_masked_vector_charges_an_aborted_attempt(
    consortium: SmallConsortium, direct_wire: type[DirectWire]
) -> None:
    """The plan does not trust the server, so its word that nothing was unmasked is not taken."""
    test_too_few_survivors_abort_the_round_and_it_is_retried_with_fresh_randomness(consortium, direct_wire)
    for name, charged in (("cleveland", 4), ("hungary", 3)):
        lines = read_ledger(consortium.folder.silo(name) / "state" / "ledger.jsonl")
        assert spending(line.entry for line in lines).charged == charged


def test_totals_are_the_survivors_sum_in_every_round(
    consortium: SmallConsortium, direct_wire: type[DirectWire]
) -> None:
    """The released states differ from round to round and are finite: nothing is summed twice or skipped."""
    serve_training(direct_wire(consortium.silos), consortium.folder.server, patience_seconds=PATIENCE)
    weights = load_file(consortium.folder.server.run.model)
    assert all(np.isfinite(array).all() for array in weights.values())
    digests = [
        done.led_to
        for done in spending(
            line.entry for line in read_ledger(consortium.folder.server.run.ledger)
        ).completed
    ]
    assert len(set(digests)) == 3


def test_an_attempt_with_too_few_nodes_waits_for_them(
    consortium: SmallConsortium, direct_wire: type[DirectWire]
) -> None:
    """Two lines are cut in round 1: the next attempt begins when they are back, not at once."""
    away = {consortium.node("hungary"), consortium.node("switzerland")}
    wire = direct_wire(consortium.silos)
    lost: list[int] = []
    looks: list[bool] = []

    def tamper(node: int, request: Request) -> Request | None:
        if node in away and isinstance(request, Deliver) and request.parameters and len(lost) < len(away):
            lost.append(node)
            return None
        return request

    def nodes() -> tuple[Any, ...]:
        looks.append(len(lost) == len(away))
        present = set(consortium.silos) - away if 0 < sum(looks) < 4 else set(consortium.silos)
        return tuple(sorted(present))

    wire.tamper, wire.nodes = tamper, nodes  # type: ignore[method-assign]
    serve_training(wire, consortium.folder.server, patience_seconds=60.0)
    spent = spending(line.entry for line in read_ledger(consortium.folder.server.run.ledger))
    assert (spent.aborted, [len(done.survivors) for done in spent.completed]) == (1, [4, 4, 4])
