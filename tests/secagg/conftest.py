"""A small world of clients and a server whose every message a test can see, change, drop or replay."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

from discreet.randomness import SeededRandom
from discreet.secagg import (
    Accepted,
    Agreement,
    AllowList,
    Bonawitz,
    ClientSession,
    Identity,
    MemoryJournal,
    RoundTerms,
    ServerSession,
    SumTerms,
    Verdict,
)
from discreet.secagg.codec import decode, encode
from discreet.secagg.messages import Message
from discreet.secagg.transitions import ClientState, ServerState

SESSION = b"session".ljust(32, b".")
CONTEXT = b"plan".ljust(32, b".")
MODEL = b"model".ljust(32, b".")


def make_terms(n: int = 5, **changes: Any) -> SumTerms:
    values: dict[str, object] = {
        "session": SESSION,
        "clients": tuple(f"client-{index}" for index in range(n)),
        "threshold": 4,
        "min_survivors": 4,
        "max_colluding": 1,
        "bits": 20,
        "length": 11,
        "context": CONTEXT,
    }
    return SumTerms(**(values | changes))  # type: ignore[arg-type]  # a test may pass what the type forbids


@dataclass
class World:
    """All parties of one epoch. ``gone`` are clients that no longer receive or send."""

    agreement: Agreement
    epoch: int = 1
    seed: int = 0
    journals: dict[str, MemoryJournal] = field(default_factory=dict)
    gone: set[str] = field(default_factory=set)
    verdicts: dict[str, Verdict] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.identities = make_identities(self.names)
        self.server = ServerSession(self.agreement, self.epoch)
        for name in self.names:
            self.journals.setdefault(name, MemoryJournal())
        self.clients = {name: self.client(name) for name in self.names}
        source = SeededRandom(self.seed).derive("inputs")
        spare, length = 64 - self.agreement.terms.bits, self.agreement.terms.length
        self.inputs = {name: source.words(length).view(np.int64) >> spare for name in self.names}

    @property
    def names(self) -> tuple[str, ...]:
        return self.agreement.terms.clients

    def client(self, name: str) -> ClientSession:
        return ClientSession(
            self.agreement,
            name,
            self.epoch,
            identity=self.identities[name],
            randomness=SeededRandom(self.seed).derive(name, self.epoch),
            journal=self.journals[name],
        )

    def advertise(self) -> dict[str, bytes]:
        return {name: client.start() for name, client in self.clients.items() if name not in self.gone}

    def upload(self, messages: Mapping[str, bytes]) -> None:
        """Brings client messages to the server; the verdicts are kept."""
        for name, data in messages.items():
            self.verdicts[name] = self.server.receive(name, data)

    def deliver(self, outgoing: Mapping[str, bytes]) -> dict[str, bytes]:
        """Brings server messages to clients; an invited client answers with its masked input."""
        replies = {}
        for name, data in outgoing.items():
            if name in self.gone:
                continue
            reply = self.clients[name].receive(data)
            if self.clients[name].state is ClientState.INVITED:
                reply = self.clients[name].submit(self.inputs[name])
            if reply is not None:
                replies[name] = reply
        return replies

    def step(self, outgoing: Mapping[str, bytes]) -> dict[str, bytes]:
        """Delivers, uploads the answers and closes the stage."""
        self.upload(self.deliver(outgoing))
        return self.server.close_stage()

    def set_up(self) -> World:
        self.upload(self.advertise())
        outgoing = self.server.close_stage()
        while self.server.state is not ServerState.READY:
            outgoing = self.step(outgoing)
        self.deliver(outgoing)
        return self

    def begin(
        self, index: int = 0, attempt: int = 0, roster: Iterable[str] | None = None
    ) -> dict[str, bytes]:
        invited = self.names if roster is None else roster
        return self.server.begin_round(RoundTerms(index, attempt, MODEL), invited)

    def finish(self, outgoing: Mapping[str, bytes]) -> np.ndarray:
        """Goes on until the round is over; returns the total."""
        while outgoing:
            outgoing = self.step(outgoing)
        return self.server.result().total

    def expected(self, names: Collection[str]) -> np.ndarray:
        total = sum(self.inputs[name].astype(object) for name in names)
        return np.array(total % (1 << self.agreement.terms.bits), dtype=np.uint64)

    def read(self, data: bytes | None) -> Any:
        """Returns a message, of the kind that its reader knows and goes on to forge."""
        assert data is not None, "nothing was said"
        return decode(data, self.agreement.digest, self.epoch)

    def write(self, message: Message) -> bytes:
        return encode(message, self.agreement.digest, self.epoch)

    def rejected(self, name: str) -> str | None:
        verdict = self.verdicts[name]
        return None if isinstance(verdict, Accepted) else verdict.code


def make_identities(names: Iterable[str]) -> dict[str, Identity]:
    return {name: Identity.generate(SeededRandom(99).derive(name)) for name in names}


MakeWorld = Callable[..., World]


@pytest.fixture
def make_world() -> MakeWorld:
    def make(protocol: Any = None, terms: SumTerms | None = None, **options: Any) -> World:
        agreed = terms or make_terms()
        allow_list = AllowList(
            {name: one.public_key for name, one in make_identities(agreed.clients).items()}
        )
        chosen = Bonawitz(rounds_per_setup=2) if protocol is None else protocol
        return World(chosen.agreement(agreed, allow_list), **options)

    return make


@pytest.fixture
def terms_of() -> Callable[..., SumTerms]:
    return make_terms


@pytest.fixture
def make_session() -> Callable[[Agreement, int], World]:
    return lambda agreement, seed: World(agreement, seed=seed)


@pytest.fixture
def identities_of() -> Callable[[Iterable[str]], dict[str, Identity]]:
    return make_identities
