"""Runs as one of the users and tries what its arguments name; prints what came of each attempt as JSON.

Reading is tried on files only: an attempt that succeeds gives "done", else the name of the system's error.
"""

from __future__ import annotations

import ctypes
import errno
import json
import os
import signal
import socket
import sys
from collections.abc import Callable
from pathlib import Path

from discreet.errors import ConfigurationError
from discreet.silo.connection import ask
from discreet.silo.requests import Hello, Present, decode, encode

_PTRACE_ATTACH = 16


def attempts(place: Path, socket_path: Path, process: int) -> dict[str, Callable[[], object]]:
    silo = place / "silo"
    files = ("identity.key", "policy.toml", "records.csv", "state/ledger.jsonl", "state/journal.bin")
    return {
        "ask": lambda: greet(socket_path),
        **{f"read {name}": (silo / name).read_bytes for name in files},
        "list state": lambda: os.listdir(silo / "state"),
        "list silo": lambda: os.listdir(silo),
        "read /proc mem": lambda: read_process(process, "mem"),
        "read /proc environ": lambda: read_process(process, "environ"),
        "read /proc maps": lambda: read_process(process, "maps"),
        "list /proc fd": lambda: os.listdir(f"/proc/{process}/fd"),
        "ptrace": lambda: trace(process),
        "signal": lambda: os.kill(process, signal.SIGTERM),
        "unlink socket": socket_path.unlink,
        "rename socket": lambda: socket_path.rename(socket_path.with_name("other")),
        "make a file beside the socket": lambda: socket_path.with_name("mine").touch(),
        "replace the socket's folder": lambda: socket_path.parent.rename(place / "gone"),
    }


def greet(path: Path) -> None:
    try:
        reply = decode(ask(path, encode(Hello()), timeout_seconds=20))
    except ConfigurationError as error:
        raise PermissionError(errno.EACCES, str(error)) from None
    assert isinstance(reply, Present)


def read_process(process: int, name: str) -> None:
    """Opening some of these files is allowed to everybody, and only reading them is not."""
    with open(f"/proc/{process}/{name}", "rb", buffering=0) as file:
        if name == "mem":
            file.seek(0x1000)
            try:
                file.read(1)
            except OSError as error:
                if error.errno == errno.EIO:  # allowed, with nothing at this address
                    return
                raise
        elif not file.read(1):
            raise PermissionError(errno.EACCES, "empty")


def trace(process: int) -> None:
    if ctypes.CDLL(None, use_errno=True).ptrace(_PTRACE_ATTACH, process, None, None) != 0:
        raise OSError(ctypes.get_errno(), "ptrace")


def drip(path: Path) -> None:
    """Connects and says nothing, for as long as it lives."""
    kept = []
    for _ in range(12):
        kept.append(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM))
        kept[-1].connect(str(path))
        kept[-1].send(b"\x20")
    print("dripping", flush=True)
    signal.pause()


def main() -> None:
    place, socket_path, process, *names = sys.argv[1:]
    if names == ["drip"]:
        drip(Path(socket_path))
    came = {}
    every = attempts(Path(place), Path(socket_path), int(process))
    for name in names or every:
        try:
            every[name]()
            came[name] = "done"
        except OSError as error:
            came[name] = errno.errorcode.get(error.errno or 0, type(error).__name__)
    print(json.dumps(came))


if __name__ == "__main__":
    main()
