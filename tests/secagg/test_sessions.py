"""Check 22: whole random sessions, with dropouts, disorder, duplicates and forged bytes.

A round ends with the exact sum of its survivors or with a typed abort, and it ends with a sum whenever enough
clients stay to the end. 300 sessions by default, 10,000 with ``-m slow``.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from discreet.errors import NotEnoughSurvivors
from discreet.secagg import (
    Agreement,
    AllowList,
    Identity,
    Malicious,
    SemiHonest,
    SemiMalicious,
    Stage,
    SumTerms,
)
from discreet.secagg.graph import ChosenGraph, CompleteGraph, HararyGraph
from discreet.secagg.modes import confirm_quorum
from discreet.secagg.transitions import ServerState
from tests.secagg.conftest import World

SESSIONS_PER_CASE = 25
HEADER_BYTES = 41
STAGE_OF = {
    ServerState.KEYS: Stage.ADVERTISE,
    ServerState.CHOICES: Stage.SHARE,
    ServerState.SHARES: Stage.SHARE,
    ServerState.MASKED: Stage.MASK,
    ServerState.CONFIRMS: Stage.CONFIRM,
    ServerState.UNMASK: Stage.UNMASK,
}


def random_agreement(
    chance: random.Random, terms_of: Callable[..., Any], identities_of: Callable[..., Any]
) -> Agreement:
    """Thresholds need not suit the graph here: sums must be right, not hidden."""
    n = chance.randint(3, 9)
    modes = (Malicious(), SemiHonest(), SemiHonest(one_phase=True), SemiMalicious())
    mode: Malicious | SemiHonest | SemiMalicious = chance.choice(modes)
    colluding = chance.randint(0, (n - 2) // 2)
    floor = chance.randint(max(2, colluding + 2), n)
    degree = chance.randrange(2, n, 2)
    either: list[CompleteGraph | HararyGraph] = [CompleteGraph(), HararyGraph(degree)]
    graphs: dict[type, CompleteGraph | HararyGraph | ChosenGraph] = {
        SemiMalicious: ChosenGraph(degree, n),
        SemiHonest: chance.choice(either),
        Malicious: CompleteGraph(),
    }
    graph = graphs[type(mode)]
    holders = n if isinstance(graph, CompleteGraph) else degree
    terms = terms_of(
        n,
        threshold=chance.randint(2, max(2, min(floor, holders))),
        min_survivors=floor,
        max_colluding=colluding,
        bits=chance.choice([8, 12, 16, 20, 31, 32, 33, 62]),
        length=chance.randint(1, 70),
    )
    allow_list = AllowList({name: one.public_key for name, one in identities_of(terms.clients).items()})
    return Agreement(terms, mode, graph, chance.randint(1, 3), allow_list)


@dataclass
class Network:
    """Delivers in any order, twice, late and mangled."""

    chance: random.Random

    def mangled(self, data: bytes) -> bytes:
        """Changes something that can never be valid: the header, the length, or everything."""
        kind = self.chance.randrange(4)
        if kind == 0:
            at = self.chance.randrange(HEADER_BYTES)
            return data[:at] + bytes([data[at] ^ 1 << self.chance.randrange(8)]) + data[at + 1 :]
        if kind == 1:
            return data[: self.chance.randrange(len(data))]
        if kind == 2:
            return data + self.chance.randbytes(self.chance.randint(1, 9))
        return self.chance.randbytes(self.chance.randint(0, 200))

    def upload(self, world: World, messages: dict[str, bytes]) -> None:
        names = list(messages)
        self.chance.shuffle(names)
        for name in names:
            if self.chance.random() < 0.2:
                world.upload({name: self.mangled(messages[name])})
                assert world.rejected(name) is not None
            if self.chance.random() < 0.1:
                other = self.chance.choice(world.names)
                if other != name and world.server.state is ServerState.KEYS:
                    assert world.server.receive(other, messages[name]).code == "unknown-client"
            world.upload({name: messages[name]})
            assert world.rejected(name) is None
            if self.chance.random() < 0.2:
                world.upload({name: messages[name]})
                assert world.rejected(name) == "unknown-client"


def advance(
    world: World, network: Network, outgoing: dict[str, bytes], plan: dict[str, Stage]
) -> dict[str, bytes]:
    """One stage: those whose time has come disappear, the others answer, the stage closes."""
    stage = STAGE_OF[world.server.state]
    world.gone |= {name for name, when in plan.items() if when.value <= stage.value}
    network.upload(world, world.deliver(outgoing))
    return world.server.close_stage()


def set_up(world: World, network: Network, plan: dict[str, Stage]) -> None:
    world.gone |= {name for name, when in plan.items() if when is Stage.ADVERTISE}
    network.upload(world, world.advertise())
    outgoing = world.server.close_stage()
    while world.server.state is not ServerState.READY:
        outgoing = advance(world, network, outgoing, plan)
    world.deliver(outgoing)


def run_round(world: World, network: Network, index: int, plan: dict[str, Stage]) -> np.ndarray:
    outgoing = world.begin(index)
    while outgoing:
        outgoing = advance(world, network, outgoing, plan)
    return world.server.result().total


def must_succeed(world: World, staying: int) -> bool:
    """Says whether this many clients that stay to the end leave no excuse for an abort."""
    agreement, terms = world.agreement, world.agreement.terms
    if not isinstance(agreement.graph, CompleteGraph):
        return False
    quorum = confirm_quorum(len(terms.clients), terms.max_colluding) if agreement.mode.confirms else 0
    return staying >= max(agreement.floor, quorum)


def play(
    seed: int,
    make_session: Callable[..., Any],
    terms_of: Callable[..., Any],
    identities_of: Callable[..., Any],
) -> bool:
    """Plays one session; returns whether every round had a sum."""
    chance = random.Random(seed)
    world = make_session(random_agreement(chance, terms_of, identities_of), seed)
    network = Network(chance)
    stages = list(Stage)
    plan = {name: chance.choice(stages) for name in world.names if chance.random() < 0.15}
    staying = len(world.names) - len(plan)
    try:
        set_up(
            world, network, {name: stage for name, stage in plan.items() if stage.value < Stage.MASK.value}
        )
        for index in range(world.agreement.rounds_per_setup):
            total = run_round(world, network, index, plan)
            assert np.array_equal(total, exact_total(world))
    except NotEnoughSurvivors:
        assert not must_succeed(world, staying), f"seed {seed}: {staying} clients stayed"
        return False
    return True


def exact_total(world: World) -> np.ndarray:
    """The sum of the survivors' inputs."""
    terms = world.agreement.terms
    survivors = [terms.clients[index] for index in world.server.result().survivors]
    total = world.expected(survivors).astype(object)
    return np.array(total % (1 << terms.bits), dtype=np.uint64)


@pytest.mark.parametrize("case", range(12))
def test_22_random_sessions(
    case: int,
    make_session: Callable[[Agreement, int], World],
    terms_of: Callable[..., SumTerms],
    identities_of: Callable[[Iterable[str]], dict[str, Identity]],
) -> None:
    seeds = range(case * SESSIONS_PER_CASE, (case + 1) * SESSIONS_PER_CASE)
    outcomes = [play(seed, make_session, terms_of, identities_of) for seed in seeds]
    assert sum(outcomes) > SESSIONS_PER_CASE // 4, "most sessions must get somewhere"


@pytest.mark.slow
@pytest.mark.parametrize("case", range(100))
def test_22_ten_thousand_random_sessions(
    case: int,
    make_session: Callable[[Agreement, int], World],
    terms_of: Callable[..., SumTerms],
    identities_of: Callable[[Iterable[str]], dict[str, Identity]],
) -> None:
    for seed in range(1000 + case * 100, 1000 + (case + 1) * 100):
        play(seed, make_session, terms_of, identities_of)
