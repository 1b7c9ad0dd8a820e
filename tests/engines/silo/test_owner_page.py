"""The owner's page: what it says, whom it believes, and that it stops nothing."""

from __future__ import annotations

import dataclasses
import html
import re
import shlex
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest
from typer.testing import CliRunner

from discreet.cli.app import app
from discreet.config.about import AboutConfig
from discreet.plan import Plan
from discreet.privacy.adversary import WithoutSecureAggregation
from discreet.privacy.notation import delta_text, epsilon_text
from discreet.report.owner import PAGE, owner_view, write_owner_page
from discreet.report.owner_page import render_owner_page
from discreet.report.wording import status_text
from discreet.silo.policy import load_policy
from discreet.silo.requests import Refused, Request
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


def commands(page: str) -> list[list[str]]:
    """The lines that are shown to be copied, as a shell splits them."""
    lines = re.findall(r"<pre><code>(.*?)</code></pre>", page)
    return [shlex.split(html.unescape(line)) for line in lines]


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
    lines = commands(page)
    assert [line[:2] if line[1] == "check" else line[:3] for line in lines] == [
        ["discreet", "silo", "page"],
        ["discreet", "silo", "approve"],
        ["discreet", "silo", "refuse"],
        ["discreet", "check"],
    ]
    for line in lines:
        assert all(Path(part).is_absolute() and Path(part).exists() for part in line[3:])


def test_the_commands_do_what_they_say(consortium: SmallConsortium, run_rounds: Run) -> None:
    run_rounds(asking(consortium))
    _, approve, refuse, _ = (line[1:] for line in commands(page_of(consortium)))
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
    SiloState(policy).keep_pending(plan)
    page = page_of(consortium)
    body = page.partition("<body>")[2]
    for markup in ("<script", "<img", "<b>", "<i>", "onerror=alert(2)>"):
        assert markup not in body
    assert "&lt;img src=x onerror=alert(2)&gt;" in page
    assert "script-src" in page
    assert "http" not in page.replace("http-equiv", "")


def test_words_that_a_config_would_refuse_are_spelled_out_and_cut_all_the_same(
    consortium: SmallConsortium,
) -> None:
    path = consortium.folder.policy(NAME)
    SiloState(load_policy(path)).keep_pending(consortium.plan)
    view = owner_view(load_policy(path), path, NOW)
    (one,) = view.waiting or ()
    # An escape, a letter that turns the rest of the line round, an end of line, and no end at all.
    about = AboutConfig().model_copy(
        update={"controller": "a decision\x1b[31m \u202e\u2028", "purpose": "y" * 3000}
    )
    config = one.proposed.plan.config.model_copy(update={"about": about, "name": "z" * 3000})
    plan = dataclasses.replace(one.proposed.plan, config=config)
    worse = dataclasses.replace(one, proposed=dataclasses.replace(one.proposed, plan=plan))
    page = render_owner_page(dataclasses.replace(view, waiting=(worse,)))
    assert "a decision?[31m ??" in page
    assert not {"\x1b", "\u202e", "\u2028"} & set(page)
    assert "y" * 2000 + "…" in page
    assert "z" * 300 + "…" in page


def test_every_adversary_of_the_plan_is_named_with_its_row_and_what_it_assumes(
    consortium: SmallConsortium, run_rounds: Run
) -> None:
    run_rounds(asking(consortium))
    page = page_of(consortium)
    text = words(page)
    for row in consortium.plan.guarantees:
        own = not isinstance(row.adversary, WithoutSecureAggregation) or row.adversary.silo == NAME
        cells = [row.adversary.describe(), epsilon_text(row.epsilon), delta_text(row.delta), status_text(row)]
        assert (row_of(cells) in page) is own, row
        assert all(assumption in text for assumption in row.assumptions if own)
    assert f"{consortium.plan.facts.dimension:,} numbers, in {consortium.plan.rounds} rounds" in text
    assert consortium.plan.training.local.describe() in text


def row_of(cells: list[str]) -> str:
    """The markup of a row that begins like this."""
    titles = ("", "ε", "δ", "How well founded")
    classes = ("", ' class="number"', ' class="number"', "")
    first, *others = (html.escape(cell, quote=True) for cell in cells)
    rest = "".join(
        f'<td{kind} data-label="{title}">{cell}</td>'
        for cell, title, kind in zip(others, titles[1:], classes[1:], strict=True)
    )
    return f'<tr><th scope="row">{first}</th>{rest}'


def test_a_plan_that_cannot_be_read_is_said_and_hides_no_other(
    consortium: SmallConsortium, run_rounds: Run
) -> None:
    run_rounds(asking(consortium))
    pending = load_policy(consortium.folder.policy(NAME)).state / "pending"
    (pending / f"{'0' * 64}.json").write_text("{}")
    text = words(page_of(consortium))
    assert f"a plan that waits cannot be shown, {'0' * 64}.json" in text
    assert "The budget allows it." in text
    assert "What was spent" in text
    assert "what was spent cannot be told" not in text


def test_what_was_agreed_to_and_came_to_nothing_is_called_abandoned(
    consortium: SmallConsortium, run_rounds: Run
) -> None:
    run_rounds(consortium)
    assert "abandoned" not in words(page_of(consortium)), "it may still be under way"
    consortium.silos[consortium.node(NAME)].close()
    assert "agreed to, and abandoned: nothing left this silo" in words(page_of(consortium))


def test_a_lost_contribution_is_counted(consortium: SmallConsortium, run_rounds: Run) -> None:
    def deaf(node: int, request: Request) -> Request | None:
        """Lets the silo contribute, and loses whatever is sent to it afterwards."""
        state = consortium.folder.silo(NAME) / "state" / "ledger.jsonl"
        gone = node == consortium.node(NAME) and b"Intent" in state.read_bytes()
        return None if gone else request

    run_rounds(consortium, 1, tamper=deaf)
    consortium.reopen(NAME)
    run_rounds(consortium, 1, seed=2)
    page = page_of(consortium)
    assert '<td class="number" data-label="Lost">1</td>' in page
    assert "2 of 3 releases" in words(page)
    assert "it may have been opened, so it stays charged" in words(page)


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
