"""A silo that is watched, and the strict reader of metrics."""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from discreet.cli.owner_log import OwnerLog
from discreet.health import SiloWatch, read_silo_status
from discreet.log_line import LogFormat
from discreet.silo.events import SiloEvent
from discreet.silo.silo import Surroundings, open_silo
from tests.engines.conftest import SmallConsortium

BEGAN = 1_700_000_000.0


@dataclass
class Watched:
    """What a silo tells its owner; the clock goes on by a second with every request."""

    policy: Path
    watch: SiloWatch = field(init=False)
    written: io.StringIO = field(default_factory=io.StringIO)
    events: list[SiloEvent] = field(default_factory=list)
    now: float = BEGAN

    def __post_init__(self) -> None:
        self.watch = SiloWatch(read_silo_status(self.policy), lambda: self.now)
        self.log = OwnerLog(LogFormat.AUTO, self.written)

    def tell(self, event: SiloEvent) -> None:
        self.now += 1.0
        self.events.append(event)
        self.watch.observe(event)
        self.log.tell(event)


@pytest.fixture
def watched(consortium: SmallConsortium) -> Callable[[str], Watched]:
    """Opens a silo of the consortium anew, watched."""

    def open_watched(name: str) -> Watched:
        node = consortium.node(name)
        consortium.silos[node].close()
        made = Watched(consortium.folder.policy(name))
        surroundings = Surroundings(log=made.log.warn, tell=made.tell)
        consortium.silos[node] = open_silo(made.policy, surroundings)
        return made

    return open_watched
