"""Coverage of the intervals of `discreet.statistics`, and how often its tests reject what is true.

    python bench/ask_coverage.py --seeds 1000

Each seed draws records from a known population, sums their blocks, adds normal noise as five questions of
equal weight get it at δ = 1e-5, or discrete Laplace noise (--laplace), and asks whether each 95 % interval
holds the truth: the number of these records for counts, the population's value for everything else. Ratios of
hazards and odds, and all with Laplace noise or --dropout, have that of four silos, one of which drops out
and one colludes. "told" is how many intervals there were: where the noise hides an answer, none is given, and
coverage is of those given.
"""

from __future__ import annotations

import argparse
import itertools
import math
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from discreet import statistics
from discreet.arrays import Floats, Integers
from discreet.mechanisms.polya import normal_variance
from discreet.privacy.events import PolyaNoise
from discreet.quality.intervals import Interval

# Noise multiplier of one release of norm 1 at δ = 1e-5, by ε.
MULTIPLIERS = {math.inf: 0.0, 3.0: 1.39, 1.0: 3.73, 0.3: 11.3}
QUESTIONS = 5
# Four silos of which one drops out and one colludes: noise of three where that of two is enough.
ENOUGH = 2
SIZES = (1_000, 10_000)
PROBS = (0.25, 0.5, 0.75)
EDGES = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0, math.inf)
HAZARDS = (0.5, 0.9)
LEAVING = 0.3
SLOPES = (0.3, 0.25, -0.2)
COLUMNS = [
    statistics.Column.ranged("age", 20, 80),
    statistics.Column.ranged("dose", 0, 10),
    statistics.Column.indicator("sex=f"),
    statistics.Column.ranged("score", -1, 1),
]
AXES = [statistics.Axis("sex", ("f", "m")), statistics.Axis("stage", ("1", "2", "3", "other or missing"))]
COVARIATES = [statistics.Covariate("drug", ("old", "new")), statistics.Covariate("stage", ("1", "2", "3"))]
EFFECTS = (0.6, 0.4, 0.8)
SHARES = np.outer([0.4, 0.6], [0.5, 0.3, 0.2, 0.0])

Found = Iterator[tuple[str, bool | None]]


@dataclass(frozen=True, slots=True)
class Noise:
    """What one of five questions gets.

    Attributes:
        epsilon: of all of them.
        survivors: silos in the sum, where `ENOUGH` are sure to be.
        laplace: whether it is discrete Laplace noise, and not normal.
    """

    epsilon: float
    survivors: int
    laplace: bool

    @property
    def variance(self) -> float:
        """The variance that the statistics are told."""
        if self.laplace and self.epsilon < math.inf:
            return normal_variance(PolyaNoise(QUESTIONS / self.epsilon, ENOUGH, self.survivors), 0.95)
        return MULTIPLIERS[self.epsilon] ** 2 * QUESTIONS * self.survivors / ENOUGH

    def draw(self, rng: np.random.Generator, shape: tuple[int, ...]) -> Floats:
        """Returns independent noise."""
        if not self.laplace or self.epsilon == math.inf:
            normal: Floats = rng.normal(0.0, math.sqrt(self.variance), shape)
            return normal
        prob = -math.expm1(-self.epsilon / QUESTIONS)
        more, less = rng.negative_binomial(self.survivors / ENOUGH, prob, (2, *shape))
        drawn: Floats = (more - less).astype(np.float64)
        return drawn


def holds(found: Interval | None, truth: float) -> bool | None:
    return None if found is None or not math.isfinite(found.low) else found.low <= truth <= found.high


def counts(rng: np.random.Generator, n: int, noise: Noise) -> Found:
    yield "count", holds(statistics.count(n + noise.draw(rng, (1,)), noise.variance).number, n)
    drawn = rng.multinomial(n, SHARES.ravel())
    noisy = drawn + noise.draw(rng, drawn.shape)
    found = statistics.table(noisy, noise.variance, AXES)
    for place in (0, 6, 7):
        yield f"table: count of cell {place}", holds(found.cells[place].count, drawn[place])
        yield f"table: share of cell {place}", holds(found.cells[place].share, SHARES.ravel()[place])
    yield "table: share of a margin", holds(found.margins[0][0].share, 0.4)
    p_value = statistics.independence(noisy, noise.variance, (2, 4), rng=rng, draws=499).p_value
    yield "independence rejects at 5 %", None if p_value is None else p_value <= 0.05


def moments(rng: np.random.Generator, n: int, noise: Noise) -> Found:
    t = np.empty((n, 4))
    t[:, 0] = 2 * rng.beta(2, 3, n) - 1
    t[:, 1] = np.clip(0.5 * t[:, 0], -0.4, 0.4) + rng.uniform(-0.6, 0.6, n)
    t[:, 2] = rng.random(n) < 0.4
    t[:, 3] = t[:, :3] @ SLOPES + rng.uniform(-0.3, 0.3, n)
    x = np.hstack([np.ones((n, 1)), t])
    radius = 5.0
    whole = x.T @ x
    block = np.concatenate([np.diag(whole), math.sqrt(2) * whole[np.triu_indices(5, 1)]]) / radius
    read = statistics.read_moments(
        block + noise.draw(rng, block.shape), noise.variance, COLUMNS, squared_radius=radius
    )
    found = statistics.summary(read)
    yield "mean of age", holds(found.means[0], 20 + 60 * 0.4)
    yield "mean of sex=f", holds(found.means[2], 0.4)
    yield "deviation of age", holds(found.deviations[0], 60 * 0.2)
    yield "deviation of sex=f", holds(found.deviations[2], math.sqrt(0.24))
    fitted = statistics.regression(read, "score", ["age", "dose", "sex=f"])
    own = (SLOPES[0] / 30, SLOPES[1] / 5, SLOPES[2])
    truths = (-own[0] * 50 - own[1] * 5, *own)
    for truth, coefficient in itertools.zip_longest(truths, fitted.coefficients):
        name = "unknown" if coefficient is None else coefficient.name
        yield f"coefficient of {name}", None if coefficient is None else holds(coefficient.value, truth)


def quantiles(rng: np.random.Generator, n: int, noise: Noise) -> Found:
    drawn, edges = np.histogram(rng.beta(2, 3, n), bins=20, range=(0, 1))
    noisy = drawn + noise.draw(rng, drawn.shape)
    found = statistics.quantiles(noisy, noise.variance, edges.tolist(), PROBS)
    truths = (0.24302, 0.38573, 0.54368)
    for prob, value, truth in zip(PROBS, found.values, truths, strict=True):
        yield f"quantile {prob}", holds(value, truth)


def followed(rng: np.random.Generator, n: int, hazards: tuple[float, ...]) -> Floats:
    group = rng.integers(0, 2, n)
    event, left = rng.exponential(1 / np.array(hazards)[group]), rng.exponential(1 / LEAVING, n)
    time = np.minimum(event, left)
    place = np.minimum(np.searchsorted(EDGES, time, side="right") - 1, len(EDGES) - 2)
    happened = (event <= left) & (place < len(EDGES) - 2)
    found = np.zeros((2, len(EDGES) - 1, 2))
    np.add.at(found, (group, place, np.where(happened, 0, 1)), 1)
    return found.ravel()


def survival(rng: np.random.Generator, n: int, noise: Noise) -> Found:
    drawn = followed(rng, n, HAZARDS)
    noisy = drawn + noise.draw(rng, drawn.shape)
    found = statistics.survival(noisy, noise.variance, EDGES, ["a", "b"])
    for curve, hazard in zip(found.curves, HAZARDS, strict=True):
        for time, band in zip(curve.times, curve.survival, strict=True):
            yield f"survival of {curve.group} at {time}", holds(band, math.exp(-hazard * time))
        yield f"restricted mean of {curve.group}", holds(curve.restricted_mean, -math.expm1(-hazard) / hazard)
    yield "median of b", holds(found.curves[1].median, math.log(2) / HAZARDS[1])
    same = followed(rng, n, (0.7, 0.7))
    same = same + noise.draw(rng, same.shape)
    p_value = statistics.logrank(same, noise.variance, EDGES, ["a", "b"], rng=rng, draws=499).p_value
    yield "log-rank rejects at 5 %", None if p_value is None else p_value <= 0.05


def ratios(rng: np.random.Generator, n: int, noise: Noise) -> Found:
    for effects in (EFFECTS, (0.0, 0.0, 0.0)):
        for name, counts in (("hazard", _hazards(rng, n, effects)), ("odds", _odds(rng, n, effects))):
            noisy = (counts + noise.draw(rng, counts.shape)).ravel()
            if name == "hazard":
                found = statistics.hazards(noisy, noise.variance, EDGES, COVARIATES)
            else:
                found = statistics.logistic_regression(noisy, noise.variance, COVARIATES)
            if not any(effects):
                yield (
                    f"test of no {name} ratio rejects",
                    None if found.p_value is None else found.p_value <= 0.05,
                )
                continue
            for truth, one in zip(effects, found.effects, strict=True):
                yield f"{name} ratio of {one.name}", holds(one.log_ratio, truth)


def _linear(
    rng: np.random.Generator, n: int, effects: tuple[float, ...]
) -> tuple[Integers, Integers, Floats]:
    drug, stage = rng.integers(0, 2, n), rng.choice(3, n, p=[0.5, 0.3, 0.2])
    return drug, stage, effects[0] * (drug == 1) + effects[1] * (stage == 1) + effects[2] * (stage == 2)


def _hazards(rng: np.random.Generator, n: int, effects: tuple[float, ...]) -> Floats:
    drug, stage, linear = _linear(rng, n, effects)
    event, left = rng.exponential(1 / (HAZARDS[0] * np.exp(linear))), rng.exponential(1 / LEAVING, n)
    place = np.minimum(np.searchsorted(EDGES, np.minimum(event, left), side="right") - 1, len(EDGES) - 2)
    happened = (event <= left) & (place < len(EDGES) - 2)
    found = np.zeros((2, 3, len(EDGES) - 1, 2))
    np.add.at(found, (drug, stage, place, np.where(happened, 0, 1)), 1)
    return found


def _odds(rng: np.random.Generator, n: int, effects: tuple[float, ...]) -> Floats:
    drug, stage, linear = _linear(rng, n, effects)
    ill = rng.uniform(size=n) < 1 / (1 + np.exp(1.0 - linear))
    found = np.zeros((2, 3, 2))
    np.add.at(found, (drug, stage, np.where(ill, 0, 1)), 1)
    return found


PARTS = (counts, moments, quantiles, survival, ratios)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--seeds", type=int, default=1000)
    parser.add_argument("--laplace", action="store_true", help="discrete Laplace noise, for counts")
    parser.add_argument("--dropout", action="store_true", help="four silos, one drops out and one colludes")
    parser.add_argument("--only", choices=[part.__name__ for part in PARTS])
    given = parser.parse_args()
    seeds = given.seeds
    cells = list(itertools.product(MULTIPLIERS, SIZES))
    told: dict[tuple[str, tuple[float, int]], list[bool | None]] = defaultdict(list)
    for (epsilon, n), seed in itertools.product(cells, range(seeds)):
        for part, question in enumerate(PARTS):
            if given.only not in (None, question.__name__):
                continue
            rng = np.random.default_rng([seed, n, part])
            if question is moments and given.laplace:
                continue
            survivors = 3 if question is ratios or given.laplace or given.dropout else 2
            for name, held in question(rng, n, Noise(epsilon, survivors, laplace=given.laplace)):
                told[name, (epsilon, n)].append(held)
    print(f"{'% of ' + str(seeds) + ' (told, %)':32}" + "".join(f"{f'ε={e:g} n={n}':>16}" for e, n in cells))
    for name in dict.fromkeys(name for name, _ in told):
        print(f"{name:32}" + "".join(f"{shown(told[name, cell]):>16}" for cell in cells))


def shown(held: list[bool | None]) -> str:
    given = [one for one in held if one is not None]
    if not given:
        return "-"
    return f"{100 * np.mean(given):.1f} ({100 * len(given) / len(held):.0f})"


if __name__ == "__main__":
    main()
