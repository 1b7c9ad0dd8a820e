"""What others wrote is one printable line of bounded length."""

from __future__ import annotations

import pytest

from discreet.report.foreign import LONGEST_NAME, LONGEST_TEXT, foreign


@pytest.mark.parametrize("letter", ["\n", "\r", "\x1b", "\x00", "\u202e", "\u2066", "\u2028", "\ud800"])
def test_what_is_no_letter_is_spelled_out(letter: str) -> None:
    assert foreign(f"a{letter}b") == "a?b"


def test_what_is_too_long_is_cut_and_says_so() -> None:
    assert foreign("y" * LONGEST_NAME) == "y" * LONGEST_NAME
    assert foreign("y" * (LONGEST_NAME + 1)) == "y" * LONGEST_NAME + "…"
    assert len(foreign("y" * 10**6, LONGEST_TEXT)) == LONGEST_TEXT + 1
