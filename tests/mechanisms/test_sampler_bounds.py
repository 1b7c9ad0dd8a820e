"""The proofs of docs/theory/sampler_bounds: what they prove, and that a wrong constant is not proven."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from mpmath import mp, mpf, workprec
from sampler_bounds import gaussian, rejection, rounded
from sampler_bounds import skellam as skellam_proof
from sampler_bounds.rounded import Rounded, array

from discreet.mechanisms import SAMPLER_ASSUMPTION, box_muller, skellam, thinning
from discreet.mechanisms.domain import MAX_STDDEV, MIN_STDDEV
from discreet.randomness import SeededRandom


@pytest.mark.parametrize("proof", [gaussian, rejection, skellam_proof])
def test_every_bound_is_proven(proof: ModuleType) -> None:
    failed = [str(bound) for bound in proof.bounds() if not bound.holds]
    assert failed == []


def test_every_reachable_pair_of_void_edges_is_among_those_proven() -> None:
    found = [box_muller.edges(float(s)) for s in np.geomspace(MIN_STDDEV, MAX_STDDEV, 4001)]
    least, most = box_muller.edges(MAX_STDDEV), box_muller.edges(MIN_STDDEV)
    assert all(least.low <= e.low <= most.low and least.high <= e.high <= most.high for e in found)


def test_assumption_names_what_the_proofs_take_for_granted() -> None:
    assert rounded.LIBRARY == 2 * 4
    for name in ("IEEE 754", "log, log1p, exp, expm1, sinh and cosh", "4 units", "2^-60", "mpmath"):
        assert name in SAMPLER_ASSUMPTION


@pytest.mark.parametrize("row", [0, 1])
@pytest.mark.parametrize("power", [0, 3, 8])
def test_a_wrong_coefficient_of_sine_or_cosine_is_not_proven(
    monkeypatch: pytest.MonkeyPatch, row: int, power: int
) -> None:
    columns = box_muller._COS_SIN_COLUMNS.copy()
    columns[power, row] += 2.0**-49
    monkeypatch.setattr(box_muller, "_COS_SIN_COLUMNS", columns)
    assert gaussian.direction_error() > gaussian.DIRECTION


def test_a_smaller_budget_is_not_proven(monkeypatch: pytest.MonkeyPatch) -> None:
    budget = box_muller.budget
    monkeypatch.setattr(box_muller, "budget", lambda edge: 0.98 * budget(edge))
    assert not gaussian.bounds()[1].holds


def test_a_logarithm_within_eight_units_would_not_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rounded, "LIBRARY", 2.0 * 8)
    assert not gaussian.bounds()[1].holds


def test_smaller_tolerances_are_not_proven(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(thinning, "_reach", lambda stddev: 9.9 / stddev)
    monkeypatch.setattr(rejection, "error_bound", lambda _: 0.0)
    assert not rejection.narrow().holds


@pytest.mark.parametrize("index", [0, 2])
def test_a_wrong_coefficient_of_the_saddle_series_is_not_proven(
    monkeypatch: pytest.MonkeyPatch, index: int
) -> None:
    series = list(skellam._SADDLE_SERIES)
    series[index] += 2.0**-42 * (4096 / 169) ** (index + 1)
    monkeypatch.setattr(skellam, "_SADDLE_SERIES", tuple(series))
    assert skellam_proof.truncation() > skellam._TOLERANCE


def test_two_saddle_terms_less_are_still_proven_and_ten_less_are_not(monkeypatch: pytest.MonkeyPatch) -> None:
    series = skellam._SADDLE_SERIES
    monkeypatch.setattr(skellam, "_SADDLE_SERIES", series[:-2])
    assert skellam_proof.truncation() < skellam._TOLERANCE
    monkeypatch.setattr(skellam, "_SADDLE_SERIES", series[:-10])
    assert skellam_proof.truncation() > skellam._TOLERANCE


def test_a_wrong_coefficient_of_debyes_expansion_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    terms = skellam.debye_terms
    monkeypatch.setattr(skellam, "debye_terms", lambda p2, w: terms(p2, w) + w * w * w * p2 * 2.0**-30)
    assert skellam_proof.debye_mismatch() == 27 * 2.0**-30


def test_remainder_of_debyes_expansion_covers_bessel_functions() -> None:
    """At p = 0 and at the largest p; the fourth term itself is a good part of the bound."""
    for k in (0, 832):
        mu = mpf(4096)
        with workprec(300):
            w = mp.sqrt(k * k + mu * mu)
            saddle = mp.sqrt(mu * mu + k * k) - mu - k * mp.asinh(k / mu)
            scaled = mp.besseli(k, mu) * mp.exp(-mu - saddle) * mp.sqrt(2 * mp.pi * w)
            p2 = (k / w) ** 2
            orders = [
                sum(mpf(c.numerator) / c.denominator * p2**i for i, c in enumerate(row))
                for row in skellam_proof.expansion()
            ]
            rest = scaled - 1 - sum(c / w**order for order, c in enumerate(orders, 1))
        assert abs(rest) * w**4 < skellam_proof.debye_remainder()
        assert abs(rest) * w**4 > 0.05 * skellam_proof.debye_remainder()


def test_an_infinite_or_undefined_enclosure_proves_nothing() -> None:
    half_open = Rounded.box(0.0, 1.0)
    with pytest.raises(ArithmeticError):
        half_open.log()
    with pytest.raises(ZeroDivisionError):
        1.0 / half_open
    with pytest.raises(ArithmeticError):
        rounded.upper(rounded.point(float("nan")))


def _truth(function: Callable[..., Any], *arguments: mpf) -> mpf:
    with workprec(400):
        return function(*arguments)


@pytest.mark.parametrize(
    ("operation", "exact"),
    [
        (lambda x, y: x + y, lambda x, y: x + y),
        (lambda x, y: x - y, lambda x, y: x - y),
        (lambda x, y: x * y, lambda x, y: x * y),
        (lambda x, y: 1.0 / x / (y + 2.0), lambda x, y: 1 / x / (y + 2)),
        (lambda x, y: np.sqrt(x * 3.0 + y), lambda x, y: mp.sqrt(x * 3 + y)),
        (lambda x, y: np.log(x) * y, lambda x, y: mp.log(x) * y),
        (lambda x, y: np.log1p(-0.5 * x) - y, lambda x, y: mp.log1p(-x / 2) - y),
        (lambda x, y: np.exp(x - y), lambda x, y: mp.exp(x - y)),
        (lambda x, y: np.expm1(x * y), lambda x, y: mp.expm1(x * y)),
        (lambda x, y: np.sinh(x) / np.cosh(y), lambda x, y: mp.sinh(x) / mp.cosh(y)),
    ],
)
def test_rounded_encloses_what_float64_does(operation: Callable[..., Any], exact: Callable[..., Any]) -> None:
    """Random boxes, arguments that are already off, and results within twice the bound at most somewhere."""
    random = SeededRandom(8).uniform(400).reshape(100, 4)
    sharpest = 0.0
    for low, width, y, off in random:
        x = 0.1 + low
        high = x + 0.01 * width
        real = (x + high) / 2
        moved = real + 2.0**-50 * off
        box = operation(array(Rounded.box(x, high, moved - real)), array(Rounded.box(y, y))).item()
        computed = operation(np.array([moved]), np.array([y])).item()
        truth = _truth(exact, mpf(real), mpf(float(y)))
        assert mp.make_mpf(box.value.bounds[0]) <= truth <= mp.make_mpf(box.value.bounds[1])
        found = abs(mpf(computed) - truth)
        assert found <= box.worst
        sharpest = max(sharpest, float(found / box.worst))
    assert sharpest > 0.02
