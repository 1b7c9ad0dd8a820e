"""Each attack as a test, and with the old behaviour planted back: then it must work again."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from discreet.data import Records
from discreet.errors import DataError
from discreet.learning.clipping import linear
from discreet.privacy.adversary import ReleasedModels
from discreet.privacy.events import Composed, Failure
from discreet.privacy.units import NeighboringRelation
from discreet.randomness import SeededRandom
from tests.attacks import on_accounting, on_records, on_statements, table
from tests.attacks.outcome import Outcome, epsilon_shown


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.mark.parametrize("attack", table.ATTACKS, ids=lambda attack: attack.__name__)
def test_it_fails(attack: Callable[[], Outcome]) -> None:
    found = attack()
    assert not found.works, f"{found.attack}: {found.now}"


# --- planted: an attack that could not work would prove nothing ---------------------------------------------


def test_a_coin_by_row_number_lets_the_first_row_move_the_others() -> None:
    def read(_: Any, path: Path) -> Records:
        labels = np.array([int(line.split(",")[1]) for line in path.read_text().split()[1:]])
        train = ~on_records.by_row_number(len(labels))
        features = np.full((len(labels), 2), 0.5, np.float32)
        return Records(features[train], labels[train])

    found = on_records.withdrawn(on_records.labels_against_row_numbers(), read)
    assert found.differences


def test_a_refusal_of_empty_silos_shows_an_only_record() -> None:
    def read(written: str) -> Records:
        with np.load(written.removeprefix("npz:")) as archive:
            features, labels = archive["x"].astype(np.float32), archive["y"]
        if not len(labels):
            raise DataError("planted")
        return Records(features, np.zeros(len(labels), np.int64))

    assert any(found.exceeded for found in on_records.refusals("npz", rows=1, read=read))


def test_logits_that_depend_on_the_place_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every fourth row of a product is summed in another order; libraries compute blocks of rows."""
    honest = linear.linear_rows

    def careless(head: Any, weights: Any, features: Any, exact: Any, labels: Any) -> linear.LinearRows:
        found = honest(head, weights, features, exact, labels)
        turned = [np.ascontiguousarray(one[:, ::-1]) for one in (weights, features, exact)]
        other = honest(head, turned[0], turned[1], turned[2], labels)
        for name in ("losses", "residuals", "norms", "usable"):
            getattr(found, name)[::4] = getattr(other, name)[::4]
        return found

    monkeypatch.setattr(linear, "linear_rows", careless)
    assert on_records.linear_heads().works


def test_a_client_that_may_be_absent_is_seen_by_its_noise() -> None:
    assert on_accounting.absence_shown(NeighboringRelation.ADD_REMOVE) > 1.0
    assert on_accounting.absence_shown(NeighboringRelation.REPLACE_SPECIAL) < 1.0


def test_a_table_without_members_leaves_one_uncovered() -> None:
    plan = on_accounting.member_plan(3)
    others = [row for row in plan.guarantees if isinstance(row.adversary, ReleasedModels)]
    _, claimed = on_accounting.uncovered(plan, others)
    assert np.isnan(claimed)


def test_a_row_of_planned_messages_is_too_small_after_ten() -> None:
    plan = on_accounting.member_plan(5)
    planned = on_accounting.epsilon(plan.event(1, plan.rounds), delta=on_accounting.DELTA).epsilon
    rows = [{"adversary": "WithoutSecureAggregation", "epsilon": planned}]
    true, printed = on_accounting.understated(rows, plan, 10 * plan.rounds)
    assert printed < true


def test_realised_survivors_composed_as_if_fixed_are_not_proven() -> None:
    worst, _ = on_accounting.odometer(on_accounting.survivors_plan(), on_accounting.composed)
    assert worst > 1.5


def test_the_epsilon_of_a_prefix_is_exceeded_by_an_end_that_was_chosen() -> None:
    plan = on_accounting.stopping_plan()
    assert on_accounting.stopped_delta(plan, lambda count: plan.spent(count).epsilon) > 0.012


def test_the_epsilon_of_as_many_as_were_asked_is_exceeded_by_rounds_tried_again() -> None:
    plan, retries = on_accounting.stopping_plan(), on_accounting.RETRIES
    charge = on_accounting.Charge(plan, plan.thresholds.max_colluding)
    asked = on_accounting.stopped_delta(plan, lambda count: charge.cost(count).epsilon, retries=retries)
    assert asked > 0.011 > charge.whole.delta


def test_a_row_without_the_servers_commitment_is_silent() -> None:
    row = on_statements.server_row(on_statements.planned(5))
    assert on_statements.is_silent(dataclasses.replace(row, assumptions=()))


def test_half_of_the_roundings_failures_are_too_few(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = on_statements.Plan.event

    def halved(self: Any, *arguments: int) -> Any:
        parts = [
            Failure(1e-9 * part.prob, part.reason) if isinstance(part, Failure) else part
            for part in honest(self, *arguments).events
        ]
        return Composed(tuple(parts))

    monkeypatch.setattr(on_statements.Plan, "event", halved)
    assert on_statements.dithered_rounding().works


def test_an_epsilon_rounded_to_nearest_is_found() -> None:
    def show(*arguments: str) -> str:
        multiplier = float(arguments[2])
        event = on_statements.Repeated(
            on_statements.Release(on_statements.GaussianNoise(multiplier), 1.0, 1), 10
        )
        return f"({on_statements.epsilon(event, delta=1e-5).epsilon:.3f}, 1e-05)-DP"

    assert on_statements.rounded_down(on_statements.epsilons_as_printed(show)) is not None


def test_the_table_ends_with_one_if_an_attack_works(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    won, lost = (
        lambda: Outcome("won", "before", "now", works=True),
        lambda: Outcome("lost", "before", "now", works=False),
    )
    monkeypatch.setattr(table, "ATTACKS", (won, lost))
    assert table.main(["--quiet"]) == 1
    shown = capsys.readouterr().out
    assert "won" in shown
    assert "lost" not in shown
    monkeypatch.setattr(table, "ATTACKS", (lost,))
    assert table.main(["--quiet"]) == 0
    assert not capsys.readouterr().out
    assert table.main([]) == 0
    assert "lost" in capsys.readouterr().out


@pytest.mark.parametrize("trials", [100, 400])
def test_equal_worlds_show_nothing(trials: int) -> None:
    """Coins instead of an attack: half of each kind of error."""
    missed, false = SeededRandom(1).bernoulli(2 * trials, 0.5).reshape(2, trials)
    assert epsilon_shown(int(missed.sum()), int(false.sum()), trials, 1e-5) < 0.7
    assert epsilon_shown(0, 0, 400, 1e-5) == pytest.approx(4.68, abs=0.02)
