"""Byte strings that belong to clients, as several messages carry them."""

from __future__ import annotations

from discreet.secagg.wire import Reader, counted, require_increasing, uint

Numbered = tuple[tuple[int, bytes], ...]
"""Byte strings, each with a client number, in increasing order."""


def write_numbered(items: Numbered) -> bytes:
    """Writes numbered byte strings."""
    return uint(len(items), 2) + b"".join(uint(index, 2) + counted(item) for index, item in items)


def read_numbered(reader: Reader) -> Numbered:
    """Reads numbered byte strings, numbers strictly increasing."""
    items = tuple((reader.uint(2), reader.counted()) for _ in range(reader.uint(2)))
    require_increasing([index for index, _ in items])
    return items
