"""Releases as loss distributions: dominating pairs in both directions, and the cost of integer noise."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import scipy

from discreet.accounting.coupling import gaussian_view
from discreet.accounting.pairs import (
    DominatingPair,
    FixedSizePair,
    Mixture,
    MixturePair,
    SampledGaussianPair,
)
from discreet.accounting.polya import pure_epsilon, response_pair
from discreet.accounting.releases import FixedSizeReplaced, Included, Unsampled, change
from discreet.accounting.tally import Atom
from discreet.errors import UnsupportedAnalysisError
from discreet.privacy.events import (
    PoissonBinomialRelease,
    PolyaNoise,
    Release,
)
from discreet.privacy.units import NeighboringRelation

# With more sensitivity than this many standard deviations, losses leave the range of floating point.
_MAX_MU = 20.0
_MAX_RATIO = 300.0


@dataclass(frozen=True, slots=True)
class Directed:
    """The pairs that dominate a release for (D, D′) and for (D′, D), and how often it occurs."""

    forward: DominatingPair
    backward: DominatingPair
    count: int


@dataclass(frozen=True, slots=True)
class LossParts:
    """A tally ready for composition.

    Attributes:
        square: Σ μ² of all unsampled Gaussian releases, which compose in closed form.
        directed: all other releases.
        log_ratio: total cost of seeing integer noise as Gaussian, as a log ratio of probabilities.
        tail: total cost of the same, as probability.
    """

    square: float
    directed: tuple[Directed, ...]
    log_ratio: float
    tail: float


def loss_parts(
    releases: Sequence[tuple[Atom, int]], neighboring: NeighboringRelation, tail: float
) -> LossParts:
    """Returns the parts of a composition.

    Args:
        releases: what is released, how often.
        neighboring: the relation.
        tail: probability that all comparisons of integer with Gaussian noise may give away together.

    Raises:
        UnsupportedAnalysisError: where a release has no loss distribution here.
    """
    square = log_ratio = lost = 0.0
    directed: list[Directed] = []
    for atom, count in releases:
        match atom:
            case Release(noise=PolyaNoise()):
                pure = pure_epsilon(atom, neighboring)
                if not pure <= _MAX_RATIO:
                    raise UnsupportedAnalysisError(
                        f"discrete Laplace noise must be at least 1/{_MAX_RATIO:.0f} of the change; got "
                        f"{1.0 / pure:.3g}."
                    )
                pair = response_pair(pure)
                directed.append(Directed(pair, pair, count))
            case Release():
                view = gaussian_view(atom.noise, atom.dimension * count, tail / len(releases))
                if view is None:
                    raise UnsupportedAnalysisError(
                        f"{type(atom.noise).__name__} must be finer to be compared with Gaussian noise over "
                        f"{atom.dimension} coordinates and {count} releases; got variance "
                        f"{atom.noise.variance:.4g} grid units². Raise the scale, or use the RDP accountant."
                    )
                log_ratio, lost = log_ratio + view.log_ratio, lost + view.tail
                kind = change(atom, neighboring)
                if isinstance(kind, Unsampled):
                    square += count * (kind.distance / view.stddev) ** 2
                else:
                    directed.append(_gaussian_directions(kind, view.stddev, count))
            case PoissonBinomialRelease():
                raise UnsupportedAnalysisError(
                    "the Poisson-binomial mechanism must be accounted by the RDP accountant; got PLD."
                )
    return LossParts(square, tuple(directed), log_ratio, lost)


def _gaussian_directions(kind: Included | FixedSizeReplaced, stddev: float, count: int) -> Directed:
    """Returns the pairs of a sampled Gaussian release."""
    mu = kind.distance / stddev
    trials = kind.trials if isinstance(kind, Included) else 1
    if not trials * mu <= _MAX_MU:
        raise UnsupportedAnalysisError(
            f"noise must be at least 1/{_MAX_MU:.0f} of the largest change for a loss distribution; got "
            f"{1.0 / (trials * mu):.3g}. Raise the noise, or use the RDP accountant."
        )
    match kind:
        case Included(prob=prob, trials=1, replaced=True):
            pair: DominatingPair = SampledGaussianPair(mu, prob, prob)
            return Directed(pair, pair, count)
        case Included(prob=prob, trials=1):
            return Directed(SampledGaussianPair(mu, prob, 0.0), SampledGaussianPair(mu, 0.0, prob), count)
        case Included():
            one, other = inclusion_mixtures(kind, mu)
            return Directed(MixturePair(one, other), MixturePair(_mirror(other), _mirror(one)), count)
        case FixedSizeReplaced(prob=prob):
            pair = FixedSizePair(mu, prob)
            return Directed(pair, pair, count)


def inclusion_mixtures(kind: Included, mu: float) -> tuple[Mixture, Mixture]:
    """Returns the laws with and without the unit: Σ_k Bin(trials, prob)(k) N(±kμ, 1), or N(0, 1)."""
    weights = tuple(float(scipy.stats.binom.pmf(k, kind.trials, kind.prob)) for k in range(kind.trials + 1))
    present = Mixture(weights, tuple(k * mu for k in range(kind.trials + 1)))
    absent = Mixture((1.0,), (0.0,))
    return present, _mirror(present) if kind.replaced else absent


def _mirror(law: Mixture) -> Mixture:
    return Mixture(law.weights, tuple(-mean for mean in law.means))
