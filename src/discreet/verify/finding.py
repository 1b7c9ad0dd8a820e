"""What a check has to say: what it found right, or why it failed."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import ClassVar

from discreet.errors import EXIT_BAD_REQUEST, DiscreetError, HowTo


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
        exception: files that could not be made again, because other versions wrote them, with these; they
            are only as they were sealed. Empty where there are none.
    """

    subject: str
    basis: Basis
    detail: str
    exception: str = ""


class VerificationFailure(DiscreetError):
    """A file of a run does not say what plan and ledger say, or is not the file that was sealed."""

    exit_code: ClassVar[int] = EXIT_BAD_REQUEST
    see = HowTo.VERIFY
