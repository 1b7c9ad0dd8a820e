"""What is known of a classifier's quality on some records."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from itertools import accumulate
from typing import Annotated

from pydantic import Field

from discreet.quality.intervals import Interval
from discreet.quality.sureness import STRICT, Bin, Sureness, sureness

MOST_CLASSES = 20
"""With more classes there is no row for each and no confusion matrix."""

MOST_GROUPS = 400

_Short = Annotated[str, Field(max_length=2000)]


class Verdict(Enum):
    """What the records say of the accuracy beside the base rate."""

    ABOVE = "above"
    NOT_DISTINGUISHABLE = "not distinguishable"
    BELOW = "below"


@dataclass(frozen=True, slots=True)
class AgainstBaseRate:
    """The model beside one that always names the commonest class, record by record.

    Attributes:
        base_rate: accuracy of always naming the commonest class.
        gained: records that the model has right and the other has wrong.
        lost: records that the other has right and the model has wrong.
        p_value: exact probability of such a difference or a larger one if neither were better (McNemar).
        verdict: ``above`` or ``below`` if the p-value is at most 0.05.
    """

    __pydantic_config__ = STRICT

    base_rate: float
    gained: int
    lost: int
    p_value: float
    verdict: Verdict


@dataclass(frozen=True, slots=True)
class ClassQuality:
    """One class against all others; None where there is nothing to divide by.

    Attributes:
        name: of the class.
        records: how many are of it.
        recall: share of its records that the model names so.
        precision: share of the records named so that are of it.
        f1: harmonic mean of both.
        auc: area under the ROC curve of its probability.
        average_precision: area under the precision-recall curve of its probability.
    """

    __pydantic_config__ = STRICT

    name: _Short
    records: int
    recall: Interval | None
    precision: Interval | None
    f1: Interval | None
    auc: Interval | None
    average_precision: Interval | None


@dataclass(frozen=True, slots=True)
class Group:
    """The records that have one thing in common, such as the silo.

    Attributes:
        by: what divides the records, such as ``silo``.
        name: what these have.
        records: how many.
        base_rate: accuracy of always naming their commonest class.
        accuracy: share that the model has right.
        balanced_accuracy: mean recall over the classes that occur.
        recall: two classes: of the second.
        precision: two classes: of the second.
        auc: two classes.
    """

    __pydantic_config__ = STRICT

    by: _Short
    name: _Short
    records: int
    base_rate: float
    accuracy: Interval
    balanced_accuracy: Interval
    recall: Interval | None
    precision: Interval | None
    auc: Interval | None


@dataclass(frozen=True, slots=True)
class LevelQuality:
    """How far off the likeliest level is, where classes are levels in an order.

    Attributes:
        error: mean number of levels between the likeliest one and the label.
        constant_error: that of the best constant, the median level of these very labels.
        kappa: Cohen's, with quadratic weights: 1 is agreement, 0 what chance brings; None where all labels
            and all answers are one level.
    """

    __pydantic_config__ = STRICT

    error: Interval
    constant_error: float
    kappa: float | None


@dataclass(frozen=True, slots=True)
class LabelQuality:
    """One of several labels by itself.

    Attributes:
        accuracy: share of records whose likelier value is their label's.
        against: the accuracy beside the base rate.
        second: the label's second value against its first; by the label's own name.
    """

    __pydantic_config__ = STRICT

    accuracy: Interval
    against: AgainstBaseRate
    second: ClassQuality


@dataclass(frozen=True, slots=True)
class Quality:
    """A model on n labelled records. Not private: exact functions of these records.

    Of several labels, every combination of theirs is a class: the accuracy is the share of records of which
    all labels are right.

    Attributes:
        records: n.
        accuracy: share of records whose likeliest class is their label.
        against: the accuracy beside the base rate.
        balanced_accuracy: mean recall over the classes that occur.
        brier: mean squared error of the probabilities, half the sum over classes; 0 is best, 1 worst. Of
            two classes it is what scikit-learn calls so; of more, half of that.
        classes: a row for each class, in order; empty if there are more than `MOST_CLASSES`.
        confusion: records by label (row) and likeliest class (column); empty likewise.
        calibration: at most ten bins of about as many records.
        roc: two classes that both occur: (false-positive rate, true-positive rate), else empty.
        precision_recall: two classes that both occur: (recall, precision), else empty.
        groups: the same by silo and by public columns.
        persons: whose the records are, where several may be one person's; intervals count these then.
        levels: how far off the levels are; None of classes without an order.
        labels: each of several labels by itself, in order; None where there is one.
    """

    __pydantic_config__ = STRICT

    records: int
    accuracy: Interval
    against: AgainstBaseRate
    balanced_accuracy: Interval
    brier: Interval
    classes: Annotated[tuple[ClassQuality, ...], Field(max_length=MOST_CLASSES)]
    confusion: Annotated[tuple[tuple[int, ...], ...], Field(max_length=MOST_CLASSES)]
    calibration: Annotated[tuple[Bin, ...], Field(max_length=10)]
    roc: Annotated[tuple[tuple[float, float], ...], Field(max_length=100)]
    precision_recall: Annotated[tuple[tuple[float, float], ...], Field(max_length=100)]
    groups: Annotated[tuple[Group, ...], Field(max_length=MOST_GROUPS)]
    persons: int | None = None
    levels: LevelQuality | None = None
    labels: Annotated[tuple[LabelQuality, ...], Field(max_length=8)] | None = None

    @property
    def sureness(self) -> Sureness:
        """Whether probabilities are as large as they should be, by the bins of `calibration`."""
        second = self.classes[1].name if len(self.classes) == 2 else None
        return sureness(self.calibration, second=second)

    @property
    def warning(self) -> str:
        """What one constant answer does as well or better: the accuracy, and the levels; else nothing."""
        return " ".join(filter(None, (self._of_accuracy, self._of_levels, self._of_labels)))

    @property
    def _of_labels(self) -> str:
        """One sentence if some labels are named no better than by their commoner value."""
        told = [one for one in self.labels or () if one.against.verdict is not Verdict.ABOVE]
        if not told:
            return ""
        names = ", ".join(one.second.name for one in told)
        return (
            "By itself, no better than always naming the commoner value, or not to be told from it: "
            f"{names}. Look at recall and precision of each."
        )

    @property
    def _of_levels(self) -> str:
        """One sentence if levels are further off than always naming the median, with those that are."""
        if self.levels is None or not self.levels.error.value > self.levels.constant_error:
            return ""
        named = ", ".join(self._levels_off)
        where = f"; the model is further off at: {named}" if named else ""
        return (
            f"The likeliest level is off by {self.levels.error.value:.3g} on average, and always naming the "
            f"median level by {self.levels.constant_error:.3g}{where}."
        )

    @property
    def _levels_off(self) -> tuple[str, ...]:
        """The levels whose records the model is further off at than naming the median level would be."""
        of_level = [sum(row) for row in self.confusion]
        below = list(accumulate(of_level))
        median = next((place for place, count in enumerate(below) if 2 * count >= below[-1]), 0)
        return tuple(
            one.name
            for level, (one, row) in enumerate(zip(self.classes, self.confusion, strict=True))
            if sum(count * abs(named - level) for named, count in enumerate(row))
            > of_level[level] * abs(median - level)
        )

    @property
    def _of_accuracy(self) -> str:
        base, n = f"{100 * self.against.base_rate:.1f} %", f"{self.records} records"
        found = f"The accuracy, {100 * self.accuracy.value:.1f} % of {n}, "
        advice = " Look at recall and precision before anybody uses the model."
        match self.against.verdict:
            case Verdict.ABOVE:
                return ""
            case Verdict.BELOW:
                return f"{found}is below that of always naming the commonest class, {base}.{advice}"
            case Verdict.NOT_DISTINGUISHABLE:
                return (
                    f"{found}cannot be told from that of always naming the commonest class, {base}.{advice}"
                )
