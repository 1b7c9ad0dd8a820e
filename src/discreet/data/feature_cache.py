"""Features that a network made once, kept by the hash of network and records in the silo's own state."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from discreet.arrays import Float32s


@dataclass(frozen=True, slots=True)
class FeatureCache:
    """A folder of arrays, as private as the records: only this user may read it, and nothing of it is sent.

    A file answers for one network and for exactly these records in this order: with one record more, less or
    another its name is another, and features are made anew.

    Attributes:
        folder: made when needed, for this user alone.
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

    def load(self, place: Path, count: int) -> Float32s | None:
        """Returns the features of ``count`` records; None where there are none that can be read."""
        try:
            found = np.load(place, allow_pickle=False)
        except (OSError, ValueError, EOFError):
            return None
        fits = isinstance(found, np.ndarray) and found.dtype == np.float32 and found.shape[:1] == (count,)
        return np.asarray(found) if fits else None

    def store(self, place: Path, features: Float32s) -> None:
        """Writes features, whole or not at all, and forgets all others: who left the records leaves here."""
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.folder.chmod(0o700)
        written = place.with_suffix(f".{os.getpid()}")
        with os.fdopen(os.open(written, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
            np.save(file, features, allow_pickle=False)
        written.replace(place)
        for old in self.folder.iterdir():
            if old != place:
                old.unlink(missing_ok=True)
