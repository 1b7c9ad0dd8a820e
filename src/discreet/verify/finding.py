"""What a check that went well has to say."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Basis(Enum):
    """How a statement was checked."""

    RECOMPUTED = "recomputed"
    CHAINED = "hash chain"
    SEALED = "sealed only"
    SIGNED = "signature"
    NONE = "not checked"


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was checked and is right.

    Attributes:
        subject: the file, or the part of it.
        basis: recomputed from other files; bound by a chain of hashes; only unchanged since it was sealed;
            signed; or not there to be checked.
        detail: what exactly was compared.
    """

    subject: str
    basis: Basis
    detail: str
