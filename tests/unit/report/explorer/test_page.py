"""The page: escaped, self-contained, every number of the table and of the script the same."""

from __future__ import annotations

import base64
import dataclasses
import hashlib
import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

from discreet.plan.sweep import Costs
from discreet.privacy.notation import delta_text, epsilon_text
from discreet.report.exploration import Exploration
from discreet.report.explorer import MEASURES, render

HOSTILE = '</script><img src="https://evil.example/x">&'


class Reader(HTMLParser):
    """Collects the tags with their attributes, and the texts of table rows and scripts."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.rows: list[list[str]] = []
        self.scripts: list[str] = []
        self._inside = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self._inside = tag
        if tag == "tr":
            self.rows.append([])
        elif tag == "td":
            self.rows[-1].append("")

    def handle_endtag(self, tag: str) -> None:  # noqa: ARG002 (the interface is fixed)
        self._inside = ""

    def handle_data(self, data: str) -> None:
        if self._inside == "td":
            self.rows[-1][-1] += data
        elif self._inside == "script":
            self.scripts.append(data)


def read(page: str) -> Reader:
    reader = Reader()
    reader.feed(page)
    return reader


def test_nothing_outside_the_page_is_referred_to(exploration: Exploration) -> None:
    page = render(exploration)
    reader = read(page)
    addresses = [
        value
        for _, attributes in reader.tags
        for name, value in attributes.items()
        if name in {"src", "href", "action", "data"}
    ]
    assert addresses == []
    assert set(re.findall(r"https?://[^\"'\s]+", page)) == {"http://www.w3.org/2000/svg"}
    assert "@import" not in page
    assert "url(" not in page


def test_only_the_bundled_scripts_may_run(exploration: Exploration) -> None:
    reader = read(render(exploration))
    policy = next(a["content"] for t, a in reader.tags if a.get("http-equiv") == "Content-Security-Policy")
    _, *scripts = reader.scripts
    digests = [base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in scripts]
    allowed = " ".join(f"'sha256-{digest}'" for digest in digests)
    assert len(scripts) == 2
    assert policy == f"default-src 'none'; style-src 'unsafe-inline'; script-src {allowed}"


def test_the_script_is_given_what_the_table_shows(exploration: Exploration) -> None:
    reader = read(render(exploration))
    data: dict[str, Any] = json.loads(reader.scripts[0])
    assert len(data["rows"]) == len(exploration.rows) == len(reader.rows) - 1
    for row, given, shown in zip(exploration.rows, data["rows"], reader.rows[1:], strict=True):
        named = [d["values"][n] for d, n in zip(data["dimensions"], given["at"], strict=True)]
        assert shown[: len(named)] == named
        if isinstance(row.outcome, Costs):
            assert given["costs"] == {name: getattr(row.outcome, name) for name in MEASURES}
            assert given["written"]["epsilon"] == shown[len(named)] == epsilon_text(row.outcome.epsilon)
            assert given["written"]["delta"] == shown[len(named) + 1] == delta_text(row.outcome.delta)
            assert data["judgements"][given["judgement"]] == str(row.outcome.judgement)
            assert shown[len(named) + 2] == row.outcome.judgement.short
            assert len(shown) == len(named) + len(MEASURES) + 1
        else:
            assert given["refused"] == row.outcome
            assert shown[-1].startswith("refused (")


def test_hostile_names_are_text(exploration: Exploration) -> None:
    hostile = dataclasses.replace(exploration, title=HOSTILE, adversary=HOSTILE)
    row = dataclasses.replace(exploration.rows[0], outcome=HOSTILE)
    page = render(dataclasses.replace(hostile, rows=(row, *exploration.rows[1:])))
    assert "<img" not in page
    assert json.loads(read(page).scripts[0])["rows"][0]["refused"] == HOSTILE


def test_every_control_has_a_label_and_the_config_is_chosen(exploration: Exploration) -> None:
    reader = read(render(exploration))
    selects = [place for place, (name, _) in enumerate(reader.tags) if name == "select"]
    assert len(selects) == len(exploration.dimensions) + 2
    assert all(reader.tags[place - 2][0] == "label" for place in selects)
    chosen = [attributes for name, attributes in reader.tags if "selected" in attributes]
    assert len(chosen) == len(selects)


def test_an_infinite_epsilon_is_no_number_for_the_script(exploration: Exploration) -> None:
    first = exploration.rows[0]
    assert isinstance(first.outcome, Costs)
    row = dataclasses.replace(first, outcome=dataclasses.replace(first.outcome, epsilon=float("inf")))
    page = render(dataclasses.replace(exploration, rows=(row, *exploration.rows[1:])))
    assert json.loads(read(page).scripts[0])["rows"][0]["costs"]["epsilon"] is None


def test_the_same_input_gives_the_same_bytes_and_a_small_page(exploration: Exploration) -> None:
    page = render(exploration)
    assert page == render(exploration)
    assert len(page.encode()) < 500_000


def test_the_command_writes_the_page(tmp_path: Path) -> None:
    from typer.testing import CliRunner

    from discreet.cli.app import app

    heart = Path(__file__).parents[3] / "support" / "tuned_heart.toml"
    page = tmp_path / "sweep.html"
    arguments = ["plan", str(heart), "--html", str(page), "--sweep", "rounds=2,4", "epsilon=1,2"]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0, result.output
    assert len(json.loads(read(page.read_text(encoding="utf-8")).scripts[0])["rows"]) == 4
