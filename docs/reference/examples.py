"""Reads ``Example:`` sections as the code that they are, where the site generator expects ``Examples:``."""

from __future__ import annotations

import re
from typing import Any

import griffe


class Examples(griffe.Extension):
    """Renames the section in every docstring, in memory only."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Is called for each object that was read."""
        if obj.docstring is not None:
            obj.docstring.value = re.sub(r"^Example:$", "Examples:", obj.docstring.value, flags=re.M)
