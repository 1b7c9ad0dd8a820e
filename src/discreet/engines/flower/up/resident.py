"""Flower's own SuperNode, quicker on one machine: it asks often, and forks what imports Flower (ADR 58).

    python resident.py flower-supernode OPTIONS…

A SuperNode asks for messages every 3 s, and starts a Python process for each, which imports for a second: no
setting of Flower's changes either. Here it asks twice a second, and its SuperExec forks that process from
one that has imported. What is said over the network, and to whom, stays the same. Where a version of Flower
does not use the two names that are replaced, all is as slow as before.
"""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
import time
from types import SimpleNamespace
from typing import Any, Final

_SUPERNODE: Final = "flower-supernode"
_SUPEREXEC: Final = "flower-superexec"
_CLIENTAPP: Final = "flwr-clientapp"
# Half a second for three: every request costs this machine, which carries all silos, some work.
_SHORTER: Final = 6.0
_IMPORTED_BEFORE: Final = ["flwr.supernode.cli", "discreet.engines.flower.client_app"]


def supernode() -> None:
    """Runs Flower's SuperNode, which starts `superexec`."""
    from flwr.supernode import start_client_internal
    from flwr.supernode.cli import flower_supernode

    start_client_internal.time = SimpleNamespace(sleep=_sleep)
    start_client_internal.subprocess = SimpleNamespace(Popen=_start_superexec)
    flower_supernode()


def superexec() -> None:
    """Runs Flower's SuperExec, which forks ClientApps."""
    from flwr.supercore.cli import flower_superexec
    from flwr.supercore.superexec.executor import subprocess_executor

    multiprocessing.set_start_method("forkserver")
    multiprocessing.set_forkserver_preload(_IMPORTED_BEFORE)
    subprocess_executor.subprocess = SimpleNamespace(Popen=_start_app, DEVNULL=subprocess.DEVNULL)
    flower_superexec()


def _sleep(seconds: float) -> None:
    time.sleep(seconds / _SHORTER)


def _start_superexec(command: list[str]) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-P", __file__, *command])  # noqa: S603 (the SuperNode's own command)


def _start_app(command: list[str], **streams: Any) -> None:
    if command[0] == _CLIENTAPP:
        multiprocessing.Process(target=_client_app, args=(command, streams)).start()
    else:
        subprocess.Popen(command, **streams)  # noqa: S603 (the SuperExec's own command)


def _client_app(command: list[str], streams: dict[str, Any]) -> None:
    from flwr.supernode.cli import flwr_clientapp

    for descriptor, name in enumerate(("stdout", "stderr"), start=1):
        # All that Flower asks for: a fork shares the descriptors of the process that it was forked from.
        if streams.get(name) == subprocess.DEVNULL:
            os.dup2(os.open(os.devnull, os.O_WRONLY), descriptor)
    sys.argv = command
    flwr_clientapp()


if __name__ == "__main__":
    sys.argv = sys.argv[1:]
    {_SUPERNODE: supernode, _SUPEREXEC: superexec}[sys.argv[0]]()
