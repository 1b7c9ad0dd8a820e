"""Records for a silo's owner, one JSON line each: no budget rests on them, and a crash may tear the last."""

from __future__ import annotations

from pathlib import Path
from typing import TypeVar

from discreet.documents import read_json
from discreet.errors import LedgerError
from discreet.privacy.typed import build

Record = TypeVar("Record")


def whole(data: bytes) -> bytes:
    r"""Returns the lines that were written to their end.

    Example:
        >>> whole(b"one\ntw")
        b'one\n'
    """
    return data[: data.rfind(b"\n") + 1]


def read_lines(path: Path, kind: type[Record]) -> tuple[Record, ...]:
    """Returns the records of a file, oldest first; none if there is no file. A torn last line is ignored.

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
    for place, line in enumerate(whole(data).split(b"\n")[:-1], start=1):
        try:
            found.append(build(kind, read_json(line)))
        except ValueError:
            raise LedgerError(
                f"line {place} of {path.name} must be as this silo wrote it; it cannot be read. "
                "Move the file away: it is a record for you, and no budget rests on it."
            ) from None
    return tuple(found)
