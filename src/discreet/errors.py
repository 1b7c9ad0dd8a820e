"""Every error that discreet raises on purpose, and the exit code that the command line gives it.

Messages say: what must hold; what was got; which knob to turn. They never contain a secret, a record
value or a mask.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum
from typing import ClassVar, Self

EXIT_BAD_REQUEST = 2
EXIT_PRIVACY_REFUSAL = 3


class HowTo(Enum):
    """Pages that say what to do about an error, by their place in the repository and the site."""

    DATA = "docs/data.md"
    OWN_MODEL = "docs/tutorial/own-model.md"
    FOUR_MACHINES = "docs/tutorial/four-machines.md"
    EPSILON = "docs/how-to/choose-epsilon.md"
    LOCAL_KIND = "docs/how-to/choose-local-kind.md"
    CLIP_NORM = "docs/how-to/adapt-the-clip-norm.md"
    SAMPLING = "docs/how-to/sample-records.md"
    RING = "docs/how-to/size-the-ring.md"
    DROPOUTS = "docs/how-to/survive-dropouts.md"
    VERIFY = "docs/how-to/verify-a-run.md"


def in_words(error: BaseException) -> str:
    """Returns the type and the words of an error, whatever the code that raised it does when asked for them.

    Example:
        >>> in_words(ValueError("no age"))
        'ValueError: no age'
        >>> in_words(SystemExit(3))
        'sys.exit(3)'
    """
    try:
        return f"sys.exit({error})" if isinstance(error, SystemExit) else f"{type(error).__name__}: {error}"
    except BaseException:
        # Words may end a process too, or have a number in them that is too long to be written.
        return "an error that cannot be put into words"


class DiscreetError(Exception):
    """The root of every deliberate error.

    Attributes:
        exit_code: what the command line returns for it.
        see: the page that helps, if there is one; a kind of error may have one for all its cases.
    """

    exit_code: ClassVar[int] = 1
    see: HowTo | None = None

    def __init__(self, *message: object, see: HowTo | None = None) -> None:
        super().__init__(*message)
        if see is not None:
            self.see = see


class ConfigurationError(DiscreetError, ValueError):
    """A request that cannot be carried out as written: a bad value, an unknown key, an infeasible ring."""

    exit_code = EXIT_BAD_REQUEST


class DataError(ConfigurationError):
    """Records that cannot be trained on: NaN, labels out of range, an empty silo, a missing column."""

    see = HowTo.DATA

    @classmethod
    def with_notes(cls, message: str, notes: Iterable[str]) -> Self:
        """Returns an error that has what led to it below its line, a line each."""
        found = cls(message)
        for note in notes:
            found.add_note(note)
        return found


class UnusableRecords(DataError):
    """Values of records that cannot be trained on. Loaders never leave any, so no silo answers by them."""


class PrivacyRefusal(DiscreetError):
    """A request that would end in a guarantee that does not hold. Nothing was computed or released."""

    exit_code = EXIT_PRIVACY_REFUSAL


class UnsupportedAnalysisError(PrivacyRefusal):
    """No proven analysis exists here for this combination of mechanism, sampling, unit and adversary."""

    see = HowTo.LOCAL_KIND


class PrivacyViolation(PrivacyRefusal):
    """A run-time check of a promised bound failed; the round was stopped before anything left the silo."""


class BudgetExhausted(PrivacyRefusal):
    """The next release would exceed the privacy budget; it was not made."""

    see = HowTo.EPSILON


class ProtocolAbort(DiscreetError):
    """A secure-aggregation session ended without a sum. ``code`` is stable and safe to send to peers."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


class LocalProtocolError(ProtocolAbort):
    """Our own side called the protocol out of order; the caller has a bug."""


class PeerProtocolError(ProtocolAbort):
    """A peer sent something that the protocol forbids."""


class NotEnoughSurvivors(ProtocolAbort):
    """Fewer clients than the noise floor or the threshold survived; nothing was unmasked."""

    see = HowTo.DROPOUTS


class UnmaskingIncomplete(NotEnoughSurvivors):
    """Unmasking began but gave no sum; with colluders the server may know it, so the round stays charged."""


class LedgerError(DiscreetError):
    """A ledger whose hash chain, order or plan does not check out."""

    exit_code = EXIT_BAD_REQUEST
