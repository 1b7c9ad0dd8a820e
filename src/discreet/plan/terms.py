"""From a plan to what the parties of secure aggregation agree on."""

from __future__ import annotations

import hashlib
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from discreet.errors import ConfigurationError
from discreet.plan.plan import Plan
from discreet.secagg import SumTerms


def require_sums(plan: Plan) -> None:
    """Refuses a plan that sums nothing in secret, where nothing else is carried out.

    Raises:
        ConfigurationError: saying what carries it out.
    """
    if not plan.thresholds.summed:
        raise ConfigurationError(
            "'training.schedule' must not be local over real silos, which send nothing but to a secure sum; "
            '`discreet run` carries it out. Take kind = "buffered" there.'
        )


def sum_terms(plan: Plan, session: bytes) -> SumTerms:
    """Returns what the parties of secure aggregation agree on; the plan's hash is bound into it.

    Raises:
        ConfigurationError: for a plan whose silos send by themselves.
    """
    require_sums(plan)
    return SumTerms(
        session=session,
        clients=plan.facts.silos,
        threshold=plan.thresholds.threshold,
        min_survivors=plan.thresholds.min_survivors,
        max_colluding=plan.thresholds.max_colluding,
        bits=plan.grid.bits,
        length=plan.grid.dimension,
        context=hashlib.sha256(f"{plan.digest()}/{plan.facts.model_digest}".encode()).digest(),
    )


def wire_terms(plan: Plan, session: bytes) -> SumTerms:
    """Returns the terms of one session that makes the sums of every part of a plan, in one public shape.

    Vectors are as long as the longest part's, and numbers as wide as the widest. A ring modulo a power of 2
    holds every smaller one, so each part's sum is that of a session of its own (`part_of_sum`).
    """
    grids = [part.grid for part in plan.every_part.values()]
    longest, widest = max(grid.dimension for grid in grids), max(grid.bits for grid in grids)
    return replace(sum_terms(plan, session), length=longest, bits=widest)


def filled(values: npt.NDArray[np.int64], length: int) -> npt.NDArray[np.int64]:
    """Returns a part's integers with zeros behind them, up to ``length``.

    Zeros are public and the same whatever the records are, so they carry no noise; nobody reads their sum.
    """
    return np.concatenate([values, np.zeros(length - len(values), dtype=np.int64)])


def part_of_sum(part: Plan, total: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """Returns what a session of this part alone would have summed: its coordinates, modulo its ring."""
    modulus = np.uint64((1 << part.grid.bits) - 1)
    return np.bitwise_and(total[: part.grid.dimension], modulus)
