"""A connected node that lies: it speaks for itself only, and the training goes on without it."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from discreet.engines.flower.engine import FlowerEngine
from discreet.engines.flower.members import Members
from discreet.engines.flower.service import serve_training
from discreet.engines.flower.wire import Posted
from discreet.errors import NotEnoughSurvivors
from discreet.models import build_model, flatten
from discreet.randomness import SeededRandom
from discreet.rounds import RoundOrder
from discreet.silo.requests import Deliver, Hello, Joined, Present, Propose, Refused, Replied, Reply, Request
from tests.engines.conftest import DirectWire, SmallConsortium

STRANGER = 999
PATIENCE = 0.05


class Stranger:
    """A node of nobody that answers as it likes; the wire sees a silo."""

    name: str = "stranger"

    def __init__(self, answer: Callable[..., Any]) -> None:
        self.answer = answer

    def handle(self, request: Request) -> Reply:
        return self.answer(request)

    def close(self) -> None:
        pass


def refuse_for(name: str) -> Callable[..., Any]:
    return lambda _: Refused(name, "not-allowed", "leave me\nalone")


def back_as(name: str) -> Callable[..., Any]:
    def answer(request: Hello | Propose) -> Joined | Present:
        return Present(name) if isinstance(request, Hello) else Joined(name, False, b"no advertisement")

    return answer


def engine(
    consortium: SmallConsortium, wire: DirectWire, announce: Callable[..., Any] = lambda _: None
) -> FlowerEngine:
    made = FlowerEngine(
        consortium.folder.server.proposal(), wire, SeededRandom(1), patience_seconds=PATIENCE,
        announce=announce,
    )  # fmt: skip
    made.open()
    return made


def order(consortium: SmallConsortium, release: int) -> RoundOrder:
    facts = consortium.plan.facts
    model = build_model("logistic", facts.feature_shape, facts.num_classes, seed=0)
    return RoundOrder(release, release, flatten(model))


def proposals(wire: DirectWire) -> Counter[int]:
    return Counter(node for node, request in wire.seen if isinstance(request, Propose))


def test_a_reply_that_is_longer_than_any_of_a_silo_is_not_read(
    consortium: SmallConsortium, direct_wire: type[DirectWire]
) -> None:
    stranger: Any = Stranger(lambda _: Replied(bytes((1 << 26) + (1 << 16))))
    nodes = {**consortium.silos, STRANGER: stranger}
    said: list[str] = []
    engine(consortium, direct_wire(nodes), said.append)
    assert [line for line in said if "joined" not in line] == [
        line for line in said if line.startswith(f"node {STRANGER}: a reply must have at most ")
    ]
    assert len(said) == len(nodes)


@pytest.mark.parametrize("answer", [refuse_for, back_as])
@pytest.mark.parametrize("first", [True, False], ids=["before the silo", "after the silo"])
def test_nobody_can_take_a_silo_out_by_its_name(
    consortium: SmallConsortium, direct_wire: type[DirectWire], answer: Callable[..., Any], first: bool
) -> None:
    """The lie comes before or after the silo's own advertisement; hungary drops out once and comes back."""
    nodes = {**consortium.silos}
    liar = {STRANGER: Stranger(answer("hungary"))}
    wire = direct_wire({**liar, **nodes} if first else {**nodes, **liar})
    made, home = engine(consortium, wire), consortium.node("hungary")
    assert len(made.sum_round(order(consortium, 1)).survivors) == 4
    wire.tamper = lambda node, request: (
        None if node == home and isinstance(request, Deliver) and request.parameters else request
    )
    assert len(made.sum_round(order(consortium, 2)).survivors) == 3
    wire.tamper = lambda _, request: request
    assert len(made.sum_round(order(consortium, 3)).survivors) == 4


@pytest.mark.parametrize("name", ["hungary", "cleveland", "nobody"])
def test_a_stranger_that_calls_itself_a_silo_makes_nobody_change_keys(
    consortium: SmallConsortium, direct_wire: type[DirectWire], name: str
) -> None:
    """Hungary's own node is cut off but connected, and what another one says in its name is ignored."""
    wire = direct_wire({**consortium.silos, STRANGER: Stranger(lambda _: Present(name))})
    made = engine(consortium, wire)
    wire.tamper = lambda node, request: None if node == consortium.node("hungary") else request
    for release in (1, 2, 3):
        assert len(made.sum_round(order(consortium, release)).survivors) == 3
    assert proposals(wire)[consortium.node("cleveland")] == 1


def test_a_refusal_in_another_name_is_shown_as_the_nodes_own(
    consortium: SmallConsortium, direct_wire: type[DirectWire]
) -> None:
    lines: list[Any] = []
    wire = direct_wire({**consortium.silos, STRANGER: Stranger(refuse_for("hungary"))})
    engine(consortium, wire, lines.append)
    assert f"node {STRANGER} refused (not-allowed): leave me?alone" in lines
    assert not any(line.startswith("hungary refused") for line in lines)


def test_a_node_whose_signature_is_wrong_is_not_asked_again(
    consortium: SmallConsortium, direct_wire: type[DirectWire]
) -> None:
    """It claims a silo that never joined, which nobody else can contradict."""
    missing = consortium.node("hungary")
    nodes = {node: silo for node, silo in consortium.silos.items() if node != missing}
    wire = direct_wire({**nodes, STRANGER: Stranger(back_as("hungary"))})
    made = engine(consortium, wire)
    for release in (1, 2, 3):
        assert len(made.sum_round(order(consortium, release)).survivors) == 3
    assert set(proposals(wire).values()) == {1}


def test_what_a_node_says_is_shown_as_one_short_line(
    consortium: SmallConsortium, direct_wire: type[DirectWire]
) -> None:
    lines: list[Any] = []
    liar = Stranger(lambda _: Refused("hungary\x1b[2J", "not-\nallowed", "x\n" * 10_000))
    engine(consortium, direct_wire({**consortium.silos, STRANGER: liar}), lines.append)
    assert all(line.isprintable() and len(line) < 2000 for line in lines)


def test_a_name_moves_with_its_signature() -> None:
    members = Members()
    members.add("a", 1, seeded=False)
    assert members.may_speak(1, "a", {1, 2})
    assert not members.may_speak(2, "a", {1, 2}), "signed elsewhere"
    assert not members.may_speak(1, "b", {1, 2}), "somebody else signed here"
    assert members.may_speak(2, "a", {2}), "the old node is gone"
    members.add("a", 2, seeded=False)
    assert not members.may_speak(1, "a", {1, 2})
    assert members.may_speak(1, "b", {1, 2})


NESTED = b"[" * 100_000
BAD = [
    b"dsr1" + len(body).to_bytes(4, "little") + body
    for body in (NESTED, b'{"kind":"Present","silo":"\\ud800","sizes":{}}', b"9" * 5000, b"1e999")
]


@pytest.mark.parametrize("reply", BAD, ids=["nested", "surrogate", "digits", "infinite"])
def test_one_bad_reply_ends_no_training(
    consortium: SmallConsortium, direct_wire: type[DirectWire], reply: bytes
) -> None:
    wire = direct_wire({**consortium.silos, STRANGER: Stranger(lambda _: Present("stranger"))})
    collect = wire.collect

    def spoiled(posted: Posted) -> dict[str, bytes | None]:
        return {key: reply if posted[key] == STRANGER else body for key, body in collect(posted).items()}

    wire.collect = spoiled  # type: ignore[method-assign]
    server = consortium.folder.server
    serve_training(wire, server, patience_seconds=PATIENCE)
    assert json.loads(server.outcome.read_bytes())["status"] == "completed"


def test_an_error_that_nobody_expected_leaves_an_outcome(
    consortium: SmallConsortium, direct_wire: type[DirectWire]
) -> None:
    wire = direct_wire(consortium.silos)

    def broken(posted: Posted) -> dict[str, bytes | None]:
        raise RuntimeError("the network's library failed")

    wire.collect = broken  # type: ignore[method-assign]
    server = consortium.folder.server
    with pytest.raises(RuntimeError):
        serve_training(wire, server, patience_seconds=PATIENCE)
    outcome = json.loads(server.outcome.read_bytes())
    assert (outcome["status"], outcome["error"]) == ("stopped", "internal error: RuntimeError")
    assert outcome["exit_code"] == 1


def test_a_node_whose_silo_is_gone_is_named_by_the_silo_that_was_there(
    consortium: SmallConsortium, direct_wire: type[DirectWire]
) -> None:
    """Two silos stop and their SuperNodes stay, so that too few are left and everybody is asked anew."""
    lines: list[str] = []
    homes = [consortium.node(name) for name in ("hungary", "cleveland")]
    silos: dict[int, Any] = dict(consortium.silos)
    made = engine(consortium, direct_wire(silos), lines.append)
    for home in homes:
        silos[home] = Stranger(lambda _, home=home: Refused(f"node {home}", "no-silo", "nobody listens"))
    for attempt in (1, 2):
        with pytest.raises(NotEnoughSurvivors):
            made.sum_round(order(consortium, attempt))
    assert f"node {homes[0]}, where hungary was, refused (no-silo): nobody listens" in lines
    assert made.missing == tuple(
        name for name in consortium.plan.facts.silos if name in ("hungary", "cleveland")
    )
    for home in homes:
        silos[home] = consortium.silos[home]
    assert len(made.sum_round(order(consortium, 3)).survivors) == 4, "no-silo is no refusal for ever"
