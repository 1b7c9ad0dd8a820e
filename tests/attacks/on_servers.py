"""Attacks of a stranger's node on the aggregation server and on the silos behind it."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass

from discreet.engines.flower.service import ServerFolder, serve_training
from discreet.silo.requests import Deliver, Hello, Present, Refused, Reply, Request
from tests.attacks.hospitals import PATIENCE, Hospitals, hospitals, survivors
from tests.attacks.outcome import Outcome

STRANGER = 999


@dataclass
class Stranger:
    """A node of nobody that answers as it likes."""

    answer: Callable[[Request], Reply]

    def handle(self, request: Request) -> Reply:
        return self.answer(request)


def _refusing(request: Request) -> Reply:
    return Present("a") if isinstance(request, Hello) else Refused("a", "not-allowed", "leave me")


def refusal_in_another_name() -> Outcome:
    """A stranger's node refuses for silo ``a``, which then drops out of one round and comes back."""
    with hospitals() as world:
        wire = world.wire({STRANGER: Stranger(_refusing)})
        engine = world.engine(wire)
        engine.open()
        first = survivors(engine, world.order(1))
        wire.tamper = lambda node, request: (
            None if node == 100 and isinstance(request, Deliver) and request.parameters else request
        )
        survivors(engine, world.order(2))
        wire.tamper = lambda _, request: request
        last = survivors(engine, world.order(3))
    works = "a" not in first or "a" not in last
    now = "a is out for good" if works else "ignored; a comes back"
    return Outcome("S11: a node that speaks for another silo", "the silo was never invited again", now, works)


def forged_lines_in_the_servers_log() -> Outcome:
    """A stranger's node refuses with line ends and escapes of a terminal."""
    words = Refused("b\x1b[2J", "not-\nallowed", "no\ncompleted")
    with hospitals() as world:
        world.engine(world.wire({STRANGER: Stranger(lambda _: words)})).open()
        found = [line for line in world.lines if not line.isprintable()]
    now = f"{len(found)} lines forged" if found else f"{len(world.lines)} lines, each one line"
    return Outcome("S11: forged lines in the server's log", "lines of the attacker's words", now, bool(found))


def _outcome(world: Hospitals, reply: bytes) -> str:
    """Trains with one node that always answers ``reply``; returns how the training ended."""
    wire = world.wire({STRANGER: Stranger(lambda _: Present("stranger"))})
    collect = wire.collect
    wire.collect = lambda posted: {
        key: reply if posted[key] == STRANGER else body for key, body in collect(posted).items()
    }
    folder = ServerFolder(world.folder / "server")
    folder.path.mkdir()
    (folder.path / "plan.json").write_bytes(world.plan.document())
    (folder.path / "allow-list.json").write_bytes(world.signed(1))
    try:
        serve_training(wire, folder, patience_seconds=PATIENCE)
    except Exception as error:
        return type(error).__name__
    return str(json.loads(folder.outcome.read_bytes())["status"])


def reply_that_ends_the_training() -> Outcome:
    """Nested JSON, a number without end and a surrogate, as one node's reply."""
    ended = []
    for body in (b"[" * 100_000, b"9" * 5000, b'{"kind":"Present","silo":"\\ud800","sizes":{}}'):
        with hospitals() as world:
            ended.append(_outcome(world, b"dsr1" + len(body).to_bytes(4, "little") + body))
    works = [how for how in ended if how != "completed"]
    now = f"ended by {works[0]}" if works else f"completed {len(ended)} times"
    return Outcome("S10: a reply that ends the training", "RecursionError, no outcome.json", now, bool(works))


ATTACKS = (refusal_in_another_name, forged_lines_in_the_servers_log, reply_that_ends_the_training)
