"""Users of this machine for one test session, and real processes that run as them."""

from __future__ import annotations

import os
import pwd
import shlex
import stat
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Users:
    """The three of the threat model, and the group that the first two share."""

    silo: str
    supernode: str
    stranger: str
    group: str


def make_users() -> Users:
    number = os.getpid()
    users = Users(*(f"dis-{part}-{number}" for part in ("silo", "node", "strange", "group")))
    subprocess.run(["groupadd", "--system", users.group], check=True)
    for name, groups in ((users.silo, users.group), (users.supernode, users.group), (users.stranger, "")):
        subprocess.run(
            ["useradd", "--system", "--user-group", "--no-create-home", "--home-dir", "/nonexistent",
             "--shell", "/usr/sbin/nologin", *(["--groups", groups] if groups else []), name],
            check=True,
        )  # fmt: skip
    return users


def remove_users(users: Users) -> None:
    for name in (users.silo, users.supernode, users.stranger):
        subprocess.run(["userdel", name], check=False, capture_output=True)
    subprocess.run(["groupdel", users.group], check=False, capture_output=True)


def chown(path: Path, user: str, group: str) -> None:
    """Hands a tree over."""
    subprocess.run(["chown", "-R", f"{user}:{group}", str(path)], check=True)


def as_user(user: str, command: list[str]) -> list[str]:
    """Returns the command line that runs ``command`` as ``user``, with the groups of that user.

    Every program is replaced by the next, so that the process that was started is the one that runs.
    """
    drop = ["setpriv", "--reuid", user, "--regid", str(pwd.getpwnam(user).pw_gid), "--init-groups", *command]
    opening = _opening()
    if not opening:
        return drop
    return ["unshare", "--mount", "sh", "-euc", f"{opening}\nexec {shlex.join(drop)}"]


def environment() -> dict[str, str]:
    return {"PATH": os.environ["PATH"], "PYTHONPATH": str(REPOSITORY / "src"), "PYTHONDONTWRITEBYTECODE": "1"}


def _opening() -> str:
    """Returns shell lines that let other users reach Python and this repository, or nothing if they can.

    A Python below root's home is closed to them. In a mount namespace of its own a process sees that home as
    a folder that can be entered and holds nothing but Python and the repository; nobody else sees a change.
    """
    needed = sorted({os.path.realpath(each) for each in (sys.base_prefix, sys.prefix, REPOSITORY)})
    closed = sorted({folder for each in needed for folder in _closed(Path(each))})
    if not closed:
        return ""
    inside = [each for each in needed if any(Path(each).is_relative_to(folder) for folder in closed)]
    tops = [
        each for each in closed if not any(Path(each) != o and Path(each).is_relative_to(o) for o in closed)
    ]
    lines = ["aside=$(mktemp -d)"]
    for number, each in enumerate(inside):
        lines.append(f'mkdir "$aside/{number}"; mount --bind {shlex.quote(each)} "$aside/{number}"')
    lines += [f"mount -t tmpfs -o mode=755 none {shlex.quote(str(top))}" for top in tops]
    for number, each in enumerate(inside):
        lines.append(f'mkdir -p {shlex.quote(each)}; mount --bind "$aside/{number}" {shlex.quote(each)}')
    lines.append('umount "$aside"/*; rm -r "$aside"')
    return "\n".join(lines)


def _closed(path: Path) -> list[Path]:
    return [each for each in (path, *path.parents) if not each.stat().st_mode & stat.S_IXOTH]
