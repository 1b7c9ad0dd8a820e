"""Which reproductions there are: folders with ``reproduction.py``, ``expected.json`` and a README."""

from __future__ import annotations

import difflib
import importlib.util
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

from discreet.errors import ConfigurationError
from reproducing.context import Context
from reproducing.curves import Chart
from reproducing.expected import Expectations, read_expectations
from reproducing.rows import Cell, Deferred, Row

_SCRIPT = "reproduction.py"


@dataclass(frozen=True, slots=True)
class Reproduction:
    """One reproduction, not yet carried out.

    Attributes:
        name: its folder's name.
        folder: where its script, configs and expectations are.
        expectations: what should come out.
    """

    name: str
    folder: Path
    expectations: Expectations

    def cells(self, context: Context) -> Iterator[Cell | Deferred]:
        """Runs the folder's script, cell by cell.

        Raises:
            ConfigurationError: if the script has no function ``cells``.
        """
        with _importable(self.folder):
            script = self.folder / _SCRIPT
            compute: Callable[[Context], Iterator[Cell | Deferred]] | None
            compute = getattr(_module(script), "cells", None)
            if compute is None:
                raise ConfigurationError(f"{script} must define the function cells(context).")
            yield from compute(context)

    def chart(self, rows: Sequence[Row]) -> Chart | None:
        """Returns the curves that the script's function ``chart`` makes of the rows; None if it has none."""
        with _importable(self.folder):
            charting: Callable[[Sequence[Row]], Chart] | None
            charting = getattr(_module(self.folder / _SCRIPT), "chart", None)
            return None if charting is None else charting(rows)

    def draw(self, folder: Path) -> None:
        """Lets the script write its own figures, with their numbers, if it has a function ``draw``."""
        with _importable(self.folder):
            drawing: Callable[[Path], None] | None = getattr(_module(self.folder / _SCRIPT), "draw", None)
            if drawing is not None:
                folder.mkdir(parents=True, exist_ok=True)
                drawing(folder)


def catalogue(root: Path) -> tuple[Reproduction, ...]:
    """Returns all reproductions below ``root``, by name.

    Raises:
        ConfigurationError: if ``root`` is no folder of reproductions, or an expected.json is wrong.
    """
    return tuple(_read(folder) for folder in _folders(root))


def find(root: Path, name: str) -> Reproduction:
    """Returns the reproduction called ``name``.

    Raises:
        ConfigurationError: if there is none; the message names the nearest.
    """
    known = {folder.name: folder for folder in _folders(root)}
    if name not in known:
        near = difflib.get_close_matches(name, known, n=1)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        raise ConfigurationError(f"NAME must be one of {', '.join(known)}; got {name!r}.{hint}")
    return _read(known[name])


def _folders(root: Path) -> list[Path]:
    """Returns the folders with a script, by name; refuses a root without any."""
    folders = sorted(script.parent for script in root.glob(f"*/{_SCRIPT}"))
    if not folders:
        raise ConfigurationError(
            f"--from must be a folder of reproductions; {root} holds none. They are in the source "
            "repository, in its folder 'reproductions'."
        )
    return folders


def _read(folder: Path) -> Reproduction:
    return Reproduction(folder.name, folder, read_expectations(folder / "expected.json"))


def _module(script: Path) -> ModuleType:
    """Loads a script."""
    module_name = "discreet_reproduction_" + script.parent.name.replace("-", "_")
    spec = importlib.util.spec_from_file_location(module_name, script)
    if spec is None or spec.loader is None:
        raise ConfigurationError(f"{script} must be a Python file.")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@contextmanager
def _importable(folder: Path) -> Iterator[None]:
    """Lets configs name modules of the folder and of its parent, such as data sources."""
    added = [str(folder), str(folder.parent)]
    sys.path[:0] = added
    try:
        yield
    finally:
        for path in added:
            sys.path.remove(path)
