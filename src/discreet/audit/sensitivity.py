"""Neighbouring silos under equal coins: how far one unit really moves an update."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from discreet.audit.canaries import crafted_records, is_exchange
from discreet.audit.findings import SensitivityFinding
from discreet.audit.training import rehearsed_training
from discreet.data import Records
from discreet.data.federation import joined
from discreet.data.labels import other_labels
from discreet.engines.local import Prepared
from discreet.errors import PrivacyViolation
from discreet.learning import local_update
from discreet.models import flatten
from discreet.privacy.units import Unit
from discreet.randomness import Label, RandomSource, SeededRandom

_WEIGHT_SCALES = (0.0, 0.1, 1.0, 10.0)
_FEATURE_SCALES = (1.0, 30.0)


class EqualCoins(RandomSource):
    """The first n words of call k are the same however many the call asks for.

    Silos draw one value a record and call, so a silo with one more record, at the end, sees the same coins
    for all the others: the coupling under which sensitivities are proven.
    """

    def __init__(self, seed: int) -> None:
        super().__init__(bytes(32))
        self._seed, self._calls = seed, 0

    def derive(self, *labels: Label) -> EqualCoins:
        """Returns another such source."""
        return EqualCoins(int(SeededRandom(self._seed).derive(*labels).words(1)[0]) >> 1)

    def words(self, count: int) -> npt.NDArray[np.uint64]:
        """Returns words that depend on the number of the call and the place only."""
        self._calls += 1
        return SeededRandom(self._seed).derive(self._calls).words(count)


def sensitivity_finding(
    prepared: Prepared, silo: str, *, trials: int, randomness: SeededRandom
) -> SensitivityFinding:
    """Adds a crafted unit to ``silo`` in many ways and measures how far the update moves.

    The unit is a real record with another label, or noise as large as the plan allows; the public model is
    the initial one or random weights. Where neighbours exchange a record, the unit takes the place of one,
    and twice the movement is claimed. For the client unit the neighbour has no records at all.
    """
    plan = prepared.plan
    training = rehearsed_training(plan, silo)
    initial = flatten(prepared.model)
    largest = 0.0
    for trial in range(trials):
        source = randomness.derive(trial)
        scale = _WEIGHT_SCALES[trial % len(_WEIGHT_SCALES)]
        parameters = initial + scale * (source.uniform(len(initial)) - 0.5)
        base, more = _neighbours(prepared, silo, trial, source)
        seed = int(source.words(1)[0]) >> 1
        try:
            with_unit, without = (
                local_update(training, prepared.model, parameters, records, EqualCoins(seed)).vector
                for records in (more, base)
            )
        except PrivacyViolation:
            # A run-time check stopped the round: nothing would have left the silo.
            continue
        largest = max(largest, float(np.linalg.norm(with_unit - without)))
    claimed = training.l2_sensitivity() * (2.0 if is_exchange(plan) else 1.0)
    return SensitivityFinding(silo, largest, claimed, trials)


def _neighbours(prepared: Prepared, silo: str, trial: int, source: SeededRandom) -> tuple[Records, Records]:
    """Returns a silo's records without and with one unit more, or with one unit for another."""
    plan = prepared.plan
    own = prepared.federation.silo(silo).train
    capacity = plan.capacities[plan.facts.silos.index(silo)]
    # A record that is exchanged makes room for the other one, also where there are empty places.
    units = np.arange(len(own)) if own.persons is None else np.unique(own.persons, return_inverse=True)[1]
    held = int(units.max(initial=-1)) + 1
    count = held - 1 if is_exchange(plan) else min(held, capacity - 1)
    base = own.take(units < count)
    if plan.unit is Unit.CLIENT:
        return own.take(np.arange(0)), own
    if trial % 2:
        unit = base.take(source.integers_below(1, len(base)))
        unit = Records(unit.features, other_labels(unit.labels, plan.facts.num_classes))
    else:
        unit = crafted_records(plan, 1, source)
        if plan.facts.feature_norm_bound is None:
            scale = _FEATURE_SCALES[trial // 2 % len(_FEATURE_SCALES)]
            unit = Records(unit.features * np.float32(scale), unit.labels)
    if base.persons is not None:
        unit = replace(unit, persons=np.zeros(len(unit), dtype=np.int64))
    more = joined([base, unit])
    return own if is_exchange(plan) else base, more
