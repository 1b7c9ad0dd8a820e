"""Remarks for the owner of a table before anything is computed: counts of cells, and no cell.

Nothing here stops a training, for what one record holds must not decide whether a silo takes part.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from discreet.arrays import Integers
from discreet.data.table import Table, cells_note


def label_notes(table: Table, column: str, classes: Sequence[str], labels: Integers) -> tuple[str, ...]:
    """Counts the records that are left out for their label, and names classes that nobody is in.

    Args:
        table: the table.
        column: the label's.
        classes: their texts, in order.
        labels: the class of each row, -1 for a text that is no class; shape ``(n,)``.
    """
    what = f"are none of the classes {', '.join(classes)}; THESE RECORDS ARE LEFT OUT"
    accept = 'name every class by its text, as in classes = ["no", "yes"], or raise num_classes'
    left_out = cells_note(table, column, int((labels < 0).sum()), what, accept)
    absent = [text for number, text in enumerate(classes) if not (labels == number).any()]
    if not 0 < len(absent) < len(classes):
        return left_out
    return (*left_out, f"{table.name}, column {column!r}: no record is of class {', '.join(absent)}.")


def id_notes(table: Table, column: str, labels: Integers) -> tuple[str, ...]:
    """Says where an id column tells too few records apart: blank cells, or no more values than classes.

    Records of one id are held out together, so such a column decides about many records at once.
    """
    where, cells = f"{table.name}, id column {column!r}", table.column(column)
    notes = []
    if blank := sum(not cell for cell in cells):
        notes.append(
            f"{where}: {blank} of {len(cells)} cells are blank; these records count as one person's."
        )
    distinct = len(set(cells) - {""})
    if len(cells) > distinct and distinct <= len(set(labels.tolist())):
        notes.append(
            f"{where}: its cells hold {distinct} different texts, so it says of nobody whose record it is. "
            "Name a column that does, or leave id out."
        )
    return tuple(notes)


def unused_note(table: Table, used: Iterable[str]) -> tuple[str, ...]:
    """Names the columns of a file that nothing uses; names are public, as the config's are."""
    unused = [name for name in (*table.columns, *table.not_read) if name not in set(used)]
    if not unused:
        return ()
    return (f"{table.name}: columns that nothing uses: {', '.join(unused)}.",)
