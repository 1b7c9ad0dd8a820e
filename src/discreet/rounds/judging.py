"""What evaluations between rounds leave behind: released histograms of scores, and what they say."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from discreet.arrays import Floats
from discreet.kinds.blocks import Cells
from discreet.kinds.questions import EvaluationQuestion
from discreet.mechanisms.polya import normal_variance
from discreet.plan import Plan
from discreet.plan.held_out import judges_balanced
from discreet.privacy.events import PolyaNoise
from discreet.privacy.ledger import Spending
from discreet.quality.intervals import Interval, percents
from discreet.rounds.engine import RoundSum
from discreet.rounds.memory import Arrays
from discreet.statistics import classification, evaluation
from discreet.statistics.evaluation import HALF, balanced_accuracy, called_at, from_edge, is_half, root_level

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
        accuracy: of naming the more probable class; of two, the second one from the threshold on.
        auc: probability that a positive unit scores above a negative one; None for more than two classes.
        balanced: mean of the recalls of all classes; None as well where nothing is chosen by it.
        by_balanced: whether evaluations are compared by that, in place of the accuracy.
        threshold: from which probability on the second of two classes is called.
    """

    accuracy: Interval | None
    auc: Interval | None
    balanced: Interval | None = None
    by_balanced: bool = False
    threshold: float = HALF

    @property
    def compared(self) -> Interval | None:
        """What evaluations are compared by."""
        return self.balanced if self.by_balanced else self.accuracy

    @property
    def shares(self) -> dict[str, Interval | None]:
        """The accuracies, by what they are called: with the threshold where it is not one half."""
        balanced = {called_at("balanced accuracy", self.threshold): self.balanced} if self.by_balanced else {}
        return {called_at("accuracy", self.threshold): self.accuracy, **balanced}

    def to_json(self) -> dict[str, list[float] | float | None]:
        """Returns value, low and high of each as plain JSON; None where noise hides it.

        Balanced accuracy and threshold are there where evaluations are compared by the one, and call by
        another than one half.
        """
        found = {"accuracy": self.accuracy, "auc": self.auc}
        if self.by_balanced:
            found["balanced_accuracy"] = self.balanced
        called = {} if is_half(self.threshold) else {"threshold": self.threshold}
        return {name: None if one is None else list(one) for name, one in found.items()} | called

    def texts(self) -> list[str]:
        """Returns all measures with their intervals for a person, and that noise hides what it hides."""
        hidden = "cannot be told at this noise"
        shares = [f"{name} {hidden if one is None else percents(one)}" for name, one in self.shares.items()]
        return [*shares, *([] if self.auc is None else [f"AUC {_decimals(self.auc)}"])]


def _decimals(found: Interval) -> str:
    return f"{found.value:.3f} ({found.low:.3f} to {found.high:.3f})"


def evaluated(plan: Plan, release: int, outcome: RoundSum) -> Evaluated:
    """Returns what the secure sum of an evaluation released."""
    asked = _of(plan)
    return Evaluated(plan.order.round_of(release), asked.decoded(outcome.total, 1), len(outcome.survivors))


def held_out(plan: Plan, found: Evaluated, *, among: int = 1) -> HeldOut:
    """Returns all measures with intervals that hold sampling and noise: post-processing.

    Args:
        plan: what was carried out.
        found: one of its evaluations.
        among: out of how many it was chosen by what they said. The intervals hold that choice: so many
            hold their truths all at once with the probability that one does by itself (Bonferroni).
    """
    level = 1.0 - (1.0 - LEVEL) / among
    asked = _of(plan)
    counts, variance = _counts(asked, found, level)
    edges, classes = _block(asked)[0].axes[0].edges, counts.shape[1]
    threshold, called = HALF, np.arange(classes)
    if edges:
        (question,) = asked.questions
        threshold = question.called_from(edges) if isinstance(question, EvaluationQuestion) else HALF
        called = from_edge(edges, threshold).astype(np.int64)
    by_balanced, balanced = judges_balanced(plan), None
    if by_balanced:
        cells, noise = _counts(asked, found, root_level(level, classes))
        balanced = balanced_accuracy(cells.ravel(), noise, called, level=level)
    if edges:
        measured = evaluation(counts.ravel(), variance, edges, threshold=threshold, level=level)
        return HeldOut(measured.accuracy, measured.auc, balanced, by_balanced, threshold)
    rows = classification(counts.ravel(), variance, [str(number) for number in range(classes)], level=level)
    (_, value, low, high, *_) = next(row for row in rows if row.name == "accuracy")
    known = value is not None and low is not None and high is not None
    accuracy = Interval(value, low, high) if known else None  # type: ignore[arg-type]
    return HeldOut(accuracy, None, balanced, by_balanced)


def _counts(asked: Plan, found: Evaluated, level: float) -> tuple[Floats, float]:
    """Returns counts by score and label, over all groups, with the variance of each at a level."""
    block, factor = _block(asked)
    counts = (found.sums / factor).reshape(block.shape)[:, :-1]
    variance = noise_variance(asked, found.survivors, level) / factor**2
    return counts if counts.ndim == 2 else counts.sum(axis=2), variance * int(np.prod(counts.shape[2:]))


def stops(plan: Plan, found: tuple[Evaluated, ...]) -> bool:
    """Says whether a training ends before its last round: evaluations no longer improve.

    Those whose measure the noise hides say nothing, neither that it improved nor that it did not.
    """
    stop = None if plan.evaluating is None else plan.evaluating.stop
    if stop is None:
        return False
    known = _told(plan, found)
    return bool(known) and len(known) - 1 - int(np.argmax([value for value, _ in known])) >= stop.patience


def best(plan: Plan, found: tuple[Evaluated, ...]) -> Evaluated | None:
    """Returns the evaluation whose model is released: best by what the plan compares, the first of equals.

    None where the plan keeps the last model, or noise hides all of them: then it is the last one.
    """
    if not plan.keeps_best:
        return None
    return max(_told(plan, found), key=lambda one: one[0], default=(0.0, None))[1]


def rounds_made(plan: Plan, spent: Spending, found: tuple[Evaluated, ...]) -> int:
    """Returns how many completed rounds led to the released model: up to the evaluation that kept it."""
    chosen = best(plan, found)
    rounds = (one.release for one in spent.completed if plan.order.trains(one.release))
    return sum(chosen is None or plan.order.round_of(release) <= chosen.after for release in rounds)


def summary_of_rounds(plan: Plan, spent: Spending, found: tuple[Evaluated, ...]) -> dict[str, int]:
    """Returns how many rounds were planned, completed and lost, as plain JSON; others are no rounds.

    Where the best model is kept, it says after which round that one was. Aborted are attempts at any release.
    """
    chosen, trains = best(plan, found), plan.order.trains
    return {
        "planned": plan.rounds,
        "completed": sum(trains(one.release) for one in spent.completed),
        "lost": sum(map(trains, spent.lost)),
        "aborted": spent.aborted,
        **({} if chosen is None else {"kept": chosen.after}),
    }


def summary_of_evaluations(plan: Plan, spent: Spending) -> dict[str, int] | None:
    """Returns how many evaluations were planned, completed and lost, as plain JSON; None without any planned.

    A training that ended because they no longer improved has some that are neither.
    """
    if plan.evaluation is None:
        return None
    asks = plan.order.evaluates
    return {
        "planned": plan.order.evaluations,
        "completed": sum(asks(one.release) for one in spent.completed),
        "lost": sum(map(asks, spent.lost)),
    }


def said_of_released(plan: Plan, found: tuple[Evaluated, ...]) -> HeldOut | None:
    """Returns what evaluations say of the released model: the best one, or the last; None without any."""
    chosen = best(plan, found)
    if chosen is not None:
        return held_out(plan, chosen, among=len(_told(plan, found)))
    return held_out(plan, found[-1]) if found else None


def _told(plan: Plan, found: tuple[Evaluated, ...]) -> list[tuple[float, Evaluated]]:
    """Returns the evaluations whose measure noise does not hide, each behind it."""
    each = ((held_out(plan, one).compared, one) for one in found)
    return [(measure.value, one) for measure, one in each if measure is not None]


def noise_variance(plan: Plan, survivors: int, level: float = LEVEL) -> float:
    """Returns the variance of the noise of every coordinate of a sum, real units, its rounding included.

    Of Laplace noise, whose tails are longer, it is that of the normal law that is as wide at ``level``.

    Args:
        plan: what was carried out.
        survivors: silos in the sum; the ledger says how many.
        level: of the intervals that it is for.
    """
    share = plan.release.share
    if isinstance(share, PolyaNoise):
        return normal_variance(replace(share, num_silos=survivors), level)
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
    (histogram,) = asked.answers.blocks
    if not isinstance(histogram.block, Cells):
        raise TypeError("an evaluation must be one histogram")
    return histogram.block, histogram.factor
