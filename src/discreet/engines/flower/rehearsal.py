"""Silos of a rehearsal: in this process, one thread and one socket each. One trust domain, no secrecy."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from discreet.errors import ConfigurationError
from discreet.silo.doorway import check_socket_path
from discreet.silo.service import serve
from discreet.silo.silo import Silo, open_silo

_PATIENCE_SECONDS = 60.0


@contextmanager
def rehearsed(folder: Path | None) -> Iterator[None]:
    """Serves every silo whose policy lies in a subfolder of ``folder``, numbered in order of name.

    Raises:
        ConfigurationError: if there is no policy.
    """
    if folder is None:
        yield
        return
    policies = sorted(folder.glob("*/policy.toml"))
    if not policies:
        raise ConfigurationError(f"a rehearsal must hold */policy.toml files; {folder} holds none.")
    with ExitStack() as stack:
        for number, policy in enumerate(policies):
            silo = open_silo(policy)
            stack.callback(silo.close)
            stack.enter_context(served(silo, folder / f"{number}.sock"))
        yield


@contextmanager
def served(silo: Silo, socket_path: Path) -> Iterator[None]:
    """Serves a silo from a thread for as long as the context lasts.

    Raises:
        ConfigurationError: if it does not come up.
    """
    check_socket_path(socket_path)
    stop, ready = threading.Event(), threading.Event()

    def work() -> None:
        serve(silo, socket_path, stop=stop, ready=ready.set, log=lambda _: None)

    thread = threading.Thread(target=work, name=f"silo {silo.name}", daemon=True)
    thread.start()
    try:
        if not ready.wait(_PATIENCE_SECONDS):
            raise ConfigurationError(f"{silo.name} must listen at {socket_path}; it does not.")
        yield
    finally:
        stop.set()
        thread.join(_PATIENCE_SECONDS)
