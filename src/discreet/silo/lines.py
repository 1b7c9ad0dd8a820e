"""Records for the owner that are kept as one JSON line each; no budget rests on them."""

from __future__ import annotations

from pathlib import Path
from typing import TypeVar

from discreet.documents import read_json
from discreet.errors import ConfigurationError, LedgerError
from discreet.privacy.typed import build

_Kind = TypeVar("_Kind")


def read_lines(path: Path, kind: type[_Kind]) -> tuple[_Kind, ...]:
    """Returns the lines of a file as values of ``kind``, oldest first; none if there is no file.

    A torn last line is ignored.

    Raises:
        LedgerError: naming the line, if a whole line is not as it was written.
    """
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return ()
    except OSError as error:
        raise LedgerError(f"{path.name} must be readable; got: {error.strerror}.") from None
    found = []
    for place, line in enumerate(data[: data.rfind(b"\n") + 1].split(b"\n")[:-1], start=1):
        try:
            found.append(build(kind, read_json(line)))
        except (ValueError, ConfigurationError):
            raise LedgerError(
                f"line {place} of {path.name} must be as this silo wrote it; it cannot be read. "
                "Move the file away: it is a record for you, and no budget rests on it."
            ) from None
    return tuple(found)
