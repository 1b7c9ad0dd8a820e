"""A timetable over a wire: the local engine's bytes, slow silos that hold up nobody, servers that lie."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from discreet.config import Config
from discreet.config.run import Dropout
from discreet.engines.flower.engine import FlowerEngine
from discreet.engines.flower.service import serve_training
from discreet.engines.local import run
from discreet.errors import DiscreetError, NotEnoughSurvivors
from discreet.kinds import BufferedConfig
from discreet.models import build_model, flatten
from discreet.plan.counted import by_contribution
from discreet.plan.guaranteed import against
from discreet.privacy.ledger import read_ledger, spending
from discreet.randomness import SeededRandom
from discreet.rounds import RoundOrder, initial_state, round_order
from discreet.silo.policy import Charge, load_policy
from discreet.silo.policy.ledger import spent_by_training
from discreet.silo.requests import Begin, Deliver, Refused, Replied, Request
from discreet.silo.training import SiloTraining
from tests.engines.conftest import DirectWire, SmallConsortium

PATIENCE = 0.05
SLOW = "switzerland"
HELD = 20.0

Make = Callable[..., SmallConsortium]


def scheduled(config: Config, **stated: Any) -> Config:
    """Everybody in four sums, and one silo in fewer, with models that are older."""
    schedule = BufferedConfig.model_validate({"kind": "buffered", "buffer": 3, "pace": {SLOW: 3}} | stated)
    training = config.training.model_copy(update={"schedule": schedule, "rounds": 4})
    return config.model_copy(update={"training": training})


@pytest.fixture
def config(small_config: Callable[..., Config]) -> Config:
    return scheduled(small_config())


@pytest.fixture
def slow(make_consortium: Make, config: Config) -> SmallConsortium:
    return make_consortium(config)


def local_model(config: Config, path: Path) -> bytes:
    return run(config, path).directory.model.read_bytes()


def begun(wire: DirectWire, node: int) -> list[int]:
    return [request.release for at, request in wire.seen if at == node and isinstance(request, Begin)]


def stale_sums(consortium: SmallConsortium, name: str) -> list[int]:
    planned = consortium.plan.timetable
    assert planned is not None
    return [
        number
        for number, one in enumerate(planned.sums, 1)
        for turn in one.turns
        if turn.silo == name and turn.base < number - 1
    ]


def charged(consortium: SmallConsortium, name: str) -> int:
    ledger = consortium.folder.silo(name) / "state" / "ledger.jsonl"
    entries = tuple(line.entry for line in read_ledger(ledger))
    return sum(one.charged for one in spent_by_training(entries).values())


@pytest.mark.parametrize("aggregation", [{}, {"rotation": True}, {"mode": "semi-honest"}])
@pytest.mark.parametrize("stated", [{}, {"pace": {SLOW: 2, "hungary": 3}, "stale_weight": "equal"}])
def test_wire_and_local_engine_give_the_same_bytes(
    make_consortium: Make,
    small_config: Callable[..., Config],
    tmp_path: Path,
    stated: dict[str, Any],
    aggregation: dict[str, Any],
) -> None:
    config = scheduled(small_config(aggregation=aggregation), **stated)
    consortium = make_consortium(config)
    wire = DirectWire(consortium.silos)
    serve_training(wire, consortium.folder.server, patience_seconds=PATIENCE)
    assert consortium.folder.server.run.model.read_bytes() == local_model(config, tmp_path / "local")
    assert stale_sums(consortium, SLOW)
    for node, silo in consortium.silos.items():
        assert begun(wire, node) == stale_sums(consortium, silo.name)
    assert not [reply for reply in wire.answered if isinstance(reply, Refused)]


def test_each_silo_is_charged_for_the_sums_that_it_is_in(slow: SmallConsortium) -> None:
    serve_training(DirectWire(slow.silos), slow.folder.server, patience_seconds=PATIENCE)
    planned = slow.plan.timetable
    assert planned is not None
    assert planned.contributions_of(SLOW) < planned.contributions_of("hungary") == 4
    for name in slow.plan.facts.silos:
        assert charged(slow, name) == planned.contributions_of(name)
        charge = Charge.under(slow.plan, load_policy(slow.folder.policy(name)))
        plain = by_contribution(slow.plan)
        assert plain.timetable is None
        planned_here = planned.contributions_of(name)
        whole = against(plain, charge.adversary, charge.honest_silos, rounds=planned_here)
        assert charge.cost(1) == charge.cost(planned_here) == whole
        assert charge.cost(planned_here + 1).epsilon > whole.epsilon


def test_a_slow_silo_holds_up_no_sum_that_it_is_not_in(
    slow: SmallConsortium, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It trains until the sum before its own is made; whoever waited for it would wait for ever."""
    first, before = stale_sums(slow, SLOW)[0], threading.Event()
    real, held = SiloTraining._values, list[bool]()

    def values(self: SiloTraining, purpose: Any, parameters: bytes, **named: Any) -> Any:
        if self._policy.silo == SLOW and purpose.release == first and not held:
            held.append(before.wait(HELD))
        return real(self, purpose, parameters, **named)

    def tamper(_: int, request: Request) -> Request:
        if isinstance(request, Deliver) and request.models and len(waited) + 1 == first:
            before.set()
        return request

    waited: list[int] = []
    real_sum = FlowerEngine.sum_round

    def sum_round(self: FlowerEngine, order: RoundOrder) -> Any:
        made = real_sum(self, order)
        waited.append(order.release)
        return made

    monkeypatch.setattr(SiloTraining, "_values", values)
    monkeypatch.setattr(FlowerEngine, "sum_round", sum_round)
    serve_training(DirectWire(slow.silos, tamper), slow.folder.server, patience_seconds=PATIENCE)
    assert held == [True]
    assert len(waited) == slow.plan.rounds


class PowerCut(BaseException):
    """Ends the server's process, as far as its files can tell."""


def test_a_server_whose_power_was_cut_goes_on_and_charges_everything(slow: SmallConsortium) -> None:
    """What silos computed early for the old start of the server is not used for the new one."""
    invited: list[int] = []

    def tamper(at: int, request: Request) -> Request:
        if isinstance(request, Deliver) and request.models:
            invited.append(at)
            if len(invited) == 5:
                raise PowerCut
        return request

    server, planned = slow.folder.server, slow.plan.timetable
    assert planned is not None
    with pytest.raises(PowerCut):
        serve_training(DirectWire(slow.silos, tamper), server, patience_seconds=PATIENCE)
    serve_training(DirectWire(slow.silos), server, patience_seconds=PATIENCE)
    spent = spending(line.entry for line in read_ledger(server.run.ledger))
    assert (spent.charged, spent.lost) == (len(planned.sums), (2,))
    for release, one in enumerate(planned.sums, 1):
        completed = [done for done in spent.completed if done.release == release]
        assert [done.survivors for done in completed] == ([] if release == 2 else [one.silos])
    for name in slow.plan.facts.silos:
        assert charged(slow, name) <= planned.contributions_of(name)


@pytest.mark.parametrize("name", [SLOW, "hungary"])
def test_a_silo_that_is_out_for_a_sum_comes_back_for_its_next(
    slow: SmallConsortium, config: Config, tmp_path: Path, name: str
) -> None:
    """The model is that of the local engine with the same silo missing, byte for byte."""
    node, release = slow.node(name), stale_sums(slow, SLOW)[0]
    invited: list[int] = []

    def tamper(at: int, request: Request) -> Request | None:
        if at == slow.node("cleveland") and isinstance(request, Deliver) and request.models:
            invited.append(at)
        lost = at == node and isinstance(request, Deliver) and request.models and len(invited) == release
        return None if lost else request

    serve_training(DirectWire(slow.silos, tamper), slow.folder.server, patience_seconds=PATIENCE)
    missing = {"silo": name, "round": release, "stage": "mask"}
    dropping = config.run.model_copy(update={"dropouts": (Dropout.model_validate(missing),)})
    expected = local_model(config.model_copy(update={"run": dropping}), tmp_path / "local")
    assert slow.folder.server.run.model.read_bytes() == expected


def test_a_sum_without_room_that_loses_a_silo_is_left_out_and_charged_as_planned(
    slow: SmallConsortium, config: Config, tmp_path: Path
) -> None:
    """Its members masked once, as planned, and train on; the model is the local engine's."""
    invited: list[int] = []

    def tamper(at: int, request: Request) -> Request | None:
        if at == slow.node("cleveland") and isinstance(request, Deliver) and request.models:
            invited.append(at)
        lost = at == slow.node("hungary") and isinstance(request, Deliver) and request.models
        return None if lost and len(invited) == 1 else request

    serve_training(DirectWire(slow.silos, tamper), slow.folder.server, patience_seconds=PATIENCE)
    planned = slow.plan.timetable
    assert planned is not None
    assert len(planned.sums[0].silos) == slow.plan.thresholds.min_survivors
    spent = spending(line.entry for line in read_ledger(slow.folder.server.run.ledger))
    assert (spent.lost, spent.aborted, spent.charged) == ((1,), 0, len(planned.sums))
    for name in slow.plan.facts.silos:
        assert charged(slow, name) == planned.contributions_of(name) - (name == "hungary")
    missing = Dropout(silo="hungary", round=1, stage="mask")
    dropping = config.run.model_copy(update={"dropouts": (missing,)})
    expected = local_model(config.model_copy(update={"run": dropping}), tmp_path / "local")
    assert slow.folder.server.run.model.read_bytes() == expected


def test_a_silo_that_lost_its_early_work_trains_when_it_is_asked(
    slow: SmallConsortium, config: Config, tmp_path: Path
) -> None:
    """As after a kill: nothing is charged twice, and the sum is the one of a silo that was not killed."""
    node, first = slow.node(SLOW), stale_sums(slow, SLOW)[0]

    def tamper(at: int, request: Request) -> Request | None:
        lost = at == node and isinstance(request, Begin) and request.release == first
        return None if lost else request

    wire = DirectWire(slow.silos, tamper)
    serve_training(wire, slow.folder.server, patience_seconds=PATIENCE)
    assert slow.folder.server.run.model.read_bytes() == local_model(config, tmp_path / "local")


def test_a_silo_killed_while_it_trains_comes_back_and_everything_is_charged(slow: SmallConsortium) -> None:
    node, first = slow.node(SLOW), stale_sums(slow, SLOW)[0]
    killed: list[int] = []

    def tamper(at: int, request: Request) -> Request | None:
        if at == node and isinstance(request, Deliver) and request.models and not killed:
            killed.append(first)
            slow.reopen(SLOW)
        return request

    serve_training(DirectWire(slow.silos, tamper), slow.folder.server, patience_seconds=PATIENCE)
    assert killed
    planned = slow.plan.timetable
    assert planned is not None
    lines = read_ledger(slow.folder.server.run.ledger)
    spent = spending(line.entry for line in lines)
    assert spent.charged == len(planned.sums)
    for name in slow.plan.facts.silos:
        in_sums = sum(name in one.survivors for one in spent.completed)
        assert in_sums <= charged(slow, name) <= planned.contributions_of(name)


@pytest.fixture
def lying(slow: SmallConsortium) -> tuple[SmallConsortium, FlowerEngine, DirectWire]:
    """A server with keys set up, and a wire that keeps what silos answer."""
    wire = DirectWire(slow.silos)
    engine = FlowerEngine(
        slow.folder.server.proposal(),
        wire,
        SeededRandom(1),
        patience_seconds=PATIENCE,
        announce=lambda _: None,
    )
    engine.open()
    return slow, engine, wire


def first_order(consortium: SmallConsortium, release: int, sequence: int = 1) -> RoundOrder:
    plan = consortium.plan
    facts, model = plan.facts, plan.config.model
    weights = flatten(build_model(model.name, facts.feature_shape, facts.num_classes, seed=model.seed))
    return round_order(plan, initial_state(plan, weights), release, sequence)


def refusals(wire: DirectWire) -> list[Refused]:
    return [reply for reply in wire.answered if isinstance(reply, Refused)]


Lying = tuple[SmallConsortium, FlowerEngine, DirectWire]


def changed_models(change: Callable[[tuple[bytes, ...]], tuple[bytes, ...]]) -> Callable[..., Any]:
    def tamper(_: int, request: Request) -> Request:
        if isinstance(request, Deliver) and request.models:
            return replace(request, models=change(request.models))
        return request

    return tamper


@pytest.mark.parametrize(
    "change",
    [
        lambda models: models[:0],
        lambda models: (*models, models[-1]),
        lambda models: tuple(hashlib.sha256(one).digest() for one in models),
        lambda models: models[::-1],
    ],
    ids=["none", "one more", "others", "in another order"],
)
def test_an_invitation_with_other_models_is_refused_by_everybody(lying: Lying, change: Any) -> None:
    consortium, engine, wire = lying
    release = stale_sums(consortium, SLOW)[0]
    order = first_order(consortium, release)
    assert order.starts is not None
    # A model of its own for whoever is stale, as after earlier sums.
    older = replace(order.starts[SLOW], parameters=order.parameters + 0.5)
    members = {**order.starts, SLOW: older}
    order = replace(order, starts=members)
    wire.tamper = changed_models(change)
    with pytest.raises(NotEnoughSurvivors):
        engine.sum_round(order)
    assert len(refusals(wire)) == len(members)
    assert all(reply.code == "protocol" for reply in refusals(wire))
    assert not any(path.exists() for path in ledgers(consortium))


def ledgers(consortium: SmallConsortium) -> list[Path]:
    files = (consortium.folder.silo(name) / "state" / "ledger.jsonl" for name in consortium.plan.facts.silos)
    return [path for path in files if path.exists() and path.stat().st_size]


def test_a_model_that_another_silo_does_not_have_is_refused(lying: Lying) -> None:
    """Two silos that start from one version of the model start from the same one, whatever a server says."""
    consortium, engine, wire = lying
    order = first_order(consortium, 1)

    def tamper(at: int, request: Request) -> Request:
        if isinstance(request, Deliver) and request.models and at == consortium.node("cleveland"):
            other = np.frombuffer(request.parameters) + 1.0
            return replace(
                request, parameters=other.tobytes(), models=(hashlib.sha256(other.tobytes()).digest(),)
            )
        return request

    wire.tamper = tamper
    with pytest.raises(NotEnoughSurvivors):
        engine.sum_round(order)
    (refused,) = refusals(wire)
    assert (refused.silo, refused.code) == ("cleveland", "protocol")


def test_a_model_other_than_the_announced_one_is_refused(lying: Lying) -> None:
    """Masks are bound to digests: a silo that did not compare them with its model would train on it."""
    consortium, engine, wire = lying

    def tamper(at: int, request: Request) -> Request:
        if isinstance(request, Deliver) and request.models and at == consortium.node("cleveland"):
            return replace(request, parameters=(np.frombuffer(request.parameters) + 1.0).tobytes())
        return request

    wire.tamper = tamper
    with pytest.raises(NotEnoughSurvivors):
        engine.sum_round(first_order(consortium, 1))
    (refused,) = refusals(wire)
    assert (refused.silo, refused.code) == ("cleveland", "protocol")


def test_a_silo_refuses_sums_that_it_is_not_in(lying: Lying, monkeypatch: pytest.MonkeyPatch) -> None:
    consortium, engine, wire = lying
    order = first_order(consortium, 1)
    assert order.starts is not None
    assert SLOW not in order.starts
    everybody = replace(order, starts={**order.starts, SLOW: order.starts["cleveland"]})

    def tamper(_: int, request: Request) -> Request:
        return request

    wire.tamper = tamper
    monkeypatch.setattr(engine, "_present", lambda _: engine._members.names)
    with pytest.raises(DiscreetError):
        engine.sum_round(everybody)
    assert [(one.silo, one.code) for one in refusals(wire) if one.code == "budget"] == [(SLOW, "budget")] * 2


@pytest.mark.parametrize("release", [0, 1, 2, 999])
def test_a_silo_begins_early_only_what_the_timetable_has(lying: Lying, release: int) -> None:
    consortium, _, _ = lying
    assert release not in stale_sums(consortium, SLOW)
    parameters = first_order(consortium, 1).parameters.tobytes()
    reply = consortium.silos[consortium.node(SLOW)].handle(Begin(release, 1, parameters))
    assert isinstance(reply, Refused)


def test_a_silo_begins_nothing_early_that_starts_from_the_newest_model(lying: Lying) -> None:
    """A silo that is in such a sum trains when it is invited, and not before the sum before has ended."""
    consortium, _, _ = lying
    name = "cleveland"
    timetable = consortium.plan.timetable
    assert timetable is not None
    turn = timetable.sums[1].turn_of(name)
    assert turn is not None
    assert turn.base == 1
    assert 2 not in stale_sums(consortium, name)
    parameters = first_order(consortium, 1).parameters.tobytes()
    reply = consortium.silos[consortium.node(name)].handle(Begin(2, 1, parameters))
    assert isinstance(reply, Refused)
    assert reply.code == "protocol"
    assert "older by the plan's timetable" in reply.reason


@pytest.mark.parametrize("parameters", [b"", b"\x00" * 7, np.full(14, np.nan).tobytes()])
def test_a_model_that_is_none_is_not_trained_from(lying: Lying, parameters: bytes) -> None:
    consortium, _, _ = lying
    silo, release = consortium.silos[consortium.node(SLOW)], stale_sums(consortium, SLOW)[0]
    reply = silo.handle(Begin(release, 1, parameters))
    assert isinstance(reply, Refused)
    assert reply.code == "protocol"


def test_no_answer_tells_whether_a_training_has_ended(lying: Lying, monkeypatch: pytest.MonkeyPatch) -> None:
    """When it ends hangs on the silo's coins: whoever could tell would ask until it likes them."""
    consortium, _, _ = lying
    silo, release = consortium.silos[consortium.node(SLOW)], stale_sums(consortium, SLOW)[0]
    parameters = first_order(consortium, 1).parameters.tobytes()
    begun, go_on, real, trained = threading.Event(), threading.Event(), SiloTraining._values, list[int]()

    def values(self: SiloTraining, purpose: Any, start: bytes, **named: Any) -> Any:
        trained.append(purpose.attempt)
        begun.set()
        go_on.wait(HELD)
        return real(self, purpose, start, **named)

    monkeypatch.setattr(SiloTraining, "_values", values)
    answers = [silo.handle(Begin(release, 1, parameters))]
    assert begun.wait(HELD)
    answers += [silo.handle(Begin(release, attempt, parameters)) for attempt in (1, 2, 3, 2)]
    go_on.set()
    silo._early.wait()
    answers += [silo.handle(Begin(release, attempt, parameters)) for attempt in (2, 4)]
    silo._early.wait()
    assert answers == [Replied(b"")] * 7
    # What was asked for last is computed next, and what it took the place of never.
    assert trained == [1, 2, 4]
    assert not ledgers(consortium)
