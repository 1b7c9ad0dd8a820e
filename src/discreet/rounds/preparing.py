"""What the release before the first round leaves behind: noisy sums, and the map that they give."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from discreet.arrays import Floats
from discreet.data import Federation, Records, Silo
from discreet.data.record_map import RecordMap
from discreet.errors import PrivacyViolation
from discreet.plan import Plan
from discreet.plan.preparation import BlockSum
from discreet.rounds.engine import RoundSum
from discreet.rounds.judging import noise_variance
from discreet.rounds.memory import Arrays

_NO_ROWS = np.empty(0, dtype=np.int64)
_SUMS, _SURVIVORS = "prepared_sums", "prepared_survivors"


@dataclass(frozen=True, slots=True)
class PreparedBy:
    """The released sum of a preparation: noisy, and public.

    Attributes:
        sums: of its questions, one after the other, real units.
        survivors: silos whose records, and noise, are in it.
    """

    sums: Floats
    survivors: int


def prepared_by(plan: Plan, outcome: RoundSum) -> PreparedBy:
    """Returns what the secure sum of a preparation released."""
    return PreparedBy(_asked(plan).decoded(outcome.total, 1), len(outcome.survivors))


def announced_map(plan: Plan, found: PreparedBy) -> Floats:
    """Returns what silos are told to prepare their records by: post-processing of a release.

    Returns:
        Values of the shape that the plan's `Preparation` has.
    """
    return plan.record_preparation.found(block_sums(plan, found))


def block_sums(plan: Plan, found: PreparedBy) -> list[BlockSum]:
    """Returns what each question of a preparation was answered, with its noise."""
    asked = _asked(plan)
    variance, first, sums = noise_variance(asked, found.survivors), 0, []
    for one in asked.answers.blocks:
        own = found.sums[first : first + one.block.size]
        sums.append(BlockSum(own / one.factor, variance / one.factor**2))
        first += one.block.size
    return sums


def told_in(plan: Plan, release: int, announced: bytes) -> tuple[Floats, Floats | None]:
    """Returns what a release starts from and the map of its records, out of `RoundOrder.announced`.

    No map is announced where records are used as they are read, and none before a preparation.

    Raises:
        PrivacyViolation: for another number of values, or a map that no release leads to.
    """
    length, more = plan.announced_length(release), plan.map_length(release)
    size = np.dtype(np.float64).itemsize
    if len(announced) not in {size * length, size * (length + more)}:
        after = f", or {size * (length + more)} with what records are prepared by" if more else ""
        raise PrivacyViolation(
            f"the model must have {size * length} bytes{after}, as planned; got {len(announced)}."
        )
    values = np.frombuffer(announced, dtype="<f8").astype(np.float64)
    if len(values) == length:
        return values, None
    kind = plan.record_preparation
    told = values[length:].reshape(kind.map_shape)
    kind.require(told)
    return values[:length], told


def record_map(plan: Plan, announced: Floats | None) -> RecordMap | None:
    """Returns the map that announced values give; a public one of one record, whatever was announced.

    None is announced where the sum was lost, or not yet made; None is returned where records are then as they
    are read.
    """
    if plan.preparation is None:
        return None
    return plan.record_preparation.record_map(announced)


class RecordsInUse:
    """Records of some silos, as a release uses them: mapped once for every map that is announced."""

    def __init__(self, plan: Plan, records: Mapping[str, Records]) -> None:
        self._plan = plan
        self._records = records
        self._known: tuple[bytes | None, Mapping[str, Records]] | None = None

    def as_asked(self) -> Mapping[str, Records]:
        """Returns the records as a preparation asks them."""
        kind = self._plan.record_preparation
        return {
            name: own.with_features(kind.asked_features(own.features)) for name, own in self._records.items()
        }

    def under(self, announced: Floats | None) -> Mapping[str, Records]:
        """Returns the records as a round uses them."""
        name = None if announced is None else announced.tobytes()
        if self._known is None or self._known[0] != name:
            used = record_map(self._plan, announced)
            mapped = {
                silo: own if used is None else own.with_features(used.features(own.features))
                for silo, own in self._records.items()
            }
            self._known = name, mapped
        return self._known[1]


class ToMeasure:
    """A federation whose held-out records are as rounds use records; mapped once for every map."""

    def __init__(self, plan: Plan, federation: Federation) -> None:
        self._plan = plan
        self._federation = federation
        self._held_out = RecordsInUse(plan, {silo.name: silo.test for silo in federation.silos})

    def after(self, found: PreparedBy | None, *, training: bool = False) -> Federation:
        """Returns it after a preparation, or without what one found.

        Where records are prepared it has training records only if they are asked for, which takes time.
        """
        plan, federation = self._plan, self._federation
        announced = None if found is None else announced_map(plan, found)
        used = record_map(plan, announced)
        if used is None:
            return federation
        test = self._held_out.under(announced)

        def train(silo: Silo) -> Records:
            own = silo.train if training else silo.train.take(_NO_ROWS)
            return own.with_features(used.features(own.features))

        silos = tuple(
            dataclasses.replace(silo, test=test[silo.name], train=train(silo)) for silo in federation.silos
        )
        # Features of a projection have no names left.
        names = federation.feature_names if plan.model_shape == federation.feature_shape else ()
        return dataclasses.replace(
            federation, silos=silos, feature_shape=plan.model_shape, feature_names=names
        )


def prepared_arrays(found: PreparedBy | None) -> Arrays:
    """Returns a preparation as a checkpoint holds it; nothing where there was none."""
    if found is None:
        return {}
    return {_SUMS: found.sums, _SURVIVORS: np.array([found.survivors], dtype=np.int64)}


def prepared_from(arrays: Arrays) -> PreparedBy | None:
    """Returns the preparation that `prepared_arrays` gave."""
    if _SUMS not in arrays:
        return None
    return PreparedBy(np.asarray(arrays[_SUMS], dtype=np.float64), int(arrays[_SURVIVORS][0]))


def _asked(plan: Plan) -> Plan:
    if plan.preparation is None:
        raise ValueError("only a plan that prepares records asks them before the first round")
    return plan.preparation
