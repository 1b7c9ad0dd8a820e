"""What the trainings of `p3-mnist`, `p3-svhn` and `p3-shakespeare` share."""

from __future__ import annotations

from typing import Any

from discreet.accounting import epsilon
from discreet.privacy.events import GaussianNoise, PoissonSampling, Release, Repeated


def averaging(sigma: float) -> dict[str, Any]:
    """Returns the server's rule: the mean, with Laplacian smoothing of strength ``sigma`` before it."""
    rule: dict[str, Any] = {"kind": "averaging"}
    return rule if sigma == 0.0 else rule | {"smoothing": {"sigma": sigma}}


def tight_epsilon(multiplier: float, *, clients: int, rounds: int, rate: float) -> float:
    """Returns ε at δ = clients^-1.1 when each client takes part with probability ``rate``.

    The multiplier is the noise over the clip norm, which is what one client more or less moves the sum by.
    """
    release = Release(GaussianNoise(multiplier), 1.0, 1, PoissonSampling(rate))
    return epsilon(Repeated(release, rounds), delta=clients**-1.1).epsilon
