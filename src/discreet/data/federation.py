"""A federation: silos with their own training and test records, and what is publicly known of them."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass

import numpy as np

from discreet.data.labels import NUMBER, Outcome
from discreet.data.map_answers import MapAnswers
from discreet.data.norm import largest_norm
from discreet.data.records import Records
from discreet.errors import DataError, UnusableRecords


@dataclass(frozen=True, slots=True)
class Silo:
    """One data holder.

    Attributes:
        name: public name, unique in the federation.
        train: records that training may touch; the guarantee covers these. There may be none: the silo then
            takes part with nothing but its noise.
        test: held-out records; numbers measured on them are not covered by any guarantee.
        surplus: how many training records were left out because there were more than the capacity.
    """

    name: str
    train: Records
    test: Records
    surplus: int = 0


@dataclass(frozen=True, slots=True)
class Federation:
    """All silos of a simulation, with the public facts that sensitivities rest on.

    Attributes:
        name: what to call the data in plans and reports.
        silos: in a fixed public order.
        num_classes: labels are in ``[0, num_classes)``; `NUMBER` if they are places in the range of
            ``outcome``.
        feature_shape: shape of one record, the same at every silo.
        feature_norm_bound: R such that every record has L2 norm at most R, the constant feature included;
            None if no bound is promised.
        feature_names: one for each feature of flat records, else empty.
        attribution: who made the data, under which licence; empty if unknown.
        outcome: the public range of labels that are numbers; else None.
        warnings: for the owner of the records only: how many cells and rows could not be used as they are.
        guessed_pixels: whether bytes were taken for pixels without anybody's word.
        map_answers: what the feature map that made the records says of public ones, if its code or its
            weights are somebody's own.

    Raises:
        DataError: if any of this does not hold.
    """

    name: str
    silos: tuple[Silo, ...]
    num_classes: int
    feature_shape: tuple[int, ...]
    feature_norm_bound: float | None = None
    feature_names: tuple[str, ...] = ()
    attribution: str = ""
    warnings: tuple[str, ...] = ()
    outcome: Outcome | None = None
    guessed_pixels: bool = False
    map_answers: MapAnswers | None = None

    def __post_init__(self) -> None:
        if not self.num_classes >= 2 and self.outcome is None:
            raise DataError(f"num_classes must be at least 2; got {self.num_classes}.")
        if self.num_classes != NUMBER and self.outcome is not None:
            raise DataError(f"labels with a range must be without classes; got {self.num_classes}.")
        if not (self.feature_norm_bound is None or 0 < self.feature_norm_bound < math.inf):
            raise DataError(f"feature_norm_bound must be positive; got {self.feature_norm_bound}.")
        if self.feature_names and (len(self.feature_names),) != self.feature_shape:
            raise DataError(
                f"there must be one name for each feature; got {len(self.feature_names)} names "
                f"for records of shape {self.feature_shape}."
            )
        self._check_names()
        for silo in self.silos:
            self._check_silo(silo)

    def _check_names(self) -> None:
        """Refuses an empty federation, unnamed silos and two silos of one name."""
        if not self.silos:
            raise DataError(f"{self.name}: a federation must have at least one silo; got none.")
        count = Counter(silo.name for silo in self.silos)
        repeated = sorted(name for name, times in count.items() if times > 1 or not name.strip())
        if repeated:
            raise DataError(f"{self.name}: silos must have distinct, non-empty names; got {repeated[0]!r}.")

    def _check_silo(self, silo: Silo) -> None:
        """Refuses a silo that breaks a public fact; the sources of this package make none that does."""
        where = f"{self.name}, silo {silo.name!r}"
        for part in (silo.train, silo.test):
            if part.features.shape[1:] != self.feature_shape:
                raise DataError(
                    f"{where}: every record must have shape {self.feature_shape}; "
                    f"got {part.features.shape[1:]}."
                )
            outside = int((part.labels >= self.num_classes).sum())
            if outside and self.outcome is None:
                raise UnusableRecords(
                    f"{where}: labels must be in [0, {self.num_classes}); "
                    f"{outside} of {len(part)} records have a larger one. Raise num_classes."
                )
            bound = self.feature_norm_bound
            if bound is not None and not largest_norm(part.features) <= bound:
                raise UnusableRecords(
                    f"{where}: every record must have L2 norm at most {bound}; some are longer. "
                    "Scale the records, or raise feature_norm_bound."
                )

    @property
    def silo_names(self) -> tuple[str, ...]:
        """The names of the silos, in order."""
        return tuple(silo.name for silo in self.silos)

    def silo(self, name: str) -> Silo:
        """Returns the silo of that name.

        Raises:
            DataError: if there is none.
        """
        for silo in self.silos:
            if silo.name == name:
                return silo
        raise DataError(f"{self.name}: unknown silo {name!r}; there are {', '.join(self.silo_names)}.")

    def pooled_train(self) -> Records:
        """Returns all training records in one place: a comparison that a real federation cannot make."""
        return joined([silo.train for silo in self.silos])

    def pooled_test(self) -> Records:
        """Returns all test records, silo after silo."""
        return joined([silo.test for silo in self.silos])


def joined(parts: list[Records]) -> Records:
    """Returns all records of some parts, at least one; persons of different parts are different."""
    persons, first = [], 0
    for part in parts:
        if part.persons is not None:
            persons.append(part.persons + first)
            first += int(part.persons.max(initial=-1)) + 1
    return Records(
        np.concatenate([part.features for part in parts]),
        np.concatenate([part.labels for part in parts]),
        np.concatenate(persons) if persons else None,
    )
