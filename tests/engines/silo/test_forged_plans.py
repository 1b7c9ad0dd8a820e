"""A plan that is an attack: nothing of it runs, at the silo's door or on the owner's own command."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from discreet.engines.flower.rehearsal import served
from discreet.errors import ConfigurationError, PeerProtocolError
from discreet.privacy.wire import digest
from discreet.silo.check import dry_run
from discreet.silo.connection import ask
from discreet.silo.policy import PolicyRefusal, RefusalCode, load_policy, read_plan
from discreet.silo.requests import Propose, Refused, decode, encode
from tests.engines.conftest import SmallConsortium
from tests.support.pasted import in_process

NAME = "cleveland"


@pytest.fixture
def marker(tmp_path: Path) -> Path:
    return tmp_path / "executed"


@pytest.fixture
def forged(consortium: SmallConsortium, marker: Path) -> bytes:
    """A command in place of a model, under a digest that a pin of the policy allows."""
    document = json.loads((consortium.folder.server.path / "plan.json").read_bytes())
    pin = f"sha256:{document['plan']['facts']['model_digest']}"
    consortium.edit_policy(NAME, f"logistic@{pin}", pin)
    document["plan"]["config"]["model"]["name"] = "subprocess:Popen"
    document["plan"]["facts"]["feature_shape"] = ["/bin/sh", "-c", f"touch {marker}"]
    document["digest"] = digest(document["plan"])
    return json.dumps(document).encode()


def proposal(consortium: SmallConsortium, plan: bytes) -> Propose:
    allow_list = (consortium.folder.server.path / "allow-list.json").read_bytes()
    return Propose(epoch=1, session=bytes(32), plan=plan, allow_list=allow_list)


def test_the_silo_refuses_and_runs_nothing(consortium: SmallConsortium, forged: bytes, marker: Path) -> None:
    reply = consortium.silos[consortium.node(NAME)].handle(proposal(consortium, forged))
    assert isinstance(reply, Refused)
    assert reply.code == "plan"
    assert not marker.exists()


def test_nor_does_it_through_its_socket(
    consortium: SmallConsortium, forged: bytes, marker: Path, tmp_path: Path
) -> None:
    path = tmp_path / "s.sock"
    with served(consortium.silos[consortium.node(NAME)], path):
        reply = decode(ask(path, encode(proposal(consortium, forged)), timeout_seconds=60.0))
    assert isinstance(reply, Refused)
    assert reply.code == "plan"
    assert not marker.exists()


@pytest.mark.parametrize("approval", ["policy", "person"])
def test_looking_at_the_plan_runs_nothing(
    consortium: SmallConsortium, forged: bytes, marker: Path, approval: str
) -> None:
    path = consortium.folder.policy(NAME)
    path.write_text(path.read_text().replace("[require]", f'[require]\napproval = "{approval}"'))
    with pytest.raises(PolicyRefusal) as caught:
        dry_run(load_policy(path), read_plan(forged))
    assert caught.value.code is RefusalCode.PLAN
    assert not marker.exists()


def test_the_owners_command_refuses_in_one_line(
    consortium: SmallConsortium,
    forged: bytes,
    marker: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    plan = consortium.folder.path / "forged.json"
    plan.write_bytes(forged)
    where = [str(consortium.folder.policy(NAME)), str(plan)]
    for command in (["check"], ["silo", "approve"]):
        assert in_process(["discreet", *command, *where], monkeypatch) == 3
        said = capsys.readouterr().err
        assert "feature_shape" in said
        assert "Traceback" not in said
    assert not marker.exists()


@pytest.mark.parametrize("epoch", [-1, 1 << 32, 10**400])
def test_an_epoch_is_a_number_that_the_protocol_can_write(epoch: int) -> None:
    with pytest.raises(ValueError, match="epoch"):
        Propose(epoch, bytes(32), b"", b"")


@pytest.mark.parametrize("epoch", ["-1", "4294967296", "1" + 400 * "0", "1" + 5000 * "0", "1.0", "true"])
def test_nor_is_another_one_read(epoch: str) -> None:
    sizes = '{"session":0,"plan":0,"allow_list":0}'
    header = f'{{"kind":"Propose","epoch":{epoch},"sizes":{sizes}}}'.encode()
    with pytest.raises(PeerProtocolError):
        decode(b"dsr1" + len(header).to_bytes(4, "little") + header)


def test_a_policy_with_nested_tables_is_one_clear_line(consortium: SmallConsortium) -> None:
    path = consortium.folder.policy(NAME)
    path.write_text(path.read_text() + "\n[extra]\nx = " + "[" * 5000 + "]" * 5000 + "\n")
    with pytest.raises(ConfigurationError, match="levels may be nested") as caught:
        load_policy(path)
    assert "\n" not in str(caught.value)
