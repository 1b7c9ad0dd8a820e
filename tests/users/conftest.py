"""A silo that runs as a user of its own, for root only."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from discreet.config import load_config
from discreet.engines.flower.consortium import ConsortiumFolder, rehearse
from tests.users import machine

SILO = "cleveland"
PATIENCE_SECONDS = 120.0


@dataclass
class Place:
    """A silo's folder, its socket, and the users of the machine.

    Attributes:
        path: can be entered by everybody; holds ``silo/``, the silo's own, and ``run/``, for the socket.
    """

    path: Path
    users: machine.Users

    @property
    def silo(self) -> Path:
        return self.path / "silo"

    @property
    def socket(self) -> Path:
        return self.path / "run" / "silo.sock"

    def start(self, user: str, *arguments: object) -> subprocess.Popen[str]:
        """Starts Python as ``user``; core dumps are allowed, in the silo's folder."""
        command = [
            "prlimit",
            "--core=unlimited",
            *machine.as_user(user, [sys.executable, *map(str, arguments)]),
        ]
        return subprocess.Popen(
            command, cwd=self.silo, env=machine.environment(), text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip

    def serve(self, *options: object) -> subprocess.Popen[str]:
        return self.start(
            self.users.silo, "-m", "discreet", "silo", "serve", self.silo / "policy.toml",
            "--socket", self.socket, *options,
        )  # fmt: skip

    def probe(self, user: str, process: int, *names: str) -> dict[str, str]:
        """Returns what came of each attempt of ``probe.py`` that ``user`` makes."""
        probe = Path(__file__).with_name("probe.py")
        done = self.start(user, probe, self.path, self.socket, process, *names)
        out, err = done.communicate(timeout=PATIENCE_SECONDS)
        assert done.returncode == 0, err
        came: dict[str, str] = json.loads(out)
        return came


@dataclass
class Serving:
    """A silo's process, once it listens."""

    place: Place
    process: subprocess.Popen[str]
    log: str

    def probe(self, user: str, *names: str) -> dict[str, str]:
        return self.place.probe(user, self.process.pid, *names)

    def end(self) -> str:
        """Ends it and returns its whole log."""
        self.process.terminate()
        return self.log + self.process.communicate(timeout=PATIENCE_SECONDS)[1]


@pytest.fixture(scope="session")
def users() -> Iterator[machine.Users]:
    if not sys.platform.startswith("linux") or os.geteuid() != 0:
        pytest.skip("needs root on Linux to make three users: sudo make test-users")
    missing = [each for each in ("useradd", "setpriv", "unshare", "prlimit") if shutil.which(each) is None]
    if missing:
        pytest.skip(f"needs {missing[0]!r}, of the packages passwd and util-linux")
    made = machine.make_users()
    try:
        reach = subprocess.run(
            machine.as_user(made.stranger, [sys.executable, "-c", "import discreet"]),
            env=machine.environment(), cwd="/", check=False, capture_output=True, text=True,
        )  # fmt: skip
        if reach.returncode != 0:
            pytest.skip(
                f"another user cannot be given this Python ({sys.executable}): {reach.stderr.strip()}"
            )
        yield made
    finally:
        machine.remove_users(made)


@pytest.fixture(scope="session")
def rehearsed(users: machine.Users, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One silo's folder as `rehearse` writes it."""
    path = tmp_path_factory.mktemp("consortium")
    rehearse(load_config(machine.REPOSITORY / "examples" / "heart.toml"), path)
    return ConsortiumFolder(path).silo(SILO)


@contextlib.contextmanager
def placed(users: machine.Users, rehearsed: Path) -> Iterator[Place]:
    """A rehearsed silo with a file of records, all of it its user's own."""
    path = Path(tempfile.mkdtemp(prefix="discreet-users-"))
    made = Place(path, users)
    path.chmod(0o755)
    shutil.copytree(rehearsed, made.silo)
    policy = made.silo / "policy.toml"
    policy.write_text(policy.read_text().replace('source = "plan"', 'source = "csv:records.csv"'))
    (made.silo / "records.csv").write_text("age,sick\n61,1\n")
    (made.silo / "records.csv").chmod(0o600)
    (made.silo / "state").mkdir(mode=0o700)
    machine.chown(made.silo, users.silo, users.silo)
    made.socket.parent.mkdir()
    machine.chown(made.socket.parent, users.silo, users.group)
    made.socket.parent.chmod(0o750)
    yield made
    shutil.rmtree(path)


@pytest.fixture
def place(users: machine.Users, rehearsed: Path) -> Iterator[Place]:
    with placed(users, rehearsed) as made:
        yield made


@contextlib.contextmanager
def served(place: Place, *options: object) -> Iterator[Serving]:
    process = place.serve(*options)
    try:
        log: list[Any] = []
        while not log or "listens at" not in log[-1]:
            log.append(process.stderr.readline())
            assert log[-1], "".join(log)
        yield Serving(place, process, "".join(log))
    finally:
        process.kill()
        process.communicate()


@pytest.fixture
def own(place: Place, users: machine.Users) -> Iterator[Serving]:
    """A silo whose socket the SuperNode's user may open, for a test that ends it."""
    with served(place, "--socket-group", users.group) as serving:
        yield serving


@pytest.fixture(scope="module")
def shared(users: machine.Users, rehearsed: Path) -> Iterator[Serving]:
    """Such a silo, for tests that leave it as it was: it takes seconds to start."""
    with placed(users, rehearsed) as place, served(place, "--socket-group", users.group) as serving:
        yield serving
