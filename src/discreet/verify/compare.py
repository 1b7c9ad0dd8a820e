"""Comparing what a file states with what was worked out again."""

from __future__ import annotations

from discreet.privacy.wire import Json
from discreet.silo.policy.review import first_difference
from discreet.verify.failure import VerificationFailure


def require_same(stated: Json, found: Json, where: str) -> None:
    """Checks that two pieces of JSON say the same, but for the rounding of floats.

    Args:
        stated: what the file says.
        found: what was worked out again.
        where: the file, for the message.

    Raises:
        VerificationFailure: naming the first value that differs.

    Example:
        >>> require_same({"a": [1, 2.0]}, {"a": [1, 3.0]}, "x")
        Traceback (most recent call last):
        discreet.verify.failure.VerificationFailure: x: 'a.1' must be what plan and ledger give; it differs.
    """
    path = first_difference(stated, found)
    if path is not None:
        raise VerificationFailure(f"{where}: {path!r} must be what plan and ledger give; it differs.")
