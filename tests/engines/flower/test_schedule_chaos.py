"""Random timetables over a wire that loses, repeats and delays, to silos that come late and are killed.

pytest -m slow tests/engines/flower/test_schedule_chaos.py    # ten thousand of them; -n 2 for two processes
"""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from itertools import product
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

import pytest

from discreet.engines.flower.service import serve_training
from discreet.engines.flower.wire import NodeId
from discreet.errors import ConfigurationError, DiscreetError
from discreet.privacy.ledger import Entry, LedgerWriter, Line, Lost, Spending, read_ledger, spending
from discreet.secagg.codec import decode
from discreet.secagg.messages import MaskedInput, RoundStart
from discreet.silo.policy.ledger import spent_by_training
from discreet.silo.requests import Deliver, Replied, Reply, Request
from tests.engines.conftest import DirectWire, SmallConsortium
from tests.engines.flower.stubbed import Template, stubbed, templates

IN_THE_GATE, IN_ALL, A_PART = 30, 10_000, 1_000
AGREED, EPOCH = slice(5, 37), slice(37, 41)
MEMORY = Path("/dev/shm")  # noqa: S108 - files cost no disk there; only a test's own folder is made
FATES = ("lost", "twice", "kept", "late", "killed", "cut")

Mask = tuple[bytes, int, int]


class PowerCut(BaseException):
    """Ends the server's process, as far as its files can tell."""


@dataclass
class Watched:
    """A silo of which every masked contribution is counted, whoever gets to see it.

    Attributes:
        masks: agreement, epoch and slot of each, which name its masks.
        vectors: the masked vectors themselves.
    """

    name: str
    consortium: SmallConsortium
    masks: Counter[Mask] = field(default_factory=Counter)
    vectors: set[bytes] = field(default_factory=set)

    def handle(self, request: Request) -> Reply:
        reply = self.consortium.silos[self.consortium.node(self.name)].handle(request)
        if isinstance(request, Deliver) and isinstance(reply, Replied) and reply.message:
            asked = request.messages[-1]
            agreed, epoch = asked[AGREED], int.from_bytes(asked[EPOCH], "little")
            start = decode(asked, agreed, epoch)
            if isinstance(decode(reply.message, agreed, epoch), MaskedInput):
                assert isinstance(start, RoundStart)
                self.masks[agreed, epoch, start.slot] += 1
                self.vectors.add(reply.message)
        return reply


@dataclass
class Chaos(DirectWire):
    """Does something else with some requests, and has silos that come after so many.

    Attributes:
        silos: who answers.
        chance: decides.
        share: of the requests that are not simply delivered.
        late: silos that are not there before the server sent as many requests.
        done: how often each fate was met.
    """

    silos: Mapping[NodeId, Watched]
    chance: Random = field(default_factory=Random)
    share: float = 0.0
    late: Mapping[NodeId, int] = field(default_factory=dict)
    done: Counter[str] = field(default_factory=Counter)
    kept: list[tuple[NodeId, Request]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.tamper = self.meet

    def nodes(self) -> tuple[NodeId, ...]:
        return tuple(node for node in self.silos if self._count >= self.late.get(node, 0))

    def meet(self, node: NodeId, request: Request) -> Request | None:
        fate = self.chance.choice(FATES) if self.chance.random() < self.share else "delivered"
        self.done[fate] += 1
        match fate:
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
            case "cut" if self.chance.random() < 0.2:
                raise PowerCut
            case _:
                pass
        return request


def charged(consortium: SmallConsortium, name: str) -> int:
    ledger = consortium.folder.silo(name) / "state" / "ledger.jsonl"
    entries = tuple(line.entry for line in read_ledger(ledger)) if ledger.exists() else ()
    return sum(one.charged for one in spent_by_training(entries).values())


def spent_by(consortium: SmallConsortium) -> Spending:
    ledger = consortium.folder.server.run.ledger
    return spending(line.entry for line in read_ledger(ledger)) if ledger.exists() else spending(())


def left(consortium: SmallConsortium) -> int:
    """Returns how many sums are not charged yet."""
    return consortium.plan.rounds - spent_by(consortium).charged


def require_everything_charged(consortium: SmallConsortium, silos: Mapping[NodeId, Watched]) -> None:
    """What holds however a training went: by the silos' own books, the masks that left, and the sums."""
    planned, spent = consortium.plan.timetable, spent_by(consortium)
    assert planned is not None
    assert spent.charged <= len(planned.sums)
    assert spent.aborted == 0, "every sum is tried once"
    for done in spent.completed:
        assert len(done.survivors) >= consortium.plan.thresholds.min_survivors
        assert set(done.survivors) <= set(planned.sums[done.release - 1].silos)
    for silo in silos.values():
        assert set(silo.masks.values()) <= {1}, f"{silo.name} masked twice with the same masks"
        assert len(silo.vectors) == len(silo.masks), f"{silo.name} sent one vector twice"
        in_sums = sum(silo.name in done.survivors for done in spent.completed)
        assert in_sums <= len(silo.masks) <= charged(consortium, silo.name)
        assert charged(consortium, silo.name) <= planned.contributions_of(silo.name)


def carry_out(template: Template, folder: Path, chance: Random, *, quiet: bool = False) -> Counter[str]:
    """Runs one training by a random timetable, starting the server twice; counts what happened."""
    names = template.plan.facts.silos
    stated = {
        "buffer": chance.randint(3, len(names)),
        "pace": {name: chance.randint(1, 5) for name in chance.sample(names, chance.randint(0, 3))},
        "max_staleness": chance.choice([1, 2, 32, 32]),
        "stale_weight": chance.choice(["halving", "equal"]),
    }
    try:
        consortium = template.made(folder, stated, chance.randint(1, 4))
    except ConfigurationError:  # a silo so slow that it never contributes
        return carry_out(template, folder, chance, quiet=quiet)
    silos = {node: Watched(silo.name, consortium) for node, silo in consortium.silos.items()}
    done = Counter[str]()
    try:
        for start in range(2):
            if start == 1 and not quiet and left(consortium) == 0 and chance.random() < 0.8:
                break
            share = 0.0 if quiet or start == 1 else chance.choice([0.02, 0.05, 0.1])
            late = {node: chance.randint(1, 40) for node in silos if not quiet and chance.random() < 0.1}
            wire = Chaos(silos, chance=chance, share=share, late=late, done=done)
            with suppress(DiscreetError, PowerCut):
                serve_training(wire, consortium.folder.server, patience_seconds=0.0)
            require_everything_charged(consortium, silos)
            done["came late"] += bool(late)
        planned, spent = consortium.plan.timetable, spent_by(consortium)
        assert planned is not None
        done["finished"] += left(consortium) == 0
        done["sums"] += len(spent.completed)
        done["left out"] += sum(
            isinstance(line.entry, Lost) and "too few" in line.entry.reason
            for line in (read_ledger(consortium.folder.server.run.ledger) if spent.charged else ())
        )
        done["masks"] += sum(len(silo.masks) for silo in silos.values())
        done["stale"] += planned.most_stale > 0
        return done
    finally:
        for open_silo in consortium.silos.values():
            open_silo.close()
        shutil.rmtree(folder)


@pytest.fixture(scope="module")
def made() -> Iterator[tuple[Path, list[Template]]]:
    with TemporaryDirectory(dir=MEMORY if MEMORY.is_dir() else None) as folder:
        yield Path(folder), templates(Path(folder))


def require_all(made: tuple[Path, list[Template]], numbers: range) -> None:
    """Carries out the training of each number; its number brings a failing one back."""
    folder, kinds = made
    seen = Counter[str]()
    with stubbed():
        for number in numbers:
            try:
                seen += carry_out(kinds[number % len(kinds)], folder / str(number), Random(number))
            except AssertionError as error:
                raise AssertionError(f"training {number}: {error}") from error
    # The trainings would prove little if nothing went wrong in them, or nothing right.
    for what in (*FATES, "came late", "left out", "stale"):
        assert seen[what] >= len(numbers) // 30, what
    assert seen["finished"] >= len(numbers) // 2
    assert seen["sums"] >= len(numbers)
    assert seen["masks"] >= 3 * seen["sums"]


def test_nothing_is_uncharged_and_no_mask_used_twice(made: tuple[Path, list[Template]]) -> None:
    require_all(made, range(IN_THE_GATE))


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, IN_ALL, A_PART))
def test_nothing_is_uncharged_in_ten_thousand_trainings(
    made: tuple[Path, list[Template]], first: int
) -> None:
    require_all(made, range(first, first + A_PART))


@dataclass
class Kill(DirectWire):
    """Kills the server or a silo at one event: before a request arrives, or before its answer does.

    Attributes:
        silos: who answers.
        event: the number of the request, from 1.
        whom: "server" or "silo".
        answered: whether the silo has answered already.
    """

    silos: Mapping[NodeId, Watched]
    event: int = 0
    whom: str = "server"
    done: bool = False

    def __post_init__(self) -> None:
        self.tamper = self.meet

    def meet(self, node: NodeId, request: Request) -> Request | None:
        if self._count != self.event:
            return request
        if self.done:
            self.silos[node].handle(request)
        if self.whom == "server":
            raise PowerCut
        self.silos[node].consortium.reopen(self.silos[node].name)
        return None if self.done else request


def killed(template: Template, folder: Path, wire: Callable[[Mapping[NodeId, Watched]], DirectWire]) -> int:
    """Carries a training out over ``wire``, then goes on over one that kills nobody; returns the requests."""
    consortium = template.made(folder, {"buffer": 3, "pace": {template.plan.facts.silos[-1]: 3}}, 4)
    silos = {node: Watched(silo.name, consortium) for node, silo in consortium.silos.items()}
    first = wire(silos)
    try:
        for one in (first, DirectWire(silos)):
            with suppress(PowerCut):
                serve_training(one, consortium.folder.server, patience_seconds=0.0)
            require_everything_charged(consortium, silos)
        assert left(consortium) == 0, "a training goes on to its end"
        assert len(spent_by(consortium).lost) <= 1, "one kill costs one sum at most"
        return len(first.seen)
    finally:
        for open_silo in consortium.silos.values():
            open_silo.close()
        shutil.rmtree(folder)


def killed_at_requests(made: tuple[Path, list[Template]], every: int) -> None:
    folder, (four, _) = made
    with stubbed():
        requests = killed(four, folder / "whole", DirectWire)
        assert requests > 30
        for event in range(1, requests + 1, every):
            for whom, done in product(("server", "silo"), (False, True)):
                killed(four, folder / f"{event}", partial(Kill, event=event, whom=whom, done=done))


def test_killed_at_some_requests_a_training_goes_on(made: tuple[Path, list[Template]]) -> None:
    killed_at_requests(made, 13)


@pytest.mark.slow
def test_killed_at_every_request_a_training_goes_on(made: tuple[Path, list[Template]]) -> None:
    killed_at_requests(made, 1)


@pytest.mark.parametrize("written", [False, True])
def test_a_server_killed_at_every_line_of_its_ledger_goes_on(
    made: tuple[Path, list[Template]], monkeypatch: pytest.MonkeyPatch, written: bool
) -> None:
    """At every second line an intent; at the others a sum was made, and its state saved."""
    folder, (four, _) = made
    real, lines = LedgerWriter.append, list[object]()

    def append(self: LedgerWriter, entry: Entry) -> Line:
        if not str(self._path).endswith("server/run/ledger.jsonl"):
            return real(self, entry)
        lines.append(entry)
        if len(lines) != at:
            return real(self, entry)
        if written:
            real(self, entry)
        self.close()
        raise PowerCut

    with stubbed():
        at = 0
        monkeypatch.setattr(LedgerWriter, "append", append)
        killed(four, folder / "whole", DirectWire)
        whole = len(lines)
        assert whole >= 9
        for at in range(1, whole + 1):
            lines.clear()
            killed(four, folder / f"line-{at}", DirectWire)
            assert len(lines) >= at


def test_a_quiet_wire_carries_everything_out(made: tuple[Path, list[Template]]) -> None:
    folder, (four, _) = made
    with stubbed():
        done = carry_out(four, folder / "quiet", Random(3), quiet=True)
    assert done["finished"] == 1
    assert done["left out"] == 0
    assert done["masks"] >= 3 * done["sums"] > 0
