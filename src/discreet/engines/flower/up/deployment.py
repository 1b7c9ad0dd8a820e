"""Starting a deployment on this machine, in the order in which its parts need each other."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from discreet.engines.flower.certificates import Certificates, make_certificates, make_node_key
from discreet.engines.flower.consortium import ConsortiumFolder
from discreet.engines.flower.up import resident
from discreet.engines.flower.up.processes import Child, Children
from discreet.engines.flower.up.supervision import Supervision
from discreet.errors import ConfigurationError
from discreet.plan import Plan

_HOST: Final = "127.0.0.1"
_LINK_NAME: Final = "rehearsal"
_SUPERLINK: Final = "superlink"
_RUN: Final = "run"
_NODE_KEY: Final = "supernode.key"
_START_SECONDS: Final = 240.0
_POLL_SECONDS: Final = 0.1
_QUIET = {
    "FLWR_TELEMETRY_ENABLED": "0",
    "FLWR_DISABLE_UPDATE_CHECK": "1",
    "FLWR_DISABLE_RUNTIME_DEPENDENCY_INSTALLATION": "1",
    "FLWR_SUPEREXEC_TASK_POLL_INTERVAL": "0.25",
    "OMP_NUM_THREADS": "1",
}


@dataclass(frozen=True, slots=True)
class Settings:
    """How this machine runs a deployment; nothing here touches a guarantee.

    Attributes:
        sockets: a folder with a short path, for the silos' sockets.
        port: the SuperLink's; None takes a free one.
    """

    sockets: Path
    port: int | None


@dataclass(frozen=True, slots=True)
class Link:
    """Where the SuperLink is and how it is known."""

    address: str
    certificates: Certificates

    def tls_options(self) -> list[str | Path]:
        """Returns the options by which Flower's processes find the certificates."""
        files = self.certificates
        return ["--ssl-ca-certfile", files.authority, "--ssl-certfile", files.certificate,
                "--ssl-keyfile", files.key]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Deployment:
    """A running deployment.

    Attributes:
        children: its programs.
        supervision: starts those again that die.
        port: the SuperLink's.
    """

    children: Children
    supervision: Supervision
    port: int

    @property
    def reachable(self) -> bool:
        """Says whether the SuperLink takes submissions."""
        return self.children.started[_SUPERLINK].alive and _listening(self.port)

    def submit(self, app: Path, run_config: str) -> Child:
        """Submits a Flower app, in place of an earlier submission; the process follows the run's log."""
        if _RUN in self.children.started:
            return self.children.start_again(_RUN)
        command: list[str | Path] = [_command("flwr"), "run", app, _LINK_NAME, "--stream", "-c", run_config]
        return self.children.start(_RUN, command, app)

    def kill(self, silo: str) -> None:
        """Ends a silo and its SuperNode at once and for good, as a power cut would."""
        for name in (f"silo-{silo}", f"supernode-{silo}"):
            self.supervision.drop(name)


def environment(flower_home: Path) -> dict[str, str]:
    """Returns the environment of every process: Flower's commands on the path, nothing that calls home."""
    own = str(Path(sys.executable).parent)
    return {
        **os.environ,
        **_QUIET,
        "FLWR_HOME": str(flower_home),
        "PATH": os.pathsep.join((own, os.environ.get("PATH", os.defpath))),
    }


def require_flower() -> None:
    """Refuses to start without Flower's commands beside this Python.

    Raises:
        ConfigurationError: saying what to install.
    """
    missing = [
        name for name in ("flower-superlink", "flower-supernode", "flwr") if not _command(name).exists()
    ]
    if missing:
        raise ConfigurationError(
            f"Flower must be installed beside this Python ({sys.executable}); {missing[0]!r} is missing. "
            f"{_remedy()}"
        )


def _remedy() -> str:
    """Returns the command that works here: in a checkout, Flower has an environment of its own."""
    checkout = Path(__file__).parents[5]
    if not (checkout / "constraints-flower.txt").exists():
        return "Run: pip install 'discreet[flower]'"
    own = checkout / ".venv-flower" / "bin" / "discreet"
    return f"Run: {own} up …" if own.exists() else "Run `make flower`, then .venv-flower/bin/discreet up …"


def start(
    folder: ConsortiumFolder,
    plan: Plan,
    children: Children,
    settings: Settings,
    announce: Callable[[str], None],
) -> Deployment:
    """Starts SuperLink, silos and SuperNodes; nothing runs on them yet.

    Raises:
        ConfigurationError: if a part does not come up; quotes the end of its log.
    """
    port = _free_port() if settings.port is None else _usable_port(settings.port)
    link = Link(f"{_HOST}:{port}", make_certificates(folder.path / "tls"))
    superlink = children.start(
        _SUPERLINK,
        [_command("flower-superlink"), *link.tls_options(), "--enable-supernode-auth", "--host", _HOST,
         "--port", str(port), "--disable-runtime-dependency-installation",
         "--database", folder.path / "superlink.db"],
    )  # fmt: skip
    sockets = {name: settings.sockets / f"{number}.sock" for number, name in enumerate(plan.facts.silos)}
    silos = {name: _start_silo(folder, name, path, children) for name, path in sockets.items()}
    _configure(Path(children.environment["FLWR_HOME"]), link)
    _await_port(superlink, port)
    announce(f"SuperLink on {link.address}, with TLS and SuperNode authentication")
    _register(folder, plan.facts.silos, children)
    for name, path in sockets.items():
        _start_supernode(folder, name, path, link, children=children)
    for name, path in sockets.items():
        _await(silos[name], path.exists)
        announce(f"{name}: silo and SuperNode started")
    supervision = Supervision(children, announce)
    for name in children.started:
        supervision.watch(name)
    return Deployment(children, supervision, port)


def _start_silo(folder: ConsortiumFolder, name: str, socket_path: Path, children: Children) -> Child:
    """Starts a silo's own process, the only one that holds its records and keys."""
    return children.start(
        f"silo-{name}",
        [
            sys.executable,
            "-P",
            "-m",
            "discreet",
            "silo",
            "serve",
            folder.policy(name),
            "--socket",
            socket_path,
        ],
    )


def _register(folder: ConsortiumFolder, names: tuple[str, ...], children: Children) -> None:
    """Makes every SuperNode's key and registers it with the SuperLink."""

    def register(name: str) -> None:
        public_key = make_node_key(folder.silo(name) / _NODE_KEY)
        _run([_command("flwr"), "supernode", "register", public_key, _LINK_NAME], children)

    with ThreadPoolExecutor(max_workers=2) as pool:
        list(pool.map(register, names))


def _start_supernode(
    folder: ConsortiumFolder, name: str, socket_path: Path, link: Link, *, children: Children
) -> Child:
    """Starts the process that carries a silo's messages."""
    return children.start(
        f"supernode-{name}",
        [sys.executable, "-P", resident.__file__, "flower-supernode",
         "--root-certificates", link.certificates.authority,
         *link.tls_options(), "--auth-supernode-private-key", folder.silo(name) / _NODE_KEY,
         "--superlink", link.address, "--host", _HOST, "--port", str(_free_port()),
         "--node-config", f'silo-socket="{socket_path}"'],
    )  # fmt: skip


def _command(name: str) -> Path:
    return Path(sys.executable).parent / name


def _configure(flower_home: Path, link: Link) -> None:
    """Tells Flower's command line where the SuperLink is."""
    flower_home.mkdir(parents=True, exist_ok=True)
    (flower_home / "config.toml").write_text(
        f'[superlink]\ndefault = "{_LINK_NAME}"\n\n[superlink.{_LINK_NAME}]\naddress = "{link.address}"\n'
        f'root-certificates = "{link.certificates.authority}"\n',
        encoding="utf-8",
    )


def _run(command: list[str | Path], children: Children) -> None:
    """Runs a short command to its end."""
    done = subprocess.run(  # noqa: S603 (a fixed command of the installed Flower)
        [str(part) for part in command],
        env=dict(children.environment),
        capture_output=True,
        text=True,
        timeout=_START_SECONDS,
        check=False,
    )
    if done.returncode != 0:
        said = (done.stdout + done.stderr).strip().splitlines()[-3:]
        raise ConfigurationError(
            f"{Path(command[0]).name} {command[1]} must succeed; it said: {' '.join(said)}"
        )


def _usable_port(port: int) -> int:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((_HOST, port))
        except OSError as error:
            raise ConfigurationError(
                f"port {port} must be free on {_HOST}; {error.strerror}. Give another with --port."
            ) from None
    return port


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind((_HOST, 0))
        return int(probe.getsockname()[1])


def _await_port(child: Child, port: int) -> None:
    _await(child, lambda: _listening(port))


def _listening(port: int) -> bool:
    with socket.socket() as probe:
        probe.settimeout(1.0)
        return probe.connect_ex((_HOST, port)) == 0


def _await(child: Child, ready: Callable[[], bool]) -> None:
    deadline = time.monotonic() + _START_SECONDS
    while not ready():
        if not child.alive or time.monotonic() > deadline:
            raise ConfigurationError(
                f"{child.name} must come up; it did not. Its log ends:\n{child.last_lines(5)}"
            )
        time.sleep(_POLL_SECONDS)
