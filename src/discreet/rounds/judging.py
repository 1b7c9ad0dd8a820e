"""What evaluations between rounds leave behind: released histograms of scores, and what they say."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from discreet.arrays import Floats
from discreet.kinds import Asked
from discreet.kinds.blocks import Cells
from discreet.mechanisms.polya import normal_variance
from discreet.plan import Plan
from discreet.privacy.events import PolyaNoise
from discreet.quality.intervals import Interval, percents
from discreet.rounds.engine import RoundSum
from discreet.rounds.memory import Arrays
from discreet.statistics import classification, evaluation

LEVEL = 0.95
"""Of every interval that is shown."""

_SUMS, _AFTER, _SURVIVORS = "evaluated_sums", "evaluated_after", "evaluated_survivors"


@dataclass(frozen=True, slots=True)
class Evaluated:
    """One released histogram of held-out units: noisy, and public.

    Attributes:
        after: the round after which it was asked.
        sums: real units, shape ``(cells,)``.
        survivors: silos whose units, and noise, are in it.
    """

    after: int
    sums: Floats
    survivors: int


@dataclass(frozen=True, slots=True)
class HeldOut:
    """How good a model is on the population that held-out units were drawn from; None where noise hides it.

    Attributes:
        accuracy: of naming the more probable class.
        auc: probability that a positive unit scores above a negative one; None for more than two classes.
    """

    accuracy: Interval | None
    auc: Interval | None

    def to_json(self) -> dict[str, list[float] | None]:
        """Returns value, low and high of each as plain JSON; None where noise hides it."""
        return {
            "accuracy": None if self.accuracy is None else list(self.accuracy),
            "auc": None if self.auc is None else list(self.auc),
        }

    def texts(self) -> list[str]:
        """Returns accuracy and AUC with their intervals for a person, and that noise hides what it hides."""
        hidden = "cannot be told at this noise"
        accuracy = hidden if self.accuracy is None else percents(self.accuracy)
        return [f"accuracy {accuracy}", *([] if self.auc is None else [f"AUC {_decimals(self.auc)}"])]


def _decimals(found: Interval) -> str:
    return f"{found.value:.3f} ({found.low:.3f} to {found.high:.3f})"


def evaluated(plan: Plan, release: int, outcome: RoundSum) -> Evaluated:
    """Returns what the secure sum of an evaluation released."""
    asked = _of(plan)
    return Evaluated(plan.order.round_of(release), asked.decoded(outcome.total, 1), len(outcome.survivors))


def held_out(plan: Plan, found: Evaluated) -> HeldOut:
    """Returns accuracy and AUC with intervals that hold sampling and noise: post-processing."""
    asked = _of(plan)
    block, factor = _block(asked)
    counts = (found.sums / factor).reshape(block.shape)[:, :-1]
    variance = noise_variance(asked, found.survivors) / factor**2
    if counts.ndim == 3:
        counts, variance = counts.sum(axis=2), variance * counts.shape[2]
    edges = block.axes[0].edges
    if edges:
        measured = evaluation(counts.ravel(), variance, edges, level=LEVEL)
        return HeldOut(measured.accuracy, measured.auc)
    classes = [str(number) for number in range(len(counts))]
    rows = classification(counts.ravel(), variance, classes, level=LEVEL)
    (_, value, low, high, *_) = next(row for row in rows if row.name == "accuracy")
    if value is None or low is None or high is None:
        return HeldOut(None, None)
    return HeldOut(Interval(value, low, high), None)


def stops(plan: Plan, found: tuple[Evaluated, ...]) -> bool:
    """Says whether a training ends before its last round: evaluations no longer improve.

    Those whose accuracy the noise hides say nothing, neither that it improved nor that it did not.
    """
    stop = None if plan.evaluating is None else plan.evaluating.stop
    if stop is None:
        return False
    known = [one.accuracy.value for one in (held_out(plan, each) for each in found) if one.accuracy]
    return bool(known) and len(known) - 1 - int(np.argmax(known)) >= stop.patience


def noise_variance(plan: Plan, survivors: int) -> float:
    """Returns the variance of the noise of every coordinate of a sum, real units, its rounding included.

    Of Laplace noise, whose tails are longer, it is that of the normal law that is as wide at `LEVEL`.

    Args:
        plan: what was carried out.
        survivors: silos in the sum; the ledger says how many.
    """
    share = plan.release.share
    if isinstance(share, PolyaNoise):
        return normal_variance(replace(share, num_silos=survivors), LEVEL)
    # A dithered rounding has a variance of at most a quarter of a grid unit's square.
    return survivors * (share.variance / share.num_silos + 0.25) / plan.grid.scale**2


def evaluated_arrays(found: tuple[Evaluated, ...]) -> Arrays:
    """Returns evaluations as a checkpoint holds them; nothing where there are none."""
    if not found:
        return {}
    return {
        _SUMS: np.stack([one.sums for one in found]),
        _AFTER: np.array([one.after for one in found], dtype=np.int64),
        _SURVIVORS: np.array([one.survivors for one in found], dtype=np.int64),
    }


def evaluated_from(arrays: Arrays) -> tuple[Evaluated, ...]:
    """Returns the evaluations that `evaluated_arrays` gave."""
    if _SUMS not in arrays:
        return ()
    columns: tuple[npt.NDArray[np.generic], ...] = (arrays[_AFTER], arrays[_SUMS], arrays[_SURVIVORS])
    return tuple(Evaluated(int(after), sums, int(count)) for after, sums, count in zip(*columns, strict=True))


def _of(plan: Plan) -> Plan:
    if plan.evaluation is None:
        raise ValueError("only a training that is evaluated releases histograms of held-out units")
    return plan.evaluation


def _block(asked: Plan) -> tuple[Cells, float]:
    training = asked.silo_training(asked.facts.silos[0])
    if not isinstance(training, Asked) or not isinstance(training.blocks[0].block, Cells):
        raise TypeError("an evaluation must be one histogram")
    return training.blocks[0].block, training.blocks[0].factor
