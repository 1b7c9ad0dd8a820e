"""What ``discreet new`` writes: a consortium's project as templates with few blanks, all files offline."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from string import Template

from discreet.engines.flower.project import write_app
from discreet.errors import ConfigurationError

_TEMPLATES = files("discreet.engines.flower") / "templates"
_FEWEST_SILOS = 3


def write_consortium(folder: Path, silos: tuple[str, ...]) -> None:
    """Writes the project of a consortium of ``silos`` into a new folder.

    Raises:
        ConfigurationError: if the folder is not new, or the silos cannot be a consortium.
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise ConfigurationError(f"the project must go to a new or empty folder; {folder} is not.")
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
    """Refuses names that cannot be those of folders and tables.

    Raises:
        ConfigurationError: naming the first, or saying that one is repeated.
    """
    unusable = [silo for silo in silos if not silo.replace("-", "_").isidentifier()]
    if unusable or len(set(silos)) != len(silos):
        raise ConfigurationError(
            "silos must have distinct names of letters, digits, '-' and '_'; "
            f"got {unusable[0] if unusable else 'one twice'!r}."
        )


def _write(path: Path, template: str, blanks: Mapping[str, str]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    text = (_TEMPLATES / f"{template}.tmpl").read_text(encoding="utf-8")
    path.write_text(Template(text).substitute(blanks), encoding="utf-8")
