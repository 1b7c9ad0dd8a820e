"""The reference pages: commands from ``--help``, configuration from its types, modules from docstrings.

``make reference`` writes those that the repository holds.
"""

from __future__ import annotations

import inspect
import pkgutil
import re
from collections.abc import Iterator
from enum import Enum
from pathlib import Path
from typing import Any, get_args

import typer
from pydantic import BaseModel
from pydantic.fields import FieldInfo
from python_page import python_page

import discreet
from discreet.cli.app import app
from discreet.config import Config

_INTERNAL = frozenset({"__main__", "cli"})


def kept_pages() -> dict[str, str]:
    """Returns the pages that the repository holds, for readers without the site, by name."""
    return {
        "commands.md": commands_page(),
        "configuration.md": configuration_page(),
        "python.md": python_page(),
    }


def site_pages() -> dict[str, str]:
    """Returns the pages of all packages, which are made with the site alone, by their path in it."""
    return {f"reference/python/{name}.md": _package_page(name) for name in packages()}


# --- Commands ----------------------------------------------------------------------------------------------


def commands_page() -> str:
    """Returns one section for each command, as the command itself describes it."""
    parts = [
        "# Commands",
        "Every command has `--help`. Exit codes: 0 done, 1 failed, 2 bad request, 3 refused.",
    ]
    parts += [_command(name, command) for name, command in commands()]
    return "\n\n".join(parts) + "\n"


def commands() -> Iterator[tuple[str, Any]]:
    """Yields every command with its full name, the members of groups included."""
    pending: list[tuple[str, Any]] = [("discreet", typer.main.get_command(app))]
    while pending:
        name, command = pending.pop(0)
        if not hasattr(command, "list_commands"):
            yield name, command
            continue
        context = command.context_class(command, info_name=name)
        members = command.list_commands(context)
        found = [(member, command.resolve_command(context, [member])[1]) for member in members]
        pending += [(f"{name} {member}", inner) for member, inner in found]


def _command(name: str, command: Any) -> str:
    """Writes help text and parameters of one command."""
    text = re.sub(r"\[/?[a-z ]+\]", "`", inspect.cleandoc(command.help or ""))
    rows = [_parameter(parameter) for parameter in command.params if parameter.name != "help"]
    table = ["| parameter | meaning |", "|---|---|", *rows] if rows else []
    return "\n\n".join([f"## {name}", text, "\n".join(table)]).rstrip()


def _parameter(parameter: Any) -> str:
    names = [*parameter.opts, *parameter.secondary_opts]
    shown = ", ".join(f"`{name}`" for name in names if name.startswith("-")) or f"`{parameter.name.upper()}`"
    meaning = (getattr(parameter, "help", "") or "").replace("|", r"\|")
    return f"| {shown} | {meaning} |"


# --- Configuration -----------------------------------------------------------------------------------------


def configuration_page() -> str:
    """Returns one section for each table of the config, with its keys, types and defaults."""
    parts = ["# Configuration", "TOML; an unknown key is an error that names the nearest known one."]
    for path, table in tables():
        parts.append(f"## {path}\n\n{_text_of(table)}\n\n{_keys(table)}")
    return "\n\n".join(parts) + "\n"


def tables() -> list[tuple[str, type[BaseModel]]]:
    """Returns every table that a config may hold, by its path; alternatives have their kind added."""
    found: list[tuple[str, type[BaseModel]]] = [("The file", Config)]
    pending: list[tuple[str, type[BaseModel]]] = [("", Config)]
    while pending:
        path, table = pending.pop(0)
        for name, field in table.model_fields.items():
            for inner in _tables_in(field.annotation):
                kind = inner.model_fields.get("kind")
                label = f"{path}{name}" + (f" = {get_args(kind.annotation)[0]}" if kind else "")
                if (label, inner) in found:
                    continue
                if label in (before for before, _ in found):
                    # Two tables of one kind: the later one is known by a value that it has alone.
                    left_out = (key for key, one in inner.model_fields.items() if one.default == "auto")
                    label += f", {next(left_out)} = auto"
                found.append((label, inner))
                pending.append((f"{path}{name}.", inner))
    return found


def _tables_in(annotation: Any) -> list[type[BaseModel]]:
    if inspect.isclass(annotation) and issubclass(annotation, BaseModel):
        return [annotation]
    return [table for part in get_args(annotation) for table in _tables_in(part)]


def _text_of(table: type[BaseModel]) -> str:
    """Returns what a table's docstring says before its list of attributes."""
    return inspect.cleandoc(table.__doc__ or "").partition("Attributes:")[0].strip()


def _keys(table: type[BaseModel]) -> str:
    said = meanings(table)
    rows = [
        f"| `{key_of(name, field)}` | {_default(field)} | {said[name].replace('|', '/')} |"
        for name, field in table.model_fields.items()
    ]
    return "\n".join(["| key | left out | meaning |", "|---|---|---|", *rows])


def meanings(table: type[BaseModel]) -> dict[str, str]:
    """Returns what docstrings, those of its bases included, say of each key; a ``kind`` says itself."""
    described: dict[str, str] = {}
    for base in reversed(table.__mro__):
        text = inspect.cleandoc(base.__doc__ or "").partition("Attributes:\n")[2]
        described |= dict(re.findall(r"^    (\w+): (.*(?:\n      +.*)*)", text, re.M))
    if kind := table.model_fields.get("kind"):
        described.setdefault("kind", f'"{get_args(kind.annotation)[0]}"; says which table this is.')
    return {name: " ".join(described.get(name, "").split()) for name in table.model_fields}


def key_of(name: str, field: FieldInfo) -> str:
    """Returns a key as one writes it."""
    return field.alias or name


def _default(field: FieldInfo) -> str:
    if field.is_required():
        return "must be given"
    if field.default_factory is not None:
        return "its own"
    default = field.default
    if isinstance(default, BaseModel):
        return f"`{getattr(default, 'kind', 'its own defaults')}`"
    if default is None or default == ():
        return "–"
    if isinstance(default, bool):
        return f"`{str(default).lower()}`"
    return f"`{default.value if isinstance(default, Enum) else default}`"


# --- Python ------------------------------------------------------------------------------------------------


def packages() -> list[str]:
    """Returns the public packages and modules directly under ``discreet``."""
    return sorted(item.name for item in pkgutil.iter_modules(discreet.__path__) if item.name not in _INTERNAL)


def _package_page(name: str) -> str:
    """Returns the directives from which the generator writes a package's docstrings."""
    modules = [f"discreet.{name}"]
    package = next(item for item in pkgutil.iter_modules(discreet.__path__) if item.name == name)
    if package.ispkg:
        folder = [f"{path}/{name}" for path in discreet.__path__]
        modules += [item.name for item in pkgutil.walk_packages(folder, prefix=f"discreet.{name}.")]
    return f"# discreet.{name}\n\n" + "\n\n".join(f"::: {module}" for module in modules) + "\n"


if __name__ == "__main__":
    for page, text in kept_pages().items():
        (Path(__file__).parent / page).write_text(text, encoding="utf-8")
