"""What is wrong in the papers: the pages show what the commands print, and the numbers are right."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import brentq

import arsinh_noise
import contracting_silos
import infinite_divisibility
import interrupts
import published_tables
import real_orders
import shuffled_participation
from closed_forms import POISSON, UNIFORM
from discreet.accounting.gdp import gaussian_delta
from participation import Segment
from tests.support.pasted import program

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "claims.md").read_text(encoding="utf-8")
DECISIONS = "".join(
    (ROOT / "docs" / "adr" / name).read_text(encoding="utf-8")
    for name in ("0044-no-lagrange-coded-sums.md", "0047-no-gaussian-masks.md")
)
COMMANDS = re.findall(r"^```\n\$ python (\S+)\n(.*?)^```$", PAGE + DECISIONS, re.M | re.S)


@pytest.mark.parametrize(("script", "printed"), COMMANDS, ids=[script for script, _ in COMMANDS])
def test_the_page_shows_what_the_command_prints(
    script: str, printed: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert program([str(ROOT / script)], monkeypatch) == 0
    assert capsys.readouterr().out == printed


def test_every_entry_has_a_command() -> None:
    entries = PAGE.partition("## Errors of the papers")[2].split("\n### ")[1:]
    assert len(entries) == 6
    assert all(re.search(r"^\$ python reproductions/\w+\.py$", entry, re.M) for entry in entries)
    assert len(COMMANDS) == 11


def test_noise_that_later_steps_take_back_is_what_the_formula_says() -> None:
    rng, steps, silos, shrinking = np.random.default_rng(1), 20, 5, 0.7
    others = np.zeros((20_000, silos - 1))
    for _ in range(steps):
        others = shrinking * others + rng.standard_normal(others.shape)
    mine = math.sqrt(steps) * rng.standard_normal(len(others))
    stddev = (others.sum(1) + mine).std() / math.sqrt(silos)
    assert contracting_silos.quadratic_mu(steps, 3.0, silos, shrinking) == pytest.approx(
        steps / (3.0 * stddev), rel=0.02
    )


def test_with_silos_of_one_size_the_attack_on_an_ordinary_loss_stays_below_the_claim() -> None:
    """The page shows that with one small silo it does not."""
    federation = replace(contracting_silos.Federation(), small=160, silos=5)
    records, claimed = contracting_silos.digits(), contracting_silos.claimed_mu(40, 8.0)
    _, _, lower = contracting_silos.gaussian_lower(
        *contracting_silos.scores(records, federation, 300, seed=3)
    )
    assert lower < claimed


def test_two_records_of_a_shuffled_epoch_share_a_batch_by_chance() -> None:
    meeting = 599 / 5999
    curve = shuffled_participation.shuffled_pair(1, 4.0, 600, 6000)
    apart, together = (gaussian_delta(mu, 1.5) for mu in (math.sqrt(2) / 4, 2 / 4))
    assert curve.delta(1.5) == pytest.approx((1 - meeting) * apart + meeting * together)
    assert curve.delta(1.36) > 1e-5 > gaussian_delta(math.sqrt(2) / 4, 1.37)
    always = shuffled_participation.shuffled_pair(3, 2.0, 10, 10)
    assert always.delta(2.0) == pytest.approx(gaussian_delta(2 * math.sqrt(3) / 2, 2.0))


def test_divergence_of_a_told_adversary_by_quadrature() -> None:
    """One round: with probability q the outputs are N(0, σ²) and N(1, σ²), of which she is told."""
    segment, order = Segment(1, 1.5, 1, 4), 3.0
    x = np.linspace(-30.0, 30.0, 200_001)
    one, other = (np.exp(-0.5 * ((x - mean) / 1.5) ** 2) for mean in (1.0, 0.0))
    integral = float((one**order * other ** (1 - order)).sum() / other.sum())
    expected = math.log(0.75 + 0.25 * integral) / (order - 1.0)
    assert shuffled_participation.renyi_divergence(order, segment) == pytest.approx(expected)


def test_squares_of_the_quiet_epoch_add_up_to_the_claim() -> None:
    loud, quiet = shuffled_participation.quiet_last_epoch(10, 2.0, 100)
    assert 9 / loud.sigma**2 + 1 / quiet.sigma**2 == pytest.approx(2 * 10 / 2.0**2)
    assert loud.rounds + quiet.rounds == 600


@pytest.mark.parametrize("every", [1, 10])
def test_each_interrupt_moves_another_record(every: int) -> None:
    found = [interrupts.sensitivity(count, every) for count in range(6)]
    assert found == [1 + 2 * count for count in range(6)]
    assert {interrupts.sensitivity(count, every, latched=True) for count in range(6)} == {1.0}


def test_arsinh_noise_is_a_law_and_wide_it_is_gaussian() -> None:
    x = np.linspace(-60.0, 60.0, 400_001)
    for width, stddev in ((20.0, 5.3), (3.0, 2.0)):
        assert arsinh_noise.density(x, width, stddev).sum() * (x[1] - x[0]) == pytest.approx(1.0)
    gaussian = brentq(lambda stddev: gaussian_delta(1.0 / stddev, 1.0) - 1e-5, 1.0, 10.0)
    assert arsinh_noise.needed_stddev(1e6) == pytest.approx(gaussian, rel=1e-4)
    assert arsinh_noise.needed_stddev(20.0) > 1.3 * gaussian
    assert math.isinf(arsinh_noise.needed_stddev(10.0))


def test_a_share_is_a_root_and_exists_only_if_the_coins_can_be_dealt() -> None:
    law = infinite_divisibility.generating_function([Fraction(1, 2), Fraction(1, 3), Fraction(1, 5)])
    assert sum(law) == 1
    root = infinite_divisibility.share(law, silos=3, terms=4)
    square = [sum(root[i] * root[k - i] for i in range(k + 1)) for k in range(4)]
    cube = [sum(square[i] * root[k - i] for i in range(k + 1)) for k in range(4)]
    assert cube == [mass / law[0] for mass in law]
    fair = [Fraction(1, 2)] * 8
    assert [infinite_divisibility.first_negative(fair, silos) for silos in (2, 4, 8)] == [None] * 3
    found = infinite_divisibility.first_negative(fair, 3)
    assert found is not None
    place, mass = found
    assert place == 4
    # The binomial coefficient of 8/3 over 4.
    assert mass == pytest.approx(8 / 3 * 5 / 3 * 2 / 3 * (-1 / 3) / 24)


def test_the_chord_is_exact_at_integers_and_above_the_line_between() -> None:
    """At integers D = c·α; between them (α − 1)·D is at most the chord of n(n − 1)c and (n + 1)n·c."""
    assert [real_orders.chord_factor(float(n)) for n in (2, 3, 7)] == [1.0, 1.0, 1.0]
    for real in (1.4, 2.25, 5.9):
        n = math.floor(real)
        chord = (n + 1 - real) * n * (n - 1) + (real - n) * (n + 1) * n
        assert real_orders.chord_factor(real) == pytest.approx(chord / ((real - 1) * real))


def test_for_the_smaller_epsilons_no_noise_is_proven() -> None:
    for form in (UNIFORM, POISSON):
        assert math.isinf(real_orders.proven_stddev(form, real_orders.MNIST, 7.0))
        assert real_orders.proven_stddev(form, real_orders.MNIST, 9.0) == pytest.approx(0.571, abs=1e-3)


def test_the_tables_of_the_paper_do_not_say_what_its_theorems_say() -> None:
    assert set(published_tables.summed_bounds()) == {20.0}
    errors = published_tables.errors_by_silos()
    assert errors[-1] > errors[0] / 2
    found = published_tables.weights()
    assert found["SN+Lin"] > found["CNN+TS"]
