"""Which numbers of a long answer a screen shows."""

from __future__ import annotations

from discreet.cli.answers import _chosen
from discreet.statistics.rows import Row


def rows(*names: str) -> list[Row]:
    return [Row(name, 0.5, 0.4, 0.6) for name in names]


def test_a_short_answer_is_shown_whole_and_a_long_one_shows_every_curve_with_its_ends() -> None:
    short = rows(*(f"mean of {name}" for name in "abc"))
    assert _chosen(short) == short
    groups = [f"{group}: survival at {day}" for group in ("standard", "new") for day in range(0, 1500, 30)]
    long = rows("p-value", *groups, "new: median survival")
    shown = [row.name for row in _chosen(long)]
    assert len(shown) <= 24
    assert {"p-value", "standard: survival at 0", "new: survival at 0", "new: survival at 1470",
            "standard: survival at 1470", "new: median survival"} <= set(shown)  # fmt: skip
    assert shown == [row.name for row in long if row.name in shown], "they stay in their order"
    assert len(_chosen(rows(*(f"{one}, {other}: r" for one in "abcdefgh" for other in "abcdefgh")))) == 48
