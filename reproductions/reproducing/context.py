"""What a reproduction is told: at which scale to run, and where the data are."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from reproducing.expected import Scale
from reproducing.rows import Cell, Deferred, Skipped


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

    def from_file(self, name: str, file: str, compute: Callable[[Path], Cell]) -> Deferred | Skipped:
        """Returns the cell ``name``, computed when it is wanted from a data file; skipped if that is missing.

        Args:
            name: the cell's name in expected.json.
            file: of the data folder.
            compute: given the file's path, returns the cell under the same name.
        """
        path = None if self.data is None else self.data / file
        if path is None or not path.is_file():
            return Skipped(name, f"{file} is not in the data folder")
        return Deferred(name, lambda: compute(path))
