"""Feeds mangled inputs to every reader for some seconds; what ends in an error of another kind is a fault.

    python -m tests.security.fuzz --seconds 60 [--only NAME] [--seed 7]

``make fuzz`` runs it. A fault is written to ``tests/security/corpus/NAME/``, where a test reads it ever
after, and the exit code is 1. The seed is printed, so that a run can be repeated.
"""

from __future__ import annotations

import argparse
import hashlib
import random
import sys
import time
import traceback
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.security.targets import Form, Json, Target, targets

CORPUS = Path(__file__).parent / "corpus"
SLOW_SECONDS = 10.0
"""An input of some kilobytes that is read for so long stops a server as well as an error does."""

HOSTILE: tuple[Json, ...] = (
    None, True, [], {}, "", "x", "\x00", "é", "\ud800", 0, -1, 1 << 63, 1 << 64, 10**400, 1e308, float("inf"),
    float("nan"), 0.5, [[]], {"type": "float", "value": "nan"}, "subprocess:Popen", "csv:/dev/zero",
    "residual:/dev/zero", "../..", "a" * 1000,
)  # fmt: skip
TOKENS = (
    b"[" * 2000, b"{" * 2000, b"9" * 5000, b"1e400", b"NaN", b"\xff\xfe", b"\x00", b'"', b"\n", b"\r", b",",
    b"\\ud800", b"-1", b"4294967296", b"\xff\xff\xff\xff", b"../", b"PK\x03\x04",
)  # fmt: skip


@dataclass(frozen=True)
class Fault:
    """An input, and what its reader did instead of refusing it."""

    target: str
    data: bytes
    what: str


def fault(target: Target, data: bytes) -> Fault | None:
    """Reads one input; returns what is wrong with how it ended."""
    began = time.monotonic()
    try:
        target.read(data)
    except target.refuses:
        pass
    except Exception:
        return Fault(target.name, data, traceback.format_exc(limit=-3))
    seconds = time.monotonic() - began
    return Fault(target.name, data, f"{seconds:.1f} s") if seconds > SLOW_SECONDS else None


def mangled(target: Target, chance: random.Random) -> bytes:
    """Returns a seed of the target after some changes, of its bytes or of the JSON in it."""
    data = chance.choice(target.seeds)
    if target.form is not None and chance.random() < 0.7:
        return _with_hostile_part(target.form, data, chance)
    for _ in range(chance.randint(1, 4)):
        data = _changed(data, chance.choice(target.seeds), chance)
    return data


def _changed(data: bytes, other: bytes, chance: random.Random) -> bytes:
    """Flips, cuts, repeats, inserts or splices once."""
    at, to = sorted(chance.randrange(len(data) + 1) for _ in range(2))
    match chance.randrange(6):
        case 0 if data:
            flipped = bytearray(data)
            flipped[min(at, len(data) - 1)] ^= 1 << chance.randrange(8)
            return bytes(flipped)
        case 1:
            return data[:at] + data[to:]
        case 2:
            return data[:to] + data[at:]
        case 3:
            return data[:at] + chance.choice(TOKENS) + data[at:]
        case 4:
            return data[:at] + chance.choice(TOKENS) + data[to:]
        case _:
            return data[:at] + other[min(at, len(other)) :]


def _with_hostile_part(form: Form, data: bytes, chance: random.Random) -> bytes:
    """Puts a hostile value in place of some parts of a document."""
    value = form.taken(data)
    for _ in range(chance.randint(1, 2)):
        path = chance.choice(list(_paths(value)))
        value = _replaced(value, path, chance.choice(HOSTILE))
    return form.put(data, value)


def _paths(value: Json, here: tuple[Json, ...] = ()) -> Iterator[tuple[Json, ...]]:
    yield here
    if isinstance(value, dict | list):
        for key, part in value.items() if isinstance(value, dict) else enumerate(value):
            yield from _paths(part, (*here, key))


def _replaced(value: Json, path: tuple[Json, ...], part: Json) -> Json:
    if not path:
        return part
    copy = dict(value) if isinstance(value, dict) else list(value)
    copy[path[0]] = _replaced(value[path[0]], path[1:], part)
    return copy


def kept(name: str) -> tuple[bytes, ...]:
    """Returns the inputs of a target that once were faults."""
    folder = CORPUS / name
    return tuple(path.read_bytes() for path in sorted(folder.iterdir())) if folder.exists() else ()


def keep(found: Fault) -> Path:
    """Stores a fault's input under the digest of its bytes."""
    path = CORPUS / found.target / hashlib.sha256(found.data).hexdigest()[:16]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(found.data)
    return path


def main() -> int:
    """Fuzzes every reader for its share of the time and prints a line for each."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--only", help="the name of one reader")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 32))
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    chosen = [target for target in targets() if options.only in (None, target.name)]
    if not chosen:
        parser.error(f"--only must name a reader; {options.only!r} is none.")
    print(f"seed {options.seed}, {len(chosen)} readers")  # noqa: T201 - a script
    faults = 0
    for target in chosen:
        chance = random.Random(f"{options.seed} {target.name}")
        until, tried, found = time.monotonic() + options.seconds / len(chosen), 0, None
        while found is None and time.monotonic() < until:
            tried += 1
            found = fault(target, mangled(target, chance))
        print(f"{target.name:12} {tried:7,} inputs  {'FAULT' if found else 'typed'}", flush=True)  # noqa: T201
        if found is not None:
            faults += 1
            print(f"{found.what.strip()}\nkept as {keep(found)}")  # noqa: T201
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
