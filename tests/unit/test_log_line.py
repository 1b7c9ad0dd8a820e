"""A line of a log: read back as it was written, and never forged by the words in it."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta, timezone

import pytest

from discreet.log_line import Level, LogFormat, LogLine, iso_time, log_now, read_lines

MOMENT = datetime(2026, 11, 22, 18, 43, 35, 123_999, UTC)
FORGED = 'x\n2026-01-01T00:00:00.000Z info completed\u2028","level":"info\x1b[2J'


def test_times_are_utc_to_the_millisecond() -> None:
    there = MOMENT.astimezone(timezone(timedelta(hours=-5)))
    assert iso_time(there) == iso_time(MOMENT) == "2026-11-22T18:43:35.123Z"


@pytest.mark.parametrize("form", [LogFormat.JSON, LogFormat.TEXT])
def test_a_peers_words_end_no_line(form: LogFormat) -> None:
    written = form.write(LogLine(MOMENT, FORGED, fields={"name": FORGED}), terminal=False)
    assert len(written.splitlines()) == 1
    assert written.isprintable()


def test_a_peers_words_are_no_other_field_and_no_field_replaces_time_or_level() -> None:
    line = LogLine(MOMENT, FORGED, Level.ERROR, {"time": "never", "level": "info", "round": 2})
    read = json.loads(line.as_json())
    assert (read["time"], read["level"], read["round"]) == ("2026-11-22T18:43:35.123Z", "error", 2)
    assert set(read) == {"time", "level", "event", "round"}


def test_numbers_that_json_has_no_word_for_are_texts() -> None:
    (read,) = read_lines(LogLine(MOMENT, "odd", fields={"epsilon": float("inf")}).as_json().encode() + b"\n")
    assert read["epsilon"] == "inf"


def test_text_is_for_terminals_unless_asked_for() -> None:
    line = LogLine(MOMENT, "round answered", fields={"round": 3, "name": "two words"})
    text = '2026-11-22T18:43:35.123Z info round answered round=3 name="two words"'
    assert LogFormat.AUTO.write(line, terminal=True) == LogFormat.TEXT.write(line, terminal=False) == text
    assert LogFormat.AUTO.write(line, terminal=False) == LogFormat.JSON.write(line, terminal=True)


def test_reading_leaves_out_what_is_torn_or_no_line_of_ours() -> None:
    whole = log_now("joined", round=1).as_json()
    nested = json.dumps({"event": "odd", "inner": {"a": 1}, "other": "two\nlines"})
    data = f'{whole}\nnot JSON\n[1]\n{nested}\n{{"event": "torn'.encode()
    first, second = read_lines(data)
    assert (first["event"], first["round"]) == ("joined", 1)
    assert second == {"event": "odd", "other": "two?lines"}
