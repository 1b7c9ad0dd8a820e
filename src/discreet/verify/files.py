"""Which files of a run are opened: its own, by name, and nothing that only points somewhere else."""

from __future__ import annotations

import stat
from collections.abc import Iterable
from pathlib import Path, PurePath

from discreet.verify.failure import VerificationFailure


def require_own_files(directory: Path, names: Iterable[str]) -> None:
    """Checks that each of ``names`` that is there is a plain file of ``directory``.

    A link could lead out of the directory; a device or a pipe could be read without end.

    Raises:
        VerificationFailure: naming the first one that is not.
    """
    for name in names:
        try:
            mode = (directory / name).lstat().st_mode
        except OSError:
            continue  # whoever needs the file says that it is missing
        if not stat.S_ISREG(mode):
            raise VerificationFailure(f"{name} must be a plain file of the run; it is a link or a device.")


def inside(folder: Path, name: str) -> Path:
    """Returns the path of a file that a run names, which must lie in ``folder`` itself.

    Raises:
        VerificationFailure: if the name leads elsewhere.
    """
    if not name or PurePath(name).name != name or name == ".." or "$" in name:
        raise VerificationFailure(f"the plan must name a file of {folder} without a folder; got {name!r}.")
    return folder / name
