"""Whose the files of a silo are: no other user but root may write them, and none reads what is secret."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from discreet.data.dialect import Dialects
from discreet.data.table_files import TABLES, table_files
from discreet.errors import ConfigurationError
from discreet.silo.policy import Policy

_WRITABLE = stat.S_IWGRP | stat.S_IWOTH
_OPEN = stat.S_IRWXG | stat.S_IRWXO
_MOST_LINKS = 40


def require_custody(policy_path: Path, policy: Policy, *, shared_machine: bool) -> None:
    """Refuses files of a silo that another user could change or, where secret, read.

    Guarantee:
        Policy, key, state and the file of records belong to this user or to root, and nobody else may write
        them or the folders that they lie in. Key and state are open to nobody else at all; with
        ``shared_machine``, neither are policy and records, and nobody else may write any folder above.

    Args:
        policy_path: the file that ``policy`` was read from.
        policy: what it says.
        shared_machine: whether another user, the SuperNode's, is meant to run on this machine.

    Raises:
        ConfigurationError: for the first file that does not comply, with the command that mends it.
    """
    others = _OPEN if shared_machine else _WRITABLE
    for path in (policy_path, policy.identity):
        if path.is_symlink():
            raise ConfigurationError(
                f"{path} must be a file and no link; whoever owns the link could exchange it."
            )
    files = [
        (policy_path, others),
        (policy.identity, _OPEN),
        (policy.state, _OPEN),
        (policy.anchor, _WRITABLE),
    ]
    files += [(path, _WRITABLE) for path in policy.data.weight_files.values()]
    scheme, _, rest = policy.data.source.partition(":")
    if policy.data.source.startswith(TABLES):
        found = table_files(policy.data.source, Dialects()).files.values()
        files += [(file.path, others) for file in found]
    elif scheme == "npz":
        files.append((Path(rest), others))
    for path, forbidden in files:
        _require(path, forbidden)
        for folder in folders_of(path) if shared_machine else (path.resolve().parent, path.absolute().parent):
            require_kept(folder)


def folders_of(path: Path) -> tuple[Path, ...]:
    """Returns every folder through which ``path`` leads, those that links on the way are in included.

    Whoever may write one of them could exchange a link, and so what the path ends in.

    Raises:
        ConfigurationError: if there are more links than a system follows, or one belongs to another user,
            who can exchange it even in a folder like /tmp.
    """
    found: dict[Path, None] = {}
    pending = list(reversed(path.absolute().parts))
    here, links = Path(pending.pop()), 0
    while pending:
        found[here] = None
        part = pending.pop()
        if part == "..":
            here = here.parent
            continue
        step = here / part
        if not step.is_symlink():
            here = step
            continue
        _require_owner(step, step.lstat().st_uid)
        links += 1
        if links > _MOST_LINKS:
            raise ConfigurationError(
                f"{path} must lead somewhere; it leads through more than {_MOST_LINKS} links."
            )
        target = step.readlink()
        pending += reversed(target.parts[1:] if target.is_absolute() else target.parts)
        here = Path(target.anchor) if target.is_absolute() else here
    return tuple(found)


def require_kept(folder: Path) -> None:
    """Refuses a folder in which a user other than this one and root could exchange what is not theirs.

    A folder with the sticky bit, as /tmp has it, may be written by others: it keeps them from it.

    Raises:
        ConfigurationError: with the command that mends it.
    """
    _require(folder, _WRITABLE, sticky=True)


def _require(path: Path, forbidden: int, *, sticky: bool = False) -> None:
    try:
        found = path.stat()
    except OSError:  # whoever reads it says so; the state is made with the right mode
        return
    if sticky and found.st_mode & stat.S_ISVTX:
        forbidden = 0
    _require_owner(path, found.st_uid)
    if found.st_mode & forbidden:
        what, change = ("writable by", "go-w") if forbidden == _WRITABLE else ("open to", "go=")
        raise ConfigurationError(
            f"{path} must not be {what} other users; its mode is {stat.S_IMODE(found.st_mode):04o}. "
            f"Run: chmod {change} {path}"
        )


def _require_owner(path: Path, user: int) -> None:
    if user not in (os.geteuid(), 0):
        raise ConfigurationError(
            f"{path} must belong to the silo's user or to root; it belongs to user {user}. "
            f"Run as root: chown -h {os.geteuid()} {path}"
        )
