"""Every number that accounting promises, printed by one command: python bench/accounting.py.

Values are compared with the published or reference ones; times are ratios measured in this one run.
"""

from __future__ import annotations

import sys
import time
import warnings
from pathlib import Path

import dp_accounting
from dp_accounting.pld import PLDAccountant
from rich.console import Console
from rich.table import Table

from discreet.accounting import Conversion, Pld, Rdp, calibrate, epsilon
from discreet.accounting.gdp import gaussian_epsilon
from discreet.privacy.events import (
    DiscreteGaussianNoise,
    FixedSizeSampling,
    GaussianNoise,
    NoiseLaw,
    NoSampling,
    PoissonSampling,
    Release,
    Repeated,
    RoundedGaussianNoise,
    Sampling,
    SkellamNoise,
)
from discreet.privacy.units import NeighboringRelation

sys.path.append(str(Path(__file__).parents[1] / "reproductions"))
from closed_forms import POISSON, UNIFORM, Federation, closed_form_stddev
from participation import (
    Segment,
    deterministic_participation,
    known_participation,
    random_participation_estimate,
)

OUT = Console(width=118, highlight=False)
MIRONOV = Rdp(orders=tuple(float(a) for a in range(2, 257)), conversion=Conversion.MIRONOV)
FRACTIONAL = Rdp(conversion=Conversion.MIRONOV)
REPLACE = NeighboringRelation.REPLACE_ONE
TABLE_1 = {
    1: ((1, 0.69, 5.0), (2, 0.98, 2.78), (5, 1.54, 1.22), (10, 2.18, 0.64)),
    10: ((1, 0.90, 5.0), (2, 1.28, 2.61), (5, 2.02, 1.19), (10, 2.85, 0.72)),
    50: ((1, 1.18, 5.0), (2, 1.67, 2.85), (5, 2.64, 1.55), (10, 3.73, 1.03)),
}
P3 = {
    ("SVHN", 0.05, 200, 2000): (
        (1.0, 8.66, 5.07),
        (1.1, 7.84, 4.24),
        (1.3, 6.34, 3.19),
        (1.5, 5.23, 2.56),
    ),
    ("Shakespeare", 0.2, 100, 975): (
        (1.0, 27.24, 14.04),
        (1.2, 22.43, 10.41),
        (1.4, 17.69, 8.22),
        (1.6, 14.94, 6.78),
    ),
}


def event(
    noise: NoiseLaw, steps: int, sampling: Sampling | None = None, sensitivity: float = 1.0, dim: int = 1
) -> Repeated:
    return Repeated(Release(noise, sensitivity, dim, sampling or NoSampling()), steps)


def table(title: str, *columns: str) -> Table:
    made = Table(title=title, title_justify="left", title_style="bold", show_edge=False, pad_edge=False)
    for column in columns:
        made.add_column(column, justify="right")
    return made


class Clock:
    """Wall and processor seconds of a block; processor time is what counts on a machine that others use."""

    def __enter__(self) -> Clock:
        self._start = time.perf_counter(), time.process_time()
        return self

    def __exit__(self, *_: object) -> None:
        self.wall = time.perf_counter() - self._start[0]
        self.cpu = time.process_time() - self._start[1]

    @property
    def cells(self) -> tuple[str, str]:
        """Both times, for a table."""
        return f"{self.wall:.2f}", f"{self.cpu:.2f}"


def published_aggregation() -> None:
    made = table(
        "Heikkilä (2025), Table 1: q = 0.1, δ = 1e-5 (CONDITIONAL for more than one step)",
        *("steps", "parties", "σ", "published ε", "RDP, Mironov", "tight"),
    )
    for steps, rows in TABLE_1.items():
        for parties, sigma, published in rows:
            one = event(GaussianNoise(sigma), steps, PoissonSampling(0.1))
            values = [epsilon(one, delta=1e-5, accountant=by).epsilon for by in (MIRONOV, Pld())]
            made.add_row(
                f"{steps}", f"{parties}", f"{sigma:.2f}", f"{published:.2f}", *(f"{v:.3f}" for v in values)
            )
    OUT.print(made, "")


def published_client_level() -> None:
    made = table(
        "Liang et al.: moments accountant, δ = K^-1.1; uniform replace-one, 2zG; Poisson add/remove, zG",
        *("data", "z", "uniform", "ours", "tight", "Poisson", "ours", "tight"),
    )
    for (name, prob, rounds, clients), rows in P3.items():
        for z, uniform, poisson in rows:
            fixed = event(GaussianNoise(2 * z), rounds, FixedSizeSampling(round(prob * clients), clients))
            sampled = event(GaussianNoise(z), rounds, PoissonSampling(prob))
            delta = clients**-1.1
            made.add_row(
                *(name, f"{z}", f"{uniform:.2f}"),
                f"{epsilon(fixed, delta=delta, neighboring=REPLACE, accountant=FRACTIONAL).epsilon:.3f}",
                f"{epsilon(fixed, delta=delta, neighboring=REPLACE).epsilon:.3f}",
                f"{poisson:.2f}",
                f"{epsilon(sampled, delta=delta, accountant=FRACTIONAL).epsilon:.3f}",
                f"{epsilon(sampled, delta=delta).epsilon:.3f}",
            )
    OUT.print(made, "")


def closed_forms() -> None:
    made = table(
        "Liang et al., closed forms: K = 1000, τ = .05, T = 30, G = .3, δ = K^-1.1",
        *("requested ε", "ν uniform", "ν Poisson", "true ε at 2G", "true ε at G"),
    )
    federation = Federation(0.05, 30, 0.3, 1000**-1.1)
    for requested in (6.0, 7.0, 8.0, 9.0):
        uniform = closed_form_stddev(UNIFORM, federation, requested)
        poisson = closed_form_stddev(POISSON, federation, requested)
        costs = [
            epsilon(
                event(GaussianNoise(poisson), 30, PoissonSampling(0.05), bound), delta=federation.delta
            ).epsilon
            for bound in (0.6, 0.3)
        ]
        made.add_row(f"{requested:g}", f"{uniform:.3f}", f"{poisson:.3f}", *(f"{cost:.3f}" for cost in costs))
    OUT.print(made, "")


def adversaries() -> None:
    made = table(
        "van Dijk, Nguyen: N = 6000, m = 100, δ = 1e-5",
        *("epochs", "σ", "A1 mixture", "G_{√E/σ}", "upper approx.", "A0, Poisson", "A0, fixed size"),
    )
    for epochs, sigma in ((10, 2.0), (50, 4.0)):
        segment = Segment(epochs * 60, sigma, 100, 6000)
        values = (
            known_participation([segment]).epsilon(1e-5),
            gaussian_epsilon(deterministic_participation(epochs, sigma).mu, 1e-5),
            gaussian_epsilon(random_participation_estimate(epochs, sigma).mu, 1e-5),
            epsilon(event(GaussianNoise(sigma), epochs * 60, PoissonSampling(1 / 60)), delta=1e-5).epsilon,
            epsilon(segment.event, delta=1e-5, neighboring=REPLACE).epsilon,
        )
        made.add_row(f"{epochs}", f"{sigma:g}", *(f"{value:.3f}" for value in values))
    OUT.print(made, "")


def integer_noise() -> None:
    made = table(
        "Integer noise, 16 silos, d·T = 1e7, δ = 1e-5: ε and what it costs more than Gaussian noise",
        *("σ (grid)", "setting", "Gaussian", "rounded Gaussian", "discrete Gaussian", "Skellam"),
    )
    settings = (("T=10, z=2", 10, 2.0, None), ("q=.05, T=100, z=1", 100, 1.0, PoissonSampling(0.05)))
    for power in (4, 8, 12, 18):
        sigma = 2.0**power
        laws: tuple[NoiseLaw, ...] = (
            RoundedGaussianNoise(sigma / 4, 16),
            DiscreteGaussianNoise(sigma / 4, 16),
            SkellamNoise(sigma**2 / 16, 16),
        )
        for name, rounds, z, sampling in settings:
            dim = 10**7 // rounds
            base = epsilon(event(GaussianNoise(sigma), rounds, sampling, sigma / z, dim), delta=1e-5).epsilon
            cells = []
            for law in laws:
                cost = epsilon(event(law, rounds, sampling, sigma / z, dim), delta=1e-5).epsilon
                cells.append(f"{cost:.4f} (+{100 * (cost / base - 1):.4f} %)")
            made.add_row(f"2^{power}", name, f"{base:.4f}", *cells)
    OUT.print(made, "")


def reference_calibration() -> float:
    """Returns σ by dp-accounting's own calibration, PLD."""
    relation = dp_accounting.NeighboringRelation.ADD_OR_REMOVE_ONE
    return float(
        dp_accounting.calibrate_dp_mechanism(
            lambda: PLDAccountant(relation),
            lambda sigma: dp_accounting.SelfComposedDpEvent(
                dp_accounting.PoissonSampledDpEvent(0.01, dp_accounting.GaussianDpEvent(sigma)), 1000
            ),
            3.0,
            1e-5,
            dp_accounting.ExplicitBracketInterval(0.5, 2.0),
            tol=1e-4,
        )
    )


def sampled(stddev: float) -> Repeated:
    return event(GaussianNoise(stddev), 1000, PoissonSampling(0.01))


def speeds() -> None:
    made = table("Speed, in this run", "task", "result", "seconds", "processor")
    with Clock() as slow:
        reference = reference_calibration()
    made.add_row("σ for ε = 3 (q=.01, T=1000), dp-accounting PLD", f"{reference:.6f}", *slow.cells)
    runs: list[Clock] = []
    for run in range(5):
        # δ differs in its last digits each time, so nothing is answered from the cache.
        with Clock() as fast:
            level = 1e-5 * (1.0 + 1e-9 * run)
            found = calibrate(sampled, epsilon=3.0, delta=level, lower=0.01, upper=100.0)
        runs.append(fast)
    fast = sorted(runs, key=lambda clock: clock.cpu)[2]
    made.add_row("the same, ours, bracket [0.01, 100], median of 5", f"{found:.6f}", *fast.cells)
    ratios = f"{slow.wall / fast.wall:.0f}×", f"{slow.cpu / fast.cpu:.0f}×"
    made.add_row("  relative difference, ratios", f"{found / reference - 1:+.1e}", *ratios)
    with Clock() as clock:
        for k in range(1000):
            one = event(GaussianNoise(0.6 + 0.004 * k), 100 + k, PoissonSampling(0.01 + 1e-5 * k))
            epsilon(one, delta=1e-5, accountant=Rdp())
    made.add_row("RDP, 1000 settings, orders to 2048", "", *clock.cells)
    OUT.print(made)


if __name__ == "__main__":
    warnings.simplefilter("ignore", DeprecationWarning)
    for section in (
        published_aggregation,
        published_client_level,
        closed_forms,
        adversaries,
        integer_noise,
        speeds,
    ):
        section()
