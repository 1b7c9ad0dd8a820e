"""Trust models, quorums and the transition tables as data."""

from __future__ import annotations

import pytest

from discreet.errors import ConfigurationError, LocalProtocolError, NotEnoughSurvivors
from discreet.secagg import Bell, Bonawitz, Ideal, Malicious, SemiHonest, SemiMalicious
from discreet.secagg.messages import ConfirmSet, RoundStart, SurvivorSet
from discreet.secagg.modes import confirm_quorum
from discreet.secagg.transitions import Call, ClientState, ServerState, client_table, server_table
from tests.secagg.conftest import MakeWorld

MODES = [Malicious(), SemiHonest(), SemiHonest(one_phase=True), SemiMalicious()]


@pytest.mark.parametrize("n", range(3, 30))
def test_two_quorums_share_an_honest_signer(n: int) -> None:
    for colluding in range(n):
        quorum = confirm_quorum(n, colluding)
        assert 2 * quorum - n > colluding
        assert 2 * (quorum - 1) - n <= colluding, "and it is the smallest such number"


def test_protocols_say_whom_they_trust() -> None:
    assert Bonawitz().trust_model.server == "the server may do anything"
    assert Bonawitz().trust_model.assumptions[0].startswith("at most max_colluding")
    assert "committed to the key list" in Bell().trust_model.server
    assert "nothing is hidden" in Ideal().trust_model.server
    one_phase = Bonawitz(SemiHonest(one_phase=True)).trust_model
    assert any("discards unread" in assumption for assumption in one_phase.assumptions)
    assert not any("discards" in assumption for assumption in Bonawitz(SemiHonest()).trust_model.assumptions)


def test_a_sparse_graph_withstands_no_server_that_may_do_anything() -> None:
    with pytest.raises(ConfigurationError, match="got malicious"):
        Bell(mode=Malicious())  # type: ignore[arg-type]  # what a caller without types may pass


@pytest.mark.parametrize("mode", MODES, ids=repr)
def test_no_state_is_a_dead_end_and_aborted_is_final(mode: Malicious | SemiHonest | SemiMalicious) -> None:
    for table, last in ((client_table(mode), ClientState.ABORTED), (server_table(mode), ServerState.ABORTED)):
        reached = {after for (_, _), after in table.items()}
        left = {before for (before, _), _ in table.items()}
        assert reached <= left
        assert last not in reached | left


@pytest.mark.parametrize("mode", MODES, ids=repr)
def test_shares_are_released_only_behind_a_survivor_set(mode: Malicious | SemiHonest | SemiMalicious) -> None:
    """The only ways back to READY pass a survivor set, and a signed one where the mode confirms."""
    table = client_table(mode)
    back = {(state, event) for (state, event), after in table.items() if after is ClientState.READY}
    releases = {(ClientState.CONFIRMED, ConfirmSet) if mode.confirms else (ClientState.MASKED, SurvivorSet)}
    if mode.consents:
        releases.add((ClientState.MASKED, ConfirmSet))
    assert {event for event in back if event[0] is not ClientState.SHARED} == releases
    assert (ClientState.READY, SurvivorSet) not in table
    assert table[ClientState.READY, RoundStart] is ClientState.INVITED
    assert server_table(mode)[ServerState.READY, Call.BEGIN] is ServerState.MASKED


def test_calls_out_of_order_and_strangers_are_our_own_mistakes(make_world: MakeWorld) -> None:
    """`LocalProtocolError`, and the session goes on: nothing was sent."""
    world = make_world()
    with pytest.raises(LocalProtocolError, match="none is"):
        world.server.result()
    with pytest.raises(LocalProtocolError, match="begin round"):
        world.begin()
    with pytest.raises(NotEnoughSurvivors):
        world.server.close_stage()
    assert world.server.state is ServerState.ABORTED
    world = make_world().set_up()
    with pytest.raises(LocalProtocolError, match="close stage"):
        world.server.close_stage()
    with pytest.raises(LocalProtocolError, match="invited"):
        world.begin(roster=["nobody", *world.names])
    with pytest.raises(NotEnoughSurvivors, match="finished the setup"):
        world.begin(roster=world.names[:3])
    world.finish(world.begin(0))
    world.finish(world.begin(1))
    with pytest.raises(LocalProtocolError, match="slot left"):
        world.begin(2)
    with pytest.raises(LocalProtocolError) as caught:
        world.clients["client-0"].start()
    assert caught.value.code == "out-of-order"
    with pytest.raises(LocalProtocolError) as caught:
        world.clients["client-0"].start()
    assert caught.value.code == "aborted"
