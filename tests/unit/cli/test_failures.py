"""Whatever goes wrong, a person reads one line: no traceback unless asked for, and never a local variable."""

from __future__ import annotations

import io
import os
import runpy
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from discreet.cli import main
from discreet.cli.console import spell_out
from discreet.cli.log import LOGGER
from discreet.errors import EXIT_BAD_REQUEST, ConfigurationError
from discreet.own_code import place_in_own_code
from discreet.rounds import RunDirectory

HEART = Path(__file__).parents[2] / "support" / "tuned_heart.toml"

MODULE = """
import os

def federation(test_fraction, split_seed):
    password = os.environ["PASSWORD"]
    raise KeyError("column")

def factory(shape, classes):
    password = os.environ["PASSWORD"]
    raise SystemError("out of ideas")

def leaving(test_fraction, split_seed):
    os.sys.exit(3)

def leaving_factory(shape, classes):
    os.sys.exit("no such column")

def interrupted(test_fraction, split_seed):
    raise KeyboardInterrupt
"""

Say = Callable[..., tuple[int, list[str]]]


@pytest.fixture
def say(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Say:
    """Calls the command in a folder with a module of own code; returns exit code and lines of its errors."""
    (tmp_path / "own.py").write_text(MODULE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "own", raising=False)
    monkeypatch.setenv("PASSWORD", "TOPSECRET")
    # What -v turns on is for the process, and other tests run in this one.
    monkeypatch.setattr(LOGGER, "handlers", LOGGER.handlers[:])
    level = LOGGER.level

    def say(*words: str) -> tuple[int, list[str]]:
        monkeypatch.setattr(sys, "argv", ["discreet", *words])
        with pytest.raises(SystemExit) as caught:
            main()
        LOGGER.setLevel(level)
        return int(str(caught.value.code)), capsys.readouterr().err.splitlines()

    return say


def config(path: Path, old: str, new: str) -> str:
    text = HEART.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")
    return str(path)


def test_own_code_that_raises_is_one_line_and_its_place(say: Say, tmp_path: Path) -> None:
    source = config(tmp_path / "a.toml", 'source = "heart-disease"', 'source = "own:federation"')
    code, lines = say("run", source, "--out", "out")
    assert code == EXIT_BAD_REQUEST
    assert lines[0].startswith("error: the data source 'own:federation' must return a Federation")
    assert lines[1:] == ["  raised in own.py, line 6, in federation"]


def test_an_error_that_nobody_foresaw_is_one_line_too(say: Say, tmp_path: Path) -> None:
    source = config(tmp_path / "a.toml", 'name = "logistic"', 'name = "own:factory"')
    code, lines = say("plan", source)
    assert code == 1
    assert lines == [
        "error: SystemError: out of ideas",
        "  raised in own.py, line 10, in factory",
        "  `discreet -v ...` prints the trace",
    ]


def test_own_code_that_would_end_the_program_is_one_line_and_its_place(say: Say, tmp_path: Path) -> None:
    source = config(tmp_path / "a.toml", 'source = "heart-disease"', 'source = "own:leaving"')
    code, lines = say("run", source, "--out", "out")
    assert code == EXIT_BAD_REQUEST
    assert "must return a Federation whatever its records hold; it called sys.exit(3)." in lines[0]
    assert lines[1:] == ["  raised in own.py, line 13, in leaving"]
    source = config(tmp_path / "a.toml", 'name = "logistic"', 'name = "own:leaving_factory"')
    code, lines = say("run", source, "--out", "out")
    assert code == 1
    assert lines[:2] == [
        "error: code of your own must return or raise, and not end the program; it called "
        "sys.exit(no such column).",
        "  raised in own.py, line 16, in leaving_factory",
    ]


def test_ctrl_c_in_own_code_still_ends_the_program(say: Say, tmp_path: Path) -> None:
    source = config(tmp_path / "a.toml", 'source = "heart-disease"', 'source = "own:interrupted"')
    code, lines = say("run", source, "--out", "out")
    assert code == 130
    assert lines == ["interrupted; nothing was released yet; start again"]


def test_the_trace_that_was_asked_for_holds_no_local_variable(say: Say, tmp_path: Path) -> None:
    source = config(tmp_path / "a.toml", 'name = "logistic"', 'name = "own:factory"')
    code, lines = say("-v", "plan", source)
    assert code == 1
    assert any("own.py" in line and "factory" in line for line in lines)
    assert "Traceback (most recent call last):" in lines
    assert not any("TOPSECRET" in line for line in lines)


def full_disk(*_: object, **__: object) -> None:
    raise OSError(28, "No space left on device")


def test_a_full_disk_says_how_to_go_on(say: Say, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as now:
        now.setattr(RunDirectory, "append_metrics", full_disk)
        code, lines = say("run", str(HEART), "--out", "out")
    assert code == EXIT_BAD_REQUEST
    assert "error: No space left on device." in lines
    assert f"  go on with: discreet run {HEART} --out out --resume" in lines


def test_before_anything_was_released_there_is_nothing_to_go_on_with(
    say: Say, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as now:
        now.setattr("discreet.rounds.opening.LedgerWriter.open", full_disk)
        _, lines = say("run", str(HEART), "--out", "out")
    assert "  nothing was released yet; start again with --overwrite" in lines


def test_a_folder_that_cannot_be_made_is_named(say: Say) -> None:
    code, lines = say("run", str(HEART), "--out", "/proc/out")
    assert code == EXIT_BAD_REQUEST
    assert lines[-2].startswith("error: /proc/out: ")
    assert lines[-1] == "  nothing was released yet; start again"


@pytest.mark.parametrize("encoding", ["latin-1", "ascii", "cp1252"])
def test_other_encodings_get_letters_that_they_have(encoding: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "discreet", "plan", str(HEART)],
        env={**os.environ, "PYTHONIOENCODING": encoding, "PYTHONUTF8": "0"},
        capture_output=True,
        timeout=120,
        check=True,
    )
    assert "epsilon" in done.stdout.decode(encoding)
    assert "?" not in done.stdout.decode(encoding)


def test_a_letter_without_a_name_becomes_a_question_mark() -> None:
    stream = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    spell_out(stream)
    print("δ ≤ 1e−5 ⊗", file=stream, flush=True)
    written: Any = stream.buffer
    assert written.getvalue() == b"delta <= 1e-5 ?\n"


def test_the_place_is_that_of_the_first_cause() -> None:
    def own() -> None:
        raise KeyError("x")

    try:
        try:
            own()
        except KeyError as error:
            raise ConfigurationError("refused") from error
    except ConfigurationError as error:
        place = place_in_own_code(error)
    assert place is not None
    assert place.endswith("in own")


@pytest.mark.parametrize("folder", ["site-packages", "dist-packages"])
def test_what_is_installed_anywhere_is_no_code_of_the_user(folder: str, tmp_path: Path) -> None:
    file = tmp_path / folder / "library" / "module.py"
    file.parent.mkdir(parents=True)
    file.write_text("def fail():\n    raise KeyError('x')\n")
    called = runpy.run_path(str(file))
    with pytest.raises(KeyError) as caught:
        called["fail"]()
    error = caught.value.with_traceback(caught.tb.tb_next)  # without this file, which is a user's
    assert place_in_own_code(error) is None


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("--version",), 0),
        (("--help",), 0),
        (("plan", "--help"), 0),
        (("account", "--no-such-option"), 2),
        (("no-such-command",), 2),
        (("account", "--noise-multiplier", "1", "--delta", "1e-5"), 0),
    ],
)
def test_a_command_ends_as_it_should_wherever_its_libraries_lie(
    say: Say, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], expected: int
) -> None:
    monkeypatch.setattr("discreet.own_code._is_own", lambda path: "typer" in path.parts)
    code, lines = say(*words)
    assert code == expected, lines
    assert not any("code of your own" in line for line in lines)


def test_an_error_shows_no_letters_that_a_terminal_acts_on(say: Say, tmp_path: Path) -> None:
    source = config(tmp_path / "a.toml", 'name = "logistic"', 'name = "own\\u001b]0;:x"')
    code, lines = say("plan", source)
    assert code == EXIT_BAD_REQUEST
    assert all(line.isprintable() for line in lines)
