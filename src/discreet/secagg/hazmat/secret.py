"""A box for bytes that must not appear in a log, a traceback, a pickle or a comparison."""

from __future__ import annotations

from typing import NoReturn, final


@final
class Secret:
    """Secret bytes with a name for the reader and no way to print, compare, hash or pickle them.

    Wiping is best effort: Python and the libraries below may hold copies that cannot be reached.

    Example:
        >>> Secret(b"0" * 32)
        Secret(<32 bytes hidden>)
    """

    __slots__ = ("_value",)
    __hash__ = None  # type: ignore[assignment]  # a secret is never a key of a dictionary

    def __init__(self, value: bytes | bytearray) -> None:
        self._value = bytearray(value)

    def reveal(self) -> bytes:
        """Returns the bytes, for a computation or for a message whose turn has come."""
        if not self._value:
            raise ValueError("secret was wiped; it must not be used again.")
        return bytes(self._value)

    def wipe(self) -> None:
        """Overwrites the bytes and forgets them; later `reveal` fails."""
        self._value[:] = bytes(len(self._value))
        self._value = bytearray()

    def __len__(self) -> int:
        return len(self._value)

    def __eq__(self, other: object) -> NoReturn:
        raise TypeError("secrets are not compared; compare commitments or public keys.")

    def __repr__(self) -> str:
        return f"Secret(<{len(self._value)} bytes hidden>)"

    def __reduce__(self) -> NoReturn:
        raise TypeError("Secret cannot be pickled or copied; seal it with a key instead.")
