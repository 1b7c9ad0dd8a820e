"""The files of ``discreet new``: a consortium's project as templates with few blanks, all files offline."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from string import Template

from discreet.engines.flower.project import write_app
from discreet.errors import ConfigurationError

_TEMPLATES = files("discreet.engines.flower") / "templates"
_FEWEST_SILOS = 3
_LONGEST_NAME = 64


def write_consortium(folder: Path, silos: tuple[str, ...]) -> None:
    """Writes the project of a consortium of ``silos`` into a new folder.

    Raises:
        ConfigurationError: if the folder is not new, or the silos cannot be a consortium.
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise ConfigurationError(
            f"the project must go to a new or empty folder; {folder} holds files. Name another."
        )
    if len(silos) < _FEWEST_SILOS:
        raise ConfigurationError(f"at least {_FEWEST_SILOS} silos must take part; got {len(silos)}.")
    require_silo_names(silos)
    blanks = {
        "name": folder.resolve().name,
        "silos": " ".join(silos),
        "num_silos": str(len(silos)),
        "min_survivors": str(max(_FEWEST_SILOS, len(silos) - 1)),
        "capacities": ", ".join(f"{silo} = 300" for silo in silos),
    }
    write_app(folder / "app")
    _write(folder / "config.toml", "config.toml", blanks)
    _write(folder / "README.md", "README.md", blanks)
    _write(folder / "make-keys.sh", "make-keys.sh", blanks)
    (folder / "make-keys.sh").chmod(0o755)
    (folder / "server").mkdir()
    for silo in silos:
        _write(folder / "silos" / silo / "policy.toml", "policy.toml", {**blanks, "silo": silo})
        (folder / "silos" / silo / "policy.toml").chmod(0o600)
        (folder / "silos" / silo).chmod(0o700)
        _write(folder / "silos" / silo / "adapter.py", "adapter.py", {**blanks, "silo": silo})


def require_silo_names(silos: tuple[str, ...]) -> None:
    """Refuses names that cannot be those of folders and tables, or that some file systems take for one.

    Raises:
        ConfigurationError: naming the first that cannot be used, or the first that is there before.
    """
    folders: set[str] = set()
    for silo in silos:
        folder = unicodedata.normalize("NFKC", silo).casefold()
        known, usable = folder in folders, silo.replace("-", "_").isidentifier()
        if known or not usable or len(silo.encode()) > _LONGEST_NAME:
            raise ConfigurationError(
                f"silos must have names of letters, digits, '-' and '_', at most {_LONGEST_NAME} bytes long "
                "and distinct whatever the capitals; "
                f"got {silo[:_LONGEST_NAME]!r}{' again' if known else ''}."
            )
        folders.add(folder)


def _write(path: Path, template: str, blanks: Mapping[str, str]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    text = (_TEMPLATES / f"{template}.tmpl").read_text(encoding="utf-8")
    path.write_text(Template(text).substitute(blanks), encoding="utf-8")
