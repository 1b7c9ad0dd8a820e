"""A server that lies: every silo refuses, says why, and sends nothing that could hurt it."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from discreet.engines.flower.engine import FlowerEngine
from discreet.engines.flower.wire import Posted
from discreet.errors import NotEnoughSurvivors, PrivacyRefusal, PrivacyViolation
from discreet.models import build_model, flatten
from discreet.plan import Plan
from discreet.privacy.ledger import read_ledger
from discreet.privacy.wire import digest
from discreet.randomness import SeededRandom
from discreet.rounds import RoundOrder
from discreet.secagg import AllowList
from discreet.secagg.codec import decode, encode
from discreet.secagg.messages import ConfirmSet, SurvivorSet
from discreet.silo.policy import Consortium, SignedAllowList, generate_key
from discreet.silo.requests import Deliver, Joined, Propose, Refused, Replied, Request
from tests.engines.conftest import DirectWire, SmallConsortium

PATIENCE = 0.05


def proposal(consortium: SmallConsortium, **changes: Any) -> Propose:
    folder = consortium.folder.server.path
    values = {
        "epoch": 1,
        "session": bytes(range(32)),
        "plan": (folder / "plan.json").read_bytes(),
        "allow_list": (folder / "allow-list.json").read_bytes(),
    }
    return Propose(**{**values, **changes})


def altered_plan(consortium: SmallConsortium, change: Callable[..., Any]) -> bytes:
    """Returns the plan with a change and a digest that fits it: what a lying server would send."""
    document = json.loads((consortium.folder.server.path / "plan.json").read_bytes())
    change(document["plan"])
    document["digest"] = digest(document["plan"])
    return json.dumps(document).encode()


def engine(consortium: SmallConsortium, wire: DirectWire) -> FlowerEngine:
    made = FlowerEngine(
        consortium.folder.server.proposal(), wire, SeededRandom(1), patience_seconds=PATIENCE,
        announce=lambda _: None,
    )  # fmt: skip
    made.open()
    return made


def order(consortium: SmallConsortium, release: int = 1, sequence: int = 1) -> RoundOrder:
    config, facts = consortium.plan.config, consortium.plan.facts
    model = build_model(config.model.name, facts.feature_shape, facts.num_classes, seed=config.model.seed)
    return RoundOrder(release, sequence, flatten(model))


def rewriting(
    consortium: SmallConsortium,
    name: str,
    kind: type[ConfirmSet],
    change: Callable[..., Any],
    replies: None = None,
) -> Callable[..., Any]:
    """Returns a tamper that changes the secure-aggregation messages of one kind to one silo."""
    victim = consortium.node(name)

    def tamper(node: int, request: Request) -> Request | None:
        if node != victim or not isinstance(request, Deliver):
            return request
        agreed, epoch = request.messages[-1][5:37], int.from_bytes(request.messages[-1][37:41], "little")
        messages = [decode(data, agreed, epoch) for data in request.messages]
        if isinstance(messages[-1], kind):
            messages[-1] = change(messages[-1])
        return dataclasses.replace(
            request, messages=tuple(encode(message, agreed, epoch) for message in messages)
        )

    return tamper


def noise(plan: dict[str, Any]) -> None:
    plan["release"]["share"]["silo_stddev"] /= 4


def sensitivity(plan: dict[str, Any]) -> None:
    plan["release"]["l2_sensitivity"] /= 2


def grid_scale(plan: dict[str, Any]) -> None:
    plan["grid"]["scale"] *= 2


def floor(plan: dict[str, Any]) -> None:
    plan["thresholds"]["min_survivors"] = 2


def epsilon(plan: dict[str, Any]) -> None:
    plan["config"]["privacy"]["epsilon"] = 50.0


@pytest.mark.parametrize("change", [noise, sensitivity, grid_scale, floor, epsilon])
def test_a_changed_plan_is_refused_even_if_its_digest_fits(
    consortium: SmallConsortium, change: Callable[..., Any]
) -> None:
    for silo in consortium.silos.values():
        reply = silo.handle(proposal(consortium, plan=altered_plan(consortium, change)))
        assert isinstance(reply, Refused)
        assert reply.code in ("plan", "not-allowed")
        assert reply.silo == silo.name


def test_a_plan_that_was_altered_under_its_digest_is_refused(consortium: SmallConsortium) -> None:
    document = (consortium.folder.server.path / "plan.json").read_bytes()
    reply = next(iter(consortium.silos.values())).handle(
        proposal(consortium, plan=document.replace(b'"rounds": 3', b'"rounds": 4'))
    )
    assert isinstance(reply, Refused)
    assert "altered" in reply.reason


def test_a_changed_model_digest_is_refused(consortium: SmallConsortium) -> None:
    def model(plan: dict[str, Any]) -> None:
        plan["facts"]["model_digest"] = "0" * 64

    reply = next(iter(consortium.silos.values())).handle(
        proposal(consortium, plan=altered_plan(consortium, model))
    )
    assert isinstance(reply, Refused)
    assert reply.code == "not-allowed"


def test_a_list_that_the_consortium_did_not_sign_is_refused(
    consortium: SmallConsortium, tmp_path: Path
) -> None:
    stranger = Consortium(generate_key(tmp_path / "stranger.key"))
    known = SignedAllowList.parse((consortium.folder.server.path / "allow-list.json").read_bytes())
    forged = stranger.sign({name: bytes.fromhex(key) for name, key in known.silos.items()}, serial=2)
    reply = next(iter(consortium.silos.values())).handle(proposal(consortium, allow_list=forged.serialise()))
    assert isinstance(reply, Refused)
    assert reply.code == "identity"


def test_an_older_list_is_refused_after_a_newer_one(consortium: SmallConsortium) -> None:
    from discreet.silo.policy import load_key

    signer = Consortium(load_key(consortium.folder.consortium_key))
    known = SignedAllowList.parse((consortium.folder.server.path / "allow-list.json").read_bytes())
    newer = signer.sign({name: bytes.fromhex(key) for name, key in known.silos.items()}, serial=2)
    silo = next(iter(consortium.silos.values()))
    assert isinstance(silo.handle(proposal(consortium, allow_list=newer.serialise())), Joined)
    reply = silo.handle(proposal(consortium, epoch=2))
    assert isinstance(reply, Refused)
    assert "serial 2" in reply.reason


def test_a_silo_whose_key_is_not_on_the_list_says_so(consortium: SmallConsortium, tmp_path: Path) -> None:
    from discreet.silo.policy import load_key

    signer = Consortium(load_key(consortium.folder.consortium_key))
    known = SignedAllowList.parse((consortium.folder.server.path / "allow-list.json").read_bytes())
    keys = {name: bytes.fromhex(key) for name, key in known.silos.items()}
    keys["hungary"] = generate_key(tmp_path / "other.key").public_key
    reply = consortium.silos[consortium.node("hungary")].handle(
        proposal(consortium, allow_list=signer.sign(keys, serial=2).serialise())
    )
    assert isinstance(reply, Refused)
    assert "Enrol this silo's public key" in reply.reason


def test_the_same_session_and_epoch_are_never_used_twice(consortium: SmallConsortium) -> None:
    silo = next(iter(consortium.silos.values()))
    assert isinstance(silo.handle(proposal(consortium)), Joined)
    reply = silo.handle(proposal(consortium))
    assert isinstance(reply, Refused)
    assert "replayed" in reply.reason


def test_nor_after_a_restart(consortium: SmallConsortium) -> None:
    assert isinstance(consortium.silos[100].handle(proposal(consortium)), Joined)
    consortium.reopen(consortium.silos[100].name)
    reply = consortium.silos[100].handle(proposal(consortium))
    assert isinstance(reply, Refused)
    assert "replayed" in reply.reason


def test_messages_without_a_proposal_are_refused(consortium: SmallConsortium) -> None:
    reply = consortium.silos[100].handle(Deliver((b"anything",)))
    assert isinstance(reply, Refused)
    assert "must be proposed" in reply.reason


def test_another_model_than_the_one_announced_is_refused_by_every_silo(
    consortium: SmallConsortium, direct_wire: type[DirectWire]
) -> None:
    def tamper(_: int, request: Request) -> Request | None:
        if isinstance(request, Deliver) and request.parameters:
            return dataclasses.replace(request, parameters=bytes(len(request.parameters)))
        return request

    wire = direct_wire(consortium.silos)
    made = engine(consortium, wire)
    order_ = order(consortium)
    other = RoundOrder(1, 1, order_.parameters + 1.0)
    wire.tamper = tamper
    with pytest.raises(NotEnoughSurvivors):
        made.sum_round(other)
    assert all(nothing_left(consortium, name) for name in consortium.plan.facts.silos)


@pytest.mark.parametrize("norm", [float("nan"), 0.0, -1.0, 1e-300])
def test_a_clipping_norm_for_which_no_bound_holds_is_refused_by_every_silo(
    make_consortium: Callable[..., Any],
    direct_wire: type[DirectWire],
    small_config: Callable[..., Any],
    norm: float,
) -> None:
    """Its own sensitivity protects a silo at every norm but one that float64 cannot divide by."""
    consortium = make_consortium(
        small_config(
            training={"rounds": 2, "local": {"kind": "single-step"}},
            privacy={"epsilon": 1.0, "delta": 1e-5, "clip_norm": {"quantile": 0.5, "initial": 1.0}},
        )
    )
    made = engine(consortium, direct_wire(consortium.silos))
    with pytest.raises(NotEnoughSurvivors):
        made.sum_round(RoundOrder(1, 1, np.append(order(consortium).parameters, norm)))
    assert all(nothing_left(consortium, name) for name in consortium.plan.facts.silos)


def nothing_left(consortium: SmallConsortium, name: str) -> bool:
    """Says whether a silo's ledger shows that no masked vector ever left it."""
    lines = read_ledger(consortium.folder.silo(name) / "state" / "ledger.jsonl")
    return not any(type(line.entry).__name__ == "Intent" for line in lines)


def test_a_round_beyond_the_plan_is_refused(
    consortium: SmallConsortium, direct_wire: type[DirectWire]
) -> None:
    made = engine(consortium, direct_wire(consortium.silos))
    with pytest.raises(NotEnoughSurvivors):
        made.sum_round(order(consortium, release=consortium.plan.rounds + 1))
    assert all(nothing_left(consortium, name) for name in consortium.plan.facts.silos)


@pytest.mark.parametrize("again", [(1, 1), (1, 0)])
def test_a_round_and_attempt_are_never_masked_twice(
    consortium: SmallConsortium, direct_wire: type[DirectWire], again: tuple[int, int]
) -> None:
    made = engine(consortium, direct_wire(consortium.silos))
    made.sum_round(order(consortium, 1, 1))
    with pytest.raises(NotEnoughSurvivors):
        made.sum_round(order(consortium, *again))


def test_a_silo_declared_gone_although_it_answered_refuses(
    consortium: SmallConsortium, direct_wire: type[DirectWire]
) -> None:
    seen = []

    def without_me(shown: ConfirmSet) -> SurvivorSet:
        seen.append(shown)
        return SurvivorSet(shown.round_digest, (1, 2, 3))

    wire = direct_wire(consortium.silos, rewriting(consortium, "cleveland", ConfirmSet, without_me))
    result = engine(consortium, wire).sum_round(order(consortium))
    assert seen
    assert len(result.survivors) == 4
    log = read_ledger(consortium.folder.silo("cleveland") / "state" / "ledger.jsonl")
    assert type(log[-1].entry).__name__ == "Intent"


def test_a_survivor_set_below_the_floor_releases_no_share(
    consortium: SmallConsortium, direct_wire: type[DirectWire]
) -> None:
    wire = direct_wire(
        consortium.silos,
        rewriting(
            consortium, "cleveland", ConfirmSet, lambda shown: SurvivorSet(shown.round_digest, (0, 1))
        ),
    )  # fmt: skip
    engine(consortium, wire).sum_round(order(consortium))
    assert completed(consortium, "cleveland") == 0
    assert completed(consortium, "hungary") == 1


def test_two_silos_are_never_shown_two_survivor_sets(
    consortium: SmallConsortium, direct_wire: type[DirectWire]
) -> None:
    """Showing one silo another set makes its confirmation worthless, and it releases nothing."""
    wire = direct_wire(
        consortium.silos,
        rewriting(
            consortium, "cleveland", ConfirmSet, lambda shown: SurvivorSet(shown.round_digest, (0, 1, 2))
        ),
    )  # fmt: skip
    engine(consortium, wire).sum_round(order(consortium))
    assert completed(consortium, "cleveland") == 0


def test_both_kinds_of_share_of_one_silo_are_never_released(
    consortium: SmallConsortium, direct_wire: type[DirectWire]
) -> None:
    """After releasing shares for one survivor set, a silo answers no second question about that round."""
    wire = direct_wire(consortium.silos)
    engine(consortium, wire).sum_round(order(consortium))
    victim = consortium.node("cleveland")
    old = [request for node, request in wire.seen if node == victim and isinstance(request, Deliver)]
    for request in old[-2:]:
        reply = consortium.silos[victim].handle(request)
        assert isinstance(reply, Refused)
        assert reply.code == "protocol"


def test_a_forged_confirmation_is_refused(consortium: SmallConsortium, direct_wire: type[DirectWire]) -> None:
    def forge(shown: ConfirmSet) -> ConfirmSet:
        signatures = tuple((signer, bytes(64)) for signer, _ in shown.signatures)
        return dataclasses.replace(shown, signatures=signatures)

    wire = direct_wire(consortium.silos, rewriting(consortium, "cleveland", ConfirmSet, forge))
    engine(consortium, wire).sum_round(order(consortium))
    assert completed(consortium, "cleveland") == 0


def completed(consortium: SmallConsortium, name: str) -> int:
    lines = read_ledger(consortium.folder.silo(name) / "state" / "ledger.jsonl")
    return sum(type(line.entry).__name__ == "Completed" for line in lines)


def test_the_servers_refusal_quotes_every_silo(
    make_consortium: Callable[..., Any], direct_wire: type[DirectWire]
) -> None:
    consortium = make_consortium()
    for name in consortium.plan.facts.silos:
        consortium.edit_policy(name, "min_survivors = 3", "min_survivors = 4")
    with pytest.raises(PrivacyRefusal, match=r"cleveland.*min_survivors.*at least 4.*switzerland"):
        engine(consortium, direct_wire(consortium.silos))


def test_one_phase_must_be_allowed_by_name(
    make_consortium: Callable[..., Any], small_config: Callable[..., Any], direct_wire: type[DirectWire]
) -> None:
    """An owner who trusts a server that only looks has not agreed to one that must discard late answers."""
    consortium = make_consortium(small_config(aggregation={"mode": "one-phase"}))
    for name in consortium.plan.facts.silos:
        consortium.edit_policy(name, 'modes = ["one-phase"]', 'modes = ["semi-honest"]')
    with pytest.raises(PrivacyRefusal, match=r"mode must be one of semi-honest at this silo; .* one-phase"):
        engine(consortium, direct_wire(consortium.silos))


def test_one_refusing_silo_is_left_out_and_not_asked_in_every_round(
    consortium: SmallConsortium, direct_wire: type[DirectWire]
) -> None:
    consortium.edit_policy("hungary", "min_survivors = 3", "min_survivors = 4")
    wire = direct_wire(consortium.silos)
    made = engine(consortium, wire)
    sums = [made.sum_round(order(consortium, release, release)) for release in (1, 2, 3)]
    assert all(len(result.survivors) == 3 for result in sums)
    asked = [node for node, request in wire.seen if isinstance(request, Propose)]
    assert asked.count(consortium.node("hungary")) == 1


def test_replies_hold_no_loss_no_count_and_no_vector_in_clear(
    consortium: SmallConsortium, direct_wire: type[DirectWire]
) -> None:
    """A reply has room for a message of secure aggregation, a name and a flag, and for nothing else."""
    wire = direct_wire(consortium.silos)
    engine(consortium, wire).sum_round(order(consortium))
    assert {type(reply) for reply in wire.answered} == {Joined, Replied}
    assert {field.name for field in dataclasses.fields(Replied)} == {"message"}
    assert {field.name for field in dataclasses.fields(Joined)} == {"silo", "seeded", "advertisement"}


def test_the_allow_list_binds_keys_to_names(consortium: SmallConsortium) -> None:
    """Swapping two silos' keys breaks the consortium's signature."""
    known = SignedAllowList.parse((consortium.folder.server.path / "allow-list.json").read_bytes())
    swapped = dict(known.silos)
    swapped["cleveland"], swapped["hungary"] = known.silos["hungary"], known.silos["cleveland"]
    forged = SignedAllowList(known.serial, swapped, known.signature)
    reply = consortium.silos[100].handle(proposal(consortium, allow_list=forged.serialise()))
    assert isinstance(reply, Refused)
    assert reply.code == "identity"
    keys = AllowList({name: bytes.fromhex(key) for name, key in known.silos.items()})
    assert keys.digest != AllowList({n: bytes.fromhex(k) for n, k in swapped.items()}).digest


def test_a_failed_contribution_is_not_tried_again_with_another_model(
    consortium: SmallConsortium, direct_wire: type[DirectWire], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only an invitation that came with its model is answered; an empty delivery afterwards is not one."""
    from discreet.silo import training

    def fail(*_: Plan | str, **__: Any) -> None:
        raise PrivacyViolation("a bound does not hold")

    monkeypatch.setattr(training, "contribute", fail)
    wire = direct_wire(consortium.silos)
    made = engine(consortium, wire)
    with pytest.raises(NotEnoughSurvivors):
        made.sum_round(order(consortium))
    monkeypatch.undo()
    reply = consortium.silos[100].handle(Deliver((), bytes(8 * consortium.plan.facts.dimension)))
    assert reply == Replied(b"")
    assert nothing_left(consortium, consortium.silos[100].name)


def test_unreadable_answers_harm_only_their_sender(
    consortium: SmallConsortium, direct_wire: type[DirectWire]
) -> None:
    wire = direct_wire(consortium.silos)
    victim, collect = consortium.node("hungary"), wire.collect

    def garbled(posted: Posted) -> dict[str, bytes | None]:
        return {
            message: b"junk" if posted[message] == victim else body
            for message, body in collect(posted).items()
        }

    wire.collect = garbled  # type: ignore[method-assign]
    made = engine(consortium, wire)
    for release in (1, 2):
        assert len(made.sum_round(order(consortium, release, release)).survivors) == 3
