"""A small consortium on disk, its silos, and a wire that hands requests straight to them."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Protocol

import pytest

from discreet.config import Config, parse_config
from discreet.engines.flower.consortium import ConsortiumFolder, rehearse
from discreet.engines.flower.wire import NodeId, Posted
from discreet.plan import Plan
from discreet.silo.requests import Reply, Request, decode, encode
from discreet.silo.silo import Silo, open_silo

SEED = 7


def small_config(**changes: Any) -> Config:
    """Three rounds of the bundled heart-disease federation, seeded so that engines can be compared."""
    aggregation = {"protocol": "bonawitz", "min_survivors": 3, "max_colluding": 1}
    aggregation.update(changes.pop("aggregation", {}))
    return parse_config(
        {
            "name": "small",
            "data": {
                "source": "heart-disease",
                "record_capacity": {
                    "cleveland": 240, "hungary": 210, "switzerland": 50, "long_beach_va": 110
                },
            },
            "training": {
                "rounds": 3,
                "local": {"kind": "stable-steps", "learning_rate": 0.1, "records_per_step": 16},
                "server": {"kind": "momentum", "learning_rate": 1.0, "momentum": 0.3},
            },
            "privacy": {"epsilon": 1.0, "delta": 1e-5},
            "aggregation": aggregation,
            "run": {"seed": SEED, "evaluate": False},
            **changes,
        }
    )  # fmt: skip


class Answering(Protocol):
    """A silo, or one that pretends to be one."""

    @property
    def name(self) -> str: ...

    def handle(self, request: Request) -> Reply: ...


@dataclass
class DirectWire:
    """Hands every request to a silo in this process; ``tamper`` may change, answer for, or lose it."""

    silos: Mapping[NodeId, Answering]
    tamper: Callable[[NodeId, Request], Request | None] = lambda _, request: request
    seen: list[tuple[NodeId, Request]] = field(default_factory=list)
    answered: list[Reply | None] = field(default_factory=list)
    _replies: dict[str, bytes | None] = field(default_factory=dict)
    _count: int = 0

    def nodes(self) -> tuple[NodeId, ...]:
        return tuple(self.silos)

    def post(self, requests: Mapping[NodeId, bytes], *, label: str, lifetime_seconds: float) -> Posted:
        del label, lifetime_seconds  # this wire delivers at once
        posted = {}
        for node, body in requests.items():
            self._count += 1
            request = decode(body)
            assert isinstance(request, Request)
            changed = self.tamper(node, request)
            posted[str(self._count)] = node
            self.seen.append((node, request))
            reply = None if changed is None else self.silos[node].handle(changed)
            self.answered.append(reply)
            self._replies[str(self._count)] = None if reply is None else encode(reply)
        return posted

    def collect(self, posted: Posted) -> dict[str, bytes | None]:
        return {message: self._replies.pop(message) for message in posted if message in self._replies}


@dataclass
class SmallConsortium:
    """A rehearsed consortium with its silos open."""

    folder: ConsortiumFolder
    plan: Plan
    silos: dict[NodeId, Silo]

    def node(self, name: str) -> NodeId:
        return next(node for node, silo in self.silos.items() if silo.name == name)

    def reopen(self, name: str) -> None:
        """Restarts a silo's process: its memory is gone, its files stay."""
        node = self.node(name)
        self.silos[node].close()
        self.silos[node] = open_silo(self.folder.policy(name))

    def edit_policy(self, name: str, old: str, new: str) -> None:
        """Changes one line of a policy and restarts the silo."""
        path = self.folder.policy(name)
        text = path.read_text()
        assert old in text
        path.write_text(text.replace(old, new))
        self.reopen(name)


def make_consortium(path: Path, config: Config) -> SmallConsortium:
    return _opened(path, rehearse(config, path))


def _opened(path: Path, plan: Plan) -> SmallConsortium:
    folder = ConsortiumFolder(path)
    silos = {100 + number: open_silo(folder.policy(name)) for number, name in enumerate(plan.facts.silos)}
    return SmallConsortium(folder, plan, silos)


@pytest.fixture(name="small_config")
def small_config_fixture() -> Callable[..., Config]:
    return small_config


@pytest.fixture(scope="session")
def copied(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Path, Config], SmallConsortium]:
    """Writes a consortium once for each config, and opens a copy."""
    written: dict[str, tuple[Path, Plan]] = {}

    def make(path: Path, config: Config) -> SmallConsortium:
        stated = config.model_dump_json()
        if stated not in written:
            first = tmp_path_factory.mktemp("consortium") / "first"
            written[stated] = first, rehearse(config, first)
        first, plan = written[stated]
        return _opened(shutil.copytree(first, path), plan)

    return make


@pytest.fixture(name="make_consortium")
def make_consortium_fixture(
    tmp_path: Path, copied: Callable[[Path, Config], SmallConsortium]
) -> Iterator[Callable[..., SmallConsortium]]:
    made: list[SmallConsortium] = []

    def make(config: Config | None = None) -> SmallConsortium:
        made.append(copied(tmp_path / f"consortium-{len(made)}", config or small_config()))
        return made[-1]

    yield make
    for consortium in made:
        for silo in consortium.silos.values():
            silo.close()


@pytest.fixture
def direct_wire() -> type[DirectWire]:
    return DirectWire


@pytest.fixture
def consortium(
    tmp_path: Path, copied: Callable[[Path, Config], SmallConsortium]
) -> Iterator[SmallConsortium]:
    made = copied(tmp_path / "consortium", small_config())
    yield made
    for silo in made.silos.values():
        silo.close()


@pytest.fixture
def short_folder() -> Iterator[Path]:
    """A folder whose path leaves room for a socket's."""
    with TemporaryDirectory(prefix="silo-") as folder:
        yield Path(folder)
