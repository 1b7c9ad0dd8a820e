"""A narrow terminal never cuts an ε, a δ or a status: what does not fit beside is written below."""

from __future__ import annotations

import contextlib
import io
import re
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from rich.console import Console

from discreet.cli import main
from discreet.cli import plan as plan_command
from discreet.cli import training as training_command
from discreet.cli.console import console
from discreet.cli.listing import Listing
from discreet.cli.promises import assumptions_table, promises, worth
from discreet.config import load_config
from discreet.engines.local import Prepared, prepare
from discreet.plan import judged
from discreet.privacy.notation import delta_text, epsilon_text
from discreet.session.progress import RunDisplay

HEART = Path(__file__).parents[2] / "support" / "tuned_heart.toml"
WIDTHS = [40, 60, 80, 100, 200]
Printed = Callable[..., str]


@pytest.fixture(scope="module")
def prepared() -> Prepared:
    return prepare(load_config(HEART))


def printed(width: int, *things: object) -> str:
    out = io.StringIO()
    Console(file=out, width=width, highlight=False).print(*things, sep="\n")
    shown = out.getvalue()
    assert max(map(len, shown.splitlines())) <= width
    assert "…" not in shown
    return shown


def told(shown: str) -> str:
    """The words, whatever the lines."""
    return " ".join(shown.split())


@pytest.mark.parametrize("width", WIDTHS)
def test_the_promises_are_whole_at_any_width(prepared: Prepared, width: int) -> None:
    rows = prepared.plan.guarantees
    shown = printed(width, promises(prepared.plan, rows, title="who"), assumptions_table(rows))
    for row in rows:
        for cell in (epsilon_text(row.epsilon), delta_text(row.delta), row.status.value):
            assert cell in shown
        assert judged(prepared.plan, row).short in told(shown)
        assert all(assumption.split()[0] in shown for assumption in row.assumptions)
    assert shown.count("PROVEN") == 5, "five rows, none cut"
    assert "A1" in shown
    assert told(worth(prepared.plan)) in told(shown)


@pytest.mark.parametrize("width", WIDTHS)
def test_a_listing_shows_every_cell(width: int) -> None:
    columns = ("who", "ε", "status", "more")
    rows = (("anyone " * 8, "12345.678", "CONDITIONAL", "x" * 30), ("short", "no limit", "PROVEN"))
    shown = printed(width, Listing("title", columns, rows, frozenset({"ε"})))
    assert all(
        cell.strip() in told(shown) for cell in ("12345.678", "CONDITIONAL", "no limit", "PROVEN", "title")
    )
    assert shown.count("anyone") == 8
    assert shown.count("x") == 30


def command(monkeypatch: pytest.MonkeyPatch, module: object, width: int, *arguments: str) -> str:
    """What a command prints on a terminal of this width."""
    out = io.StringIO()
    monkeypatch.setattr(module, "console", lambda **_: Console(file=out, width=width, highlight=False))
    monkeypatch.setattr(sys, "argv", ["discreet", *arguments])
    with contextlib.suppress(SystemExit):
        main()
    shown = out.getvalue()
    assert max(map(len, shown.splitlines())) <= width
    assert "…" not in shown
    return shown


@pytest.mark.parametrize("width", WIDTHS)
def test_plan_and_sweep_are_whole(monkeypatch: pytest.MonkeyPatch, prepared: Prepared, width: int) -> None:
    shown = command(monkeypatch, plan_command, width, "plan", str(HEART))
    assert "what is assumed" in shown
    assert "moderate" in shown
    shown = command(monkeypatch, plan_command, width, "plan", str(HEART), "--sweep", "epsilon=0.5,1,100")
    assert "ε at δ = 1e-5 against" in told(shown)
    assert shown.count("worthless (100 %)") == 1
    assert "0.500" in shown
    swept = ("--sweep", "delta=1e-5,1e-6", "min_survivors=2,4")
    shown = command(monkeypatch, plan_command, width, "plan", str(HEART), *swept)
    assert "1e-06, 2: refused (1)" in shown
    assert shown.count("1.000") == 2
    assert " 1e-6 " in f"{shown} "


@pytest.mark.parametrize("width", [40, 100])
def test_a_run_is_whole(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, width: int) -> None:
    config = tmp_path / "heart.toml"
    config.write_text(HEART.read_text().replace("rounds = 8", "rounds = 4"))
    shown = command(monkeypatch, training_command, width, "run", str(config), "--out", str(tmp_path / "run"))
    words = told(shown)
    assert re.search(r"round 1/4 \d silos not private: accuracy", words)
    assert words.count("not private: accuracy") == 4
    assert words.count("training loss") == 4
    assert "The status says how well founded a number is, not how small." in words
    assert "so does `discreet plan`." in words


@pytest.mark.parametrize("width", [40, 60, 80, 100])
def test_the_moving_line_keeps_the_round(width: int) -> None:
    out = io.StringIO()
    console = Console(file=out, width=width, force_terminal=True, color_system=None, highlight=False)
    with RunDisplay(console) as display:
        status = "4 silos  not private: accuracy 0.789, training loss 0.645"
        display._progress.update(display._task, total=80, completed=50, status=status)
        display._progress.refresh()
    assert "50/80" in out.getvalue()


def test_a_pipe_is_wide_unless_columns_says_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    assert console().width == 110
    monkeypatch.setenv("COLUMNS", "40")
    assert console().width == 40
