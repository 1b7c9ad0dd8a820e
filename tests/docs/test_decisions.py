"""Numbers in decisions on the papers are those that accounting gives."""

from __future__ import annotations

import math
from pathlib import Path

from scipy.optimize import brentq

from discreet.accounting.gdp import gaussian_epsilon
from reproducing import read_computed

ROOT = Path(__file__).parents[2]
ADR = ROOT / "docs" / "adr"


def test_silos_that_finished_models_would_take() -> None:
    """Noise z·C·√d is as long as N agreeing contributions of length C."""
    page = (ADR / "0031-finished-models-are-not-averaged.md").read_text(encoding="utf-8")
    multiplier = 1.0 / brentq(lambda mu: gaussian_epsilon(mu, 1e-5) - 1.0, 0.01, 5.0)
    assert f"z is {multiplier:.2f}" in page
    for weights, whose in ((16, "the demo's 16"), (7850, "the 7,850")):
        assert f"N = {math.ceil(multiplier * math.sqrt(weights))} for {whose}" in " ".join(page.split())


def test_what_a_drawn_cohort_costs_those_who_know_it() -> None:
    page = (ADR / "0032-the-server-draws-no-clients.md").read_text(encoding="utf-8")
    known = gaussian_epsilon(math.sqrt(200), 2000**-1.1)
    hidden = read_computed(ROOT / "reproductions" / "results" / "p3-epsilons-small.csv")[
        "SVHN, uniform, z = 1"
    ]
    assert f"ε = {known:.0f} in place of {hidden.ours:.1f}" in page
