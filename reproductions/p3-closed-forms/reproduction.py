"""DP-Fed (Liang, Wang, Gu, Osher, Yao): noise by the closed forms, and what it costs by tight accounting."""

from collections.abc import Iterator

from closed_forms import POISSON, UNIFORM, Federation, closed_form_stddev
from discreet.accounting import calibrate, epsilon
from discreet.privacy.events import GaussianNoise, PoissonSampling, Release, Repeated
from reproducing import Computed, Context

# Logistic regression on MNIST: 1000 clients, 30 rounds of about 50 of them, updates within 0.3.
CLIENTS, ROUNDS, RATE, BOUND = 1000, 30, 0.05, 0.3
DELTA = CLIENTS**-1.1
FEDERATION = Federation(sampling_prob=RATE, rounds=ROUNDS, update_norm=BOUND, delta=DELTA)


def cells(_: Context) -> Iterator[Computed]:
    """Noise deviation ν for each requested ε: by both theorems, and what Poisson sampling really needs."""
    for requested in (6.0, 7.0, 8.0, 9.0):
        needed = calibrate(event, epsilon=requested, delta=DELTA, lower=0.01, upper=10.0)
        for name, form in (("uniform", UNIFORM), ("Poisson", POISSON)):
            stddev = closed_form_stddev(form, FEDERATION, requested)
            spent = epsilon(event(stddev), delta=DELTA).epsilon
            yield Computed(
                name=f"ν for ε = {requested:g}, {name}",
                reproduced=stddev,
                ours=needed,
                note=f"Poisson at the closed form's ν costs ε = {spent:.3f}",
            )


def event(stddev: float) -> Repeated:
    """All rounds at noise ``stddev`` in the sum; a client adds or removes an update of norm 2G at most."""
    return Repeated(Release(GaussianNoise(stddev), 2.0 * BOUND, 1, PoissonSampling(RATE)), ROUNDS)
