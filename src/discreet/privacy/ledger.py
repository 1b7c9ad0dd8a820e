"""The ledger: an append-only, hash-chained, fsynced record of every release that was or may have been made.

A release is charged from the moment its `Intent` is on disk. It ends as `Completed` (the sum is known),
`Lost` (the process died in between: the sum may have been seen, so it stays charged) or `Aborted` (the
protocol stopped before anything was unmasked: not charged). A line that a crash tore in half was never
synced, so nothing followed from it; it is dropped on the next opening for writing.
"""

from __future__ import annotations

import dataclasses
import hashlib
import os
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Self

from discreet.documents import read_json
from discreet.errors import LedgerError
from discreet.locks import take_soon
from discreet.privacy.typed import build
from discreet.privacy.wire import canonical

GENESIS = "0" * 64
VERSION = 2
_LEFT_OUT = frozenset({"day", "part"})

Counted = Mapping[str | None, int]
"""How many releases of each part of a plan are charged; the rounds have no name."""


@dataclass(frozen=True, slots=True)
class Opened:
    """The first line: which plan is carried out, and with which kind of randomness."""

    plan_digest: str
    randomness: str


@dataclass(frozen=True, slots=True)
class Resumed:
    """A process took the training up again."""

    plan_digest: str


@dataclass(frozen=True, slots=True)
class Intent:
    """Release ``release`` (1-based) is about to be made; charged from here on.

    Attributes:
        release: its number.
        started_from: SHA-256 of the announced vector that it starts from.
        day: on which day (UTC, ISO 8601); None where nobody wrote it down.
        part: in the ledger of a silo, which part of the plan it is of; None for the rounds.
    """

    release: int
    started_from: str
    day: str | None = None
    part: str | None = None


@dataclass(frozen=True, slots=True)
class Completed:
    """Release ``release`` was made: the noise of ``survivors`` is in it.

    Attributes:
        release: its number.
        survivors: whose contributions are in the sum.
        transcript: of the protocol, in hexadecimal.
        led_to: SHA-256 of the saved state that it led to; None in the ledger of a silo, which sees none.
    """

    release: int
    survivors: tuple[str, ...]
    transcript: str
    led_to: str | None


@dataclass(frozen=True, slots=True)
class Lost:
    """Release ``release`` was interrupted; its sum may have been seen, so it stays charged."""

    release: int
    reason: str


@dataclass(frozen=True, slots=True)
class Aborted:
    """Release ``release`` was stopped before anything was unmasked; it is not charged."""

    release: int
    code: str


Entry = Opened | Resumed | Intent | Completed | Lost | Aborted
_KINDS: dict[str, type[Entry]] = {
    kind.__name__: kind for kind in (Opened, Resumed, Intent, Completed, Lost, Aborted)
}


@dataclass(frozen=True, slots=True)
class Line:
    """One entry with its place in the chain. ``sequence`` is unique for ever and names its randomness."""

    sequence: int
    previous: str
    entry: Entry

    def body(self) -> dict[str, Any]:
        """Returns what is hashed."""
        return {
            "version": VERSION,
            "sequence": self.sequence,
            "previous": self.previous,
            "kind": type(self.entry).__name__,
            **{
                key: list(v) if isinstance(v, tuple) else v
                for key, v in dataclasses.asdict(self.entry).items()
                if not (key in _LEFT_OUT and v is None)  # lines from before these were written
            },
        }

    def digest(self) -> str:
        """Returns the SHA-256 that the next line refers to."""
        return hashlib.sha256(canonical(self.body())).hexdigest()

    def serialise(self) -> bytes:
        """Returns the line as it stands in the file."""
        return canonical({**self.body(), "digest": self.digest()}) + b"\n"


def parse_line(text: bytes, *, sequence: int, previous: str) -> Line:
    """Reads one line and checks its place in the chain.

    Raises:
        LedgerError: naming the line, if it was altered, moved or removed.
    """
    try:
        data = read_json(text)
        stated = data.pop("digest")
        if data["version"] != VERSION:
            raise LedgerError(f"a ledger must have version {VERSION}; got {data['version']!r}.")
        kind = _KINDS[data["kind"]]
        names = {field.name for field in dataclasses.fields(kind)}
        values: dict[str, Any] = {
            key: tuple(v) if isinstance(v, list) else v for key, v in data.items() if key in names
        }
        line = Line(data["sequence"], data["previous"], build(kind, values))
    except (ValueError, KeyError, TypeError, AttributeError):
        raise LedgerError(
            f"line {sequence + 1} of the ledger must be a known entry; it cannot be read."
        ) from None
    if (line.sequence, line.previous, line.digest()) != (
        sequence,
        previous,
        stated,
    ) or line.serialise() != text + b"\n":
        raise LedgerError(
            f"line {sequence + 1} of the ledger must continue the hash chain; "
            "it was altered, moved or removed."
        )
    return line


def read_ledger(path: Path) -> tuple[Line, ...]:
    """Reads and verifies a whole ledger; a torn last line is ignored.

    Raises:
        LedgerError: if a complete line breaks the chain, or the file is missing.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise LedgerError(f"the ledger {path.name} must be readable; got: {error.strerror}.") from None
    lines: list[Line] = []
    for text in data[: data.rfind(b"\n") + 1].splitlines():
        previous = lines[-1].digest() if lines else GENESIS
        lines.append(parse_line(text, sequence=len(lines), previous=previous))
    return tuple(lines)


@dataclass(frozen=True, slots=True)
class Spending:
    """What a ledger says was spent.

    Attributes:
        completed: the completed releases, in order.
        lost: numbers of the interrupted releases; charged.
        pending: the last intent if nothing followed it; charged.
        aborted: how many attempts ended before anything was unmasked; not charged where sums are seen, but
            each may have shown a silo's own message to whoever sees those.
    """

    completed: tuple[Completed, ...]
    lost: tuple[int, ...]
    pending: Intent | None
    aborted: int

    @property
    def charged(self) -> int:
        """How many releases count against the budget."""
        return len(self.completed) + len(self.lost) + (self.pending is not None)


def spending(entries: Iterable[Entry]) -> Spending:
    """Folds a ledger's entries into what they spent.

    Raises:
        LedgerError: if entries are out of order (an ending without its intent, say).
    """
    completed: list[Completed] = []
    lost: list[int] = []
    pending: Intent | None = None
    aborted = 0
    for entry in entries:
        if isinstance(entry, Opened | Resumed):
            continue
        if isinstance(entry, Intent):
            expected = len(completed) + len(lost) + 1
            if pending is not None or entry.release != expected:
                raise LedgerError(
                    f"release {expected} must come next in the ledger, after the end of the last; "
                    f"got {entry.release}."
                )
            pending = entry
            continue
        if pending is None or entry.release != pending.release:
            raise LedgerError(f"release {entry.release} must have an intent before it ends; it has none.")
        pending = None
        if isinstance(entry, Completed):
            completed.append(entry)
        elif isinstance(entry, Lost):
            lost.append(entry.release)
        else:
            aborted += 1
    return Spending(tuple(completed), tuple(lost), pending, aborted)


def charged_intents(entries: Iterable[Entry]) -> list[Intent]:
    """Returns every charged release, in order; one that was aborted is taken back."""
    found: list[Intent] = []
    for entry in entries:
        if isinstance(entry, Intent):
            found.append(entry)
        elif isinstance(entry, Aborted):
            found.pop()
    return found


def charged_in(entries: Iterable[Entry], year: int | None = None) -> Counter[str | None]:
    """Returns how many releases of each part are charged, to ``year`` if one is given.

    One whose day is not known counts in every year.
    """
    intents = charged_intents(entries)
    return Counter(intent.part for intent in intents if year is None or _may_be_of(intent, year))


def _may_be_of(intent: Intent, year: int) -> bool:
    return intent.day is None or intent.day.startswith(f"{year:04d}-")


class LedgerWriter:
    """The one process that may append; holds an exclusive lock on the file while it lives."""

    def __init__(self, path: Path, file: IO[bytes], lines: tuple[Line, ...]) -> None:
        self._path = path
        self._file = file
        self._lines = list(lines)

    @classmethod
    def open(cls, path: Path) -> Self:
        """Opens or creates the ledger, drops a torn last line, verifies the chain.

        Raises:
            LedgerError: if the chain is broken or another process holds the ledger.
        """
        file = path.open("ab")
        # A page or a status that asks whether the silo works holds the lock for a moment.
        if not take_soon(file):
            file.close()
            raise LedgerError(
                f"only one process may write {path.name}; another one is running in this folder."
            )
        try:
            data = path.read_bytes()
            file.truncate(data.rfind(b"\n") + 1)
            return cls(path, file, read_ledger(path))
        except LedgerError:
            file.close()
            raise

    @property
    def entries(self) -> tuple[Entry, ...]:
        """All entries so far."""
        return tuple(line.entry for line in self._lines)

    @property
    def head(self) -> str:
        """The digest of the last line, which stands for the whole ledger."""
        return self._lines[-1].digest() if self._lines else GENESIS

    def append(self, entry: Entry) -> Line:
        """Writes ``entry`` durably; when this returns, a crash cannot undo it."""
        line = Line(len(self._lines), self.head, entry)
        self._file.write(line.serialise())
        self._file.flush()
        os.fsync(self._file.fileno())
        self._lines.append(line)
        return line

    def close(self) -> None:
        """Releases the lock."""
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
