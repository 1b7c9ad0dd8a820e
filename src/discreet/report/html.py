"""The few pieces of HTML that a report needs; text is escaped unless its type says that it is markup."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence
from typing import final

_VOID = frozenset({"meta", "line", "polyline", "rect", "circle", "path"})


@final
class Html(str):
    """Markup that is already escaped; everything else is text."""

    __slots__ = ()


Content = Html | str


def escape(content: Content) -> Html:
    """Returns text as markup, and markup as it is.

    Example:
        >>> escape("<b>"), escape(Html("<b>"))
        ('&lt;b&gt;', '<b>')
    """
    return content if isinstance(content, Html) else Html(html.escape(content, quote=True))


def tag(name: str, /, *children: Content, **attributes: str) -> Html:
    """Returns one element; ``class_`` and ``aria_label`` become ``class`` and ``aria-label``.

    Example:
        >>> tag("p", "a < b", class_="note")
        '<p class="note">a &lt; b</p>'
    """
    written = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(value)}"' for key, value in attributes.items()
    )
    if name in _VOID and not children:
        return Html(f"<{name}{written}/>")
    return Html(f"<{name}{written}>{join(children)}</{name}>")


def join(parts: Iterable[Content]) -> Html:
    """Returns the parts one after the other, escaped where they are text."""
    return Html("".join(escape(part) for part in parts))


def items(entries: Iterable[Content]) -> Html:
    """Returns an unordered list."""
    return tag("ul", *(tag("li", entry) for entry in entries))


def table(
    caption: str,
    header: Sequence[str],
    rows: Iterable[Sequence[Content]],
    *,
    numeric: Sequence[int] = (),
    stack: bool = True,
) -> Html:
    """Returns a titled table whose first cell in each row is the row's header, inside a scrollable region.

    The title stands outside the region, so that it stays readable when a phone scrolls the table sideways.
    A stacked table is not scrolled there: each row becomes a block of lines, titles beside their cells.

    Args:
        caption: what the table shows; also its name for screen readers.
        header: titles of the columns.
        rows: as many cells as there are titles.
        numeric: columns whose cells are aligned to the right.
        stack: whether a phone shows each row as a block.
    """

    def style(column: int) -> dict[str, str]:
        return {"class_": "number"} if column in numeric else {}

    head = tag("tr", *(tag("th", title, scope="col", **style(n)) for n, title in enumerate(header)))
    body = [
        tag(
            "tr",
            tag("th", row[0], scope="row"),
            *(
                tag("td", cell, **style(n), **({"data_label": header[n]} if stack else {}))
                for n, cell in enumerate(row[1:], start=1)
            ),
        )
        for row in rows
    ]
    inside = tag("table", tag("thead", head), tag("tbody", *body), aria_label=caption)
    kind = "scroll stack" if stack else "scroll"
    region = tag("div", inside, class_=kind, role="region", tabindex="0", aria_label=caption)
    return join([tag("h3", caption), region])
