"""Flower's own Message API between the engine and the silos; needs the extra ``discreet[flower]``."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, cast

import pytest

from tests.engines.conftest import SmallConsortium

pytest.importorskip("flwr")

from flwr.app import ArrayRecord, ConfigRecord, Context, Error, Message, RecordDict

from discreet.engines.flower.client_app import SOCKET_KEY, app, rehearsal_socket, relay, silo_socket
from discreet.engines.flower.grid_wire import MESSAGE_TYPE, GridWire, from_content, to_content
from discreet.engines.flower.rehearsal import rehearsed, served
from discreet.engines.flower.service import serve_training
from discreet.engines.local import run
from discreet.errors import ConfigurationError
from discreet.silo.requests import Hello, Refused, decode, encode
from tests.support.local_grid import LocalGrid

PATIENCE = 0.3


@pytest.fixture
def grid(consortium: SmallConsortium, tmp_path: Path) -> Iterator[Callable[..., Any]]:
    """Every silo behind its socket, reached by the real ClientApp through an in-process grid."""
    with ExitStack() as stack:
        configs = {}
        for node, silo in consortium.silos.items():
            path = tmp_path / f"{node}.sock"
            stack.enter_context(served(silo, path))
            configs[node] = {SOCKET_KEY: str(path)}
        yield lambda **options: LocalGrid(app, configs, **options)


def test_flower_messages_give_the_bytes_of_the_local_engine(
    grid: Callable[..., Any], consortium: SmallConsortium, small_config: Callable[..., Any], tmp_path: Path
) -> None:
    run(small_config(), tmp_path / "local")
    serve_training(GridWire(grid()), consortium.folder.server, patience_seconds=PATIENCE)
    assert consortium.folder.server.run.model.read_bytes() == (
        (tmp_path / "local" / "model.safetensors").read_bytes()
    )


def test_a_silo_that_is_never_reached_is_left_out(
    grid: Callable[..., Any], consortium: SmallConsortium
) -> None:
    gone = consortium.node("hungary")
    wire = GridWire(grid(loses=lambda node, _: node == gone))
    serve_training(wire, consortium.folder.server, patience_seconds=PATIENCE)
    assert "3 silos" in consortium.folder.server.log.read_text()


def test_bytes_survive_flowers_records() -> None:
    body = bytes(range(256)) * 5
    content = to_content(body)
    assert from_content(content) == body
    assert len(content.array_records["discreet"]["body"].data) < len(body) + 200, "a header, and no encoding"
    assert from_content(to_content(b"")) == b""


@pytest.mark.parametrize(
    "content",
    [
        RecordDict(),
        RecordDict({"discreet": ConfigRecord({"body": 1})}),
        RecordDict({"discreet": ArrayRecord()}),
    ],
)
def test_other_contents_are_refused(content: RecordDict) -> None:
    with pytest.raises(ValueError, match="one array of bytes"):
        from_content(content)


def context(node_config: dict[str, Any] | None = None, run_config: dict[str, str] | None = None) -> Context:
    return Context(1, 7, node_config or {}, RecordDict(), run_config or {})


def greeting() -> Message:
    LocalGrid(app, {})  # gives this process an identity that messages can be made under
    return Message(to_content(encode(Hello())), dst_node_id=7, message_type=MESSAGE_TYPE)


def test_a_supernode_without_its_silo_refuses_in_one_line(tmp_path: Path) -> None:
    reply = relay(greeting(), context({SOCKET_KEY: str(tmp_path / "nobody.sock")}))
    refused = decode(from_content(reply.content))
    assert isinstance(refused, Refused)
    assert refused.code == "no-silo"
    assert "discreet silo serve" in refused.reason


def test_the_nodes_own_configuration_wins_over_the_run() -> None:
    own = context({SOCKET_KEY: "/own.sock", "partition-id": 2}, {"rehearsal": "/elsewhere"})
    assert str(silo_socket(own)) == "/own.sock"
    simulated = context({"partition-id": 2}, {"rehearsal": "/rehearsal"})
    assert str(silo_socket(simulated)) == "/rehearsal/2.sock"
    with pytest.raises(ConfigurationError, match="silo-socket"):
        silo_socket(context({}, {"rehearsal": "/elsewhere"}))


def test_error_replies_and_foreign_replies_count_as_no_answer() -> None:
    class Broken:
        def get_node_ids(self) -> Any:
            return [7]

        def push_messages(self, messages: list[Message]) -> list[str | None]:
            self.sent = messages
            return ["1", None]

        def pull_messages(self, _: list[str]) -> list[Message]:
            first = self.sent[0]
            first.metadata.__dict__["_message_id"] = "1"
            return [Message(Error(code=5, reason="gone"), reply_to=first)]

    LocalGrid(app, {})
    wire = GridWire(cast(Any, Broken()))
    posted = wire.post({7: b"a", 8: b"b"}, label="x", lifetime_seconds=5.0)
    assert posted == {"1": 7}
    assert wire.collect(posted) == {"1": None}


def test_a_rehearsal_serves_every_policy_by_number(consortium: SmallConsortium, tmp_path: Path) -> None:
    for silo in consortium.silos.values():
        silo.close()
    with rehearsed(consortium.folder.silos):
        for number, name in enumerate(sorted(consortium.plan.facts.silos)):
            path = rehearsal_socket(consortium.folder.silos, number)
            reply = relay(greeting(), context({SOCKET_KEY: str(path)}))
            assert name.encode() in from_content(reply.content)
