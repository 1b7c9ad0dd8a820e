"""The run directory: plan, ledger, metrics and checkpoints on disk, written so that a crash loses nothing."""

from __future__ import annotations

import hashlib
import json
import os
import re
import secrets
import shutil
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from discreet.documents import read_json
from discreet.errors import ConfigurationError, LedgerError
from discreet.privacy.ledger import Completed
from discreet.rounds.memory import Arrays

_MARKER = "plan.json"
RUN_FILES = ("plan.json", "ledger.jsonl", "metrics.jsonl", "model.safetensors", "state.safetensors",
         "answers.csv", "comparison.json", "evaluation.json", "budgets.json", "result.json", "report.html",
         "report.json", "manifest.json", "signature.json")  # fmt: skip
"""Every file that a run may write into its folder."""

_HALF_WRITTEN = re.compile(rf"(?:{'|'.join(map(re.escape, RUN_FILES))})\.[0-9a-f]{{16}}\.tmp")


@dataclass(frozen=True, slots=True)
class Made:
    """The release that led to a saved state: number, survivors, transcript of the protocol in hexadecimal."""

    release: int
    survivors: tuple[str, ...]
    transcript: str


@dataclass(frozen=True, slots=True)
class SavedState:
    """A state read back, with the SHA-256 that the ledger knows it by."""

    arrays: Arrays
    made: Made
    digest: str


@dataclass(frozen=True, slots=True)
class RunDirectory:
    """The files of one training."""

    path: Path

    @property
    def plan(self) -> Path:
        """The agreed plan."""
        return self.path / "plan.json"

    @property
    def ledger(self) -> Path:
        """The hash-chained ledger."""
        return self.path / "ledger.jsonl"

    @property
    def metrics(self) -> Path:
        """One JSON line for every completed round."""
        return self.path / "metrics.jsonl"

    @property
    def state(self) -> Path:
        """The server's state after the last completed round."""
        return self.path / "state.safetensors"

    @property
    def model(self) -> Path:
        """The released model."""
        return self.path / "model.safetensors"

    @property
    def evaluation(self) -> Path:
        """How good the released model is on held-out records; not private."""
        return self.path / "evaluation.json"

    def file(self, name: str) -> Path:
        """Returns the path of another file of the run."""
        return self.path / name

    def require_plain_files(self) -> None:
        """Checks that each file of a run that is there is a plain file of this directory.

        A link could lead out of it; a device or a pipe could be read without end.

        Raises:
            ConfigurationError: naming the first one that is not.
        """
        for name in RUN_FILES:
            try:
                mode = (self.path / name).lstat().st_mode
            except OSError:
                continue  # whoever needs the file says that it is missing
            if not stat.S_ISREG(mode):
                raise ConfigurationError(f"{name} must be a plain file of the run; it is a link or a device.")

    def half_written(self) -> tuple[Path, ...]:
        """Returns what writes that were killed left behind: plain files by the names of `write_durably`."""
        found = (one for one in self.path.iterdir() if _HALF_WRITTEN.fullmatch(one.name))
        return tuple(sorted(one for one in found if stat.S_ISREG(one.lstat().st_mode)))

    def require_free(self, *, overwrite: bool) -> None:
        """Checks, and changes nothing, that a new training may be written here.

        Raises:
            ConfigurationError: if it holds another training and ``overwrite`` is false, it holds files that
                are not ours, or nothing can be written there.
        """
        if self.path.exists() and not self.path.is_dir():
            raise ConfigurationError(f"the run's folder must be a directory; {self.path} is a file.")
        present = {item.name for item in self.path.iterdir()} if self.path.exists() else set()
        if present and not overwrite:
            raise ConfigurationError(
                f"the run's folder must be new or empty; {self.path} holds files. Go on with that training "
                'by --resume (opening="resume" in Python), or replace it by --overwrite ("overwrite").'
            )
        ours = {*RUN_FILES, *(one.name for one in self.half_written())} if present else set()
        foreign = present - ours
        if present and (foreign or _MARKER not in present):
            name = min(foreign or present)
            raise ConfigurationError(
                f"the folder to overwrite must hold an earlier training alone; {self.path} holds {name!r}, "
                "which is none of ours."
            )
        there = next(one for one in (self.path, *self.path.absolute().parents) if one.exists())
        if not there.is_dir():
            raise ConfigurationError(f"the run's folder must be in a directory; {there} is a file.")
        if not os.access(there, os.W_OK | os.X_OK):
            raise ConfigurationError(
                f"the run's folder must be where files can be written; {there} is read-only."
            )

    def prepare(self, *, overwrite: bool) -> None:
        """Makes the directory ready for a new training.

        Raises:
            ConfigurationError: as `require_free`.
        """
        self.require_free(overwrite=overwrite)
        if self.path.exists() and any(self.path.iterdir()):
            shutil.rmtree(self.path)
        self.path.mkdir(parents=True, exist_ok=True)

    def save_state(self, arrays: Arrays, made: Made) -> str:
        """Writes the server's state durably, all or nothing, and returns its SHA-256."""
        about = {
            "release": str(made.release),
            "survivors": json.dumps(made.survivors),
            "transcript": made.transcript,
        }
        data = save(arrays, metadata=about)
        write_durably(self.state, data)
        return hashlib.sha256(data).hexdigest()

    def load_state(self) -> SavedState:
        """Returns the saved state.

        Raises:
            LedgerError: if the file is missing or unreadable.
        """
        try:
            digest = hashlib.sha256(self.state.read_bytes()).hexdigest()
            with safe_open(self.state, framework="np") as file:
                about = file.metadata()
                arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (no mapping)
            made = Made(int(about["release"]), _texts(about["survivors"]), about["transcript"])
        except (OSError, SafetensorError, KeyError, TypeError, ValueError) as error:
            name = type(error).__name__
            raise LedgerError(f"{self.state.name} must be readable to resume; got {name}.") from None
        return SavedState(arrays, made, digest)

    def state_after(self, last: Completed) -> SavedState:
        """Returns the saved state, which must be the one that the ledger's last completed release led to."""
        saved = self.load_state()
        if saved.digest != last.led_to:
            raise LedgerError("state.safetensors must be the state that the ledger names; it was altered.")
        return saved

    def append_metrics(self, line: dict[str, Any]) -> None:
        """Appends one line of metrics, in place of a torn last line."""
        with self.metrics.open("ab") as file:
            file.truncate(self.metrics.read_bytes().rfind(b"\n") + 1)
            file.write(json.dumps(line, sort_keys=True).encode() + b"\n")

    def read_metrics(self) -> list[dict[str, Any]]:
        """Returns the metrics so far; a torn last line is ignored.

        Raises:
            ConfigurationError: if a whole line is none that `append_metrics` writes.
        """
        if not self.metrics.exists():
            return []
        data = self.metrics.read_bytes()
        lines = data[: data.rfind(b"\n") + 1].split(b"\n")[:-1]
        return [_metrics_line(line, number) for number, line in enumerate(lines, start=1)]


def _texts(data: str) -> tuple[str, ...]:
    """Returns the texts of a JSON list."""
    found = read_json(data)
    if not (isinstance(found, list) and all(isinstance(one, str) for one in found)):
        raise ValueError("no list of texts")
    return tuple(found)


def _metrics_line(line: bytes, number: int) -> dict[str, Any]:
    try:
        read = read_json(line, finite=False)
    except ValueError:
        read = None
    if not isinstance(read, dict) or type(read.get("release")) is not int:
        raise ConfigurationError(
            f"metrics.jsonl must hold one JSON table with a 'release' a line; line {number} is none. "
            "Take the file as it was written."
        )
    return read


def write_durably(path: Path, data: bytes, *, mode: int = 0o666) -> None:
    """Replaces ``path`` by ``data`` so that a crash leaves either the old file or the new one, whole.

    Args:
        path: the file.
        data: all of it.
        mode: its permissions, less the umask's, from the moment it is there.
    """
    # A name that nobody can foresee, and never one that is there: a link in its place would lead elsewhere.
    temporary = path.with_name(f"{path.name}.{secrets.token_hex(8)}.tmp")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
    try:
        with os.fdopen(os.open(temporary, flags, mode), "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except OSError:
        temporary.unlink(missing_ok=True)
        raise
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
