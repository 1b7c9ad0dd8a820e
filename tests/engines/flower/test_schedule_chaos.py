"""Random timetables over a wire that loses, repeats and delays, to silos that are killed: all is charged."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from discreet.engines.flower.service import serve_training
from discreet.engines.flower.wire import NodeId
from discreet.errors import ConfigurationError, DiscreetError
from discreet.kinds import BufferedConfig
from discreet.privacy.ledger import read_ledger, spending
from discreet.secagg.codec import decode
from discreet.secagg.messages import MaskedInput, RoundStart
from discreet.silo.policy.ledger import spent_by_training
from discreet.silo.requests import Deliver, Replied, Reply, Request
from tests.engines.conftest import DirectWire, SmallConsortium, make_consortium, small_config

NAMES = ("cleveland", "hungary", "long_beach_va", "switzerland")
PATIENCE = 0.01
AGREED, EPOCH = slice(5, 37), slice(37, 41)

Mask = tuple[bytes, int, int]


@dataclass
class Watched:
    """A silo of which every masked contribution is counted, whoever gets to see it.

    Attributes:
        masks: agreement, epoch and slot of each, which name its masks.
    """

    name: str
    consortium: SmallConsortium
    masks: Counter[Mask] = field(default_factory=Counter)

    def handle(self, request: Request) -> Reply:
        reply = self.consortium.silos[self.consortium.node(self.name)].handle(request)
        if isinstance(request, Deliver) and isinstance(reply, Replied) and reply.message:
            asked = request.messages[-1]
            agreed, epoch = asked[AGREED], int.from_bytes(asked[EPOCH], "little")
            start = decode(asked, agreed, epoch)
            if isinstance(decode(reply.message, agreed, epoch), MaskedInput):
                assert isinstance(start, RoundStart)
                self.masks[agreed, epoch, start.slot] += 1
        return reply


@dataclass
class Chaos:
    """Does to each request what the next of ``fates`` says."""

    silos: Mapping[NodeId, Watched]
    fates: list[str]
    kept: list[tuple[NodeId, Request]] = field(default_factory=list)

    def __call__(self, node: NodeId, request: Request) -> Request | None:
        match self.fates.pop() if self.fates else "delivered":
            case "lost":
                return None
            case "twice":
                self.silos[node].handle(request)
            case "kept":
                self.kept.append((node, request))
            case "late" if self.kept:
                late, old = self.kept.pop()
                self.silos[late].handle(old)
            case "killed":
                self.silos[node].consortium.reopen(self.silos[node].name)
            case _:
                pass
        return request


PACES = st.dictionaries(st.sampled_from(NAMES), st.integers(1, 5), max_size=3)
FATES = st.lists(
    st.sampled_from(["delivered"] * 12 + ["lost", "twice", "kept", "late", "killed"]), max_size=80
)


def charged(consortium: SmallConsortium, name: str) -> int:
    ledger = consortium.folder.silo(name) / "state" / "ledger.jsonl"
    entries = tuple(line.entry for line in read_ledger(ledger)) if ledger.exists() else ()
    return sum(one.charged for one in spent_by_training(entries).values())


def require_everything_charged(consortium: SmallConsortium, silos: Mapping[NodeId, Watched]) -> None:
    """What holds however a training went: by the silos' own books, the masks that left, and the sums."""
    ledger, planned = consortium.folder.server.run.ledger, consortium.plan.timetable
    assert planned is not None
    spent = spending(line.entry for line in read_ledger(ledger)) if ledger.exists() else spending(())
    assert spent.charged <= len(planned.sums)
    for done in spent.completed:
        assert len(done.survivors) >= consortium.plan.thresholds.min_survivors
        assert set(done.survivors) <= set(planned.sums[done.release - 1].silos)
    for silo in silos.values():
        assert set(silo.masks.values()) <= {1}, f"{silo.name} masked twice with the same masks"
        in_sums = sum(silo.name in done.survivors for done in spent.completed)
        assert in_sums <= len(silo.masks) <= charged(consortium, silo.name)


def carry_out(paces: dict[str, int], fates: list[str], buffer: int, stops: list[list[str]]) -> int:
    """Runs a training, starting the server anew for each of ``stops``; returns how many sums there were."""
    stated = {"kind": "buffered", "buffer": buffer, "pace": paces}
    plain = small_config()
    training = plain.training.model_copy(
        update={"schedule": BufferedConfig.model_validate(stated), "rounds": 3}
    )
    with TemporaryDirectory() as folder:
        config = plain.model_copy(update={"training": training})
        try:
            consortium = make_consortium(Path(folder) / "c", config)
        except ConfigurationError:  # a silo so slow that it never contributes
            return 0
        silos = {node: Watched(silo.name, consortium) for node, silo in consortium.silos.items()}
        try:
            for each in (fates, *stops):
                with suppress(DiscreetError):
                    wire = DirectWire(silos, Chaos(silos, list(each)))
                    serve_training(wire, consortium.folder.server, patience_seconds=PATIENCE)
                require_everything_charged(consortium, silos)
            ledger = consortium.folder.server.run.ledger
            return sum(len(silo.masks) for silo in silos.values()) if ledger.exists() else 0
        finally:
            for open_silo in consortium.silos.values():
                open_silo.close()


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(paces=PACES, fates=FATES, buffer=st.sampled_from([3, 4]), again=FATES)
def test_nothing_is_uncharged_and_no_mask_used_twice(
    paces: dict[str, int], fates: list[str], buffer: int, again: list[str]
) -> None:
    carry_out(paces, fates, buffer, [again])


@pytest.mark.slow
@settings(max_examples=1000, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(paces=PACES, fates=FATES, buffer=st.sampled_from([3, 4]), again=FATES)
def test_nothing_is_uncharged_in_a_thousand_trainings(
    paces: dict[str, int], fates: list[str], buffer: int, again: list[str]
) -> None:
    carry_out(paces, fates, buffer, [again])


def test_a_quiet_wire_carries_everything_out() -> None:
    """The test above would prove little if its trainings came to nothing."""
    assert carry_out({"switzerland": 3}, [], 3, []) >= 3 * 3 + 1
