"""Proposals cost their owner nothing that lasts: bounded, and each of them written down."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from discreet.errors import LedgerError
from discreet.plan import load_plan, parse_plan
from discreet.privacy.ledger import read_ledger
from discreet.privacy.wire import digest
from discreet.rounds.directory import write_durably
from discreet.silo import intake, proposals, silo, state
from discreet.silo.policy import Account, Charge, Policy
from discreet.silo.proposals import Proposal, ProposalLog, read_proposals
from discreet.silo.requests import Joined, Propose, Refused, Reply
from discreet.silo.silo import Surroundings, open_silo
from tests.engines.conftest import SmallConsortium

NAME = "cleveland"


class Asked:
    """One silo, a clock, and a server that proposes what it likes."""

    def __init__(self, consortium: SmallConsortium) -> None:
        self.consortium, self.now, self.epoch = consortium, datetime(2026, 1, 1, 12, tzinfo=UTC), 0
        self.server = consortium.folder.server.path
        self.plan = (self.server / "plan.json").read_bytes()
        self.allow_list = (self.server / "allow-list.json").read_bytes()
        self.folder = consortium.folder.silo(NAME) / "state"
        self.reopen()

    def reopen(self) -> None:
        node = self.consortium.node(NAME)
        self.consortium.silos[node].close()
        surroundings = Surroundings(now=lambda: self.now)
        self.silo = open_silo(self.consortium.folder.policy(NAME), surroundings)
        self.consortium.silos[node] = self.silo

    def set(self, lines: str) -> None:
        """Adds tables to the policy and restarts the silo."""
        policy = self.consortium.folder.policy(NAME)
        text = policy.read_text()
        if "approval" in lines:
            text = text.replace("[require]", f"[require]\n{lines}")
        else:
            text += f"\n{lines}\n"
        policy.write_text(text)
        self.reopen()

    def other(self, name: str) -> bytes:
        """Another plan, as good as the first."""
        data = json.loads(self.plan)
        data["plan"]["config"]["name"] = name
        data["digest"] = digest(data["plan"])
        return json.dumps(data).encode()

    def propose(self, plan: bytes | None = None, allow_list: bytes | None = None) -> Reply:
        self.epoch += 1
        return self.silo.handle(
            Propose(self.epoch, bytes(32), plan or self.plan, allow_list or self.allow_list)
        )

    def code(self, plan: bytes | None = None, allow_list: bytes | None = None) -> str:
        reply = self.propose(plan, allow_list)
        return "joined" if isinstance(reply, Joined) else reply.code

    def log(self) -> tuple[Any, ...]:
        return read_proposals(self.folder / "proposals.jsonl")


@pytest.fixture
def asked(consortium: SmallConsortium) -> Asked:
    return Asked(consortium)


def sizes(folder: Path) -> dict[str, int]:
    return {path.name: path.stat().st_size for path in folder.iterdir() if path.is_file()}


def test_a_plan_that_never_contributes_leaves_no_plan_and_no_line(asked: Asked) -> None:
    assert asked.code() == "joined"
    before = sizes(asked.folder)
    for number in range(5):
        assert asked.code(asked.other(f"plan {number}")) == "joined"
    after = sizes(asked.folder)
    assert after["ledger.jsonl"] == 0
    assert not (asked.folder / "plans").exists()
    assert after["journal.bin"] - before["journal.bin"] == 5 * 45
    assert set(after) == {"allow-list.json", "journal.bin", "ledger.jsonl", "proposals.jsonl", "today.json"}


def test_the_first_contribution_keeps_the_plan_and_every_session_is_one_line(
    consortium: SmallConsortium, run_rounds: Callable[..., object]
) -> None:
    run_rounds(consortium, 1, seed=1)
    run_rounds(consortium, 2, seed=2)
    folder = consortium.folder.silo(NAME) / "state"
    assert [path.name for path in (folder / "plans").iterdir()] == [f"{consortium.plan.digest()}.json"]
    kinds = [type(line.entry).__name__ for line in read_ledger(folder / "ledger.jsonl")]
    assert kinds == ["Opened", "Intent", "Completed", "Resumed", "Intent", "Completed"]


def test_the_ledger_never_names_a_plan_that_is_not_kept(
    consortium: SmallConsortium, run_rounds: Callable[..., object], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A crash while the plan is written leaves an empty ledger, and the silo takes part again."""
    real = write_durably

    def torn(path: Path, data: bytes) -> None:
        if path.parent.name == "plans" and NAME in str(path):
            raise LedgerError("the machine crashed")
        real(path, data)

    monkeypatch.setattr(state, "write_durably", torn)
    run_rounds(consortium, 1, seed=1)
    ledger = consortium.folder.silo(NAME) / "state" / "ledger.jsonl"
    assert ledger.read_bytes() == b""
    monkeypatch.undo()
    consortium.reopen(NAME)
    run_rounds(consortium, 1, seed=2)
    assert len(read_ledger(ledger)) == 3


def test_a_kept_plan_is_read_once_in_a_process(
    consortium: SmallConsortium, run_rounds: Callable[..., object], monkeypatch: pytest.MonkeyPatch
) -> None:
    run_rounds(consortium, 1, seed=1)
    consortium.reopen(NAME)
    read, real = [], load_plan
    monkeypatch.setattr(state, "load_plan", lambda path: read.append(path) or real(path))
    asked = Asked(consortium)
    for number in range(3):
        asked.propose(asked.other(f"plan {number}"))
    assert len(read) == 1


def test_new_plans_are_limited_in_a_day_and_a_restart_changes_nothing(asked: Asked) -> None:
    asked.set("[proposals]\nper_day = 2")
    assert [asked.code(asked.other(name)) for name in "aab"] == ["joined"] * 3
    asked.reopen()
    refused = asked.propose(asked.other("c"))
    assert refused == Refused(
        NAME,
        "proposals",
        "at most 2 new plans may be proposed to this silo in a day, and they were; propose this one tomorrow "
        "(UTC), or ask the data owner to raise 'proposals.per_day'.",
    )
    assert asked.code(asked.other("a")) == "joined"
    asked.now += timedelta(hours=12)
    assert asked.code(asked.other("c")) == "joined"


def test_a_plan_that_is_refused_counts_as_well(asked: Asked) -> None:
    asked.set("[proposals]\nper_day = 1")
    asked.consortium.edit_policy(NAME, 'protocols = ["bonawitz"]', 'protocols = ["bell"]')
    asked.reopen()
    assert [asked.code(asked.other(name)) for name in "ab"] == ["not-allowed", "proposals"]


def test_a_training_and_its_rejoins_are_not_new_on_any_day(
    consortium: SmallConsortium, run_rounds: Callable[..., object]
) -> None:
    run_rounds(consortium, 1)
    asked = Asked(consortium)
    asked.set("[proposals]\nper_day = 1")
    assert asked.code(asked.other("a")) == "joined"
    assert [asked.code() for _ in range(3)] == ["joined"] * 3


def test_a_plan_that_a_person_approved_is_not_new(asked: Asked) -> None:
    asked.set("[proposals]\nper_day = 1")
    asked.silo._state.approve(parse_plan(asked.plan).digest())
    assert asked.code(asked.other("a")) == "joined"
    assert asked.code() == "joined"


def test_a_flood_of_rejoins_writes_a_bounded_amount(asked: Asked, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(intake, "PROPOSALS_PER_DAY", 3)
    assert [asked.code() for _ in range(3)] == ["joined"] * 3
    before = {name: size for name, size in sizes(asked.folder).items() if name != "proposals.jsonl"}
    assert [asked.code() for _ in range(3)] == ["proposals"] * 3
    assert before == {name: sizes(asked.folder)[name] for name in before}


def test_a_refusal_for_the_rate_comes_before_any_record_is_read(
    asked: Asked, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked.set("[proposals]\nper_day = 1")
    assert asked.code(asked.other("a")) == "joined"
    monkeypatch.setattr(silo, "load_records", lambda *_, **__: pytest.fail("records were read"))
    assert asked.code(asked.other("b")) == "proposals"


def test_damaged_counts_are_refused_in_one_line(asked: Asked) -> None:
    (asked.folder / "today.json").write_text('{"day": "2026-01-01", "plans": 7, "proposals": 0}')
    assert asked.code() == "internal"


def test_as_many_plans_wait_for_a_person_as_fit(asked: Asked, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(state, "MOST_WAITING", 2)
    asked.set('approval = "person"')
    first = asked.other("a")
    assert [asked.code(plan) for plan in (first, first, asked.other("b"))] == ["approval"] * 3
    refused = asked.propose(asked.other("c"))
    assert refused.code == "proposals"
    assert refused.reason == (
        f"at most 2 plans may wait for a person at {NAME}, and as many do; the data owner must approve or "
        "delete some first."
    )
    pending = asked.folder / "pending"
    assert len(list(pending.iterdir())) == 2
    assert asked.code(first) == "approval"
    asked.silo._state.approve(parse_plan(first).digest())
    assert asked.code(asked.other("c")) == "approval"
    assert asked.code(first) == "joined"


def test_every_proposal_that_the_policy_was_asked_about_is_written_down_for_the_owner(asked: Asked) -> None:
    plan = parse_plan(asked.plan)
    cost = Charge.under(plan, asked.silo._policy).cost(plan.rounds)
    asked.propose()
    asked.propose(b"no plan")
    asked.propose(allow_list=b"no list")
    text = asked.consortium.folder.policy(NAME).read_text()
    old = next(line for line in text.splitlines() if line.startswith("max_epsilon = "))
    asked.consortium.edit_policy(NAME, old, "max_epsilon = 0.01")
    asked.reopen()
    asked.now += timedelta(seconds=1)
    asked.propose()
    at, own = "2026-01-01T12:00:00+00:00", plan.digest()
    assert asked.log() == (
        Proposal(1, at, own, 1, "joined", cost.epsilon, cost.delta),
        Proposal(2, "2026-01-01T12:00:01+00:00", own, 1, "budget", cost.epsilon, cost.delta),
    )


def test_a_silo_that_breaks_down_has_still_written_the_proposal_down(
    asked: Asked, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: bytes | Account | Policy, **__: Any) -> None:
        raise RuntimeError

    monkeypatch.setattr(silo, "priced", broken)
    with pytest.raises(RuntimeError):
        asked.propose()
    assert [proposal.verdict for proposal in asked.log()] == ["internal"]


def test_a_proposal_forges_no_line(asked: Asked) -> None:
    forged = '\n{"number":1,"plan":null}\n'
    for plan in (asked.other("x"), forged.encode()):
        asked.propose(plan, json.dumps({"serial": forged, "silos": {}, "signature": forged}).encode())
    asked.propose(asked.other(forged))
    asked.propose(asked.other("y"))
    assert [proposal.number for proposal in asked.log()] == [1]
    assert (asked.folder / "proposals.jsonl").read_bytes().count(b"\n") == 1


def test_what_costs_its_sender_nothing_pushes_no_proposal_out(
    asked: Asked, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Plans with nobody's allow-list, with too many a day, with a bad session: all lines of the log only."""
    monkeypatch.setattr(proposals, "KEPT", 2)
    asked.set("[proposals]\nper_day = 1")
    assert asked.code() == "joined"
    before = asked.log()
    for number in range(5):
        plan = asked.other(f"plan {number}")
        assert asked.code(plan, b"{}") == "identity"
        assert asked.code(plan) == "proposals"
        assert asked.code(b"no plan") == "plan"
        assert asked.silo.handle(Propose(99, b"short", plan, asked.allow_list)).code == "protocol"
    assert asked.log() == before


def line(number: int, plan: str = "a") -> Proposal:
    return Proposal(number, "2026-01-01T00:00:00+00:00", plan * 64, 1, "joined")


def test_the_oldest_lines_go_first_and_their_number_stays_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(proposals, "KEPT", 4)
    log = ProposalLog(tmp_path / "p")
    for plan in "abcdefghij":
        log.append(line(log.next, plan))
        assert len(read_proposals(tmp_path / "p")) <= 8
    assert [each.number for each in read_proposals(tmp_path / "p")] == [8, 9, 10]
    again = ProposalLog(tmp_path / "p")
    assert again.next == 11


def test_one_plan_again_and_again_pushes_no_other_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(proposals, "KEPT", 6)
    log = ProposalLog(tmp_path / "p")
    for plan in "ab" + 40 * "c":
        log.append(line(log.next, plan))
        log = ProposalLog(tmp_path / "p")
    kept = [each.plan[0] for each in read_proposals(tmp_path / "p")]
    assert kept[:2] == ["a", "b"]
    assert len(kept) <= 12


@pytest.mark.parametrize("whole", [0, 1])
def test_a_torn_last_line_is_dropped_and_written_over(tmp_path: Path, whole: int) -> None:
    path = tmp_path / "p"
    for number in range(whole):
        ProposalLog(path).append(line(number + 1))
    with path.open("ab") as file:
        file.write(b'{"number":2,"ti')
    assert len(read_proposals(path)) == whole
    log = ProposalLog(path)
    log.append(line(log.next))
    assert read_proposals(path) == tuple(line(number + 1) for number in range(whole + 1))


@pytest.mark.parametrize("text", ["{}", "[]", "nonsense", '{"number": "one"}', ""])
def test_a_damaged_line_is_named(tmp_path: Path, text: str) -> None:
    path = tmp_path / "p"
    ProposalLog(path).append(line(1))
    with path.open("a") as file:
        file.write(text + "\n")
    with pytest.raises(LedgerError, match="line 2 of p must be as this silo wrote it"):
        ProposalLog(path)
