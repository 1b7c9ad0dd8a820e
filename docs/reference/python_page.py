"""The page of the public Python names: each with its signature and its docstring, readable on GitHub."""

from __future__ import annotations

import enum
import inspect
import re
from collections.abc import Iterator
from typing import Any

from pydantic import BaseModel

import discreet

SECTIONS = {
    "Plan, ask and train": ("session", "engines.local", "models"),
    "What was agreed": ("plan", "config"),
    "Use a released model": ("released",),
    "Records": ("data",),
    "Guarantees": ("privacy.guarantee", "privacy.units", "privacy.adversary"),
    "Accounting": ("accounting", "privacy.events"),
    "Randomness and errors": ("randomness", "errors"),
}
"""Where the public names live, in the order of the page."""

ESTIMATORS = "scikit-learn"

_START = """# Python

The public names of `discreet`, made from their docstrings by `make reference`. The tests run every example.
Elsewhere: [commands](commands.md), [keys of a config](configuration.md)."""

_BLOCK = re.compile(r"^(Args|Attributes|Returns|Raises|Warns|Guarantee|Source|Example):$", re.M)
_TITLES = {"Args": "Arguments"}
_LINE = 90


def python_page() -> str:
    """Returns the page: contents, then a section for each group of names."""
    groups = [(title, list(_names(homes))) for title, homes in SECTIONS.items()]
    sklearn = discreet.sklearn
    groups.append((ESTIMATORS, [(f"sklearn.{name}", getattr(sklearn, name)) for name in sklearn.__all__]))
    contents = "\n".join(
        f"- {title}: {', '.join(f'[{name}](#{_anchor(name, thing)})' for name, thing in members)}"
        for title, members in groups
    )
    parts = [_START, contents]
    for title, members in groups:
        parts += [f"## {title}", *(_entry(name, thing) for name, thing in members)]
    return "\n\n".join(parts) + "\n"


def _names(homes: tuple[str, ...]) -> Iterator[tuple[str, Any]]:
    for home in homes:
        for name in discreet.HOMES[home]:
            yield name, getattr(discreet, name)


def _heading(name: str, thing: Any) -> str:
    """Returns the heading of a name: `Guarantee` and `guarantee` would share an anchor, but for the word."""
    return f"class discreet.{name}" if isinstance(thing, type) else f"discreet.{name}"


def _anchor(name: str, thing: Any) -> str:
    """Returns what GitHub and the site call the heading of a name."""
    return _heading(name, thing).replace(".", "").replace(" ", "-").lower()


def _entry(name: str, thing: Any) -> str:
    parts = [f"### {_heading(name, thing)}"]
    if not _is_listed(thing):
        parts.append(f"```py\n{name.rpartition('.')[2]}{_signature(thing)}\n```")
    parts.append(_text(thing))
    if isinstance(thing, type) and issubclass(thing, enum.Enum):
        parts.append("\n".join(f"- `{one.name}` = `{one.value!r}`" for one in thing))
    elif isinstance(thing, type):
        parts += _members(name.rpartition(".")[2], thing)
    return "\n\n".join(part for part in parts if part)


def _is_listed(thing: Any) -> bool:
    """Says whether how it is called says nothing: one of a few values, an error, a table with a page."""
    return isinstance(thing, type) and issubclass(thing, enum.Enum | Exception | BaseModel)


def _members(owner: str, thing: type) -> Iterator[str]:
    """Yields a list of properties, and a paragraph for each method, but for what foreign classes bring."""
    ours = [base for base in reversed(thing.__mro__) if base.__module__.startswith("discreet.")]
    found = {name: value for base in ours for name, value in vars(base).items()}
    own = {
        name: value
        for name, value in found.items()
        if not name.startswith("_") and inspect.getdoc(getattr(thing, name))
    }
    properties = [
        f"- `.{name}`: {_inline(inspect.getdoc(value) or '')}"
        for name, value in own.items()
        if isinstance(value, property)
    ]
    if properties:
        yield "**Properties**"
        yield "\n".join(properties)
    for name in own:
        method = getattr(thing, name)
        if inspect.isroutine(method) and method.__module__.startswith("discreet"):
            yield f"#### {owner}.{name}"
            yield f"```py\n{name}{_signature(method)}\n```"
            yield _text(method)


def _signature(thing: Any) -> str:
    """Returns the signature as it is written, an argument a line where it is long."""
    signature = inspect.signature(thing)
    kept = [
        one for one in signature.parameters.values() if one.name != "self" and not one.name.startswith("_")
    ]
    written = [_parameter(one) for one in kept]
    kinds = [one.kind for one in kept]
    named = inspect.Parameter.KEYWORD_ONLY
    if named in kinds and inspect.Parameter.VAR_POSITIONAL not in kinds:
        written.insert(kinds.index(named), "*")
    result = "" if isinstance(thing, type) else f" -> {signature.return_annotation}"
    short = f"({', '.join(written)}){result}"
    if len(short) < _LINE:
        return short
    return "(\n" + "".join(f"    {one},\n" for one in written) + f"){result}"


def _parameter(one: inspect.Parameter) -> str:
    """Returns an argument as it is written: types without quotes, members of an enumeration by name."""
    named: dict[object, str] = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}
    stars = named.get(one.kind, "")
    text = f"{stars}{one.name}: {one.annotation}"
    if one.default is inspect.Parameter.empty:
        return text
    default = str(one.default) if isinstance(one.default, enum.Enum) else repr(one.default)
    return f"{text} = {default.replace('<factory>', '…')}"


def _text(thing: Any) -> str:
    """Returns a docstring as Markdown: lists of arguments as lists, examples as code."""
    found = _BLOCK.split(inspect.getdoc(thing) or "")
    parts = [_prose(found[0])]
    for title, body in zip(found[1::2], found[2::2], strict=True):
        lines = inspect.cleandoc("\n" + body.strip("\n"))
        parts.append(f"**{_TITLES.get(title, title)}**")
        if title in ("Args", "Attributes", "Raises", "Warns"):
            parts.append(_list(lines))
        elif title == "Example" and lines.startswith(">>>"):
            parts.append(f"```pycon\n{lines}\n```")
        else:
            parts.append(_prose(lines))
    return "\n\n".join(part for part in parts if part)


def _list(lines: str) -> str:
    entries = re.findall(r"^([\w*]+): (.*(?:\n\s+.*)*)", lines, re.M)
    return "\n".join(f"- `{name}`: {_inline(text)}" for name, text in entries)


def _prose(text: str) -> str:
    return "\n\n".join(_inline(one) for one in text.strip().split("\n\n"))


def _inline(text: str) -> str:
    """Returns text in one line, code in single backticks, and nothing that Markdown would take for a tag."""
    return re.sub(r"``([^`]+)``", r"`\1`", " ".join(text.split())).replace("<private>", r"\<private>")
