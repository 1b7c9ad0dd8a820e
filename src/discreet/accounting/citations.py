"""The results that a bound rests on, named for plans and reports."""

from __future__ import annotations

from collections.abc import Iterator

from discreet.accounting.bounds import Accountant, Conversion, Pld
from discreet.accounting.tally import Atom, Tally
from discreet.privacy.events import (
    DiscreteGaussianNoise,
    FixedSizeSampling,
    PoissonBinomialRelease,
    PoissonSampling,
    PolyaNoise,
    Release,
    RepeatedPoissonSampling,
    RoundedGaussianNoise,
    SkellamNoise,
)

_PROOFS = "docs/theory/integers.md"


def citations(spec: Tally, accountant: Accountant) -> tuple[str, ...]:
    """Returns the published results that a bound on ``spec`` by ``accountant`` uses, each once."""
    found = list(_methods(accountant))
    for atom, _ in spec.releases:
        found.extend(_for_release(atom, by_loss=isinstance(accountant, Pld)))
    return tuple(dict.fromkeys(found))


def _methods(accountant: Accountant) -> Iterator[str]:
    """Yields what the accountant itself rests on."""
    if isinstance(accountant, Pld):
        yield "Zhu, Dong, Wang 2022 (dominating pairs)"
        yield "Doroshenko, Ghazi, Kamath, Kumar, Manurangsi 2022 (connect the dots)"
        return
    yield "Mironov 2017 (Rényi differential privacy)"
    if accountant.conversion is Conversion.IMPROVED:
        yield "Canonne, Kamath, Steinke 2020 (conversion)"


def _for_release(atom: Atom, *, by_loss: bool) -> Iterator[str]:
    """Yields what the analysis of one release rests on."""
    if isinstance(atom, PoissonBinomialRelease):
        yield f"Chen, Özgür, Kairouz 2022 (Poisson-binomial mechanism); {_PROOFS}"
    if not isinstance(atom, Release):
        return
    match atom.noise:
        case SkellamNoise():
            yield f"Agarwal, Kairouz, Liu 2021 (Skellam mechanism); {_PROOFS}"
        case DiscreteGaussianNoise():
            yield f"Canonne, Kamath, Steinke 2020; Kairouz, Liu, Steinke 2021 (discrete Gaussian); {_PROOFS}"
        case PolyaNoise():
            yield f"Ghosh, Roughgarden, Sundararajan 2012; Goryczka, Xiong 2017 (Laplace shares); {_PROOFS}"
        case RoundedGaussianNoise():
            yield f"Lemma 2 of {_PROOFS} (sums of rounded Gaussians)"
        case _:
            pass
    match atom.sampling:
        case FixedSizeSampling():
            yield (
                "Balle, Barthe, Gaboardi 2018; Dong, Roth, Su 2022 (sampling without replacement)"
                if by_loss
                else "Wang, Balle, Kasiviswanathan 2019 (sampling without replacement)"
            )
        case PoissonSampling() | RepeatedPoissonSampling() if not by_loss:
            yield "Mironov, Talwar, Zhang 2019 (sampled Gaussian)"
        case _:
            pass
