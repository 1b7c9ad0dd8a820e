"""``discreet doctor``: is this machine fit for private training, and what does it have?"""

from __future__ import annotations

import fcntl
import importlib.util
import json
import os
import platform
import sys
import tempfile
from collections.abc import Callable
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape
from rich.table import Table

from discreet.cli.console import console
from discreet.version import __version__

_PACKAGES = ("numpy", "scipy", "cryptography", "safetensors", "pydantic")
_ENOUGH_MEMORY = 1 << 30
# No machine's clock was ever right before this version was written.
_EARLIEST = datetime(2025, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Observation:
    """One thing about the machine; ``advice`` is empty where all is well, ``fit`` false if it must mend."""

    what: str
    value: str
    fit: bool = True
    advice: str = ""


def doctor(
    as_json: Annotated[bool, typer.Option("--json", help="Print the observations as JSON.")] = False,
) -> None:
    """Look at versions, processor, memory, clock and disk; exit code 1 if something must be mended.

    Example: [bold]discreet doctor[/bold]
    """
    found = observe()
    if as_json:
        typer.echo(json.dumps([asdict(one) for one in found], indent=1))
    else:
        console().print(_table(found))
    if not all(one.fit for one in found):
        raise typer.Exit(1)


def observe() -> tuple[Observation, ...]:
    """Returns the findings about this machine; changes nothing on it."""
    steps: tuple[Callable[[], Observation], ...] = (
        _python, _torch, _libraries, _flower, _processor, _memory, _clock, _randomness, _disk)  # fmt: skip
    return tuple(step() for step in steps)


def _table(found: tuple[Observation, ...]) -> Table:
    table = Table(title=f"discreet {__version__}", title_justify="left", title_style="bold", show_edge=False,
                  pad_edge=False)  # fmt: skip
    for name in ("what", "found", "verdict"):
        table.add_column(name)
    for one in found:
        verdict = escape(one.advice or "fine")
        table.add_row(one.what, escape(one.value), verdict if one.fit else f"[bold red]mend: {verdict}[/]")
    return table


def _python() -> Observation:
    fit = sys.version_info >= (3, 11, 1)
    advice = "" if fit else "Python must be 3.11.1 or newer"
    return Observation("Python", f"{platform.python_version()}, {platform.system()}", fit, advice)


def _torch() -> Observation:
    import torch

    build = f"CUDA {torch.version.cuda}" if torch.cuda.is_available() else "CPU"
    return Observation("torch", f"{torch.__version__}, {build}, {torch.get_num_threads()} threads")


def _libraries() -> Observation:
    return Observation("libraries", ", ".join(f"{name} {metadata.version(name)}" for name in _PACKAGES))


def _flower() -> Observation:
    if importlib.util.find_spec("flwr") is None:
        advice = "only needed for real silos: pip install 'discreet[flower]'"
        return Observation("Flower", "not installed", advice=advice)
    return Observation("Flower", metadata.version("flwr"))


def _processor() -> Observation:
    flags = _cpu_flags()
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    if flags is None:
        return Observation("processor", f"{cores} cores, features unknown")
    named = [name for name in ("aes", "avx2", "avx512f", "asimd") if name in flags]
    advice = "" if "aes" in flags else "no AES instructions: masks and noise will be slow"
    return Observation(
        "processor", f"{cores} cores, {', '.join(named) or 'no known features'}", advice=advice
    )


def _cpu_flags() -> frozenset[str] | None:
    """Returns the processor's features as Linux names them; None elsewhere."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return None
    named = [line.partition(":")[2] for line in lines if line.startswith(("flags", "Features"))]
    return frozenset(named[0].split()) if named else None


def _memory() -> Observation:
    try:
        available = os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (ValueError, OSError):
        return Observation("free memory", "unknown")
    advice = "" if available >= _ENOUGH_MEMORY else "less than 1 GiB: large models may not fit"
    return Observation("free memory", f"{available / (1 << 30):.1f} GiB", advice=advice)


def _clock() -> Observation:
    now = datetime.now(UTC)
    fit = now > _EARLIEST
    advice = "" if fit else "set it: policies and certificates expire by it"
    return Observation("clock", f"{now:%Y-%m-%d %H:%M} UTC", fit, advice)


def _randomness() -> Observation:
    try:
        fit = len(set(os.urandom(64))) > 1
    except NotImplementedError:
        fit = False
    return Observation("randomness", "operating system", fit, "" if fit else "no secure source was found")


def _disk() -> Observation:
    """Tries what the ledger needs of the current folder: locking a file and forcing it to disk."""
    try:
        with tempfile.NamedTemporaryFile(dir=Path.cwd()) as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.fsync(file.fileno())
    except OSError as error:
        advice = f"files cannot be locked and synced ({error.strerror}); work in another folder"
        return Observation("this folder", str(Path.cwd().name), fit=False, advice=advice)
    return Observation("this folder", "files can be locked and synced")
