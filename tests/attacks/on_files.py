"""Attacks by files and documents that somebody else wrote: runs to verify, plans, lists, policies."""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path

from typer.testing import CliRunner

from discreet.cli.app import app
from discreet.config import load_config
from discreet.errors import DiscreetError
from discreet.plan.reading import parse_plan
from discreet.privacy.ledger import GENESIS, parse_line
from discreet.silo.policy import SignedAllowList, load_policy
from discreet.silo.requests import decode
from discreet.verify import VerificationFailure, verify
from discreet.verify.manifest import MANIFEST, Manifest, read_manifest
from discreet.verify.signature import SIGNATURE, read_signature
from tests.attacks.hospitals import module_of
from tests.attacks.on_silos import importable
from tests.attacks.outcome import Outcome

_CONFIG = """name = "small"
[data]
source = "heart-disease"
record_capacity = 400
[training]
rounds = 1
local = { kind = "stable-steps", learning_rate = 0.1, records_per_step = 16 }
[privacy]
epsilon = 1.0
delta = 1e-5
[run]
seed = 1
"""


@contextmanager
def finished_run() -> Iterator[Path]:
    """Yields the directory of a small run, as a stranger may hand one over."""
    with tempfile.TemporaryDirectory() as folder:
        config = Path(folder) / "small.toml"
        config.write_text(_CONFIG)
        done = CliRunner().invoke(app, ["run", str(config), "--out", str(Path(folder) / "run"), "-q"])
        assert done.exit_code == 0, done.output
        yield Path(folder) / "run"


def code_named_by_a_run() -> Outcome:
    """A run says that its records come from a function beside it; its records are to be measured again."""
    forge = module_of("unit/verify/test_own_files.py").forge
    with importable() as marker, finished_run() as run:
        forge(run, lambda plan: plan["config"]["data"].update(source="evil_factory:load"))
        with suppress(Exception):  # an executed module may end in anything
            list(verify(run, records=run))
        ran = marker.exists()
    now = "executed" if ran else "refused without --own-code"
    return Outcome("S9: code that a run names, in verify --records", "executed", now, ran)


def file_outside_a_run() -> Outcome:
    """A manifest names a file of the reader's machine with its digest, and a device that never ends."""
    found = []
    with finished_run() as run:
        secret = run.parent / "secret.txt"
        secret.write_text("a secret")
        known = read_manifest(run)
        for name in ("../secret.txt", str(secret)):
            files = {**known.files, name: hashlib.sha256(secret.read_bytes()).hexdigest()}
            (run / MANIFEST).write_bytes(Manifest(known.ledger_head, files).serialise())
            with suppress(VerificationFailure):
                list(verify(run))
                found.append(name)
    now = f"{len(found)} read" if found else "refused before any is opened"
    return Outcome(
        "S9: files outside a run, by its manifest",
        "read and confirmed; /dev/zero without end",
        now,
        bool(found),
    )


# --- documents ----------------------------------------------------------------------------------------------

_JSON = (
    b"[" * 100_000,
    b'{"a":' * 5_000 + b"1" + b"}" * 5_000,
    b"9" * 5_000,
    b"1e400",
    b'{"digest":"0","plan":{"version":1' + b"0" * 400 + b"}}",
    b'{"serial":1e400,"silos":{},"signature":""}',
    b'"\\ud800"',
    b"\xff\xfe",
)
_TOML = (
    "x = " + "[" * 5_000,
    "x = " + "9" * 5_000,
    "x = " + "9" * 400,
    'x = "\\udc00"',
    "a." * 300 + "b = 1",
)


def _request(data: bytes) -> object:
    return decode(b"dsr1" + len(data).to_bytes(4, "little") + data)


def _toml(read: Callable[[Path], object], folder: Path) -> None:
    read(folder / "x.toml")


def _from_file(read: Callable[[Path], object], name: str, folder: Path, data: bytes) -> object:
    (folder / name).write_bytes(data)
    return read(folder)


def readers(folder: Path) -> Iterator[tuple[str, Callable[[bytes], object], tuple[bytes, ...]]]:
    """Yields every reader of what another party wrote, with documents that are attacks."""
    toml = tuple(text.encode() for text in _TOML)
    yield "request", _request, _JSON
    yield "allow-list", SignedAllowList.parse, _JSON
    yield "plan", parse_plan, _JSON
    yield "ledger line", partial(parse_line, sequence=0, previous=GENESIS), _JSON
    yield "manifest", partial(_from_file, read_manifest, MANIFEST, folder), _JSON
    yield "signature", partial(_from_file, read_signature, SIGNATURE, folder), _JSON
    for name, read in (("policy", load_policy), ("config", load_config)):
        one = partial(_from_file, partial(_toml, read), "x.toml", folder)
        yield name, one, toml


def untyped_errors() -> Outcome:
    """Nesting, huge and infinite numbers, surrogates: every reader must end in its own kind of error."""
    found, tried = [], 0
    with tempfile.TemporaryDirectory() as folder:
        for name, read, documents in readers(Path(folder)):
            for document in documents:
                tried += 1
                try:
                    read(document)
                except DiscreetError:
                    continue
                except Exception as error:
                    found.append(f"{name}: {type(error).__name__}")
                else:
                    found.append(f"{name}: taken")
    now = "; ".join(found[:2]) if found else f"{tried} documents, each one line"
    before = "RecursionError, OverflowError, TypeError"
    return Outcome("S10: nested documents and huge numbers", before, now, bool(found))


ATTACKS = (code_named_by_a_run, file_outside_a_run, untyped_errors)
