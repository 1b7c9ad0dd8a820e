"""What a plan that waits would read of the silo's table, on the owner's page: each column with its rule."""

from __future__ import annotations

from discreet.config.data import DataConfig
from discreet.report.board import columns
from discreet.report.foreign import LONGEST_TEXT, foreign
from discreet.report.html import Content, Html, table, tag

_USES = {
    "label": "the label: what is to be predicted",
    "number": "a number",
    "date": "a date",
    "category": "a category",
}


def columns_read(data: DataConfig) -> Html:
    """Returns the columns that are named, what each is read as and for what; others are not read.

    All of it is in the plan, which its sender wrote: nothing is looked up in the records.
    """
    rows = [(foreign(one.name), _USES[one.kind], foreign(one.rule, LONGEST_TEXT)) for one in columns(data)]
    rows += _not_learned_from(data)
    if not rows:
        return tag("div", tag("h4", "What it would read"), tag("p", _unnamed(data)))
    header = ("Column", "Read as", "Range or texts that the plan states")
    return tag("div", table("What it would read of each record", header, rows), *_notes(data))


def _not_learned_from(data: DataConfig) -> list[tuple[str, str, str]]:
    """Lists the columns that say whose a record is, and those that are left out by name."""
    found = []
    if data.person is not None:
        most = f"at most {data.person.most_records} records of one person are used"
        found.append((foreign(data.person.column), "whose a record is: no feature", most))
    if data.id is not None:
        found.append((foreign(data.id), "which records are held out together: no feature", "any text"))
    found += [(foreign(name), "nothing: the plan drops it", "not read") for name in data.drop or ()]
    return found


def _notes(data: DataConfig) -> list[Content]:
    said = [
        "A number or date outside its range is moved to the nearest end of the range; a text that is not "
        "listed counts as unknown."
    ]
    named = [*(data.ranges or {}), *(data.dates or {}), *(data.categories or {})]
    if any("*" in name for name in named):
        said.append("A star in a name stands for any text: every column that fits is read.")
    return [tag("p", " ".join(said), class_="soft")]


def _unnamed(data: DataConfig) -> str:
    source = foreign(data.source_text, LONGEST_TEXT)
    return (
        f"The plan names no column. It reads the records as its source gives them, {source}: all that is in "
        "them may be used. Ask whoever runs this silo what they hold."
    )
