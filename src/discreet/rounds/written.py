"""Whether arrays on disk are the state of a training, as its own releases write it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import reduce
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.plan import Plan
from discreet.privacy.ledger import Completed
from discreet.privacy.wire import Json
from discreet.rounds.history import VERSIONS, History
from discreet.rounds.judging import evaluated_from
from discreet.rounds.memory import Arrays
from discreet.rounds.preparing import prepared_from
from discreet.rounds.state import Training, initial_state


def written_state(plan: Plan, arrays: Arrays) -> Training | None:
    """Returns the state of a training of ``plan`` that writes exactly these arrays; None if none does.

    Weights, the server rule's memory and a moving norm have the types and shapes of the first state, and all
    models and sums those of the plan.
    """
    dimension = plan.facts.dimension
    first = initial_state(plan, np.zeros(dimension))
    try:
        state = first.from_arrays(arrays)
        alike = _bytes(state.to_arrays()) == _bytes(arrays)
    except (KeyError, ValueError, TypeError, IndexError, AttributeError, ArithmeticError):
        return None
    history, evaluation, preparation = state.history, plan.evaluation, plan.preparation
    first_arrays = first.to_arrays()
    vectors = [(state.kept, dimension)]
    vectors += [
        (one.sums, 0 if evaluation is None else evaluation.facts.dimension) for one in state.evaluated
    ]
    if state.prepared is not None:
        vectors.append((state.prepared.sums, 0 if preparation is None else preparation.facts.dimension))
    if history is not None:
        first_arrays = {name: one for name, one in first_arrays.items() if not name.startswith("history.")}
        alike = alike and len(history.versions) == len(history.models) > 0
        vectors += [(one, dimension) for one in history.models]
    alike = alike and all(_form(arrays[name]) == _form(one) for name, one in first_arrays.items())
    fits = all(one is None or _form(one) == ("float64", (size,)) for one, size in vectors)
    return state if alike and fits else None


def counts_stated(arrays: Arrays) -> Json:
    """Returns what a state says of the releases behind it: survivors, the server's rounds, whose models."""
    found, versions = prepared_from(arrays), arrays.get(VERSIONS)
    rounds = (one for name, one in arrays.items() if re.fullmatch(r"server\.(.+\.)?rounds", name))
    return {
        "prepared": [] if found is None else [found.survivors],
        "evaluated": [[one.after, one.survivors] for one in evaluated_from(arrays)],
        "rounds": [one.tolist() for one in rounds],
        "versions": [] if versions is None else versions.tolist(),
    }


def counts_completed(plan: Plan, completed: Sequence[Completed]) -> Json:
    """Returns what `counts_stated` is for a state behind these releases."""
    order, none = plan.order, np.zeros(0)
    trained = [one.release for one in completed if order.trains(one.release)]
    versions: tuple[int, ...] = ()
    if plan.timetable is not None:
        versions = reduce(
            lambda history, release: history.after(release, none),
            trained,
            History.beginning(plan.timetable, none),
        ).versions
    return {
        "prepared": [len(one.survivors) for one in completed if order.prepares(one.release)],
        "evaluated": [
            [order.round_of(one.release), len(one.survivors)]
            for one in completed
            if order.evaluates(one.release)
        ],
        "rounds": [[len(trained)]],
        "versions": list(versions),
    }


def _form(one: npt.NDArray[Any]) -> tuple[str, tuple[int, ...]]:
    return str(one.dtype), one.shape


def _bytes(arrays: Arrays) -> dict[str, tuple[str, tuple[int, ...], bytes]]:
    return {name: (*_form(one), one.tobytes()) for name, one in arrays.items()}
