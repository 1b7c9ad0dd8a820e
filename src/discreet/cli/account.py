"""``discreet account``: what a mechanism costs, or how much noise a budget needs, in one line."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from typing import Annotated

import typer

from discreet.accounting import Accountant, Bound, Conversion, Pld, Rdp, calibrate
from discreet.accounting import delta as delta_of
from discreet.accounting import epsilon as epsilon_of
from discreet.accounting.bounds import DEFAULT_ORDERS
from discreet.cli.console import console
from discreet.errors import ConfigurationError, UnsupportedAnalysisError
from discreet.privacy.events import (
    DiscreteGaussianNoise,
    Event,
    FixedSizeSampling,
    GaussianNoise,
    NoiseLaw,
    NoSampling,
    PoissonBinomialRelease,
    PoissonSampling,
    Release,
    Repeated,
    RoundedGaussianNoise,
    Sampling,
    SkellamNoise,
)
from discreet.privacy.judgement import judge_numbers
from discreet.privacy.notation import delta_text, epsilon_text
from discreet.privacy.units import NeighboringRelation, Unit

_SMALLEST, _LARGEST = 0.02, 1e5
_HOW_MANY = " Say how many records there are with --records, and δ is judged among them."


class Mechanism(Enum):
    """Noise laws by name."""

    GAUSSIAN = "gaussian"
    ROUNDED_GAUSSIAN = "rounded-gaussian"
    DISCRETE_GAUSSIAN = "discrete-gaussian"
    SKELLAM = "skellam"
    POISSON_BINOMIAL = "poisson-binomial"


class SamplingKind(Enum):
    """Ways of sampling by name."""

    NONE = "none"
    POISSON = "poisson"
    FIXED_SIZE = "fixed-size"


class AccountantKind(Enum):
    """Accountants by name."""

    PLD = "pld"
    RDP = "rdp"


@dataclass(frozen=True, slots=True)
class Request:
    """Everything about the event but its noise multiplier."""

    mechanism: Mechanism
    sampling: Sampling
    steps: int
    stddev_units: float | None
    dim: int | None
    theta: float

    def event(self, noise_multiplier: float) -> Event:
        """Returns the event at this noise multiplier."""
        if not (noise_multiplier > 0.0 and math.isfinite(noise_multiplier)):
            raise ConfigurationError(f"--noise-multiplier must be positive; got {noise_multiplier}.")
        if self.mechanism is Mechanism.GAUSSIAN:
            release = Release(GaussianNoise(noise_multiplier), 1.0, self.dim or 1, self.sampling)
            return Repeated(release, self.steps)
        if self.stddev_units is None or self.dim is None:
            raise ConfigurationError(
                f"{self.mechanism.value} noise is made of integers and must be told its grid: give "
                "--stddev-units (standard deviation in grid units) and --dim (coordinates)."
            )
        sensitivity = self.stddev_units / noise_multiplier
        if self.mechanism is Mechanism.POISSON_BINOMIAL:
            return Repeated(self._binomials(self.stddev_units, sensitivity, self.dim), self.steps)
        release = Release(self._law(self.stddev_units), sensitivity, self.dim, self.sampling)
        return Repeated(release, self.steps)

    def _law(self, stddev: float) -> NoiseLaw:
        """Returns the integer law of this standard deviation."""
        match self.mechanism:
            case Mechanism.ROUNDED_GAUSSIAN:
                return RoundedGaussianNoise(stddev, 1)
            case Mechanism.DISCRETE_GAUSSIAN:
                return DiscreteGaussianNoise(stddev, 1)
            case _:
                return SkellamNoise(stddev**2, 1)

    def _binomials(self, stddev: float, sensitivity: float, dim: int) -> PoissonBinomialRelease:
        """Returns the mechanism whose sum has this deviation and whose clients move it by this much."""
        if not isinstance(self.sampling, NoSampling):
            raise UnsupportedAnalysisError(
                "the Poisson-binomial mechanism has no sampled analysis here; use --sampling none."
            )
        trials = max(1, math.ceil(sensitivity / self.theta))
        clients = math.floor(4.0 * stddev**2 / trials)
        if not clients >= 1:
            raise ConfigurationError(
                f"4·stddev² = {4.0 * stddev**2:.4g} trials must hold at least one client's {trials}; raise "
                "--stddev-units or --noise-multiplier."
            )
        return PoissonBinomialRelease(trials, clients, self.theta, dim)


def account(
    *,
    mechanism: Annotated[Mechanism, typer.Option(help="Law of the noise.")] = Mechanism.GAUSSIAN,
    noise_multiplier: Annotated[
        float | None,
        typer.Option(help="Noise standard deviation ÷ how far adding one contribution moves the sum."),
    ] = None,
    target_epsilon: Annotated[
        float | None, typer.Option(help="Find the noise multiplier for this ε instead.")
    ] = None,
    sampling: Annotated[SamplingKind, typer.Option(help="How units enter.")] = SamplingKind.NONE,
    sampling_prob: Annotated[float | None, typer.Option(help="Probability, or share for fixed-size.")] = None,
    steps: Annotated[int, typer.Option(help="Number of releases.")] = 1,
    delta: Annotated[float | None, typer.Option(help="Report ε at this δ.")] = None,
    epsilon: Annotated[float | None, typer.Option(help="Report δ at this ε.")] = None,
    accountant: Annotated[AccountantKind, typer.Option(help="Method.")] = AccountantKind.PLD,
    conversion: Annotated[
        Conversion, typer.Option(help="From Rényi to (ε, δ); RDP only.")
    ] = Conversion.IMPROVED,
    orders: Annotated[str | None, typer.Option(help="Rényi orders FIRST:LAST; RDP only.")] = None,
    neighboring: Annotated[
        NeighboringRelation, typer.Option(help="What one neighbouring step changes.")
    ] = NeighboringRelation.ADD_REMOVE,
    stddev_units: Annotated[
        float | None, typer.Option(help="Integer noise: standard deviation in grid units.")
    ] = None,
    dim: Annotated[int | None, typer.Option(help="Integer noise: number of coordinates.")] = None,
    records: Annotated[
        int | None, typer.Option(min=1, help="How many records there are, to judge δ by.")
    ] = None,
    theta: Annotated[float, typer.Option(help="Poisson-binomial: largest |p − 1/2|.")] = 0.25,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> None:
    """Account for a mechanism in one line, or calibrate its noise.

    Example: [bold]discreet account --noise-multiplier 1 --sampling poisson --sampling-prob 0.01 --steps 1000
    --delta 1e-5[/bold]
    """
    if not steps >= 1:
        raise ConfigurationError(f"--steps must be at least 1; got {steps}.")
    request = Request(mechanism, _sampling(sampling, sampling_prob), steps, stddev_units, dim, theta)
    chosen = _accountant(accountant, conversion, orders)
    if target_epsilon is not None:
        noise_multiplier = _calibrated(request, target_epsilon, delta, noise_multiplier, neighboring, chosen)
    if noise_multiplier is None:
        raise ConfigurationError("give --noise-multiplier, or --target-epsilon to have it calibrated.")
    event = request.event(noise_multiplier)
    bound = _bound(event, delta, epsilon, neighboring, chosen)
    judgement = judge_numbers(bound.epsilon, bound.delta, Unit.RECORD, neighboring, units=records)
    facts = _facts(bound, noise_multiplier, neighboring, sampling, steps) | {"judgement": str(judgement)}
    if as_json:
        typer.echo(json.dumps(facts))
        return
    console().print(
        f"({epsilon_text(bound.epsilon)}, {delta_text(bound.delta)})-DP under {neighboring.value}, "
        f"{bound.status.value}, by {facts['accountant']}; noise multiplier {noise_multiplier:.6g}, {steps} "
        f"{'release' if steps == 1 else 'releases'}, sampling {sampling.value}.\n"
        f"Judged by ε and δ alone: {facts['judgement']}.{'' if records else _HOW_MANY}",
        highlight=False,
        overflow="fold",
    )
    for assumption in bound.assumptions:
        console().print(f"It assumes: {assumption}.", highlight=False, overflow="fold")


def _calibrated(
    request: Request,
    target: float,
    delta: float | None,
    noise_multiplier: float | None,
    neighboring: NeighboringRelation,
    accountant: Accountant,
) -> float:
    """Returns the smallest noise multiplier for the target."""
    if noise_multiplier is not None:
        raise ConfigurationError("give either --noise-multiplier or --target-epsilon, not both.")
    if delta is None:
        raise ConfigurationError("--target-epsilon needs --delta.")
    return calibrate(
        request.event,
        epsilon=target,
        delta=delta,
        neighboring=neighboring,
        lower=_SMALLEST,
        upper=_LARGEST,
        accountant=accountant,
    )


def _bound(
    event: Event,
    delta: float | None,
    epsilon: float | None,
    neighboring: NeighboringRelation,
    accountant: Accountant,
) -> Bound:
    """Returns ε at δ, or δ at ε, whichever was asked for."""
    if delta is not None and epsilon is None:
        return epsilon_of(event, delta=delta, neighboring=neighboring, accountant=accountant)
    if epsilon is not None and delta is None:
        return delta_of(event, epsilon=epsilon, neighboring=neighboring, accountant=accountant)
    raise ConfigurationError("give exactly one of --delta and --epsilon.")


def _sampling(kind: SamplingKind, prob: float | None) -> Sampling:
    """Returns the sampling that the flags describe."""
    if kind is SamplingKind.NONE:
        if prob is not None:
            raise ConfigurationError("--sampling-prob needs --sampling poisson or fixed-size.")
        return NoSampling()
    if prob is None or not 0.0 < prob <= 1.0:
        got = "nothing" if prob is None else prob
        raise ConfigurationError(f"--sampling-prob must be in (0, 1]; got {got}.")
    if kind is SamplingKind.POISSON:
        return PoissonSampling(prob)
    share = Fraction(repr(prob))
    return FixedSizeSampling(share.numerator, share.denominator)


def _accountant(kind: AccountantKind, conversion: Conversion, orders: str | None) -> Accountant:
    """Returns the accountant that the flags describe."""
    if kind is AccountantKind.PLD:
        if orders is not None:
            raise ConfigurationError("--orders needs --accountant rdp.")
        return Pld()
    if orders is None:
        return Rdp(DEFAULT_ORDERS, conversion)
    first, _, last = orders.partition(":")
    if not (first.isdigit() and last.isdigit() and 2 <= int(first) <= int(last)):
        raise ConfigurationError(f"--orders must be FIRST:LAST with 2 <= FIRST <= LAST; got {orders!r}.")
    return Rdp(tuple(float(order) for order in range(int(first), int(last) + 1)), conversion)


def _facts(
    bound: Bound,
    noise_multiplier: float,
    neighboring: NeighboringRelation,
    sampling: SamplingKind,
    steps: int,
) -> dict[str, object]:
    """Returns the keys of the JSON output; an infinite ε is null."""
    rdp = bound.accountant if isinstance(bound.accountant, Rdp) else None
    return {
        "epsilon": bound.epsilon if math.isfinite(bound.epsilon) else None,
        "delta": bound.delta,
        "noise_multiplier": noise_multiplier,
        "accountant": "pld" if rdp is None else "rdp",
        "conversion": None if rdp is None else rdp.conversion.value,
        "order": bound.order,
        "neighboring_relation": neighboring.value,
        "sampling": sampling.value,
        "steps": steps,
        "status": bound.status.value,
        "assumptions": list(bound.assumptions),
    }
