"""How programs and notebooks show guarantees: a line each, or a table in HTML."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from discreet.privacy.guarantee import Guarantee
from discreet.privacy.notation import delta_text, epsilon_text


def guarantees_text(title: str, guarantees: Sequence[Guarantee]) -> str:
    """Returns a title and one indented line for each guarantee."""
    return "\n".join([title, *(f"  {guarantee}" for guarantee in guarantees)])


def guarantees_html(title: str, guarantees: Sequence[Guarantee]) -> str:
    """Returns a table of guarantees for a notebook; every text is escaped, for names may hold anything."""
    head = "".join(f"<th>{name}</th>" for name in ("against", "ε", "δ", "per", "neighbors", "status"))
    cells = ["".join(f"<td>{escape(cell)}</td>" for cell in _cells(row)) for row in guarantees]
    body = "".join(f"<tr>{row}</tr>" for row in cells)
    return f"<table><caption>{escape(title)}</caption><tr>{head}</tr>{body}</table>"


def _cells(row: Guarantee) -> tuple[str, ...]:
    return (
        row.against,
        epsilon_text(row.epsilon),
        delta_text(row.delta),
        row.unit.value,
        row.neighboring.value,
        row.status.value,
    )
