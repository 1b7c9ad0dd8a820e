"""Features that a network made once, kept by the hash of network and records in the silo's own state."""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from discreet.arrays import Float32s
from discreet.data.norm import largest_norm


@dataclass(frozen=True, slots=True)
class FeatureCache:
    """A folder with one array, as private as the records: only this user may read it, and it is never sent.

    The array answers for one network and for exactly these records in this order: with one record more, less
    or another its name is another, and features are made anew.

    Attributes:
        folder: made when needed, for this user alone; all in it is this cache's.
        made_by: hash of weights and all else that decides a record's features.
    """

    folder: Path
    made_by: str

    def place(self, parts: Iterable[Float32s]) -> Path:
        """Returns the file of some records' features."""
        digest = hashlib.sha256(self.made_by.encode())
        for part in parts:
            digest.update(f"\n{part.dtype} {part.shape}\n".encode())
            digest.update(np.ascontiguousarray(part).data)
        return self.folder / f"{digest.hexdigest()}.npy"

    def load(self, place: Path, shape: tuple[int, int], norm_bound: float) -> Float32s | None:
        """Returns the features of that file; None, and the folder is removed, if they are not as they must.

        Who left the records leaves the folder as well, whether or not new features can be written.

        Args:
            place: as `place` says.
            shape: number of records, and of features with the constant.
            norm_bound: what no record may be longer than.
        """
        try:
            with place.open("rb") as file:
                found = np.load(file, allow_pickle=False)
        except Exception:  # a damaged file raises many kinds: tokenize, zipfile, memory
            found = None
        fits = isinstance(found, np.ndarray) and (found.shape, found.dtype) == (shape, np.float32)
        if found is not None and fits and largest_norm(found) <= norm_bound:  # which no NaN is
            return np.asarray(found)
        shutil.rmtree(self.folder, ignore_errors=True)
        return None

    def store(self, place: Path, features: Float32s) -> None:
        """Writes features, whole or not at all.

        Raises:
            OSError: if they cannot be written, or `load` could not remove the last ones.
        """
        self.folder.mkdir(mode=0o700, parents=True)
        written = place.with_suffix(f".{os.getpid()}")
        with os.fdopen(os.open(written, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            np.save(file, features, allow_pickle=False)
        written.replace(place)
