"""Heikkilä (2025), Table 1: ε of averaging independently trained models, from the printed noise."""

from collections.abc import Iterator

from discreet.accounting import Conversion, Rdp, epsilon
from discreet.privacy.events import GaussianNoise, PoissonSampling, Release, Repeated
from reproducing import Computed, Context

SAMPLING_PROB, DELTA = 0.1, 1e-5
# Steps, parties, summed noise multiplier as printed.
CELLS = [
    (1, 1, 0.69), (1, 2, 0.98), (1, 5, 1.54), (1, 10, 2.18),
    (10, 1, 0.90), (10, 2, 1.28), (10, 5, 2.02), (10, 10, 2.85),
    (50, 1, 1.18), (50, 2, 1.67), (50, 5, 2.64), (50, 10, 3.73),
]  # fmt: skip
PUBLISHED_ACCOUNTANT = Rdp(tuple(float(order) for order in range(2, 257)), Conversion.MIRONOV)


def cells(_: Context) -> Iterator[Computed]:
    """The paper's accountant at the summed noise; ours is what is PROVEN, by tight accounting."""
    for steps, parties, summed in CELLS:
        single = steps == 1 or parties == 1
        proven = summed if single else summed / parties**0.5
        yield Computed(
            name=f"steps {steps}, parties {parties}",
            reproduced=epsilon(training(steps, summed), delta=DELTA, accountant=PUBLISHED_ACCOUNTANT).epsilon,
            ours=epsilon(training(steps, proven), delta=DELTA).epsilon,
            note="proven at the summed noise" if single else "proven at a party's own noise only",
        )


def training(steps: int, noise_multiplier: float) -> Repeated:
    """Poisson-sampled steps of one noise multiplier."""
    release = Release(GaussianNoise(noise_multiplier), 1.0, 1, PoissonSampling(SAMPLING_PROB))
    return Repeated(release, steps)
