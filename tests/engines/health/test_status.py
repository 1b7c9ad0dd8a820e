"""Status of a silo and of a training, read from files alone and without changing one."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from discreet.cli.consortium import consortium as consortium_app
from discreet.cli.silo import silo as silo_app
from discreet.engines.flower.service import serve_training
from discreet.errors import ConfigurationError, DiscreetError, LedgerError
from discreet.health import RunState, read_run_status, read_silo_status, run_metrics
from discreet.health.exposition import exposition
from discreet.plan import load_plan
from discreet.privacy.notation import pair_text
from discreet.session.public import plan_without_data
from discreet.silo.policy import load_policy
from discreet.silo.requests import Deliver, Propose, Request
from discreet.silo.state import SiloState
from tests.engines.conftest import DirectWire, SmallConsortium
from tests.unit.health.exposition_text import parse

NAME = "hungary"
EXAMPLES = Path(__file__).parents[3] / "examples"
PATIENCE = 0.05


class PowerCut(BaseException):
    """Ends the server's process, as far as its files can tell."""


def tree(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_silo_that_was_never_opened_has_spent_nothing_and_looking_makes_no_folder(
    consortium: SmallConsortium, tmp_path: Path
) -> None:
    policy = tmp_path / "policy.toml"
    policy.write_text(consortium.folder.policy(NAME).read_text())
    status = read_silo_status(policy)
    assert (status.serving, status.trainings, status.epsilon) == (False, (), 0.0)
    assert status.left == (status.budget.max_epsilon, status.budget.max_delta)
    assert [path.name for path in tmp_path.iterdir() if path.name != "consortium"] == ["policy.toml"]


def test_what_a_silo_spent_is_said_while_it_serves_and_afterwards(
    consortium: SmallConsortium, direct_wire: type[DirectWire]
) -> None:
    policy = consortium.folder.policy(NAME)
    during = []

    def tamper(node: int, request: Request) -> Request | None:
        if isinstance(request, Deliver) and request.parameters and node == consortium.node(NAME):
            before = tree(consortium.folder.silo(NAME))
            during.append(read_silo_status(policy))
            assert tree(consortium.folder.silo(NAME)) == before
        return request

    serve_training(direct_wire(consortium.silos, tamper), consortium.folder.server, patience_seconds=PATIENCE)
    releases = [sum(training.releases for training in status.trainings) for status in during]
    assert releases == [0, 1, 2]
    assert all(status.serving for status in during)
    consortium.silos[consortium.node(NAME)].close()
    after = read_silo_status(policy)
    assert not after.serving
    (training,) = after.trainings
    assert (training.releases, training.planned, training.last_survivors) == (3, 3, 4)
    assert after.left is not None
    assert after.left[0] == pytest.approx(after.budget.max_epsilon - training.epsilon)
    assert after.ledger_changed is not None
    assert pair_text(*after.left, down=True) in " ".join(after.lines())


def test_two_trainings_of_one_plan_are_not_read_as_one(
    consortium: SmallConsortium, direct_wire: type[DirectWire], tmp_path: Path
) -> None:
    server = consortium.folder.server
    said: Any = lambda: "\n".join(read_silo_status(consortium.folder.policy(NAME)).lines())  # noqa: E731
    serve_training(direct_wire(consortium.silos), server, patience_seconds=PATIENCE)
    assert "3 of 3 releases" in said()
    server.run.path.rename(tmp_path / "first")
    with pytest.raises(DiscreetError):
        serve_training(direct_wire(consortium.silos, after_one_round()), server, patience_seconds=PATIENCE)
    assert "4 releases in 2 or more trainings of 3" in said()
    assert "4 of 3" not in said()


def after_one_round() -> Any:
    """Loses every invitation after the first round of four silos."""
    invitations = []

    def tamper(node: int, request: Request) -> Any:
        if isinstance(request, Deliver) and request.parameters:
            invitations.append(node)
        return None if len(invitations) > 4 else request

    return tamper


def test_what_is_left_is_never_rounded_up(consortium: SmallConsortium, direct_wire: type[DirectWire]) -> None:
    """The budget is twice the cost of the plan, which is a little below 1."""
    serve_training(direct_wire(consortium.silos), consortium.folder.server, patience_seconds=PATIENCE)
    status = read_silo_status(consortium.folder.policy(NAME))
    (line,) = [line for line in status.lines() if line.startswith("left")]
    assert status.left is not None
    assert 0.99 < float(line.split()[2].rstrip(",")) <= status.left[0] < 1.0


def test_plans_that_wait_are_named_until_they_are_approved(consortium: SmallConsortium) -> None:
    consortium.edit_policy(NAME, "[require]", '[require]\napproval = "person"')
    proposal = consortium.folder.server.proposal()
    silo = consortium.silos[consortium.node(NAME)]
    silo.handle(Propose(1, bytes(32), proposal.document, proposal.allow_list.serialise()))
    policy = consortium.folder.policy(NAME)
    (waiting,) = read_silo_status(policy).waiting
    assert waiting.stem == consortium.plan.digest()
    approved = CliRunner().invoke(silo_app, ["approve", str(policy), str(waiting)])
    assert approved.exit_code == 0, approved.output
    assert read_silo_status(policy).waiting == ()


def test_the_last_proposals_are_shown_and_cannot_forge_a_line(consortium: SmallConsortium) -> None:
    lines = [json.dumps({"time": "2026-11-22T18:43:35Z", "verdict": f"v{number}"}) for number in range(30)]
    lines.append(json.dumps({"verdict": "x\nspent  nothing"}))
    path = consortium.folder.silo(NAME) / "state" / "proposals.jsonl"
    path.write_text("\n".join(lines) + '\n{"verdict": "torn')
    result = CliRunner().invoke(silo_app, ["status", str(consortium.folder.policy(NAME))])
    shown = [line for line in result.output.splitlines() if line.startswith("proposal:")]
    assert len(shown) == 10
    assert shown[-1] == "proposal: verdict x?spent  nothing"
    assert "v29" in shown[-2]


def test_status_of_a_silo_as_json(consortium: SmallConsortium, direct_wire: type[DirectWire]) -> None:
    serve_training(direct_wire(consortium.silos), consortium.folder.server, patience_seconds=PATIENCE)
    policy = consortium.folder.policy(NAME)
    result = CliRunner().invoke(silo_app, ["status", str(policy), "--json"])
    read, status = json.loads(result.output), read_silo_status(policy)
    assert read["charged"] == {"epsilon": status.epsilon, "delta": status.delta}
    assert status.left is not None
    assert read["left"]["epsilon"] == status.left[0]
    assert read["trainings"][0]["plan"] == consortium.plan.digest()
    assert read["serving"] is True


def test_a_damaged_ledger_is_refused_and_never_read_as_less(
    consortium: SmallConsortium, direct_wire: type[DirectWire]
) -> None:
    serve_training(direct_wire(consortium.silos), consortium.folder.server, patience_seconds=PATIENCE)
    ledger = consortium.folder.silo(NAME) / "state" / "ledger.jsonl"
    ledger.write_bytes(ledger.read_bytes().replace(b'"Intent"', b'"intent"', 1))
    with pytest.raises(LedgerError, match="line"):
        read_silo_status(consortium.folder.policy(NAME))


@pytest.mark.parametrize("lost", ["the last lines", "the state folder", "the anchor"])
@pytest.mark.parametrize("form", [[], ["--json"]], ids=["text", "json"])
def test_a_ledger_that_its_anchor_contradicts_is_an_error_and_no_smaller_sum(
    consortium: SmallConsortium, direct_wire: type[DirectWire], lost: str, form: list[str]
) -> None:
    serve_training(direct_wire(consortium.silos), consortium.folder.server, patience_seconds=PATIENCE)
    path = consortium.folder.policy(NAME)
    policy = load_policy(path)
    consortium.silos[consortium.node(NAME)].close()
    ledger = policy.state / "ledger.jsonl"
    if lost == "the last lines":
        ledger.write_bytes(b"".join(ledger.read_bytes().splitlines(keepends=True)[:3]))
    elif lost == "the state folder":
        shutil.rmtree(policy.state)
    else:
        policy.anchor.unlink()
    before = tree(path.parent)
    with pytest.raises(LedgerError) as refused:
        SiloState(policy).check_anchor()
    result = CliRunner().invoke(silo_app, ["status", str(path), *form])
    assert (type(result.exception), str(result.exception)) == (LedgerError, str(refused.value))
    assert result.stdout == ""
    assert tree(path.parent) == before
    assert policy.state.exists() == (lost != "the state folder")


def test_a_training_is_followed_from_its_plan_to_its_end(
    consortium: SmallConsortium, direct_wire: type[DirectWire]
) -> None:
    server = consortium.folder.server
    before = read_run_status(server.path)
    assert (before.state, before.epsilon, before.last_round) == (RunState.NOT_STARTED, None, None)
    assert before.next_command.startswith("flwr run")
    during = []

    def tamper(node: int, request: Request) -> Request | None:
        if isinstance(request, Deliver) and request.parameters and node == consortium.node(NAME):
            during.append(read_run_status(server.path))
        return request

    serve_training(direct_wire(consortium.silos, tamper), server, patience_seconds=PATIENCE)
    assert {status.state for status in during} == {RunState.RUNNING}
    assert [len(status.spent.completed) for status in during] == [0, 1, 2]
    assert "running, round 2 of 3" in during[1].lines()[0]
    after = read_run_status(server.path)
    assert (after.state, after.epsilon) == (RunState.COMPLETED, consortium.plan.spent(3).epsilon)
    assert after.last_round is not None
    assert after.last_round.survivors == consortium.plan.facts.silos
    assert after.last_line is not None
    assert after.last_line["event"] == "completed"
    assert after.next_command == f"discreet consortium finish {server.path}"


def test_a_silo_that_is_missing_is_named(consortium: SmallConsortium, direct_wire: type[DirectWire]) -> None:
    def tamper(node: int, request: Request) -> Request | None:
        return None if node == consortium.node(NAME) else request

    server = consortium.folder.server
    serve_training(direct_wire(consortium.silos, tamper), server, patience_seconds=PATIENCE)
    lines = read_run_status(server.path).lines()
    assert any(line.startswith("last round: 3 silos") and line.endswith(f"without {NAME}") for line in lines)


def test_a_training_that_stands_says_whom_it_waits_for(
    consortium: SmallConsortium, direct_wire: type[DirectWire]
) -> None:
    """Two of four silos go in round 2, where three must be there; they never come back."""
    server = consortium.folder.server
    gone: set[int] = set()
    during: list[Any] = []

    def tamper(node: int, request: Request) -> Any:
        if isinstance(request, Deliver) and request.parameters:
            during.append(read_run_status(server.path))
        if read_run_status(server.path).spent.completed:
            gone.update(consortium.node(name) for name in ("cleveland", NAME))
        return None if node in gone else request

    class Waiting(DirectWire):
        def nodes(self) -> Any:
            here = tuple(node for node in super().nodes() if node not in gone)
            during.append(read_run_status(server.path))
            return here

    with pytest.raises(DiscreetError):
        serve_training(Waiting(consortium.silos, tamper), server, patience_seconds=PATIENCE)
    first, last = during[0], during[-1]
    assert first.absent == consortium.plan.facts.silos, "nobody has joined when the server begins to wait"
    everybody = [status for status in during if status.state is RunState.RUNNING and not status.absent]
    assert everybody
    assert not any(status.waiting or "waiting" in status.lines()[0] for status in everybody)
    assert last.absent == ("cleveland", NAME)
    assert last.lines()[0].endswith("running, round 2 of 3; waiting for cleveland, hungary")
    assert any(
        line.startswith("silos ") and line.endswith("; without cleveland, hungary") for line in last.lines()
    )
    assert (last.to_json()["absent"], last.to_json()["waiting"]) == (["cleveland", NAME], True)
    log = server.log.read_text()
    assert log.count('"waiting for cleveland, hungary"') == 1
    assert read_run_status(server.path).absent == (), "nobody is waited for after the end"


def test_a_stop_gives_its_reason_and_a_cut_says_that_there_is_none(
    consortium: SmallConsortium, direct_wire: type[DirectWire]
) -> None:
    server = consortium.folder.server

    def tamper(node: int, request: Request) -> Request | None:
        if isinstance(request, Deliver) and request.parameters:
            raise PowerCut
        return request

    with pytest.raises(PowerCut):
        serve_training(direct_wire(consortium.silos, tamper), server, patience_seconds=PATIENCE)
    cut = read_run_status(server.path)
    assert (cut.state, cut.reason) == (RunState.INTERRUPTED, None)
    assert cut.epsilon == consortium.plan.spent(1).epsilon, "the interrupted round is charged"
    (server.path / "allow-list.json").unlink()
    with pytest.raises(ConfigurationError):
        serve_training(direct_wire(consortium.silos), server, patience_seconds=PATIENCE)
    stopped = read_run_status(server.path)
    assert stopped.state is RunState.STOPPED
    assert "allow-list.json" in str(stopped.reason)


def test_the_metrics_of_a_training_are_those_of_its_files(
    consortium: SmallConsortium, direct_wire: type[DirectWire]
) -> None:
    server = consortium.folder.server
    empty = parse(exposition(run_metrics(read_run_status(server.path))))
    serve_training(direct_wire(consortium.silos), server, patience_seconds=PATIENCE)
    page = parse(exposition(run_metrics(read_run_status(server.path))))
    assert page.families.keys() == empty.families.keys()
    found = {name: value for (name, labels), value in page.values().items() if not labels}
    assert found["discreet_run_rounds_completed_total"] == found["discreet_run_rounds_planned"] == 3
    assert found["discreet_run_last_round_survivors"] == 4
    assert found["discreet_run_epsilon_charged"] == consortium.plan.spent(3).epsilon
    states = page.families["discreet_run_state"].samples
    assert states[("state", "completed"),] == 1.0
    assert sum(states.values()) == 1.0


def another_plan(config: Any) -> Any:
    training = config.training.model_copy(update={"rounds": config.training.rounds + 2})
    return plan_without_data(config.model_copy(update={"training": training}))


def test_what_was_spent_follows_from_the_plan_that_it_was_spent_under(
    consortium: SmallConsortium, direct_wire: type[DirectWire]
) -> None:
    server = consortium.folder.server
    serve_training(direct_wire(consortium.silos), server, patience_seconds=PATIENCE)
    before, numbers = read_run_status(server.path), run_metrics(read_run_status(server.path))
    assert before.other_plan is None
    assert not any(line.startswith("plan ") for line in before.lines())
    other = another_plan(consortium.plan.config)
    other.save(server.path / "plan.json")
    after = read_run_status(server.path)
    assert (after.plan, after.planned, after.epsilon) == (before.plan, 3, before.epsilon)
    assert run_metrics(after) == numbers
    (line,) = [line for line in after.lines() if line.startswith("plan ")]
    assert f"is another plan ({other.digest()[:16]})" in line
    (server.path / "plan.json").unlink()
    gone = read_run_status(server.path)
    assert (gone.state, gone.epsilon) == (RunState.COMPLETED, before.epsilon)
    assert "plan.json must be readable" in gone.to_json()["other_plan"]


def test_a_run_whose_plan_was_exchanged_is_refused(
    consortium: SmallConsortium, direct_wire: type[DirectWire]
) -> None:
    server = consortium.folder.server
    serve_training(direct_wire(consortium.silos), server, patience_seconds=PATIENCE)
    another_plan(consortium.plan.config).save(server.run.plan)
    with pytest.raises(LedgerError, match="must belong to the plan beside it"):
        read_run_status(server.path)


def test_a_frozen_plan_is_never_replaced_by_another(tmp_path: Path) -> None:
    config, out = EXAMPLES / "heart.toml", tmp_path / "plan.json"
    planned: Any = lambda path: CliRunner().invoke(consortium_app, ["plan", str(path), "--out", str(out)])  # noqa: E731
    assert planned(config).exit_code == 0
    frozen = out.read_bytes()
    assert planned(config).exit_code == 0, "the same plan again is no other"
    out.write_bytes(load_plan(out).document())
    assert planned(config).exit_code == 0, "nor is its file from before costs were written into it"
    assert out.read_bytes() == frozen
    other = tmp_path / "other.toml"
    other.write_text(config.read_text().replace("epsilon = 1.0", "epsilon = 2.0"))
    refused = planned(other)
    assert isinstance(refused.exception, ConfigurationError)
    assert f"{out} holds something else" in str(refused.exception)
    assert out.read_bytes() == frozen


@pytest.mark.parametrize("command", [["status"], ["abort"], ["metrics"], ["status", "--json"]])
def test_a_folder_without_a_plan_is_one_clear_line(tmp_path: Path, command: list[str]) -> None:
    result = CliRunner().invoke(consortium_app, [*command, str(tmp_path)])
    assert isinstance(result.exception, ConfigurationError)
    assert "plan.json must be readable" in str(result.exception)
    assert list(tmp_path.iterdir()) == []


def test_a_policy_that_is_not_there_is_one_clear_line(tmp_path: Path) -> None:
    result = CliRunner().invoke(silo_app, ["status", str(tmp_path / "policy.toml")])
    assert isinstance(result.exception, ConfigurationError)


def test_status_of_a_training_as_json(consortium: SmallConsortium, direct_wire: type[DirectWire]) -> None:
    server = consortium.folder.server
    serve_training(direct_wire(consortium.silos), server, patience_seconds=PATIENCE)
    result = CliRunner().invoke(consortium_app, ["status", str(server.path), "--json"])
    read = json.loads(result.output)
    assert (read["state"], read["rounds"]["completed"]) == ("completed", 3)
    assert read["charged"]["epsilon"] == consortium.plan.spent(3).epsilon
