"""Where files lie that a run names: in the folder that its reader gave, and nowhere else."""

from __future__ import annotations

from pathlib import Path, PurePath

from discreet.verify.failure import VerificationFailure


def inside(folder: Path, name: str) -> Path:
    """Returns the path of a file that a run names, which must lie in ``folder`` itself.

    Raises:
        VerificationFailure: if the name leads elsewhere.
    """
    if not name or PurePath(name).name != name or name == ".." or "$" in name:
        raise VerificationFailure(f"the plan must name a file of {folder} without a folder; got {name!r}.")
    return folder / name
