"""The manifest: SHA-256 of every file of a finished run, bound to the last line of its ledger.

It shows that nothing was changed by accident or by hand. Who rewrites all files and the manifest makes
another run, with another manifest digest: note that digest elsewhere, or sign it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from discreet.documents import read_json
from discreet.privacy.ledger import GENESIS, read_ledger
from discreet.rounds.directory import RUN_FILES, RunDirectory, write_durably
from discreet.verify.finding import VerificationFailure

MANIFEST = "manifest.json"
VERSION = 1
REQUIRED = ("plan.json", "ledger.jsonl", "metrics.jsonl", "state.safetensors", "model.safetensors",
            "result.json", "report.json", "report.html")  # fmt: skip
OPTIONAL = ("answers.csv", "comparison.json", "evaluation.json", "budgets.json")
_REPORT = ("answers.csv", "report.json", "report.html", "budgets.json")


@dataclass(frozen=True, slots=True)
class Manifest:
    """The last ledger line's digest, and the SHA-256 of each file by its name."""

    ledger_head: str
    files: Mapping[str, str]

    def serialise(self) -> bytes:
        """Returns the one form in which a manifest is written."""
        document = {"version": VERSION, "ledger_head": self.ledger_head, "files": dict(self.files)}
        return (json.dumps(document, indent=1, sort_keys=True) + "\n").encode()


def seal(directory: Path, attest: Callable[[str], None] | None = None) -> str:
    """Writes the manifest of a finished run and returns its digest.

    Args:
        directory: of the run.
        attest: writes whatever must be there when the manifest is; it is told the digest.

    Raises:
        VerificationFailure: if a file that every finished run has is missing.
        LedgerError: if the ledger's chain is broken.
    """
    names = [*REQUIRED, *(name for name in OPTIONAL if (directory / name).exists())]
    manifest = Manifest(_head(directory), _digests(directory, names))
    if attest is not None:
        attest(_digest(manifest))
    return _write(directory, manifest)


def seal_report(directory: Path) -> str | None:
    """Puts a report that was written again under the manifest; leaves all other digests as they were.

    Returns the new digest, or None for a run that was never sealed because it has not finished.
    """
    if not (directory / MANIFEST).exists():
        return None
    manifest = read_manifest(directory)
    written = [name for name in _REPORT if (directory / name).exists()]
    files = {**manifest.files, **_digests(directory, written)}
    return _write(directory, Manifest(manifest.ledger_head, files))


def read_manifest(directory: Path) -> Manifest:
    """Reads the manifest and checks that it is in its one form.

    Raises:
        VerificationFailure: if it is missing, altered, leaves a file of the run out, or names any other.
    """
    try:
        data = (directory / MANIFEST).read_bytes()
    except OSError:
        raise VerificationFailure(
            f"{MANIFEST} must be there: the run has not finished. Go on with: discreet run CONFIG --out "
            f"{directory} --resume; or, of a server, with: discreet consortium finish SERVER"
        ) from None
    try:
        document = read_json(data)
        manifest = Manifest(document["ledger_head"], document["files"])
        whole = manifest.serialise() == data and (
            set(REQUIRED) <= set(manifest.files) <= {*REQUIRED, *OPTIONAL}
        )
    except (ValueError, KeyError, TypeError):
        whole = False
    if not whole:
        raise VerificationFailure(f"{MANIFEST} must be as it was written; it was altered.")
    return manifest


def manifest_digest(directory: Path) -> str:
    """Returns the SHA-256 of the manifest, which stands for every byte of the run."""
    return _digest(read_manifest(directory))


def check_manifest(directory: Path, ledger_head: str) -> None:
    """Checks every file against the manifest, and the manifest against the ledger.

    Raises:
        VerificationFailure: naming the first file that differs.
    """
    manifest = read_manifest(directory)
    if manifest.ledger_head != ledger_head:
        raise VerificationFailure(
            f"{MANIFEST} must name the last line of ledger.jsonl; it names another. "
            "Lines were removed or added after the run was sealed."
        )
    for name, stated in manifest.files.items():
        if _digests(directory, [name])[name] != stated:
            raise VerificationFailure(f"{name} must be the file that {MANIFEST} names; it was altered.")
    unsealed = [name for name in OPTIONAL if (directory / name).exists() and name not in manifest.files]
    if unsealed:
        raise VerificationFailure(f"{unsealed[0]} must be named in {MANIFEST}; it was added later.")


def foreign_files(directory: Path) -> list[str]:
    """Returns the names in a run's folder that no run writes; nothing says what they hold."""
    known = {*RUN_FILES, *half_written(directory)}
    names = sorted(one.name for one in directory.iterdir() if one.name not in known)
    return [name if name.isprintable() else ascii(name) for name in names]


def half_written(directory: Path) -> list[str]:
    """Returns the names of what writes into a run's folder left behind when they were killed."""
    return [one.name for one in RunDirectory(directory).half_written()]


def _write(directory: Path, manifest: Manifest) -> str:
    write_durably(directory / MANIFEST, manifest.serialise())
    return _digest(manifest)


def _digest(manifest: Manifest) -> str:
    return hashlib.sha256(manifest.serialise()).hexdigest()


def _head(directory: Path) -> str:
    lines = read_ledger(directory / "ledger.jsonl")
    return lines[-1].digest() if lines else GENESIS


def _digests(directory: Path, names: Iterable[str]) -> dict[str, str]:
    found = {}
    for name in names:
        try:
            found[name] = hashlib.sha256((directory / name).read_bytes()).hexdigest()
        except OSError as error:
            raise VerificationFailure(f"{name} must be readable; got: {error.strerror}.") from None
    return found
