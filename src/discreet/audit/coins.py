"""The exact probability with which a silo's sampler lets one unit in, by bisection over its first word."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import numpy.typing as npt

from discreet.audit.canaries import crafted_records
from discreet.audit.findings import SamplingFinding
from discreet.audit.training import rehearsed_training
from discreet.data import Records
from discreet.engines.local import Prepared
from discreet.errors import UnsupportedAnalysisError
from discreet.learning import local_update
from discreet.models import flatten
from discreet.privacy.events import PoissonSampling
from discreet.randomness import Label, RandomSource, SeededRandom

_WORDS = 1 << 64


class OneWord(RandomSource):
    """Gives ``word`` to the first call, which decides who takes part, and seeded words to all later ones."""

    def __init__(self, word: int) -> None:
        super().__init__(bytes(32))
        self._word: int | None = word

    def derive(self, *labels: Label) -> OneWord:
        """Returns a source that has given its word already."""
        child = OneWord(int(SeededRandom(0).derive(*labels).words(1)[0]) >> 1)
        child._word = None
        return child

    def words(self, count: int) -> npt.NDArray[np.uint64]:
        """Returns the word, repeated, once."""
        if self._word is None:
            return super().words(count)
        word, self._word = self._word, None
        return np.full(count, word, dtype=np.uint64)


def sampling_finding(prepared: Prepared) -> SamplingFinding | None:
    """Measures the inclusion probability of the first silo's sampler; None if it tosses no coins.

    Guarantee:
        The probability is exact for samplers that include a unit when its first 64-bit word is below some
        threshold, as all here do.

    Raises:
        UnsupportedAnalysisError: if the sampler does not decide by such a threshold.
    """
    plan = prepared.plan
    if not isinstance(plan.release.sampling, PoissonSampling):
        return None
    claimed = plan.release.sampling.prob
    silo = plan.facts.silos[0]
    training = rehearsed_training(plan, silo)
    parameters = flatten(prepared.model)
    record: Records = crafted_records(plan, 1, SeededRandom(0))

    def enters(word: int) -> bool:
        return local_update(training, prepared.model, parameters, record, OneWord(word)).batch > 0

    if not enters(0) or enters(_WORDS - 1):
        raise UnsupportedAnalysisError(
            "the sampling audit needs a sampler that includes a unit whose 64-bit word is below a threshold; "
            f"{type(training).__name__} does not. Audit its sampler by counting."
        )
    low, high = 0, _WORDS - 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if enters(middle) else (low, middle)
    actual = Fraction(high, _WORDS)
    return SamplingFinding(silo, float(actual), claimed, is_larger=actual > Fraction(claimed))
