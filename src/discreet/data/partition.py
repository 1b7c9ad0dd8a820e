"""How a pool is dealt out to silos: by a column, or at random for simulations."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import gammaincinv, softmax

from discreet.arrays import Floats, Integers
from discreet.data.pool import Pool
from discreet.data.spelling import spelling
from discreet.data.table import nearest_hint
from discreet.errors import DataError
from discreet.randomness import SeededRandom

_SMALLEST_UNIFORM = 2.0**-54


@dataclass(frozen=True, slots=True)
class ColumnSilos:
    """One silo for every value of ``column``, in sorted order.

    Attributes:
        column: says where a record is. A blank cell is no silo.
        names: the public list of silos: one without records is empty, and a record of another silo is left
            out. None takes the names from the column, which are then public.
    """

    column: str
    names: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class OneSilo:
    """A single silo ``name`` that holds all records: a data owner's own file."""

    name: str


@dataclass(frozen=True, slots=True)
class IidSilos:
    """``num_silos`` silos of equal size, records (or persons) dealt at random; simulation."""

    num_silos: int


@dataclass(frozen=True, slots=True)
class DirichletSilos:
    """``num_silos`` silos with skewed labels; simulation.

    For every class the shares of the silos are drawn from a symmetric Dirichlet law and each record of the
    class is dealt by them (Hsu, Qi, Brown 2019, arXiv:1909.06335, with the roles of silo and class
    exchanged). Smaller ``alpha``, more skew.
    """

    num_silos: int
    alpha: float


Partition = ColumnSilos | OneSilo | IidSilos | DirichletSilos


class Dealer:
    """Deals the records of a source out, pool after pool as they are read.

    Args:
        partition: how.
        randomness: public; the same source, the same silos, however many pools it comes in.
    """

    def __init__(self, partition: Partition, randomness: SeededRandom) -> None:
        self._partition, self._randomness = partition, randomness
        self._train, self._left = randomness.derive("train"), np.zeros(0, dtype=np.int64)
        self._cells = self._unreadable = 0

    def deal(self, pool: Pool) -> tuple[tuple[str, ...], Integers, Integers | None]:
        """Returns the names of the silos and the silo of every record of the pool and of its own test set.

        Returns:
            Names of length k, silo numbers below k of shape ``(n,)``, and of shape ``(n_test,)`` or None. A
            record of number -1 belongs to no silo of the federation. Of a column whose names are not stated,
            the names are those that it has in this pool.

        Raises:
            DataError: if the column is unknown, or a number of silos or alpha is not positive.
        """
        partition = self._partition
        if isinstance(partition, ColumnSilos):
            return *self._by_column(pool, partition), None
        if isinstance(partition, OneSilo):
            test = None if pool.test is None else np.zeros(len(pool.test), dtype=np.int64)
            return (partition.name,), np.zeros(len(pool.records), dtype=np.int64), test
        if not partition.num_silos >= 1:
            raise DataError(f"the number of silos must be at least 1; got {partition.num_silos}.")
        width = len(str(partition.num_silos))
        names = tuple(f"silo-{number:0{width}d}" for number in range(1, partition.num_silos + 1))
        others = self._randomness.derive("test")
        if isinstance(partition, IidSilos):
            silos = self._iid_units(pool, partition.num_silos)
            if pool.test is None:
                return names, silos, None
            return names, silos, _iid(len(pool.test), partition.num_silos, others)
        shares = _shares(pool, partition, self._randomness)
        silos = _by_shares(pool.records.labels, shares, self._train)
        return names, silos, None if pool.test is None else _by_shares(pool.test.labels, shares, others)

    def require_readable(self, name: str) -> None:
        """Refuses names that were not UTF-8: different ones are read as equal, and silos would merge.

        Raises:
            DataError: if there were any in a column whose names are not stated.
        """
        if self._unreadable and isinstance(self._partition, ColumnSilos):
            raise DataError(
                f"{name}: the names of silos, column {self._partition.column!r}, must be UTF-8; "
                f"{self._unreadable} of {self._cells} cells are not. Save the file as UTF-8, or list the "
                "names: partition.names."
            )

    def _by_column(self, pool: Pool, partition: ColumnSilos) -> tuple[tuple[str, ...], Integers]:
        """One silo for every value."""
        column = partition.column
        if column not in pool.groups:
            raise DataError(
                f"{pool.name}: the silo column {column!r} does not exist.{nearest_hint(column, pool.groups)}"
            )
        if pool.test is not None:
            raise DataError(
                f"{pool.name}: a source with its own test set cannot be split by column; "
                "choose an iid or dirichlet partition."
            )
        cells = pool.groups[column]
        spelled = {cell: spelling(cell) for cell in set(cells)}
        found = partition.names
        if found is None:
            found = tuple(spelled.values())
            self._cells += len(cells)
            self._unreadable += sum("\ufffd" in cell for cell in cells)
        names = sorted(name for name in set(found) if name.strip())
        number = {spelling(name): place for place, name in enumerate(names)}
        if len(number) < len(names):
            raise DataError(f"{pool.name}: silos must have distinct names; two are spellings of one number.")
        silos = [number.get(spelled[cell], -1) for cell in cells]
        return tuple(names), np.array(silos, dtype=np.int64)

    def _iid_units(self, pool: Pool, num_silos: int) -> Integers:
        """Deals records; or where it is known whose they are, persons with all that is theirs."""
        persons = pool.records.persons
        if persons is not None:
            return _iid(int(persons.max(initial=-1)) + 1, num_silos, self._train)[persons]
        # What is left of the last block that an earlier pool began comes first.
        count = len(pool.records)
        missing = -(-max(0, count - len(self._left)) // num_silos) * num_silos
        dealt = np.concatenate([self._left, _iid(missing, num_silos, self._train)])
        self._left = dealt[count:]
        return dealt[:count]


def _shares(pool: Pool, partition: DirichletSilos, randomness: SeededRandom) -> Floats:
    """Draws the shares of the silos; the same for every pool of a source."""
    if not 0 < partition.alpha < math.inf:
        raise DataError(f"the 'alpha' of a dirichlet partition must be positive; got {partition.alpha}.")
    if pool.outcome is not None:
        raise DataError(
            f"{pool.name}: a dirichlet partition must be of classes; the label is a number. Use an iid one."
        )
    return _dirichlet(partition, pool.num_classes, randomness.derive("shares"))


def _iid(count: int, num_silos: int, randomness: SeededRandom) -> Integers:
    """Deals cards: every block of ``num_silos`` rows gives one to each silo, in random order."""
    blocks = -(-count // num_silos)
    keys = randomness.uniform(blocks * num_silos).reshape(blocks, num_silos)
    dealt: Integers = np.argsort(keys, axis=1).astype(np.int64)
    return dealt.reshape(-1)[:count]


def _dirichlet(partition: DirichletSilos, num_classes: int, randomness: SeededRandom) -> Floats:
    """Draws each class's shares as normalised Gamma(alpha) variables; shape ``(classes, silos)``.

    Gamma(a) = Gamma(a + 1) U^(1/a) in law (Marsaglia, Tsang 2000, §6), in logarithms, because for a small
    alpha most of the variables themselves are below the smallest float.
    """
    uniform = np.maximum(randomness.uniform(2 * num_classes * partition.num_silos), _SMALLEST_UNIFORM)
    whole, power = uniform.reshape(2, num_classes, partition.num_silos)
    logarithms = np.log(gammaincinv(partition.alpha + 1.0, whole)) + np.log(power) / partition.alpha
    shares: Floats = softmax(logarithms, axis=1)
    return shares


def _by_shares(labels: Integers, shares: Floats, randomness: SeededRandom) -> Integers:
    """Deals each record to a silo drawn from its class's shares."""
    coins = randomness.uniform(len(labels))
    upper = np.cumsum(shares, axis=1)
    # Rounding can leave the last cumulative share below 1; a coin above it belongs to the last silo.
    silos: Integers = np.count_nonzero(coins[:, None] >= upper[labels, :-1], axis=1).astype(np.int64)
    return silos
