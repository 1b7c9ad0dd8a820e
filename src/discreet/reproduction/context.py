"""What a reproduction is told: at which scale to run, and where the data are."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from pathlib import Path


class Scale(Enum):
    """How much to compute: ``SMALL`` in minutes, in every change; ``FULL`` as in the paper, by hand."""

    SMALL = "small"
    FULL = "full"


@dataclass(frozen=True, slots=True)
class Context:
    """Handed to ``cells`` of a reproduction.

    Attributes:
        scale: how much to compute.
        folder: the reproduction's own folder, with its configs.
        data: folder of the real data sets; None if there is none, then cells that need it are skipped.
        cache: folder for files that several cells, or several runs, are made from; None makes them anew.
    """

    scale: Scale
    folder: Path
    data: Path | None
    cache: Path | None = None

    def file(self, name: str) -> Path | None:
        """Returns the path of a data file, or None if it is not there."""
        path = None if self.data is None else self.data / name
        return path if path is not None and path.is_file() else None
