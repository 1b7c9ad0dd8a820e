"""The fenced blocks of a page, with what the comment in front of one says about it."""

from __future__ import annotations

import re
from dataclasses import dataclass

_FENCE = re.compile(
    r"(?:^<!-- (?P<note>[^\n]*?) -->\n)?^```(?P<language>\w*)\n(?P<text>.*?)^```$", re.M | re.S
)


@dataclass(frozen=True, slots=True)
class Block:
    """One fenced block.

    Attributes:
        language: sh, python, toml, text; empty if none is named.
        text: its content.
        line: where it starts in its page, from 1.
        exit_code: what a shell block must end with: 0 unless ``<!-- exit code N -->`` stands before it.
        file: the file that the block is the content of, by ``<!-- file: NAME -->``.
        is_config: whether the block is a part of a config that must be valid, by ``<!-- config -->``.
        each: whether every hospital runs it, by ``<!-- each hospital -->``.
        stays: whether it is a process that stays, by ``<!-- stays -->``.
    """

    language: str
    text: str
    line: int
    exit_code: int
    file: str | None
    is_config: bool
    each: bool
    stays: bool


def blocks(page: str) -> list[Block]:
    """Returns the blocks of a Markdown page in order."""
    return [
        _block(match["note"] or "", match["language"], match["text"], page.count("\n", 0, match.start()) + 1)
        for match in _FENCE.finditer(page)
    ]


def _block(note: str, language: str, text: str, line: int) -> Block:
    code = re.fullmatch(r"exit code (\d+)", note)
    file = re.fullmatch(r"file: (\S+)", note)
    return Block(
        language,
        text,
        line,
        exit_code=int(code[1]) if code else 0,
        file=file[1] if file else None,
        is_config=note == "config",
        each="each hospital" in note.split("; "),
        stays="stays" in note.split("; "),
    )
