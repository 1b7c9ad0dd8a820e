"""The proxy of the how-to page before a real SuperLink: SuperNodes pass, and nobody submits an app."""

from __future__ import annotations

import http.client
import re
import shutil
import socket
import ssl
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("flwr")

from discreet.engines.flower.certificates import make_certificates, make_node_key
from discreet.engines.flower.up.deployment import environment
from discreet.engines.flower.up.processes import Children

pytestmark = [pytest.mark.slow, pytest.mark.loopback]

PAGE = Path(__file__).parents[3] / "docs" / "how-to" / "keep-users-apart.md"
BIN = Path(sys.executable).parent
PATIENCE_SECONDS = 120.0
CONTROL = (
    "/v1/control/start-run",
    "/v1/control/register-node",
    "/v1/runtime/create-task",
    "/v1/fleet/../control/start-run",
    "/v1/fleet/%2e%2e/control/start-run",
    "/v1/fleet/..%2fcontrol/start-run",
    "/v1/fleet//../../control/start-run",
    "//v1/control/start-run",
    "/docs",
    "/openapi.json",
)


def free_port() -> Any:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def until(ready: Any, child: Any) -> None:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not ready():
        assert child.alive, child.last_lines(20)
        assert time.monotonic() < deadline, child.last_lines(20)
        time.sleep(0.2)


def status(port: Any, path: Any, authority: Any) -> Any:
    """Returns the HTTP status of an empty request, with the path as it stands."""
    context = ssl.create_default_context(cafile=authority)
    connection = http.client.HTTPSConnection("127.0.0.1", port, timeout=20, context=context)
    try:
        connection.request("POST", path, headers={"Content-Type": "application/x-protobuf"})
        return connection.getresponse().status
    except ConnectionRefusedError:
        return None
    finally:
        connection.close()


def configuration(folder: Any, certificates: Any, front: Any, back: Any) -> Any:
    """Returns a whole nginx configuration around the page's block."""
    block = re.search(r"```text\n(server .*?)```", PAGE.read_text(encoding="utf-8"), flags=re.DOTALL).group(1)
    for old, new in {
        "listen 8000": f"listen 127.0.0.1:{front}",
        "127.0.0.1:8001": f"127.0.0.1:{back}",
        "server.pem": str(certificates.certificate),
        "server.key": str(certificates.key),
        "ca.crt": str(certificates.authority),
    }.items():
        assert old in block
        block = block.replace(old, new)
    places = "".join(
        f"{kind}_temp_path {folder}/{kind};\n"
        for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    path = folder / "nginx.conf"
    path.write_text(
        f"daemon off;\npid {folder}/nginx.pid;\nerror_log stderr;\nevents {{}}\n"
        f"http {{\naccess_log off;\n{places}{block}}}\n"
    )
    return path


@pytest.mark.skipif(shutil.which("nginx") is None, reason="needs nginx")
def test_supernodes_pass_the_proxy_and_nobody_else_does(tmp_path: Path) -> None:
    certificates = make_certificates(tmp_path / "tls")
    front, back = free_port(), free_port()
    tls: list[str | Path] = [
        "--ssl-ca-certfile", certificates.authority, "--ssl-certfile", certificates.certificate,
        "--ssl-keyfile", certificates.key,
    ]  # fmt: skip
    home = tmp_path / "flower"
    home.mkdir()
    (home / "config.toml").write_text(
        f'[superlink]\ndefault = "back"\n\n[superlink.back]\naddress = "127.0.0.1:{back}"\n'
        f'root-certificates = "{certificates.authority}"\n\n[superlink.front]\n'
        f'address = "127.0.0.1:{front}"\nroot-certificates = "{certificates.authority}"\n'
    )

    def flwr(*arguments: Any) -> Any:
        return subprocess.run(
            [str(BIN / "flwr"), *map(str, arguments)], env=environment(home), capture_output=True, text=True,
            check=False, timeout=PATIENCE_SECONDS,
        )  # fmt: skip

    with Children(tmp_path / "logs", environment(home)) as children:
        link = children.start(
            "superlink", [BIN / "flower-superlink", *tls, "--enable-supernode-auth", "--host", "127.0.0.1",
                          "--port", str(back), "--disable-runtime-dependency-installation"],
        )  # fmt: skip
        proxy = children.start(
            "nginx", ["nginx", "-p", tmp_path, "-c", configuration(tmp_path, certificates, front, back)]
        )
        until(lambda: status(back, "/v1/control/list-nodes", certificates.authority) is not None, link)
        until(lambda: status(front, "/", certificates.authority) == 404, proxy)

        assert status(back, CONTROL[0], certificates.authority) != 404
        assert {path: status(front, path, certificates.authority) for path in CONTROL} == dict.fromkeys(
            CONTROL, 404
        )
        key = tmp_path / "supernode.key"
        public = make_node_key(key)
        assert flwr("supernode", "register", public, "front").returncode != 0
        # Whoever reaches the SuperLink itself needs no more than the authority's certificate.
        registered = flwr("supernode", "register", public, "back")
        assert registered.returncode == 0, registered.stderr
        node = children.start(
            "supernode", [BIN / "flower-supernode", "--root-certificates", certificates.authority, *tls,
                          "--auth-supernode-private-key", key, "--superlink", f"127.0.0.1:{front}",
                          "--host", "127.0.0.1", "--port", str(free_port())],
        )  # fmt: skip
        until(lambda: "online" in flwr("supernode", "list", "back").stdout.lower(), node)
