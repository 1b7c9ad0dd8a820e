"""What must hold over whole rounds and runs, numbered as in docs/threat-model.md. 18 is unit/test_prg.py and
21 is unit/test_shamir.py."""

from __future__ import annotations

import copy
import logging
import pickle
from collections.abc import Callable
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from discreet.errors import ConfigurationError, LocalProtocolError, NotEnoughSurvivors, PeerProtocolError
from discreet.randomness import SeededRandom
from discreet.secagg import (
    Bonawitz,
    ClientSession,
    FileJournal,
    Ideal,
    RoundTerms,
    SemiHonest,
    Stage,
    SumTerms,
)
from discreet.secagg.hazmat.prg import add_masks
from discreet.secagg.hazmat.secret import Secret
from discreet.secagg.transitions import ClientState
from tests.secagg.conftest import MakeWorld


def test_17_no_sum_below_the_floor(terms_of: Callable[..., SumTerms]) -> None:
    terms = terms_of(5, threshold=3, min_survivors=3, max_colluding=1)
    run = Bonawitz(SemiHonest()).open(terms, SeededRandom(1))
    inputs = {name: np.ones(terms.length, dtype=np.int64) for name in terms.clients}
    with pytest.raises(NotEnoughSurvivors):
        run.sum_round(RoundTerms(0, 0, bytes(32)), inputs, dict.fromkeys(terms.clients[:3], Stage.MASK))


def secrets_of(client: ClientSession) -> list[bytes]:
    boxes = [client._memory.channel, client._memory.own_shares, *client._memory.channels.values()]
    boxes += [box for slot in client._memory.slots for box in (slot.mask_key, *slot.seeds)]
    boxes += [box for slot in client._memory.held for box in slot.values()]
    return [box.reveal() for box in boxes if len(box)]


def test_19_secrets_are_in_no_repr_log_or_pickle(make_world: MakeWorld, caplog: Any) -> None:
    caplog.set_level(logging.DEBUG)
    world = make_world().set_up()
    start = world.begin()
    world.step(start)
    client = world.clients["client-0"]
    shown = repr(client) + repr(vars(client)) + repr(vars(world.server)) + caplog.text
    secrets = secrets_of(client)
    assert len(secrets) > 10
    for secret in secrets:
        assert secret.hex() not in shown
        assert repr(secret)[2:-1] not in shown
    for thing in (client, world.server, Secret(b"x" * 32), world.identities["client-0"]):
        with pytest.raises(TypeError, match="pickle"):
            pickle.dumps(thing)
    with pytest.raises(TypeError, match="copied"):
        copy.copy(Secret(b"x" * 32))


def test_19_errors_name_no_secret(make_world: MakeWorld) -> None:
    """A failed recovery mentions clients and counts only."""
    world = make_world(Bonawitz(SemiHonest(), rounds_per_setup=1))
    world.gone.add("client-4")
    world.set_up()
    outgoing = world.step(world.begin(roster=world.names))
    replies = world.deliver(outgoing)
    for name in ("client-0", "client-1"):
        message = world.read(replies[name])
        wrong = tuple((peer, bytes(len(share))) for peer, share in message.shares)
        replies[name] = world.write(replace(message, shares=wrong))
    world.upload(replies)
    with pytest.raises(PeerProtocolError) as caught:
        world.server.close_stage()
    text = f"{caught.value!r}{caught.value.__cause__!r}"
    for data in replies.values():
        for _, share in world.read(data).shares:
            assert share.hex() not in text
    assert "shares hidden" in repr(world.read(replies["client-2"]))


def test_19_used_secrets_are_wiped(make_world: MakeWorld) -> None:
    """Forward secrecy: after a round a seized client holds nothing that opens it."""
    world = make_world().set_up()
    client = world.clients["client-0"]
    outgoing = world.step(world.begin())
    assert client.state is ClientState.MASKED
    assert [len(client._memory.slots[0].mask_key), len(client._memory.slots[0].seeds[0])] == [0, 0]
    world.finish(outgoing)
    assert len(client._memory.channel) == 0
    assert all(len(secret) == 0 for secret in client._memory.channels.values())
    assert [len(client._memory.slots[0].mask_key), len(client._memory.slots[0].seeds[0])] == [0, 0]
    assert all(len(share) == 0 for share in client._memory.held[0].values())
    assert all(len(share) == 64 for share in client._memory.held[1].values()), "the next round is still open"
    client.close()
    assert secrets_of(client) == []
    with pytest.raises(ValueError, match="wiped"):
        client._memory.slots[1].mask_key.reveal()


def test_20_a_crashed_client_never_repeats_itself(make_world: MakeWorld, tmp_path: Path) -> None:
    """It persists what it is about to do; after a crash at any point it refuses to do that again."""
    path = tmp_path / "journal"
    world = make_world(journals={"client-0": FileJournal(path)}).set_up()
    start = world.begin(index=2)
    world.clients["client-0"].receive(start["client-0"])
    world.clients["client-0"].submit(world.inputs["client-0"])
    restarted = make_world(journals={"client-0": FileJournal(path)})
    with pytest.raises(PeerProtocolError, match="offer-keys"):
        restarted.clients["client-0"].start()
    later = make_world(epoch=2, journals={"client-0": FileJournal(path)}).set_up()
    for index, fresh in ((2, False), (3, True)):
        start = later.begin(index=index)
        later.clients["client-0"].receive(start["client-0"])
        if fresh:
            assert later.clients["client-0"].submit(later.inputs["client-0"])
            continue
        with pytest.raises(PeerProtocolError, match="send-masked"):
            later.clients["client-0"].submit(later.inputs["client-0"])
        assert later.clients["client-0"].state is ClientState.ABORTED
        later = make_world(epoch=3, journals={"client-0": FileJournal(path)}).set_up()


def test_20_no_key_or_mask_occurs_twice_in_a_run(
    terms_of: Callable[..., SumTerms], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Over setups, rounds, attempts and dropouts every mask key is used for one mask of one vector."""
    from discreet.secagg.client import rounds

    used: list[bytes] = []
    original = add_masks

    def spy(vector: npt.NDArray[np.uint32], plus: list[bytes], minus: list[Any], *, threads: int) -> None:
        used.extend([*plus, *minus])
        original(vector, plus, minus, threads=threads)

    monkeypatch.setattr(rounds, "add_masks", spy)
    terms = terms_of()
    run = Bonawitz(rounds_per_setup=2).open(terms, SeededRandom(0))
    inputs = {name: np.zeros(terms.length, dtype=np.int64) for name in terms.clients}
    for index in range(5):
        dropouts = {terms.clients[index]: Stage(index)}
        run.sum_round(RoundTerms(index // 2, index % 2, bytes(32)), inputs, dropouts)
    pairs, own = 2, 1
    present = 5 * 5 - sum(not Stage(index).keeps_input for index in range(5))
    counts = {key: used.count(key) for key in used}
    assert set(counts.values()) == {own, pairs}, "a pair's key once at either end, a self key once"
    assert sum(count == own for count in counts.values()) >= present


@pytest.mark.parametrize("protocol", [Bonawitz(), Ideal()])
def test_23_every_sum_has_its_own_name_and_is_made_once(
    terms_of: Callable[..., SumTerms], protocol: Bonawitz | Ideal
) -> None:
    """Sums of the same cohort but one differ by one input, so each must be charged by itself.

    Each has its own transcript, which a ledger can count, and no round and attempt is summed twice.
    """
    terms = terms_of()
    run = protocol.open(terms, SeededRandom(0))
    inputs = {name: np.ones(terms.length, dtype=np.int64) for name in terms.clients}
    outcomes = [
        run.sum_round(RoundTerms(0, 0, bytes(32)), inputs),
        run.sum_round(RoundTerms(0, 1, bytes(32)), inputs),
        run.sum_round(RoundTerms(1, 0, bytes(32)), inputs, {"client-2": Stage.MASK}),
    ]
    assert all(one.transcript != two.transcript for one, two in combinations(outcomes, 2))
    assert (outcomes[1].total - outcomes[2].total).tolist() == [1] * terms.length
    for repeated in (RoundTerms(1, 0, bytes(32)), RoundTerms(0, 5, bytes(32))):
        with pytest.raises(LocalProtocolError, match="must grow") as caught:
            run.sum_round(repeated, inputs)
        assert caught.value.code == "replayed"


def test_inputs_of_strangers_are_refused(terms_of: Callable[..., SumTerms]) -> None:
    run = Bonawitz().open(terms_of(), SeededRandom(0))
    with pytest.raises(ConfigurationError, match="nobody"):
        run.sum_round(RoundTerms(0, 0, bytes(32)), {"nobody": np.zeros(11, dtype=np.int64)})
    inputs = {name: np.zeros(11, dtype=np.int64) for name in terms_of().clients}
    with pytest.raises(ConfigurationError, match="dropouts"):
        run.sum_round(RoundTerms(0, 0, bytes(32)), inputs, {"nobody": Stage.MASK})
    inputs["client-0"] = np.array([1])
    with pytest.raises(LocalProtocolError, match="shape"):
        run.sum_round(RoundTerms(0, 0, bytes(32)), inputs)
