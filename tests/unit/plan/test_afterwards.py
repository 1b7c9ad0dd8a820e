"""After a run: rows in which single messages are seen count every attempt; the others stay the worst case."""

import pytest

from discreet.accounting import epsilon
from discreet.plan import guarantees_after
from discreet.plan.assumptions import NO_CHOICE, NO_RETRY
from discreet.privacy.adversary import WithoutSecureAggregation
from discreet.privacy.ledger import Aborted, Completed, Entry, Intent, Lost, Opened, Spending, spending
from tests.unit.plan.planned import plan

ATTEMPT = (Intent(1, "m"), Aborted(1, "not-enough-survivors"))
DONE = (Intent(1, "m"), Completed(1, ("a",), "t", "m"))


def spent(*entries: Entry) -> Spending:
    return spending((Opened("p", "secure"), *entries))


def test_ten_attempts_at_one_release_show_ten_messages() -> None:
    """One silo dropped out of nine attempts at the only round: ε = 5.001 was printed, 20.760 is true."""
    made = plan(rounds=1, against="outsiders", clip_norm=0.5, aggregation={"mode": "semi-honest"})
    nine = spent(*(ATTEMPT * 9), *DONE)
    assert nine.charged + nine.aborted == 10
    for before, after in zip(made.guarantees, guarantees_after(made, nine), strict=True):
        if isinstance(before.adversary, WithoutSecureAggregation):
            assert before.epsilon == pytest.approx(5.001, abs=0.005)
            assert after.epsilon == pytest.approx(20.760, abs=0.01)
            assert after.epsilon == epsilon(made.event(1, 10), delta=1e-5).epsilon
            assert [text for text in after.assumptions if "tried again" in text] == [NO_CHOICE]
        else:
            assert after == before


def test_a_run_without_a_second_attempt_has_the_planned_numbers_and_assumes_no_less() -> None:
    made = plan(rounds=1)
    after = guarantees_after(made, spent(*DONE))
    assert [row.epsilon for row in after] == [row.epsilon for row in made.guarantees]
    assert not any(NO_RETRY in row.assumptions for row in after)
    assert guarantees_after(made, spent(Intent(1, "m"), Lost(1, "killed"))) == after


def test_a_run_that_is_not_over_says_what_a_further_attempt_would_show() -> None:
    made = plan(rounds=2)
    assert guarantees_after(made, spent()) == made.guarantees
    own = guarantees_after(made, spent(*ATTEMPT, *DONE))[-1]
    assert own.epsilon == epsilon(made.event(1, 3), delta=1e-5).epsilon
    assert any("no round is tried again after 1 attempts" in text for text in own.assumptions)


def test_a_sparse_graph_may_be_drawn_for_every_attempt() -> None:
    sparse = {"protocol": "bell", "mode": "semi-honest", "min_survivors": 55}
    made = plan(rounds=1, silos=60, aggregation=sparse)
    server = guarantees_after(made, spent(*(ATTEMPT * 9), *DONE))[2]
    assert "the sparse graph of masks is drawn at most 20 times" in server.assumptions
    assert server.epsilon >= made.guarantees[2].epsilon
