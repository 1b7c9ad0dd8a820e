"""The models that silos may still be training on, where a timetable lets them train on older ones."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.kinds import Timetable
from discreet.rounds.memory import Arrays

VERSIONS, _MODELS = "history.versions", "history.models"


@dataclass(frozen=True, slots=True)
class History:
    """Models by version, which is the number of releases that were charged before each.

    A release whose sum was lost made no model: whoever began after it began from the one before.

    Attributes:
        most_stale: how many releases old the oldest model is that a silo of the timetable begins on.
        window: how many models, up to the one of its base, a silo begins on the mean of.
        versions: ascending.
        models: of each version, shape ``(versions, dimension)``.
    """

    most_stale: int
    versions: tuple[int, ...]
    models: npt.NDArray[np.float64]
    window: int = 1

    @staticmethod
    def beginning(timetable: Timetable, parameters: npt.NDArray[np.float64]) -> History:
        """Returns the history of a training that starts from ``parameters``."""
        oldest = timetable.most_stale + timetable.window - 1
        return History(oldest, (0,), parameters[None], timetable.window)

    def version(self, base: int) -> npt.NDArray[np.float64]:
        """Returns the newest model of version ``base`` or before."""
        place = bisect_right(self.versions, base) - 1
        found: npt.NDArray[np.float64] = self.models[place]
        return found

    def begun_on(self, base: int) -> npt.NDArray[np.float64]:
        """Returns what a silo begins on whose base is ``base``: public, as the models are."""
        if self.window == 1:
            return self.version(base)
        mean: npt.NDArray[np.float64] = np.mean(
            [self.version(max(0, base - back)) for back in range(self.window)], axis=0
        )
        return mean

    def after(self, release: int, parameters: npt.NDArray[np.float64]) -> History:
        """Returns the history with the model after ``release``; what nobody can need any more goes."""
        versions = (*self.versions, release)
        # The newest of those that are too old is the base of silos that began in a gap of lost releases.
        old = sum(version <= release - self.most_stale for version in versions)
        first = max(0, old - 1)
        models = np.concatenate([self.models, parameters[None]])
        return replace(self, versions=versions[first:], models=models[first:])

    def to_arrays(self) -> Arrays:
        """Returns what a checkpoint must hold."""
        return {VERSIONS: np.array(self.versions, dtype=np.int64), _MODELS: self.models}

    def from_arrays(self, arrays: Mapping[str, npt.NDArray[Any]]) -> History:
        """Returns the history that `to_arrays` gave.

        Raises:
            KeyError: if one of its arrays is missing.
        """
        return replace(self, versions=tuple(int(one) for one in arrays[VERSIONS]), models=arrays[_MODELS])
