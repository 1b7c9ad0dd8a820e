"""Server and silos restart in the middle of a training: it goes on, and nothing used is used again."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import pytest

from discreet.engines.flower.service import serve_training
from discreet.errors import LedgerError
from discreet.plan import load_plan
from discreet.privacy.ledger import read_ledger, spending
from discreet.privacy.wire import from_json
from discreet.secagg.messages import RoundStart
from discreet.silo.requests import Deliver, Propose, Request
from tests.engines.conftest import DirectWire, SmallConsortium

PATIENCE = 0.05


class PowerCut(BaseException):
    """Ends the server's process, as far as its files can tell."""


def after_rounds(count: int) -> Callable[..., Any]:
    """Returns a tamper that cuts the server's power when it invites to the round after ``count``."""
    invitations = []

    def tamper(node: int, request: Request) -> Request | None:
        if isinstance(request, Deliver) and request.parameters:
            invitations.append(node)
            if len(invitations) > 4 * count:
                raise PowerCut
        return request

    return tamper


def test_the_server_goes_on_from_checkpoint_and_ledger(
    consortium: SmallConsortium, direct_wire: type[DirectWire]
) -> None:
    server = consortium.folder.server
    with pytest.raises(PowerCut):
        serve_training(direct_wire(consortium.silos, after_rounds(1)), server, patience_seconds=PATIENCE)
    before = spending(line.entry for line in read_ledger(server.run.ledger))
    assert (len(before.completed), before.pending is not None) == (1, True)
    serve_training(direct_wire(consortium.silos), server, patience_seconds=PATIENCE)
    after = spending(line.entry for line in read_ledger(server.run.ledger))
    assert (len(after.completed), after.lost, after.charged) == (2, (2,), 3)


def test_the_outcome_is_the_plans_worst_case_although_every_silo_stayed(
    consortium: SmallConsortium, direct_wire: type[DirectWire]
) -> None:
    """Who drops out may depend on what was released, so noise that happened to be there lowers no ε."""
    server = consortium.folder.server
    serve_training(direct_wire(consortium.silos), server, patience_seconds=PATIENCE)
    plan, spent = load_plan(server.run.plan), spending(line.entry for line in read_ledger(server.run.ledger))
    assert {len(release.survivors) for release in spent.completed} == {4}
    assert plan.thresholds.min_survivors == 3
    assert from_json(json.loads(server.outcome.read_bytes())["guarantee"]) == plan.spent(plan.rounds)


def rehearsing(consortium: SmallConsortium, name: str) -> Callable[..., Any]:
    """Lets a silo draw its noise from a seed, or from secret bits; returns how to turn back."""
    path = consortium.folder.policy(name)
    text = path.read_text()
    path.write_text(re.sub(r"\n\[simulation\][^\[]*", "\n", text))
    consortium.reopen(name)

    def again() -> None:
        path.write_text(text)
        consortium.reopen(name)

    return again


def test_a_silo_that_begins_to_rehearse_is_left_out_of_a_run_with_secret_noise(
    consortium: SmallConsortium, direct_wire: type[DirectWire]
) -> None:
    """Its noise could be removed, and the run's ledger says that none can."""
    server, name = consortium.folder.server, "switzerland"
    turn = {silo: rehearsing(consortium, silo) for silo in consortium.plan.facts.silos}[name]
    node = consortium.node(name)
    lost: list[Any] = []

    def power_fails_there(at: int, request: Any) -> Any:
        if at == node and isinstance(request, Deliver) and request.parameters and not lost:
            lost.append(at)
            turn()
            wire.silos = consortium.silos
            return None
        return request

    wire = direct_wire(consortium.silos, power_fails_there)
    serve_training(wire, server, patience_seconds=PATIENCE)
    lines = read_ledger(server.run.ledger)
    assert lines[0].entry.randomness == "secure"
    completed = spending(line.entry for line in lines).completed
    assert [name in release.survivors for release in completed] == [False] * consortium.plan.rounds


def test_a_new_start_uses_a_new_session(consortium: SmallConsortium, direct_wire: type[DirectWire]) -> None:
    server = consortium.folder.server
    first, second = direct_wire(consortium.silos, after_rounds(1)), direct_wire(consortium.silos)
    with pytest.raises(PowerCut):
        serve_training(first, server, patience_seconds=PATIENCE)
    serve_training(second, server, patience_seconds=PATIENCE)
    sessions = [
        {request.session for _, request in wire.seen if isinstance(request, Propose)}
        for wire in (first, second)
    ]
    assert sessions[0].isdisjoint(sessions[1])


def test_a_silo_that_restarts_rejoins_with_new_keys_and_loses_no_charge(
    consortium: SmallConsortium, direct_wire: type[DirectWire]
) -> None:
    restarted: list[Any] = []

    def tamper(node: int, request: Request) -> Request | None:
        if node == consortium.node("hungary") and isinstance(request, Deliver) and not request.parameters:
            before = [seen for at, seen in wire.seen if at == node and isinstance(seen, Deliver)]
            if len(before) == 2 and not restarted:
                restarted.append(node)
                consortium.reopen("hungary")
        return request

    wire = direct_wire(consortium.silos, tamper)
    serve_training(wire, consortium.folder.server, patience_seconds=PATIENCE)
    assert restarted
    assert "hungary is back" in consortium.folder.server.log.read_text()
    spent = spending(
        line.entry for line in read_ledger(consortium.folder.silo("hungary") / "state" / "ledger.jsonl")
    )
    # Round 1 was masked before the restart and is charged although the silo could not see its end.
    assert (spent.lost, len(spent.completed)) == ((1,), 2)


def test_another_plan_is_not_continued_in_the_same_folder(
    make_consortium: Callable[..., Any], small_config: Callable[..., Any], direct_wire: type[DirectWire]
) -> None:
    first, second = make_consortium(), make_consortium(small_config(name="other"))
    serve_training(direct_wire(first.silos), first.folder.server, patience_seconds=PATIENCE)
    for name in ("plan.json", "allow-list.json"):
        (first.folder.server.path / name).write_bytes((second.folder.server.path / name).read_bytes())
    with pytest.raises(Exception, match="must hold the plan that goes on"):
        serve_training(direct_wire(second.silos), first.folder.server, patience_seconds=PATIENCE)


def test_one_ledger_has_one_process(consortium: SmallConsortium) -> None:
    with pytest.raises(LedgerError, match="only one process"):
        type(next(iter(consortium.silos.values())))(
            next(iter(consortium.silos.values()))._policy, next(iter(consortium.silos.values()))._identity
        )


def test_invitations_are_messages_of_secure_aggregation(
    consortium: SmallConsortium, direct_wire: type[DirectWire]
) -> None:
    """What travels besides is the public model: 8 bytes a weight, and nothing of a silo."""
    wire = direct_wire(consortium.silos)
    serve_training(wire, consortium.folder.server, patience_seconds=PATIENCE)
    invitations = [request for _, request in wire.seen if isinstance(request, Deliver) and request.parameters]
    assert {len(request.parameters) for request in invitations} == {8 * consortium.plan.facts.dimension}
    assert len(invitations) == 4 * consortium.plan.rounds
    assert all(request.messages[-1][4] == RoundStart.TYPE for request in invitations)
