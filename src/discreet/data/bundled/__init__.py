"""Data that ships inside the package; see ATTRIBUTION.md beside this file for makers and licences."""

from __future__ import annotations

import gzip
from importlib import resources

from discreet.data.table import Table, parse_table


def bundled_table(file: str, *, name: str) -> Table:
    """Reads a bundled table; ``name`` is what messages call it."""
    raw = resources.files(__name__).joinpath(file).read_bytes()
    return parse_table(gzip.decompress(raw).decode(), name=name)
