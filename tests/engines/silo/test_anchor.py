"""A ledger from a backup is noticed, whichever part of it is older, and nobody is held up by a crash."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from discreet.cli.app import app
from discreet.errors import ConfigurationError, LedgerError
from discreet.privacy.ledger import Intent, read_ledger
from discreet.secagg.transitions import ClientState
from discreet.silo.anchor import Anchor, read_anchor
from discreet.silo.check import dry_run
from discreet.silo.policy import SiloLedger, load_policy
from discreet.silo.requests import Deliver, Refused
from discreet.silo.silo import open_silo
from discreet.silo.state import SiloState
from tests.engines.conftest import SmallConsortium

NAME = "cleveland"


@pytest.fixture
def files(consortium: SmallConsortium) -> tuple[Path, Path]:
    """The watched silo's state folder and anchor."""
    policy = load_policy(consortium.folder.policy(NAME))
    return policy.state, policy.anchor


def test_the_anchor_follows_every_contribution(
    consortium: SmallConsortium, run_rounds: Callable[..., Any], files: tuple[Path, Path]
) -> None:
    state, path = files
    assert read_anchor(path, NAME) == Anchor(NAME)
    run_rounds(consortium, 1, 2)
    lines = read_ledger(state / "ledger.jsonl")
    last = max(place for place, line in enumerate(lines, start=1) if isinstance(line.entry, Intent))
    found, plan = read_anchor(path, NAME), consortium.plan
    # Two of three rounds: the server may have ended there because of what it saw.
    cost = plan.spent(plan.releases)
    assert found.lines == last
    assert found.head == lines[last - 1].digest()
    assert (found.epsilon, found.delta) == pytest.approx((cost.epsilon, cost.delta))
    consortium.reopen(NAME)
    assert read_anchor(path, NAME) == found


def restore_older_state(consortium: SmallConsortium, run_rounds: Callable[..., Any], state: Path) -> None:
    consortium.reopen(NAME)
    run_rounds(consortium, 1, seed=1)
    shutil.copytree(state, state.parent / "backup")
    run_rounds(consortium, 2, seed=2)
    consortium.silos[consortium.node(NAME)].close()
    shutil.rmtree(state)
    shutil.copytree(state.parent / "backup", state)


def test_a_restored_state_folder_is_refused(
    consortium: SmallConsortium, run_rounds: Callable[..., Any], files: tuple[Path, Path]
) -> None:
    state, path = files
    restore_older_state(consortium, run_rounds, state)
    charged = read_anchor(path, NAME).charged
    plan = consortium.plan
    policy = load_policy(consortium.folder.policy(NAME))
    opening = lambda: open_silo(consortium.folder.policy(NAME))  # noqa: E731
    for refused in (opening, lambda: dry_run(policy, plan), SiloState(policy).anchor_anew):
        with pytest.raises(LedgerError, match="restored from a backup or lost") as caught:
            refused()
        assert f"By then {charged} had been charged" in str(caught.value)
        assert "name a new 'state' and a new 'anchor'" in str(caught.value)
        assert "\n" not in str(caught.value)


def test_the_remedy_that_is_named_works(
    consortium: SmallConsortium, run_rounds: Callable[..., Any], files: tuple[Path, Path]
) -> None:
    restore_older_state(consortium, run_rounds, files[0])
    policy = consortium.folder.policy(NAME)
    text = policy.read_text().replace("expires", 'state = "second"\nanchor = "second.anchor"\nexpires', 1)
    policy.write_text(text)
    consortium.reopen(NAME)
    run_rounds(consortium, 1, seed=3)
    assert read_anchor(policy.parent / "second.anchor", NAME).epsilon > 0


def test_a_deleted_state_folder_is_refused(
    consortium: SmallConsortium, run_rounds: Callable[..., Any], files: tuple[Path, Path]
) -> None:
    run_rounds(consortium, 1)
    consortium.silos[consortium.node(NAME)].close()
    shutil.rmtree(files[0])
    with pytest.raises(LedgerError, match="it has 0, as if"):
        open_silo(consortium.folder.policy(NAME))


def test_a_ledger_as_long_with_other_lines_is_refused(
    consortium: SmallConsortium, run_rounds: Callable[..., Any], files: tuple[Path, Path]
) -> None:
    _, path = files
    run_rounds(consortium, 1)
    found = read_anchor(path, NAME)
    Anchor(NAME, found.lines, "1" * 64, found.epsilon, found.delta).save(path)
    with pytest.raises(LedgerError, match="it has others"):
        consortium.reopen(NAME)


def test_an_anchor_that_is_lost_needs_a_persons_word(
    consortium: SmallConsortium, run_rounds: Callable[..., Any], files: tuple[Path, Path]
) -> None:
    _, path = files
    run_rounds(consortium, 1)
    found = read_anchor(path, NAME)
    path.unlink()
    policy = consortium.folder.policy(NAME)
    with pytest.raises(LedgerError, match="say so by 'discreet silo anchor POLICY'"):
        consortium.reopen(NAME)
    stated = CliRunner().invoke(app, ["silo", "anchor", str(policy)])
    assert stated.exit_code == 0
    assert found.charged in stated.output
    consortium.reopen(NAME)
    run_rounds(consortium, 2, seed=2)


def test_a_running_silo_is_not_anchored_anew(consortium: SmallConsortium, files: tuple[Path, Path]) -> None:
    with pytest.raises(LedgerError, match="only one process"):
        SiloState(load_policy(consortium.folder.policy(NAME))).anchor_anew()


def test_nothing_leaves_that_is_not_anchored_and_a_crash_before_it_holds_nobody_up(
    consortium: SmallConsortium,
    run_rounds: Callable[..., Any],
    files: tuple[Path, Path],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """At the anchor's turn the contribution is on disk in the ledger; if the anchor fails, nothing leaves."""
    _, path = files
    real = SiloState.anchor

    def failing(self: SiloState, ledger: SiloLedger) -> Anchor | None:
        if self.policy.silo != NAME:
            return real(self, ledger)
        assert isinstance(read_ledger(self.ledger)[-1].entry, Intent)
        assert consortium.silos[node]._training._session.state is ClientState.INVITED
        raise ConfigurationError("the disk of the anchor is full")

    node = consortium.node(NAME)
    monkeypatch.setattr(SiloState, "anchor", failing)
    wire = run_rounds(consortium, 1)
    invited = [
        reply for (at, request), reply in zip(wire.seen, wire.answered, strict=True)
        if at == node and isinstance(request, Deliver) and request.parameters
    ]  # fmt: skip
    assert invited == [Refused(NAME, "internal", "it could not answer; its own log says why.")]
    assert read_anchor(path, NAME) == Anchor(NAME)
    monkeypatch.undo()
    consortium.reopen(NAME)
    run_rounds(consortium, 1, seed=2)
    assert read_anchor(path, NAME).epsilon == pytest.approx(consortium.plan.spent(3).epsilon)


def test_two_silos_cannot_share_an_anchor(consortium: SmallConsortium) -> None:
    with pytest.raises(LedgerError, match="is that of 'hungary', not 'cleveland'"):
        consortium.edit_policy(NAME, "expires", 'anchor = "../hungary/ledger.anchor"\nexpires')


@pytest.mark.parametrize("place", ["state/ledger.anchor", "elsewhere/../state/x"])
def test_an_anchor_inside_the_state_folder_is_refused(consortium: SmallConsortium, place: str) -> None:
    with pytest.raises(ConfigurationError, match="'anchor': it must lie outside 'state'"):
        consortium.edit_policy(NAME, "expires", f'anchor = "{place}"\nexpires')


def test_an_anchor_that_cannot_be_written_is_refused_at_start(consortium: SmallConsortium) -> None:
    with pytest.raises(ConfigurationError, match=r"the anchor must be writable; .* Name another place"):
        consortium.edit_policy(NAME, "expires", 'anchor = "missing/ledger.anchor"\nexpires')


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"silo": "cleveland", "lines": "many"}', "[" * 100_000])
def test_an_unreadable_anchor_is_refused_in_one_line(
    consortium: SmallConsortium, files: tuple[Path, Path], text: str
) -> None:
    files[1].write_text(text)
    with pytest.raises(LedgerError, match="must be as this silo wrote it") as caught:
        consortium.reopen(NAME)
    assert "\n" not in str(caught.value)
