"""What the release before the first round leaves behind: noisy histograms, and the map that they give."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from discreet.arrays import Floats
from discreet.data import Federation, Records
from discreet.data.standard import Standard, unscaled
from discreet.errors import PrivacyViolation
from discreet.kinds import Asked
from discreet.plan import Plan
from discreet.plan.preparation import places, standardising
from discreet.rounds.engine import RoundSum
from discreet.rounds.judging import noise_variance
from discreet.rounds.memory import Arrays
from discreet.statistics.standardise import centers_and_scales

_SUMS, _SURVIVORS = "prepared_sums", "prepared_survivors"


@dataclass(frozen=True, slots=True)
class PreparedBy:
    """The released sum of a preparation: noisy, and public.

    Attributes:
        sums: histograms of numbers one after the other, real units.
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
        Centre and scale of every number, shape ``(2, numbers)``.
    """
    asked = _asked(plan)
    training = asked.silo_training(asked.facts.silos[0])
    if not isinstance(training, Asked):
        raise TypeError("a preparation must ask questions")
    factor = training.blocks[0].factor
    counts = found.sums.reshape(len(training.blocks), -1) / factor
    variance = noise_variance(asked, found.survivors) / factor**2
    return centers_and_scales(counts, variance, floor=standardising(plan).floor)


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
    center, scale = values[length:].reshape(2, -1)
    floor = standardising(plan).floor
    # What is no number is in no range.
    if not bool((np.abs(center) <= 1.0).all() and ((floor <= scale) & (scale <= 1.0)).all()):
        raise PrivacyViolation(
            f"what records are prepared by must be centres in [-1, 1] and scales in [{floor:g}, 1]; one is "
            "not."
        )
    return values[:length], np.array([center, scale])


def standard_of(plan: Plan, announced: Floats) -> Standard:
    """Returns the map that announced values give; a public one of one record, whatever was announced."""
    bound = plan.facts.feature_norm_bound
    if bound is None:
        raise ValueError("records must be scaled to a norm to be standardised")
    return Standard.announced(places(plan), announced, floor=standardising(plan).floor, norm_bound=bound)


def to_measure(plan: Plan, federation: Federation, found: PreparedBy | None) -> Federation:
    """Returns a federation whose held-out records are as rounds use records, for measuring.

    They are as they were read where nothing was prepared, or its sum was lost.
    """
    if found is None:
        return federation
    standard = standard_of(plan, announced_map(plan, found))
    silos = tuple(
        dataclasses.replace(silo, test=silo.test.with_features(standard.features(silo.test.features)))
        for silo in federation.silos
    )
    return dataclasses.replace(federation, silos=silos)


class RecordsInUse:
    """Records of some silos, as a release uses them: mapped once for every map that is announced."""

    def __init__(self, plan: Plan, records: Mapping[str, Records]) -> None:
        self._plan = plan
        self._records = records
        self._known: tuple[bytes, Mapping[str, Records]] | None = None

    def as_asked(self) -> Mapping[str, Records]:
        """Returns the records with their numbers in public ranges, which a preparation asks."""
        return {
            name: own.with_features(np.clip(unscaled(own.features), -1.0, 1.0).astype(np.float32))
            for name, own in self._records.items()
        }

    def under(self, announced: Floats | None) -> Mapping[str, Records]:
        """Returns the records as a round uses them; as they were read where nothing is announced."""
        if announced is None:
            return self._records
        name = announced.tobytes()
        if self._known is None or self._known[0] != name:
            standard = standard_of(self._plan, announced)
            mapped = {
                silo: own.with_features(standard.features(own.features))
                for silo, own in self._records.items()
            }
            self._known = name, mapped
        return self._known[1]


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
        raise ValueError("only a plan that prepares records releases histograms of them")
    return plan.preparation
