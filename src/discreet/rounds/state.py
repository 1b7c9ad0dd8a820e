"""What a round turns into the next: the public state, and the step from it that only a secure sum enters."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.encoding import Rotation
from discreet.kinds import QuantileClipping
from discreet.kinds.model_facts import LEAST_VARIANCE
from discreet.plan import Plan
from discreet.plan.counted import divisor
from discreet.rounds.engine import RoundOrder, RoundSum, Start
from discreet.rounds.history import History
from discreet.rounds.judging import Evaluated, best, evaluated, evaluated_arrays, evaluated_from, stops
from discreet.rounds.memory import Arrays, from_arrays, to_arrays
from discreet.rounds.preparing import (
    PreparedBy,
    announced_map,
    prepared_arrays,
    prepared_by,
    prepared_from,
)

Vector = npt.NDArray[np.float64]

_PARAMETERS, _CLIP_NORM = "parameters", "clip_norm"
KEPT = "kept"
"""Where a saved state holds the best model, if that is released."""


@dataclass(frozen=True, slots=True)
class Training:
    """The public state between two rounds.

    Attributes:
        parameters: the weights of the model, shape ``(d,)``.
        server: the server rule's own state.
        clip_norm: the clipping norm of the next round if it follows a quantile; None if it does not move.
        history: the models before this one that a timetable still needs; None without one.
        evaluated: what held-out units were asked so far, in order.
        prepared: what training units were asked before the first round; None before that, without it, and
            where its sum was lost: records are then used as they are read.
        kept: the model of the best evaluation so far, where that is released; None where the last one is.
    """

    parameters: Vector
    server: Any
    clip_norm: float | None = None
    history: History | None = None
    evaluated: tuple[Evaluated, ...] = ()
    prepared: PreparedBy | None = None
    kept: Vector | None = None

    @property
    def released(self) -> Vector:
        """The weights that are released if the training ends here."""
        return self.parameters if self.kept is None else self.kept

    def announced(self) -> Vector:
        """Returns what the next round starts from, as every silo is told: weights, then a moving norm."""
        return self.parameters if self.clip_norm is None else np.append(self.parameters, self.clip_norm)

    def to_arrays(self) -> Arrays:
        """Returns everything that a checkpoint must hold, by name."""
        arrays = {_PARAMETERS: self.parameters, **to_arrays(self.server)}
        if self.clip_norm is not None:
            arrays[_CLIP_NORM] = np.array([self.clip_norm])
        if self.history is not None:
            arrays |= self.history.to_arrays()
        if self.kept is not None:
            arrays[KEPT] = self.kept
        return arrays | evaluated_arrays(self.evaluated) | prepared_arrays(self.prepared)

    def from_arrays(self, arrays: Arrays) -> Training:
        """Returns the state of the same training that `to_arrays` gave.

        Raises:
            KeyError: if one of its arrays is missing.
        """
        clip_norm = None if self.clip_norm is None else float(arrays[_CLIP_NORM][0])
        history = None if self.history is None else self.history.from_arrays(arrays)
        server, asked = from_arrays(self.server, arrays), evaluated_from(arrays)
        kept = arrays.get(KEPT)
        return Training(arrays[_PARAMETERS], server, clip_norm, history, asked, prepared_from(arrays), kept)


def released_from(arrays: Arrays) -> Vector:
    """Returns the weights that a saved state releases: the best ones where these are kept, or the last."""
    return np.asarray(arrays.get(KEPT, arrays[_PARAMETERS]), dtype=np.float64)


def initial_state(plan: Plan, parameters: Vector) -> Training:
    """Returns the state before the first round, from the public initial weights."""
    rule = plan.norm_rule
    clip_norm = None if rule is None else rule.initial
    history = None if plan.timetable is None else History.beginning(plan.timetable, parameters)
    return Training(parameters, plan.server_rule.init(len(parameters)), clip_norm, history)


def round_order(plan: Plan, state: Training, release: int, sequence: int) -> RoundOrder:
    """Returns what the server asks in a release that starts from ``state``.

    Args:
        plan: what was agreed.
        state: after all releases before.
        release: its number, from 1.
        sequence: place of its intent in the ledger.
    """
    timetable, history = plan.timetable, state.history
    if timetable is None or history is None:
        return RoundOrder(release, sequence, state.announced(), prepared=told(plan, state))
    turns = timetable.sums[release - 1].turns
    # One array a version, by whose identity silos that start alike are told.
    models = {base: history.begun_on(base) for base in {turn.base for turn in turns}}
    starts = {turn.silo: Start(models[turn.base], turn.weight) for turn in turns}
    return RoundOrder(release, sequence, state.announced(), starts)


def announced_digest(plan: Plan, state: Training, release: int) -> str:
    """Returns the SHA-256 of what silos are told before a release: the newest model, and their map."""
    own = state.parameters if plan.order.evaluates(release) else state.announced()
    return RoundOrder(release, 0, own, prepared=told(plan, state)).context().hex()


def update(
    plan: Plan, state: Training, release: int, outcome: RoundSum, rotation: Rotation | None = None
) -> Training:
    """Returns the state after the server's update with a secure sum: post-processing of what is released."""
    total = plan.decoded(outcome.total, release, rotation)
    units = divisor(plan, release, outcome.survivors)
    rule, norm = plan.norm_rule, state.clip_norm
    if rule is not None and norm is not None:
        total, norm = _unscaled(rule, norm, total, units)
    server, parameters = plan.server_rule.step(state.server, state.parameters, total / units, plan.rounds)
    parameters = _with_variances(parameters, plan.facts.batch_norm_channels)
    history = None if state.history is None else state.history.after(release, parameters)
    return replace(state, parameters=parameters, server=server, clip_norm=norm, history=history)


def told(plan: Plan, state: Training) -> Vector | None:
    """Returns what silos are told to prepare records by; None for records as they are read."""
    return None if state.prepared is None else announced_map(plan, state.prepared)


def prepare(plan: Plan, state: Training, outcome: RoundSum) -> Training:
    """Returns the state after a preparation: the same model, and what training units were asked."""
    return replace(state, prepared=prepared_by(plan, outcome))


def judge(plan: Plan, state: Training, release: int, outcome: RoundSum) -> Training:
    """Returns the state after an evaluation: the same model, and what its held-out units were asked."""
    found = (*state.evaluated, evaluated(plan, release, outcome))
    kept = state.parameters if best(plan, found) is found[-1] else state.kept
    return replace(state, evaluated=found, kept=kept)


def over(plan: Plan, state: Training, charged: int) -> bool:
    """Says whether nothing more is released: all that was planned is charged, or evaluations say to stop."""
    return charged >= plan.releases or stops(plan, state.evaluated)


def _with_variances(parameters: Vector, channels: int) -> Vector:
    """Returns the weights with running variances of at least `LEAST_VARIANCE`, whatever noise did to them."""
    if channels == 0:
        return parameters
    variances = np.maximum(parameters[-channels:], LEAST_VARIANCE)
    return np.concatenate([parameters[:-channels], variances])


def _unscaled(rule: QuantileClipping, norm: float, total: Vector, units: float) -> tuple[Vector, float]:
    """Returns the sum of updates in real units, without the count, and the norm that the count leads to."""
    return total[:-1] * norm, rule.next_norm(norm, float(total[-1]), units)
