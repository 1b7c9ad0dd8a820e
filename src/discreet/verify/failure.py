"""What a failed check raises."""

from __future__ import annotations

from typing import ClassVar

from discreet.errors import EXIT_BAD_REQUEST, DiscreetError, HowTo


class VerificationFailure(DiscreetError):
    """A file of a run does not say what plan and ledger say, or is not the file that was sealed."""

    exit_code: ClassVar[int] = EXIT_BAD_REQUEST
    see = HowTo.VERIFY
