"""DP-Fed (Liang, Wang, Gu, Osher, Yao): the moments-accountant ε of the SVHN and Shakespeare tables."""

from collections.abc import Iterator
from dataclasses import dataclass

from discreet.accounting import Conversion, Rdp, epsilon
from discreet.accounting.bounds import DEFAULT_ORDERS
from discreet.privacy.events import FixedSizeSampling, GaussianNoise, PoissonSampling, Release, Repeated
from discreet.privacy.units import NeighboringRelation
from reproducing import Computed, Context

INTEGER_ORDERS = Rdp(tuple(float(order) for order in range(2, 257)), Conversion.MIRONOV)
ALL_ORDERS = Rdp(DEFAULT_ORDERS, Conversion.MIRONOV)


@dataclass(frozen=True)
class Table:
    """One table: clients, rounds, sampling rate, and its noise multipliers."""

    name: str
    clients: int
    rounds: int
    rate: float
    multipliers: tuple[float, ...]

    @property
    def delta(self) -> float:
        """K^-1.1."""
        return self.clients**-1.1


TABLES = [
    Table("SVHN", 2000, 200, 0.05, (1.0, 1.1, 1.3, 1.5)),
    Table("Shakespeare", 975, 100, 0.2, (1.0, 1.2, 1.4, 1.6)),
]


def cells(_: Context) -> Iterator[Computed]:
    """Both samplings; a uniformly drawn client is replaced, which moves the sum by twice the clip norm."""
    for table in TABLES:
        for multiplier in table.multipliers:
            yield uniform(table, multiplier)
            yield poisson(table, multiplier)


def uniform(table: Table, multiplier: float) -> Computed:
    """Without replacement under replace-one; the multiplier is ν/2G."""
    sampling = FixedSizeSampling(round(table.rate * table.clients), table.clients)
    event = Repeated(Release(GaussianNoise(2.0 * multiplier), 1.0, 1, sampling), table.rounds)
    relation = NeighboringRelation.REPLACE_ONE
    published = epsilon(event, delta=table.delta, neighboring=relation, accountant=INTEGER_ORDERS)
    return Computed(
        name=f"{table.name}, uniform, z = {multiplier:g}",
        reproduced=published.epsilon,
        ours=epsilon(event, delta=table.delta, neighboring=relation).epsilon,
        note="replace-one, z = ν/2G",
    )


def poisson(table: Table, multiplier: float) -> Computed:
    """Poisson sampling under add/remove; the multiplier is ν over the sensitivity."""
    event = Repeated(Release(GaussianNoise(multiplier), 1.0, 1, PoissonSampling(table.rate)), table.rounds)
    return Computed(
        name=f"{table.name}, Poisson, z = {multiplier:g}",
        reproduced=epsilon(event, delta=table.delta, accountant=ALL_ORDERS).epsilon,
        ours=epsilon(event, delta=table.delta).epsilon,
        note="add-remove, fractional orders",
    )
