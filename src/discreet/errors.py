"""Every error that discreet raises on purpose, and the exit code that the command line gives it.

Messages say: what must hold; what was got; which knob to turn. They never contain a secret, a record
value or a mask.
"""

from __future__ import annotations

from typing import ClassVar

EXIT_BAD_REQUEST = 2
EXIT_PRIVACY_REFUSAL = 3


class DiscreetError(Exception):
    """The root of every deliberate error; ``exit_code`` is what the command line returns for it."""

    exit_code: ClassVar[int] = 1


class ConfigurationError(DiscreetError, ValueError):
    """A request that cannot be carried out as written: a bad value, an unknown key, an infeasible ring."""

    exit_code = EXIT_BAD_REQUEST


class DataError(ConfigurationError):
    """Records that cannot be trained on: NaN, labels out of range, an empty silo, a missing column."""


class PrivacyRefusal(DiscreetError):
    """A request that would end in a guarantee that does not hold. Nothing was computed or released."""

    exit_code = EXIT_PRIVACY_REFUSAL


class UnsupportedAnalysisError(PrivacyRefusal):
    """No proven analysis exists here for this combination of mechanism, sampling, unit and adversary."""


class PrivacyViolation(PrivacyRefusal):
    """A run-time check of a promised bound failed; the round was stopped before anything left the silo."""


class BudgetExhausted(PrivacyRefusal):
    """The next release would exceed the privacy budget; it was not made."""


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


class UnmaskingIncomplete(NotEnoughSurvivors):
    """Unmasking began but gave no sum; with colluders the server may know it, so the round stays charged."""


class LedgerError(DiscreetError):
    """A ledger whose hash chain, order or plan does not check out."""

    exit_code = EXIT_BAD_REQUEST
