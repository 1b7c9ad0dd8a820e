"""Reading an ``.npz`` archive that somebody else wrote: plain arrays, or one `ValueError`."""

from __future__ import annotations

from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt


def read_arrays(path: Path) -> dict[str, npt.NDArray[Any]]:
    """Returns the arrays of an archive by their names; never reads a pickle.

    Raises:
        OSError: if the file cannot be opened.
        ValueError: for everything but an archive of plain arrays, each there once, that memory has room for.
    """
    with path.open("rb") as file:
        return arrays_in(file, path.name)


def arrays_in(file: IO[bytes], name: str) -> dict[str, npt.NDArray[Any]]:
    """Returns the arrays of an archive that is open, as `read_arrays` does; ``name`` is for its message."""
    twice = False
    try:
        archive = np.load(file, allow_pickle=False)
        if isinstance(archive, np.lib.npyio.NpzFile):
            twice = len(set(archive.files)) < len(archive.files)
            found = {} if twice else {key: archive[key] for key in archive.files}
            if not twice and all(isinstance(array, np.ndarray) for array in found.values()):
                return found
    except MemoryError:
        raise ValueError(f"{name} must fit into memory; its arrays do not when they are unpacked") from None
    except Exception:  # noqa: S110 - zip, deflate and a header's syntax each fail in ways of their own
        pass
    if twice:
        raise ValueError(f"{name} must hold each array once; two have one name")
    raise ValueError(f"{name} must be an .npz archive of plain arrays, without pickled objects")
