"""``discreet init``: seven questions, one valid config."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

import typer

from discreet.config import parse_config
from discreet.data.csv_file import CsvFile
from discreet.data.dialect import COMMAS, Dialects
from discreet.data.look import guessed_file
from discreet.data.table_files import of_several, of_tables, table_files
from discreet.errors import ConfigurationError

_CAPACITIES = {"heart-disease": 240, "digits": 1000}
_USUAL_CAPACITY = 1000


@dataclass(frozen=True, slots=True)
class Answers:
    """The answers, as text; see the options of `init`."""

    source: str
    silos: str
    label: str
    features: str
    epsilon: float
    capacity: int
    classes: str = ""
    purpose: str = ""
    why: str = ""
    separators: Mapping[str, str] = field(default_factory=dict)


def init(
    out: Annotated[Path, typer.Argument(help="The config to write.")] = Path("discreet.toml"),
    source: Annotated[
        str | None,
        typer.Option(help="heart-disease, digits, csv:PATH, parquet:PATH, npz:PATH or module:function."),
    ] = None,
    silos: Annotated[
        str | None, typer.Option(help="Column that names the silo, or a number to deal one table out.")
    ] = None,
    label: Annotated[str | None, typer.Option(help="csv, parquet: the column to predict.")] = None,
    classes: Annotated[
        str | None,
        typer.Option(
            help="csv, parquet: the label's texts, no|yes; left out, 0 and 1. npz: how many there are."
        ),
    ] = None,
    features: Annotated[
        str | None, typer.Option(help="csv, parquet: age=20:90,sex=female|male, from public knowledge.")
    ] = None,
    epsilon: Annotated[float | None, typer.Option(help="Privacy budget ε.")] = None,
    capacity: Annotated[
        int | None, typer.Option(help="Public upper bound on the training records of a silo.")
    ] = None,
    purpose: Annotated[str | None, typer.Option(help="What the model is for; shown in the report.")] = None,
    why: Annotated[str | None, typer.Option(help="Why this ε; shown in the report.")] = None,
) -> None:
    """Ask seven questions (or take the options) and write a config that `discreet plan` accepts.

    Example: [bold]discreet init --source heart-disease --epsilon 1[/bold]
    """
    if out.exists():
        raise ConfigurationError(f"the config to write must not exist yet; {out} does. Give another name.")
    source = source or typer.prompt("1. Where are the records? (csv:PATH, npz:PATH, heart-disease, digits)")
    table, arrays = of_tables(source), source.startswith("npz:")
    files = _files(source) if source.startswith("csv:") else {}
    if files:
        columns = dict.fromkeys(name for file in files.values() for name in file.header())
        typer.echo(f"   columns: {', '.join(columns)}", err=True)
    answers = Answers(
        source=source,
        silos=_ask(silos, "2. Column that names the silo, or a number", needed=not _has_silos(source)),
        label=_ask(label, "3. Column to predict (0 or 1; else --classes)", needed=table),
        features=_ask(features, "4. Features with public ranges (age=20:90,sex=female|male)", needed=table),
        epsilon=typer.prompt("5. Privacy budget ε", default=1.0, type=float) if epsilon is None else epsilon,
        capacity=capacity or _CAPACITIES.get(source, _USUAL_CAPACITY),
        classes=_ask(classes, "3. How many classes are there?", needed=arrays),
        separators={silo: file.dialect.separator for silo, file in files.items()},
        purpose=_if_asked(
            epsilon, purpose, "6. What is the model for? (the report says so; may be left out)"
        ),
        why=_if_asked(epsilon, why, "7. Why this ε? (may be left out)"),
    )
    text = write_config(answers, name=out.stem)
    parse_config(tomllib.loads(text), source=out.name)
    out.write_text(text, encoding="utf-8")
    typer.echo(f"{out}: look at record_capacity and min_survivors, then: discreet plan {out}")


def _if_asked(epsilon: float | None, given: str | None, question: str) -> str:
    """Returns the option, else the answer where ε was asked for as well; empty if nothing was said."""
    if given is not None or epsilon is not None:
        return given or ""
    return str(typer.prompt(question, default="", show_default=False))


def _ask(given: str | None, question: str, *, needed: bool) -> str:
    """Returns the option, else the answer, or nothing where nothing is needed."""
    if given is not None or not needed:
        return given or ""
    return str(typer.prompt(question))


def write_config(answers: Answers, *, name: str) -> str:
    """Returns the config as TOML, with a comment where a public number was assumed.

    Raises:
        ConfigurationError: if a feature is not NAME=LOW:HIGH or NAME=TEXT|TEXT.
    """
    return f"""name = {_text(name)}

[data]
source = {_text(answers.source)}
{_partition(answers.silos)}{_separator(answers)}{_table(answers)}{_arrays(answers)}\
# Public: the most training records of a silo, not a count.
record_capacity = {answers.capacity}
# Held out to measure a simulation. A real federation measures nothing: set 0 there.
test_fraction = 0.25

[training]
# Nothing is tuned: the plan works out steps and rounds from public numbers alone.
local = {{ kind = "stable-steps" }}

[privacy]
unit = "record"
epsilon = {answers.epsilon}
delta = 1e-5

[aggregation]
# Left out, every silo must survive every round: min_survivors = 3
# As every policy assumes unless its owner says otherwise.
max_colluding = 1

# What a board will ask; shown in the report, and part of the agreed plan.
[about]
{_about(answers)}# controller = "who is responsible"
# contact = "whom to write to"
# legal_basis = "consent, law or contract, and until when"
# population = "whose records: period, inclusion, where they come from"
# contributions = "how many records one person may have, and who sees to it"
# decided_by = "who decided on ε and δ"
"""


def _about(answers: Answers) -> str:
    """Returns what was said of purpose and ε, and comments in place of what was not."""
    said = (("purpose", answers.purpose, "what the model is for"),
            ("why_epsilon", answers.why, "why this ε and this δ"))  # fmt: skip
    return "".join(
        f"{key} = {_text(words)}\n" if words else f'# {key} = "{hint}"\n' for key, words, hint in said
    )


def _partition(silos: str) -> str:
    if not silos:
        return ""
    if silos.isdigit():
        return f'partition = {{ kind = "iid", silos = {silos} }}\n'
    return f'partition = {{ kind = "column", column = {_text(silos)} }}\n'


def _table(answers: Answers) -> str:
    """Returns label, ranges and categories of a csv source."""
    if not answers.label and not answers.features:
        return ""
    ranges, categories = {}, {}
    for feature in answers.features.split(","):
        name, equals, values = feature.strip().partition("=")
        low, colon, high = values.partition(":")
        if equals and colon:
            ranges[name] = f"[{_number(name, low)}, {_number(name, high)}]"
        elif equals and "|" in values:
            categories[name] = json.dumps(values.split("|"), ensure_ascii=False)
        else:
            raise ConfigurationError(
                f"a feature must be NAME=LOW:HIGH or NAME=TEXT|TEXT; got {feature.strip()!r}."
            )
    lines = [f"label = {_text(answers.label)}"]
    if answers.classes:
        lines.append(f"classes = {json.dumps(answers.classes.split('|'), ensure_ascii=False)}")
    lines += ["# From public knowledge, never from the records."]
    for title, found in (("ranges", ranges), ("categories", categories)):
        if found:
            inside = ", ".join(f"{_text(name)} = {values}" for name, values in found.items())
            lines.append(f"{title} = {{ {inside} }}")
    return "\n".join(lines) + "\n"


def _arrays(answers: Answers) -> str:
    """Returns what a linear model needs to know of an npz source: classes, and features of bounded norm."""
    if not answers.source.startswith("npz:"):
        return ""
    if not answers.classes.isdecimal():
        raise ConfigurationError(
            f"the classes of an npz source must be a number, how many there are; got {answers.classes!r}."
        )
    scaled = "# Every record is scaled to this length.\nfeature_norm_bound = 1.0\n"
    return f"num_classes = {int(answers.classes)}\n{scaled}"


def _separator(answers: Answers) -> str:
    """Returns how cells of csv files are separated, where it is not by commas."""
    if not of_several(answers.source):
        return "".join(
            f"separator = {_text(one)}\n" for one in answers.separators.values() if one != COMMAS.separator
        )
    odd = {silo: one for silo, one in answers.separators.items() if one != COMMAS.separator}
    inside = ", ".join(f"{_text(silo)} = {_text(one)}" for silo, one in odd.items())
    return f"separator = {{ {inside} }}\n" if odd else ""


def _number(name: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ConfigurationError(f"the range of {name!r} must be two numbers; got {text!r}.") from None


def _files(source: str) -> dict[str, CsvFile]:
    """Returns the tables of a csv source, with the separators of their headers; their columns are public."""
    found = {silo: guessed_file(file.path) for silo, file in table_files(source, Dialects()).files.items()}
    return {silo: file for silo, file in found.items() if isinstance(file, CsvFile)}


def _has_silos(source: str) -> bool:
    """Says whether a source makes silos of its own: a file for each, or a function."""
    return source == "heart-disease" or (
        of_several(source) if of_tables(source) else not source.startswith("npz:") and ":" in source
    )


def _text(value: str) -> str:
    """Writes a TOML string; JSON's escapes are TOML's."""
    return json.dumps(value, ensure_ascii=False)
