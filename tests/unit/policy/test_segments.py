"""What rounds that differ cost a silo: each at its own price, and nothing is charged as another."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest

from discreet.accounting.odometer import AdaptiveFilter, Composition, Cost
from discreet.plan import Plan
from discreet.privacy.ledger import spending
from discreet.silo.policy import Account, Charge
from discreet.silo.policy.ledger import SiloLedger
from tests.unit.plan.test_segments import plan

DAY = date(2026, 3, 1)


@pytest.fixture(scope="module")
def made() -> Plan:
    """Eight quiet rounds, and two that cost four times as much each."""
    return plan([{"rounds": 8}, {"rounds": 2, "noise_scale": 0.5}])


def cost(made: Plan, counts: tuple[int, int], charge: Charge) -> float:
    releases = tuple((stage.release, count) for stage, count in zip(made.stages, counts, strict=True))
    return made.composed_guarantee(releases, charge.adversary, charge.honest_silos).epsilon


def test_a_contribution_costs_what_its_round_does(made: Plan) -> None:
    charge = Charge(made, 1)
    assert charge.cost(10).epsilon == cost(made, (8, 2), charge)
    assert charge.cost(9).epsilon == cost(made, (8, 1), charge)
    late = charge.of((9, 10))
    assert late.cost(2).epsilon == cost(made, (0, 2), charge) > charge.cost(2).epsilon
    # A round that was tried three times, of which the server says that two came to nothing.
    assert charge.of((1, 9, 9, 9)).cost(4).epsilon == cost(made, (1, 3), charge)


def test_what_is_not_known_is_charged_at_every_price(made: Plan) -> None:
    charge = Charge(made, 1).of((1, 2, 9))
    assert charge.cost(5).epsilon == cost(made, (4, 3), charge)
    # Any two of three, as those of one year may be.
    assert charge.cost(2).epsilon == charge.cost(3).epsilon == cost(made, (2, 1), charge)
    assert Charge(made, 1).cost(12).epsilon == cost(made, (10, 4), charge)


@pytest.mark.parametrize("composition", [Composition.GAUSSIAN, Composition.RENYI])
def test_a_filter_adds_up_each_rounds_share(made: Plan, composition: Composition) -> None:
    empty, charge = AdaptiveFilter(8.0, 1e-4, composition=composition), Charge(made, 1)
    early = charge.of((1,)).of_filter(empty, 1)
    late = charge.of((9,)).of_filter(empty, 1)
    assert late.divergence == pytest.approx(4.0 * early.divergence, rel=0.02)
    whole = charge.of_filter(empty, 10)
    assert whole.divergence == pytest.approx(8 * early.divergence + 2 * late.divergence)
    digest = made.digest()
    account = Account({digest: (charge.of((1, 10)), 2)})
    assert account._of_filter(empty) == Cost().plus(early).plus(late)


def test_a_ledger_keeps_the_round_of_each_contribution(tmp_path: Path) -> None:
    path = tmp_path / "ledger.jsonl"
    ledger = SiloLedger.open(path)
    ledger.join("a" * 64, seeded=False)
    for number in (1, 9, 9, 10):
        ledger.contribute("a" * 64, "m", DAY, number)
        ledger.settle("a" * 64, believe_abort=number == 10)
    ledger.contribute("a" * 64, "m", DAY, 10)
    ledger.close()
    ledger = SiloLedger.open(path)
    assert ledger.trainings()["a" * 64].rounds == (1, 9, 9, 10)
    ledger.join("b" * 64, seeded=False)
    ledger.contribute("b" * 64, "m", DAY)
    assert ledger.trainings()["b" * 64].rounds == ()
    assert b'"round"' not in path.read_bytes().splitlines()[-1]
    assert spending(ledger.writer.entries[:-2]).charged == 4
    ledger.close()
