"""Private keys on disk: 32 bytes in hexadecimal, readable by their owner only."""

from __future__ import annotations

import os
from pathlib import Path

from discreet.errors import ConfigurationError
from discreet.randomness import SecureRandom
from discreet.secagg.hazmat.secret import Secret
from discreet.secagg.identity import Identity

_KEY_BYTES = 32
_OWNER_ONLY = 0o600


def generate_key(path: Path) -> Identity:
    """Writes a new private key to ``path`` and returns the identity; an existing file is never replaced.

    Raises:
        ConfigurationError: if the file exists or cannot be written.
    """
    key = SecureRandom().random_bytes(_KEY_BYTES)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, _OWNER_ONLY)
    except FileExistsError:
        raise ConfigurationError(
            f"a key must go to a new file; {path} exists. To rotate a key, move the old file away first."
        ) from None
    except OSError as error:
        raise ConfigurationError(f"the key file must be writable; {path}: {error.strerror}.") from None
    with os.fdopen(descriptor, "w", encoding="ascii") as file:
        file.write(key.hex() + "\n")
    return Identity(Secret(key))


def load_key(path: Path) -> Identity:
    """Reads the identity whose private key lies at ``path``.

    Raises:
        ConfigurationError: if the file is missing, no key, or readable by others.
    """
    try:
        mode, text = path.stat().st_mode, path.read_text(encoding="ascii", errors="replace")
    except OSError as error:
        raise ConfigurationError(
            f"the private key must be a readable file; {path}: {error.strerror}. "
            "Make one with 'discreet silo keygen'."
        ) from None
    if mode & 0o077:
        raise ConfigurationError(f"{path} must be readable by its owner only; run: chmod 600 {path}")
    try:
        key = bytes.fromhex(text.strip())
    except ValueError:
        key = b""
    if len(key) != _KEY_BYTES:
        raise ConfigurationError(
            f"{path} must hold {_KEY_BYTES} bytes in hexadecimal, a private key; it holds "
            f"{len(text.strip())} characters. Make one with 'discreet silo keygen'."
        )
    return Identity(Secret(key))
