"""Writing a new file for a user: what is there already is never replaced."""

from __future__ import annotations

from pathlib import Path

from discreet.errors import ConfigurationError


def require_new(path: Path, option: str, *, knob: str = "Name another, or move it away.") -> None:
    """Refuses a file that is there, before anything is computed for it.

    Args:
        path: of the file.
        option: what named it.
        knob: what to do about one that is there.

    Raises:
        ConfigurationError: naming the option.
    """
    if path.exists() or path.is_symlink():
        raise ConfigurationError(f"{option} must be a new file; {path} is there. {knob}")


def write_new(path: Path, data: bytes, option: str) -> None:
    """Writes a file that is not there yet.

    Raises:
        ConfigurationError: if it is there, or cannot be written.
    """
    require_new(path, option)
    try:
        with path.open("xb") as file:
            file.write(data)
    except OSError as error:
        raise ConfigurationError(
            f"{option} must be a file that can be written; {path}: {error.strerror}."
        ) from None
