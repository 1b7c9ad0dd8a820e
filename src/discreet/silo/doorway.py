"""A silo's Unix socket: which users may open it, where it may lie, and who is turned away all the same."""

from __future__ import annotations

import grp
import os
import socket
import stat
import struct
import sys
from pathlib import Path

from discreet.errors import ConfigurationError
from discreet.silo.custody import folders_of, require_kept

_LONGEST_SOCKET_PATH = 100
_OWNER_ONLY = 0o600
_OWNER_AND_GROUP = 0o660
_FOLDER_FOR_GROUP = 0o750
# struct ucred of unix(7): process, user and group of the peer when it connected.
_CREDENTIALS = struct.Struct("3i")

ONE_USER = (
    "ATTENTION: only this silo's own user may open its socket, so the SuperNode runs as that user, and code "
    "that the server submits could read this silo's key and records. Give the SuperNode a user of its own, "
    "and name a group of both with --socket-group."
)
"""What an owner is told who names no group."""


def group_number(name: str) -> int:
    """Returns the number of the group ``name``.

    Raises:
        ConfigurationError: if there is no such group.
    """
    try:
        return grp.getgrnam(name).gr_gid
    except KeyError:
        raise ConfigurationError(
            f"--socket-group must name a group of this machine; got {name!r}. Make one: groupadd {name}"
        ) from None


def check_socket_path(path: Path) -> None:
    """Refuses a path that the system would not take.

    Raises:
        ConfigurationError: if it is too long.
    """
    if len(str(path)) > _LONGEST_SOCKET_PATH:
        raise ConfigurationError(
            f"the socket's path must be at most {_LONGEST_SOCKET_PATH} characters; got {len(str(path))}. "
            "Give a shorter one with --socket."
        )


def listen(listener: socket.socket, path: Path, group: int | None) -> None:
    """Listens at ``path``; a socket that lies there already is replaced.

    Guarantee:
        Without a group, the owner and root alone may connect (mode 0600). With one, its members may too
        (0660), and no other user but root could have put another socket in its place.

    Raises:
        ConfigurationError: if path, folder or group cannot be used. Only a socket is ever replaced.
    """
    check_socket_path(path)
    try:
        _prepare_folder(path.parent, group)
        _bind(listener, path)
        if group is not None:
            os.chown(path, -1, group)
            path.chmod(_OWNER_AND_GROUP)
    except OSError as error:
        raise ConfigurationError(f"the socket must be usable; {path}: {error.strerror}.") from None
    listener.listen()


def why_not(connection: socket.socket, group: int | None) -> str | None:
    """Says why nothing is answered to a peer, or None if it may ask.

    With a group the SuperNode was meant to have a user of its own. A peer that is the silo's own user, or
    root, shows that it has not: code that a server submits would read what the silo reads. Without a group
    every peer is one of these two, and `ONE_USER` said so. Only Linux tells who a peer is.
    """
    if group is None or sys.platform != "linux":
        return None
    credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    process, user, _ = _CREDENTIALS.unpack(credentials)
    if user not in (os.geteuid(), 0):
        return None
    who = "root" if user == 0 else "the silo's own user"
    return (
        f"ATTENTION: process {process} runs as {who} and is answered nothing: code that the server submits "
        "to such a SuperNode could read this silo's key and records. Run it as another user in the group."
    )


def _bind(listener: socket.socket, path: Path) -> None:
    if path.exists() and not path.is_socket():
        raise ConfigurationError(f"the socket must not replace another file; {path} is one.")
    path.unlink(missing_ok=True)
    mask = os.umask(0o777 & ~_OWNER_ONLY)
    try:
        listener.bind(str(path))
    finally:
        os.umask(mask)


def _prepare_folder(folder: Path, group: int | None) -> None:
    """Makes the folder if there is none, and checks who may enter and change it."""
    if group is None:
        folder.mkdir(parents=True, exist_ok=True)
        return
    _require_membership(group)
    # Before anything is made or given to the group: whoever may exchange a link would choose what.
    for each in (way := folders_of(folder / "socket")):
        require_kept(each)
    if not folder.exists():
        folder.mkdir(parents=True)
        os.chown(folder, -1, group)
        folder.chmod(_FOLDER_FOR_GROUP)
    if folder.stat().st_mode & stat.S_ISVTX:
        raise ConfigurationError(
            f"the socket's folder must be the silo's alone; others may make files in {folder}. "
            "Choose another with --socket."
        )
    for each in reversed(way):
        _require_entry(each, group)


def _require_entry(folder: Path, group: int) -> None:
    found = folder.stat()
    if not found.st_mode & (stat.S_IXGRP if found.st_gid == group else stat.S_IXOTH):
        name = _group_name(group)
        raise ConfigurationError(
            f"the group {name} must be able to enter the socket's folder; it cannot enter {folder}. "
            f"Run: chgrp {name} {folder} && chmod g+x {folder}; or choose another folder with --socket."
        )


def _require_membership(group: int) -> None:
    if os.geteuid() != 0 and group not in (os.getegid(), *os.getgroups()):
        name = _group_name(group)
        raise ConfigurationError(
            f"the silo's user must be in the socket's group; it is not in {name}. "
            f"Run: usermod --append --groups {name} USER, and log in again."
        )


def _group_name(group: int) -> str:
    try:
        return grp.getgrgid(group).gr_name
    except KeyError:
        return str(group)
