"""The owner's page: what it says, whom it believes, and that it stops nothing."""

from __future__ import annotations

import dataclasses
import html
import re
import shlex
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest
from typer.testing import CliRunner

from discreet.cli.app import app
from discreet.config.sections import AboutConfig
from discreet.plan import Plan
from discreet.report.owner import PAGE, OwnerPage, owner_view, write_owner_page
from discreet.report.owner_page import render_owner_page
from discreet.silo.events import RoundUnmasked
from discreet.silo.policy import Policy, load_policy
from discreet.silo.requests import Propose, Refused, Request
from discreet.silo.silo import Surroundings, open_silo
from discreet.silo.state import SiloState
from tests.engines.conftest import DirectWire, SmallConsortium

NAME = "cleveland"
NOW = datetime(2026, 11, 23, 12, 0, tzinfo=UTC)

Run = Callable[..., DirectWire]


def page_of(consortium: SmallConsortium) -> str:
    path = consortium.folder.policy(NAME)
    return render_owner_page(owner_view(load_policy(path), path, NOW))


def words(page: str) -> str:
    return html.unescape(re.sub(r"<[^>]+>", " ", page.partition("<body>")[2]))


def asking(consortium: SmallConsortium) -> SmallConsortium:
    consortium.edit_policy(NAME, "[require]\n", '[require]\napproval = "person"\n')
    return consortium


def hostile(plan: Plan) -> Plan:
    about = AboutConfig(purpose="<img src=x onerror=alert(2)>\nto learn", contact='"><b>mail</b>')
    return dataclasses.replace(
        plan, config=plan.config.model_copy(update={"about": about, "name": "<i>n</i>"})
    )


def test_what_waits_is_shown_with_its_cost_and_the_two_commands(
    consortium: SmallConsortium, run_rounds: Run
) -> None:
    assert "No plan waits" in words(page_of(consortium))
    run_rounds(asking(consortium))
    page = page_of(consortium)
    text = words(page)
    assert "ε =" in text or "ε " in text
    assert "The budget allows it." in text
    assert "masked, with this silo's own noise in it" in text
    assert "AES-256" in text
    commands = [html.unescape(line) for line in re.findall(r"<pre><code>(.*?)</code></pre>", page)]
    assert [shlex.split(line)[:3] for line in commands] == [
        ["discreet", "silo", "approve"],
        ["discreet", "silo", "refuse"],
    ]
    for line in commands:
        assert all(Path(part).exists() for part in shlex.split(line)[3:])


def test_the_commands_do_what_they_say(consortium: SmallConsortium, run_rounds: Run) -> None:
    run_rounds(asking(consortium))
    approve, refuse = (
        shlex.split(html.unescape(line))[1:]
        for line in re.findall(r"<pre><code>(.*?)</code></pre>", page_of(consortium))
    )
    state = SiloState(load_policy(consortium.folder.policy(NAME)))
    plan = Path(refuse[-1])
    document = plan.read_bytes()
    assert CliRunner().invoke(app, refuse).exit_code == 0
    assert not plan.exists()
    assert state.refused() == {consortium.plan.digest()}
    wire = run_rounds(consortium, seed=2)
    reasons = [reply.reason for reply in wire.answered if isinstance(reply, Refused) and reply.silo == NAME]
    assert any("was refused by a person at cleveland" in reason for reason in reasons)
    assert "No plan waits" in words(page_of(consortium))
    plan.write_bytes(document)
    assert CliRunner().invoke(app, approve).exit_code == 0
    assert state.approved() == {consortium.plan.digest()}
    assert state.refused() == frozenset()


def test_a_hostile_plan_is_text_and_no_markup(consortium: SmallConsortium) -> None:
    plan = hostile(consortium.plan)
    policy = load_policy(consortium.folder.policy(NAME))
    SiloState(policy).keep_pending(plan.document())
    page = page_of(consortium)
    for markup in ("<script", "<img", "<b>", "<i>", "onerror=alert(2)>"):
        assert markup not in page.partition("<body>")[2]
    assert "&lt;img src=x onerror=alert(2)&gt;" in page
    assert "script-src" in page
    assert "http" not in page.replace("http-equiv", "")


def test_what_was_spent_is_shown_by_training_and_day(consortium: SmallConsortium, run_rounds: Run) -> None:
    run_rounds(consortium, 1)
    text = words(page_of(consortium))
    assert "1 of 2 releases" in text or "1 of 3 releases" in text
    assert datetime.now(UTC).date().isoformat() in text
    assert "taken part in" in text
    assert "% of the budget" in text


def test_a_damaged_ledger_is_said_first_and_no_number_is_shown(
    consortium: SmallConsortium, run_rounds: Run
) -> None:
    run_rounds(consortium, 1)
    ledger = consortium.folder.silo(NAME) / "state" / "ledger.jsonl"
    ledger.write_bytes(ledger.read_bytes().replace(b'"release":1', b'"release":2', 1))
    text = words(page_of(consortium))
    assert "Look at this first" in text
    assert "what was spent cannot be told" in text
    assert "What was spent" not in text


def wait_for(place: Path, done: Callable[[str], bool]) -> str:
    end = time.monotonic() + 20.0
    while time.monotonic() < end:
        if place.exists() and done(page := place.read_text()):
            return page
        time.sleep(0.02)
    raise AssertionError("the page was not written")


def kept(consortium: SmallConsortium, told: list[str]) -> tuple[OwnerPage, Path, Policy]:
    path = consortium.folder.policy(NAME)
    policy = load_policy(path)
    page = OwnerPage(policy, path, told.append, pause=0.01)
    node = consortium.node(NAME)
    consortium.silos[node].close()
    consortium.silos[node] = open_silo(path, Surroundings(tell=page.observe))
    return page, policy.state / PAGE, policy


def test_it_is_written_again_after_a_release_and_after_a_refusal(
    consortium: SmallConsortium, run_rounds: Run
) -> None:
    told: list[str] = []
    page, place, _ = kept(consortium, told)
    wait_for(place, lambda text: "Nothing has left this silo" in text)
    wire = run_rounds(consortium, 1)
    wait_for(place, lambda text: "1 of " in text)
    assert place.stat().st_mode & 0o777 == 0o600

    def spoiled(_: int, request: Request) -> Request | None:
        return dataclasses.replace(request, plan=b"{}") if isinstance(request, Propose) else request

    before = place.stat().st_mtime_ns
    wire.tamper = spoiled
    page.observe(RoundUnmasked("0" * 64, 1, 4))
    wait_for(place, lambda _: place.stat().st_mtime_ns > before)
    page.close()
    assert told == []


def test_a_page_that_cannot_be_written_is_told_once_and_stops_nothing(
    consortium: SmallConsortium, run_rounds: Run
) -> None:
    told: list[str] = []
    page, place, _ = kept(consortium, told)
    wait_for(place, lambda _: True)
    page.close()
    place.unlink()
    place.mkdir()  # nothing can take its name
    page, place, _ = kept(consortium, told)
    run_rounds(consortium, 1, 2)
    page.close()
    assert len(told) == 1
    assert "the owner's page cannot be written" in told[0]
    assert "1 of" not in told[0]


def test_the_command_writes_it(consortium: SmallConsortium, tmp_path: Path) -> None:
    policy = str(consortium.folder.policy(NAME))
    found = CliRunner().invoke(app, ["silo", "page", policy, "--out", str(tmp_path / "own.html")])
    assert found.exit_code == 0
    assert (tmp_path / "own.html").read_text().startswith("<!DOCTYPE html>")
    found = CliRunner().invoke(app, ["silo", "page", policy])
    assert found.output.strip().endswith(PAGE)


def test_a_plan_beyond_the_budget_says_so(consortium: SmallConsortium, run_rounds: Run) -> None:
    run_rounds(asking(consortium))
    text = consortium.folder.policy(NAME).read_text()
    old = next(line for line in text.splitlines() if line.startswith("max_epsilon ="))
    consortium.edit_policy(NAME, old, "max_epsilon = 0.01")
    assert "It would be refused" in words(page_of(consortium))


@pytest.mark.parametrize("when", [NOW])
def test_one_view_gives_one_page(consortium: SmallConsortium, when: datetime) -> None:
    path = consortium.folder.policy(NAME)
    policy = load_policy(path)
    first = write_owner_page(policy, path, when).read_bytes()
    assert write_owner_page(policy, path, when).read_bytes() == first
