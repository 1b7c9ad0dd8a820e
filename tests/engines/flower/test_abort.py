"""An operator stops a training between rounds: cleanly, once, and so that it can go on."""

from __future__ import annotations

import json
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from typer.testing import CliRunner

from discreet.cli.consortium import consortium as consortium_app
from discreet.engines.flower.service import ServerFolder, serve_training
from discreet.engines.flower.stopping import StoppedByOperator
from discreet.errors import ConfigurationError
from discreet.health import RunState, read_run_status, read_silo_status
from discreet.privacy.ledger import read_ledger, spending
from discreet.silo.requests import Deliver, Farewell, Request
from tests.engines.conftest import DirectWire, SmallConsortium

PATIENCE = 0.05


def abort(folder: ServerFolder) -> Any:
    return CliRunner().invoke(consortium_app, ["abort", str(folder.path)])


def when_round(number: int, act: Callable[..., Any]) -> Callable[..., Any]:
    """Returns a tamper that acts once, when the server invites to a round."""
    invitations = []

    def tamper(node: int, request: Request) -> Request | None:
        if isinstance(request, Deliver) and request.parameters:
            invitations.append(node)
            if len(invitations) == 4 * (number - 1) + 1:
                act()
        return request

    return tamper


def test_the_round_under_way_is_completed_and_no_other_begins(
    consortium: SmallConsortium, direct_wire: type[DirectWire]
) -> None:
    server, answers = consortium.folder.server, []
    wire = direct_wire(
        consortium.silos, when_round(1, lambda: answers.extend([abort(server), abort(server)]))
    )
    with pytest.raises(StoppedByOperator):
        serve_training(wire, server, patience_seconds=PATIENCE)
    assert [answer.exit_code for answer in answers] == [0, 0], "asking again changes nothing"
    outcome = json.loads(server.outcome.read_bytes())
    assert outcome["status"] == "aborted"
    assert outcome["error"].startswith("aborted by the operator")
    spent = spending(line.entry for line in read_ledger(server.run.ledger))
    assert (len(spent.completed), spent.lost, spent.pending, spent.aborted) == (1, (), None, 0)
    assert [type(request) for _, request in wire.seen[-4:]] == [Farewell] * 4
    assert read_silo_status(consortium.folder.policy("hungary")).trainings[0].releases == 1
    status = read_run_status(server.path)
    assert (status.state, status.abort_requested) == (RunState.ABORTED, False)


def test_a_stop_that_was_asked_for_ends_the_server_app_like_any_other_end(
    consortium: SmallConsortium, direct_wire: type[DirectWire], monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("flwr")
    from discreet.engines.flower import server_app

    server, said = consortium.folder.server, []

    def stop() -> None:
        abort(server)
        said.extend(read_run_status(server.path).lines())

    wire = direct_wire(consortium.silos, when_round(1, stop))
    monkeypatch.setattr(server_app, "GridWire", lambda _: wire)
    server_app.main(None, SimpleNamespace(run_config={"folder": str(server.path), "patience": PATIENCE}))
    assert read_run_status(server.path).state is RunState.ABORTED
    assert "it stops before the next attempt, as asked" in said[0]
    assert not any(line.startswith("to stop") for line in said)
    (server.path / "allow-list.json").unlink()
    with pytest.raises(ConfigurationError):
        server_app.main(None, SimpleNamespace(run_config={"folder": str(server.path)}))


def test_another_start_goes_on_to_the_end_and_charges_no_more_than_planned(
    consortium: SmallConsortium, direct_wire: type[DirectWire]
) -> None:
    server = consortium.folder.server
    wire = direct_wire(consortium.silos, when_round(2, lambda: abort(server)))
    with pytest.raises(StoppedByOperator):
        serve_training(wire, server, patience_seconds=PATIENCE)
    serve_training(direct_wire(consortium.silos), server, patience_seconds=PATIENCE)
    spent = spending(line.entry for line in read_ledger(server.run.ledger))
    assert (len(spent.completed), spent.charged) == (3, 3)
    assert json.loads(server.outcome.read_bytes())["status"] == "completed"


def test_an_attempt_that_came_to_nothing_is_not_tried_again_after_a_request(
    consortium: SmallConsortium, direct_wire: type[DirectWire]
) -> None:
    server = consortium.folder.server

    def lost(node: int, request: Request) -> Request | None:
        if isinstance(request, Deliver) and request.parameters:
            abort(server)
            return None
        return request

    with pytest.raises(StoppedByOperator):
        serve_training(direct_wire(consortium.silos, lost), server, patience_seconds=PATIENCE)
    spent = spending(line.entry for line in read_ledger(server.run.ledger))
    assert (spent.charged, spent.aborted) == (0, 1)


def test_a_request_in_the_last_round_lets_it_be_completed(
    consortium: SmallConsortium, direct_wire: type[DirectWire]
) -> None:
    server = consortium.folder.server
    wire = direct_wire(consortium.silos, when_round(3, lambda: abort(server)))
    serve_training(wire, server, patience_seconds=PATIENCE)
    assert read_run_status(server.path).state is RunState.COMPLETED
    assert not (server.path / "abort.request").exists()


@pytest.mark.parametrize("finished", [False, True], ids=["not started", "completed"])
def test_what_does_not_run_cannot_be_aborted(
    consortium: SmallConsortium, direct_wire: type[DirectWire], finished: bool
) -> None:
    server = consortium.folder.server
    if finished:
        serve_training(direct_wire(consortium.silos), server, patience_seconds=PATIENCE)
    before = sorted(server.path.iterdir())
    refused = abort(server)
    assert isinstance(refused.exception, ConfigurationError)
    assert ("completed" if finished else "not started") in str(refused.exception)
    assert sorted(server.path.iterdir()) == before


def test_aborting_what_was_aborted_says_so(
    consortium: SmallConsortium, direct_wire: type[DirectWire]
) -> None:
    server = consortium.folder.server
    wire = direct_wire(consortium.silos, when_round(1, lambda: abort(server)))
    with pytest.raises(StoppedByOperator):
        serve_training(wire, server, patience_seconds=PATIENCE)
    again = abort(server)
    assert again.exit_code == 0
    assert "aborted already" in again.output


def test_a_request_that_a_crash_left_behind_stops_no_later_training(
    consortium: SmallConsortium, direct_wire: type[DirectWire]
) -> None:
    server = consortium.folder.server
    (server.path / "abort.request").touch()
    serve_training(direct_wire(consortium.silos), server, patience_seconds=PATIENCE)
    assert read_run_status(server.path).state is RunState.COMPLETED


def test_a_second_server_in_the_folder_is_refused_and_changes_nothing(
    consortium: SmallConsortium, direct_wire: type[DirectWire]
) -> None:
    server, refused = consortium.folder.server, []

    def second() -> None:
        with pytest.raises(ConfigurationError, match="only one"):
            serve_training(direct_wire({}), server, patience_seconds=PATIENCE)
        refused.append(server.outcome.exists())

    serve_training(direct_wire(consortium.silos, when_round(2, second)), server, patience_seconds=PATIENCE)
    assert refused == [False]
    assert read_run_status(server.path).state is RunState.COMPLETED
