"""``discreet look``: what a table holds, for its owner's eyes, and a draft of the config's table ``data``."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import date
from pathlib import Path
from typing import Annotated

import typer

from discreet.config.data import DRAFT, WRITTEN
from discreet.data.csv_file import CsvFile
from discreet.data.dialect import COMMAS, Dialect
from discreet.data.look import MOST_TEXTS, Sight, guessed_file, seen
from discreet.data.table_files import TableFile, in_folder
from discreet.errors import DataError

_LABELS = ("label", "target", "outcome", "disease", "class", "y")
_REPLACE = "replace by public knowledge"
_MISWRITTEN = "another decimal sign than the file's other numbers; write all alike, then state a range"
_IDENTIFIER = (
    "nearly all cells differ, as those of an identifier do, so it is id here or dropped, and no feature. If "
    "it says whose a record is, and people may have several, make it the column of data.person. If it is a "
    "measurement, state its range."
)


def look(
    files: Annotated[
        list[Path],
        typer.Argument(help="Tables, .csv or .parquet: one, or one for each silo; or their folder."),
    ],
    label: Annotated[str | None, typer.Option(help="The column to predict; left out, it is guessed.")] = None,
    silo: Annotated[
        str | None, typer.Option(help="The column that names the silo, in a single table.")
    ] = None,
) -> None:
    """Look at your own tables and draft the config's data section; nothing is sent or written.

    What was read from records is marked as a draft, and `discreet plan` refuses it until you replace it.

    Example: [bold]discreet look north.csv south.csv --label disease[/bold]
    """
    files = [one for path in files for one in (in_folder(path) if path.is_dir() else [path])]
    for path in files:
        if not path.is_file():
            raise DataError(f"the tables must be files that are there; there is no {path}. Mend the path.")
    found = {path: guessed_file(path) for path in files}
    sights = {path: seen(file) for path, file in found.items()}
    columns = _together(sights)
    for name in (label, silo):
        if name is not None and name not in columns:
            raise DataError(f"there is no column {name!r}. There are: {', '.join(columns)}.")
    typer.echo(draft(found, columns, label=label or _label(columns, silo), silo=silo), nl=False)


def _together(sights: Mapping[Path, Mapping[str, Sight]]) -> dict[str, list[Sight]]:
    """Returns the columns of all tables, each with what it holds in every table."""
    columns: dict[str, list[Sight]] = {}
    for sight in sights.values():
        for name, one in sight.items():
            columns.setdefault(name, []).append(one)
    return columns


def _label(columns: Mapping[str, list[Sight]], silo: str | None) -> str:
    """Guesses the column to predict: by its name, or the last that holds two texts."""
    named = [name for name in columns if name.lower() in _LABELS]
    two = [name for name, sights in columns.items() if len(_texts(sights)) == 2 and name != silo]
    return (named or two[::-1] or list(columns)[::-1])[0]


def draft(
    files: Mapping[Path, TableFile], columns: Mapping[str, list[Sight]], *, label: str, silo: str | None
) -> str:
    """Returns the draft as TOML; every number and text that was read from records begins with "draft"."""
    lines = ["# For your eyes: counts of your own records. Delete these lines before you share the file."]
    lines += [f"# {_text(name)}: {_said(sights)}" for name, sights in columns.items()]
    features = {name: sights for name, sights in columns.items() if name not in (label, silo)}
    ids = [name for name, sights in features.items() if all(sight.identifying for sight in sights)]
    lines += [f"# {_text(name)}: {_IDENTIFIER}" for name in ids]
    lines += ["", "[data]", *_source(files)]
    if silo is not None:
        lines.append(f'partition = {{ kind = "column", column = {_text(silo)} }}')
    lines += [f"label = {_text(label)}", f"classes = {_draft(', '.join(_texts(columns[label])))}"]
    lines += [f"id = {_draft(ids[0])}"] if ids else []
    tables, drop = _features({name: sights for name, sights in features.items() if name not in ids})
    drop += ids[1:]
    # Whatever the records hold: whether a cell is blank is nobody else's business.
    lines.append('missing = "indicator"')
    lines += [f"drop = {json.dumps(drop, ensure_ascii=False)}"] if drop else []
    lines += [
        "# Public: the most training records of a silo, not a count.",
        f"record_capacity = {_draft('none')}",
    ]
    for title, drafts in tables.items():
        if drafts:
            lines += ["", f"[data.{title}]", *(f"{_text(name)} = {value}" for name, value in drafts.items())]
    return "\n".join(lines) + "\n"


def _features(columns: Mapping[str, list[Sight]]) -> tuple[dict[str, dict[str, str]], list[str]]:
    """Returns drafts of ranges, dates and categories, and the columns that are none of these."""
    tables: dict[str, dict[str, str]] = {"ranges": {}, "dates": {}, "categories": {}}
    drop = []
    for name, sights in columns.items():
        if any(sight.order for sight in sights):
            tables["dates"][name] = _draft(_days(sights))
        elif any(sight.numeric for sight in sights):
            low, high = min(sight.low for sight in sights), max(sight.high for sight in sights)
            tables["ranges"][name] = _draft(f"{low:g} to {high:g}")
        elif any(sight.miswritten for sight in sights):
            tables["ranges"][name] = _text(f"{DRAFT}{_MISWRITTEN}")
        elif len(_texts(sights)) > MOST_TEXTS:
            drop.append(name)
        else:
            tables["categories"][name] = _draft(", ".join(_texts(sights)))
    return tables, drop


def _source(files: Mapping[Path, TableFile]) -> list[str]:
    """Returns the source, and how its CSV files are written where that must be said."""
    schemes = {path: "csv" if isinstance(file, CsvFile) else "parquet" for path, file in files.items()}
    texts = {path: _text(f"{scheme}:{path}") for path, scheme in schemes.items()}
    lines = [f"source = {text}" for text in texts.values()]
    if len(files) > 1:
        stems = [path.name.split(".")[0] for path in files]
        if len(set(stems)) < len(stems):
            raise DataError(f"every file must be a silo of its own name; got {', '.join(stems)}. Rename one.")
        named = (f"{_text(stem)} = {text}" for stem, text in zip(stems, texts.values(), strict=True))
        lines = [f"source = {{ {', '.join(named)} }}"]
    own = {path.name.split(".")[0]: file.dialect for path, file in files.items() if isinstance(file, CsvFile)}
    return [*lines, *(line for key in WRITTEN if (line := _written(own, key)))]


def _written(dialects: Mapping[str, Dialect], key: str) -> str:
    """Returns the line that says one thing of how CSV files are written, by silo where they differ."""
    usual = getattr(COMMAS, key)
    # What splits a header is no more than the header says; the rest is read from records.
    found = {silo: getattr(one, key) for silo, one in dialects.items()}
    shown = {silo: _text(one) if key == "separator" else _draft(one) for silo, one in found.items()}
    if set(found.values()) <= {usual}:
        return ""
    if len(set(found.values())) == 1:
        return f"{key} = {next(iter(shown.values()))}"
    named = ", ".join(f"{_text(silo)} = {shown[silo]}" for silo, one in found.items() if one != usual)
    return f"{key} = {{ {named} }}"


def _said(sights: list[Sight]) -> str:
    rows, blank = sum(sight.rows for sight in sights), sum(sight.blank for sight in sights)
    texts = _texts(sights)
    many = f"more than {MOST_TEXTS}" if len(texts) > MOST_TEXTS else str(len(texts))
    numbers = sum(sight.numbers for sight in sights)
    return f"{rows} cells, {blank} blank, {numbers} numbers, {many} different texts"


def _texts(sights: list[Sight]) -> list[str]:
    return sorted(set().union(*(sight.texts for sight in sights)))


def _days(sights: list[Sight]) -> str:
    """Returns the first and the last day, and the order of the cells."""
    (order, *_) = [sight.order for sight in sights if sight.order]
    found = [sight.days[order] for sight in sights if order in sight.days]
    first, last = min(one[1] for one in found), max(one[2] for one in found)
    return f"{date.fromordinal(int(first))} to {date.fromordinal(int(last))}, order {order.value}"


def _draft(text: str) -> str:
    return _text(f"{DRAFT}{text}; {_REPLACE}")


def _text(value: str) -> str:
    """Writes a TOML string; JSON's escapes are TOML's, and letters that are not printed are escaped too."""
    escaped = json.dumps(value, ensure_ascii=False)
    return "".join(letter if letter.isprintable() else f"\\u{ord(letter):04x}" for letter in escaped)
