"""Our numbers against those of independent libraries (tests/vectors/accounting.json, with provenance)."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from discreet.accounting import Pld, Rdp, delta, epsilon
from discreet.accounting.rdp_sampling import fixed_size_rdp, poisson_gaussian_rdp
from discreet.accounting.skellam_exact import skellam_rdp_per_square
from discreet.privacy.events import (
    DiscreteGaussianNoise,
    FixedSizeSampling,
    GaussianNoise,
    NoSampling,
    PoissonSampling,
    Release,
    Repeated,
)
from discreet.privacy.units import NeighboringRelation

CASES = {
    case["id"]: case for case in json.loads((Path(__file__).parent / "accounting.json").read_text())["cases"]
}
# Points whose ε is in the hundreds make some references fail or warn; ours must only be finite there.
POISSON = [key for key in CASES if key.startswith("psg_") and "T" in CASES[key] and "order" not in CASES[key]]


def cases(prefix: str) -> list[dict[str, Any]]:
    return [CASES[key] for key in POISSON if key.startswith(prefix)]


def sampled(case: dict[str, Any]) -> Repeated:
    q = case.get("q", 1.0)
    sampling = NoSampling() if q == 1.0 else PoissonSampling(q)
    return Repeated(Release(GaussianNoise(case["sigma"]), 1.0, 1, sampling), case["T"])


def pld(case: dict[str, Any]) -> float:
    return epsilon(sampled(case), delta=case["delta"], accountant=Pld()).epsilon


def ids(case: dict[str, Any]) -> str:
    return case["id"]


@pytest.mark.parametrize("case", cases("psg_tight"), ids=ids)
def test_inside_the_rigorous_sandwich(case: dict[str, Any]) -> None:
    found = pld(case)
    assert case["rigorous_lower"] <= found
    # Our grid is finer: at or just below their upper bound, at most 1e-4 above it.
    assert found <= case["value"] * (1 + 1e-4)


@pytest.mark.parametrize("case", cases("psg_pld"), ids=ids)
def test_dp_accounting_pld(case: dict[str, Any]) -> None:
    found = pld(case)
    assert case["value"] - 6e-4 - 1e-4 * case["value"] <= found <= case["value"] * (1 + 1e-4)


@pytest.mark.parametrize("case", cases("psg_opake"), ids=ids)
def test_opake(case: dict[str, Any]) -> None:
    assert case["value"] * 0.99 <= pld(case) <= case["value"] * (1 + 1e-4)


@pytest.mark.parametrize("case", cases("psg_prv"), ids=ids)
def test_never_below_the_prv_lower_bound(case: dict[str, Any]) -> None:
    upper, lower, _ = case["value"]
    assert lower <= pld(case) <= upper * (1 + 1e-6)


@pytest.mark.parametrize("case", [*cases("psg_rdp"), *cases("psg_autordp"), *cases("psg_oprdp")], ids=ids)
def test_renyi_is_as_tight_as_any_library_and_above_the_truth(case: dict[str, Any]) -> None:
    found = epsilon(sampled(case), delta=case["delta"], accountant=Rdp()).epsilon
    assert found <= case["value"] * 1.002
    assert found >= pld(case) * (1 - 1e-5)


@pytest.mark.parametrize("key", ["gauss_exact_s1_T1", "gauss_exact_s5_T10", "gauss_exact_s2_T100", "user"])
def test_exact_gaussian_and_user_level(key: str) -> None:
    assert pld(CASES[key]) == pytest.approx(CASES[key]["value"], rel=5e-5)


def test_deltas() -> None:
    one = CASES["psg_T1_delta"]
    assert delta(sampled(one), epsilon=one["epsilon"]).delta == pytest.approx(one["value"], rel=1e-4)
    many = CASES["psg_delta_eps1"]
    assert delta(sampled(many), epsilon=many["epsilon"]).delta == pytest.approx(many["value"], rel=2e-4)


@pytest.mark.parametrize("key", ["psg_rdp_a4", "psg_rdp_a8", "psg_rdp_a16", "psg_rdp_a64"])
def test_renyi_divergences_of_the_sampled_gaussian(key: str) -> None:
    case = CASES[key]
    found = poisson_gaussian_rdp(np.array([float(case["order"])]), 1 / case["sigma"], case["q"])[0]
    assert found == pytest.approx(case["value"], rel=1e-9)


@pytest.mark.parametrize("key", ["swor_rdp_a2", "swor_rdp_a4", "swor_rdp_a16"])
def test_renyi_divergences_without_replacement(key: str) -> None:
    case = CASES[key]
    mu = 1 / case["sigma_over_replace_sensitivity"]
    found = fixed_size_rdp(np.array([float(case["order"])]), case["q"], lambda j: j * (j - 1) * (mu**2 / 2))[
        0
    ]
    assert found == pytest.approx(case["value"], rel=1e-6)


@pytest.mark.parametrize("key", ["swor_eps_s0.5", "swor_eps_s1"])
def test_epsilon_without_replacement(key: str) -> None:
    case = CASES[key]
    noise = GaussianNoise(2.0 * case["sigma_over_replace_sensitivity"])
    event = Repeated(Release(noise, 1.0, 1, FixedSizeSampling(100, 10_000)), case["T"])
    found = epsilon(
        event, delta=case["delta"], neighboring=NeighboringRelation.REPLACE_ONE, accountant=Rdp()
    ).epsilon
    assert found == pytest.approx(case["value"], rel=1e-6)


@pytest.mark.parametrize("key", ["skellam_rdp_mu25_a32", "skellam_rdp_mu100_a8", "skellam_rdp_mu100_a32"])
def test_exact_skellam_divergences(key: str) -> None:
    case = CASES[key]
    assert skellam_rdp_per_square(float(case["mu"]), 1)[case["order"]] == pytest.approx(
        case["value"], rel=1e-8
    )


def test_discrete_gaussian_one_dimensional_pld() -> None:
    """σ = 16 = Δ: their plain rounding has slack 0.05; the Gaussian at the same noise is 1.828."""
    case = CASES["dg16"]
    event = Repeated(Release(DiscreteGaussianNoise(16.0, 1), 16.0, 1, PoissonSampling(case["q"])), case["T"])
    assert 1.828 <= epsilon(event, delta=case["delta"]).epsilon <= case["value"]


def test_high_noise_needs_high_orders() -> None:
    opacus, dp_accounting, exact = CASES["alphas_s100_q1_T10"]["value"]
    case = CASES["alphas_s100_q1_T10"]
    found = epsilon(sampled(case), delta=case["delta"], accountant=Rdp()).epsilon
    assert exact <= found <= dp_accounting * 1.001 < opacus
    assert pld(case) == pytest.approx(exact, rel=1e-5)
