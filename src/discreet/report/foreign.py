"""Words that others wrote, as a page shows them: one line, printable, of bounded length."""

from __future__ import annotations

from discreet.documents import shown

LONGEST_NAME = 300
LONGEST_TEXT = 2000
"""Characters that are shown at most, of a name and of a longer text."""


def foreign(words: str, longest: int = LONGEST_NAME) -> str:
    r"""Returns a text that others wrote on one line, cut visibly; it is still to be escaped.

    Example:
        >>> foreign("two\nlines"), foreign("abcdef", 3)
        ('two?lines', 'abc…')
    """
    return shown(words, longest) + ("…" if len(words) > longest else "")
