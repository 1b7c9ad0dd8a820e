"""What an event costs: ε at a δ, δ at an ε, the guarantee as a value."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass, replace

from discreet.accounting.bounds import BEST, Accountant, Bound, Pld, Rdp
from discreet.accounting.citations import citations
from discreet.accounting.gdp import SMALLEST
from discreet.accounting.losses import loss_parts
from discreet.accounting.pld import LossCurve, loss_curve
from discreet.accounting.polya import pure_epsilon
from discreet.accounting.rdp import RdpCurve
from discreet.accounting.renyi import renyi_analysis
from discreet.accounting.tally import Tally, tally
from discreet.errors import ConfigurationError, UnsupportedAnalysisError
from discreet.privacy.adversary import Adversary
from discreet.privacy.events import Event, GaussianNoise, PolyaNoise, Release
from discreet.privacy.guarantee import Guarantee
from discreet.privacy.units import NeighboringRelation, Status, Unit

# Share of δ that comparing integer noise with Gaussian noise may take.
_COMPARISON_SHARE = 1e-5
# Comparison costs above this share of ε send the question to the Rényi accountant as well; so do integer
# noise of less variance than _COARSE (seeing it as Gaussian costs variance) and hopelessly large ε.
_COSTLY = 0.01
_COARSE = 256.0
_LARGE = 100.0
_FIXED_POINT_STEPS = 60


@dataclass(frozen=True, slots=True)
class EventCurve:
    r"""δ(ε) of a whole event: a curve for Gaussian-like noise, and what the comparison with it costs.

    δ(ε) ≤ failure + e^E δ_G(ε − 2E) + (tail + distance)(1 + e^ε), with E = ``log_ratio``: two changes of law,
    one on each neighbour (docs/theory/integers.md, Theorem 4).
    """

    inner: LossCurve
    log_ratio: float
    tail: float
    failure: float

    def delta_at(self, epsilon: float) -> float:
        """Returns an upper bound on δ(ε)."""
        both_sides = self.tail * (1.0 + math.exp(min(epsilon, 700.0)))
        inner = math.exp(self.log_ratio) * self.inner.delta_at(epsilon - 2.0 * self.log_ratio)
        return min(1.0, self.failure + inner + both_sides)

    def epsilon_at(self, delta: float) -> float:
        """Returns an upper bound on the smallest ε ≥ 0 at which δ suffices; infinite if there is none."""
        guess = 0.0
        for _ in range(_FIXED_POINT_STEPS):
            left = delta - self.failure - self.tail * (1.0 + math.exp(min(guess, 700.0)))
            if not left > 0.0:
                return math.inf
            found = self.inner.epsilon_at(left * math.exp(-self.log_ratio)) + 2.0 * self.log_ratio
            if found <= guess or self.tail == 0.0:
                return found
            guess = found * (1.0 + 1e-9) + 1e-12
        return math.inf


def event_curve(
    event: Event, *, delta: float, neighboring: NeighboringRelation, accountant: Accountant
) -> EventCurve:
    """Returns the curve of ``event`` by one accountant, precise around ``delta``; see `epsilon`."""
    return _curve(tally(event), delta, neighboring, accountant)


def epsilon(
    event: Event,
    *,
    delta: float,
    neighboring: NeighboringRelation = NeighboringRelation.ADD_REMOVE,
    accountant: Accountant = BEST,
) -> Bound:
    r"""Returns what ``event`` costs: an upper bound on ε at ``delta``.

    Guarantee:
        The adaptive composition of everything in ``event`` is (ε, δ)-DP under ``neighboring``; failures,
        sampler errors and the comparison of integer with Gaussian noise are included in ``delta``. ε is
        infinite if they alone exceed it.

    Args:
        event: what is released.
        delta: total failure probability, in (0, 1); 0 only where all noise is Laplace.
        neighboring: the relation; ``ADD_REMOVE`` sensitivities are what `Release` states.
        accountant: `Pld` (default) falls back to `Rdp` where the noise is too coarse for it, and says so.

    Raises:
        ConfigurationError: for a δ outside (0, 1), or of 0 where that proves nothing.
        UnsupportedAnalysisError: where no proven analysis exists.

    Example:
        >>> from discreet.privacy.events import GaussianNoise, PoissonSampling, Release, Repeated
        >>> step = Release(GaussianNoise(1.0), 1.0, dimension=10, sampling=PoissonSampling(0.01))
        >>> round(epsilon(Repeated(step, 1000), delta=1e-5).epsilon, 3)
        1.828
    """
    return _epsilon(event, delta, neighboring, accountant)


@functools.lru_cache(maxsize=1024)
def _epsilon(event: Event, delta: float, neighboring: NeighboringRelation, accountant: Accountant) -> Bound:
    """Computes `epsilon`; plans ask for the same event many times."""
    spec = tally(event)
    pure = _pure_epsilon(spec, neighboring)
    if _lost_at(spec, pure) > delta:
        pure = math.inf
    if delta == 0.0:
        if math.isinf(pure):
            raise ConfigurationError(
                "delta must be above 0 unless all noise is Laplace and nothing may fail: Gaussian-like noise "
                "has no pure differential privacy; got 0."
            )
        return _bound(spec, pure, 0.0, accountant)
    if not 0.0 < delta < 1.0:
        raise ConfigurationError(f"delta must be in (0, 1); got {delta}. Choose one well below 1/records.")
    if isinstance(accountant, Rdp):
        bound = _by_rdp(spec, delta, neighboring, accountant)
    else:
        bound = _by_pld(spec, delta, neighboring, accountant)
    return bound if bound.epsilon <= pure else replace(bound, epsilon=pure, order=None)


def delta(
    event: Event,
    *,
    epsilon: float,
    neighboring: NeighboringRelation = NeighboringRelation.ADD_REMOVE,
    accountant: Accountant = BEST,
) -> Bound:
    """Returns an upper bound on δ at ``epsilon`` ≥ 0; otherwise as `discreet.accounting.epsilon`.

    It is 0 only where all noise is Laplace and ``epsilon`` is the pure one, or infinite.
    """
    if not epsilon >= 0.0:
        raise ConfigurationError(f"epsilon must be >= 0; got {epsilon}.")
    spec = tally(event)
    bound = _delta(spec, epsilon, neighboring, accountant)
    pure = _pure_epsilon(spec, neighboring)
    if epsilon < pure:
        return replace(bound, delta=max(bound.delta, SMALLEST))
    return replace(bound, delta=min(bound.delta, _lost_at(spec, epsilon)))


def _delta(spec: Tally, epsilon: float, neighboring: NeighboringRelation, accountant: Accountant) -> Bound:
    """Computes `delta`; what underflows is 0 here."""
    if isinstance(accountant, Rdp):
        return _bound(
            spec, epsilon, _curve(spec, 1e-6, neighboring, accountant).delta_at(epsilon), accountant
        )
    rough = _rough_delta(spec, epsilon, neighboring)
    try:
        found = _curve(spec, min(max(rough, 1e-200), 0.5), neighboring, accountant).delta_at(epsilon)
    except UnsupportedAnalysisError:
        return _bound(spec, epsilon, _curve(spec, 1e-6, neighboring, Rdp()).delta_at(epsilon), Rdp())
    return _bound(spec, epsilon, min(found, rough), accountant)


def _rough_delta(spec: Tally, epsilon: float, neighboring: NeighboringRelation) -> float:
    """Returns the Rényi bound on δ, 1 where there is none."""
    try:
        return _curve(spec, 1e-6, neighboring, Rdp()).delta_at(epsilon)
    except UnsupportedAnalysisError:
        return 1.0


def guarantee(
    event: Event,
    *,
    delta: float,
    unit: Unit,
    neighboring: NeighboringRelation = NeighboringRelation.ADD_REMOVE,
    adversary: Adversary,
    accountant: Accountant = BEST,
) -> Guarantee:
    """Returns `discreet.accounting.epsilon` as a value that names unit, relation and adversary."""
    bound = epsilon(event, delta=delta, neighboring=neighboring, accountant=accountant)
    return Guarantee(
        epsilon=bound.epsilon,
        delta=bound.delta,
        unit=unit,
        neighboring=neighboring,
        adversary=adversary,
        status=bound.status,
        assumptions=bound.assumptions,
        citations=bound.citations,
    )


def _curve(spec: Tally, delta: float, neighboring: NeighboringRelation, accountant: Accountant) -> EventCurve:
    """Returns the curve by the accountant that was named, without falling back."""
    match accountant:
        case Rdp():
            analysis = renyi_analysis(spec.releases, neighboring, accountant)
            return EventCurve(analysis.curve, analysis.log_ratio, spec.distance, spec.failure)
        case Pld():
            tail = _COMPARISON_SHARE * delta * math.exp(-_rough_epsilon(spec, delta, neighboring))
            parts = loss_parts(spec.releases, neighboring, tail)
            inner = loss_curve(parts, delta, accountant)
            return EventCurve(inner, parts.log_ratio, spec.distance + parts.tail, spec.failure)


def _rough_epsilon(spec: Tally, delta: float, neighboring: NeighboringRelation) -> float:
    """Returns about the ε to be expected, at most 60; it only sets how little probability to give away."""
    try:
        rough = renyi_analysis(spec.releases, neighboring, Rdp()).curve.epsilon_at(delta)
    except UnsupportedAnalysisError:
        return 20.0
    return min(rough, 60.0)


def _pure_epsilon(spec: Tally, neighboring: NeighboringRelation) -> float:
    """Returns ε at the δ of `_lost_at`, by adding up Laplace releases; ∞ if anything else is there."""
    total = 0.0
    for atom, count in spec.releases:
        if not (isinstance(atom, Release) and isinstance(atom.noise, PolyaNoise)):
            return math.inf
        total += count * pure_epsilon(atom, neighboring)
    return total


def _lost_at(spec: Tally, epsilon: float) -> float:
    """Returns the part of δ that failures and sampler errors take at ``epsilon``."""
    if spec.distance == 0.0 or math.isinf(epsilon):
        return spec.failure
    return spec.failure + spec.distance * (1.0 + math.exp(min(epsilon, 700.0)))


def _by_rdp(spec: Tally, delta: float, neighboring: NeighboringRelation, accountant: Rdp) -> Bound:
    curve = _curve(spec, delta, neighboring, accountant)
    bound = _bound(spec, curve.epsilon_at(delta), delta, accountant)
    if isinstance(curve.inner, RdpCurve) and math.isfinite(bound.epsilon):
        return replace(bound, order=curve.inner.optimum(delta)[1])
    return bound


def _by_pld(spec: Tally, delta: float, neighboring: NeighboringRelation, accountant: Pld) -> Bound:
    try:
        curve = _curve(spec, delta, neighboring, accountant)
    except UnsupportedAnalysisError:
        return _by_rdp(spec, delta, neighboring, Rdp())
    bound = _bound(spec, curve.epsilon_at(delta), delta, accountant)
    costly = 2.0 * curve.log_ratio > _COSTLY * bound.epsilon
    if costly or bound.epsilon > _LARGE or _has_coarse_noise(spec):
        try:
            other = _by_rdp(spec, delta, neighboring, Rdp())
        except UnsupportedAnalysisError:
            return bound
        return min(bound, other, key=lambda candidate: candidate.epsilon)
    return bound


def _has_coarse_noise(spec: Tally) -> bool:
    """Says whether some integer noise is so small that its own Rényi bound may be better."""
    return any(
        isinstance(atom, Release)
        and not isinstance(atom.noise, GaussianNoise)
        and atom.noise.variance < _COARSE
        for atom, _ in spec.releases
    )


def _bound(spec: Tally, epsilon: float, delta: float, accountant: Accountant) -> Bound:
    return Bound(
        epsilon=epsilon,
        delta=delta,
        status=Status.PROVEN,
        assumptions=(),
        citations=citations(spec, accountant),
        accountant=accountant,
    )
