"""From probabilities and labels to what is known of a model's quality."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, starmap

import numpy as np
import scipy

from discreet.arrays import Booleans, Floats, Integers
from discreet.errors import DataError
from discreet.quality.groups import members
from discreet.quality.intervals import Interval, bounded_mean, harmonic, mean_of, proportion, wilson
from discreet.quality.levels import assess_levels
from discreet.quality.owners import NOBODYS, Owners
from discreet.quality.quality import (
    MOST_CLASSES,
    MOST_GROUPS,
    AgainstBaseRate,
    ClassQuality,
    Group,
    LabelQuality,
    Quality,
    Verdict,
)
from discreet.quality.ranking import average_precision, precision_recall_curve, roc_area, roc_curve
from discreet.quality.sureness import Bin

_SIGNIFICANT = 0.05
_BINS = 10


def assess(
    probabilities: Floats,
    labels: Integers,
    *,
    classes: Sequence[str] | None = None,
    groups: Mapping[str, Sequence[str]] | None = None,
    owners: Owners = NOBODYS,
    ordinal: bool = False,
    several: Sequence[str] = (),
    threshold: float | None = None,
) -> Quality:
    """Measures a model's answers.

    Guarantee:
        The order of the records does not matter. Nothing is private.

    Args:
        probabilities: of each class, shape ``(n, k)``, n at least 1 and k at least 2; rows sum to 1.
        labels: shape ``(n,)``, in ``[0, k)``.
        classes: k names; left out, the numbers.
        groups: title, such as ``silo``, to one text for each record; records of an empty text are in none.
        owners: whose the records are; intervals and the test take all records of a person for alike.
        ordinal: whether the classes are levels in their order.
        several: names of K labels, if the 2^K classes are their combinations: bit k is the k-th label.
        threshold: the probability from which on the second of two classes is called; left out, the likeliest
            class is. Brier score, calibration, curves and the areas under them do not depend on it.

    Raises:
        DataError: if shapes do not fit, there is no record, or a number is not finite.

    Example:
        >>> found = assess(np.array([[0.9, 0.1], [0.2, 0.8], [0.6, 0.4]]), np.array([0, 1, 1]))
        >>> round(found.accuracy.value, 3), found.against.base_rate > 0.66, found.against.verdict.value
        (0.667, True, 'not distinguishable')
    """
    _check(probabilities, labels)
    num_classes = probabilities.shape[1]
    answers = _Answers(probabilities, called(probabilities, threshold), labels, owners)
    both = num_classes == 2 and 0 < int((labels == 1).sum()) < len(labels)
    second, positive = probabilities[:, 1], labels == 1
    few = num_classes <= MOST_CLASSES and not several
    texts = [str(number) for number in range(num_classes)] if classes is None else list(classes)
    return Quality(
        records=len(labels),
        accuracy=answers.share(answers.right),
        against=_against(answers),
        balanced_accuracy=_balanced(answers),
        brier=bounded_mean(_squared_errors(probabilities, labels), owners.worth()),
        classes=tuple(_class(texts[number], number, answers) for number in range(num_classes) if few),
        confusion=_confusion(answers.named, labels, num_classes) if few else (),
        calibration=_calibration(answers),
        roc=roc_curve(second, positive) if both else (),
        precision_recall=precision_recall_curve(second, positive) if both else (),
        groups=tuple(
            _group(title, name, answers.of(own))
            for title, name, own in islice(members(groups or {}, len(labels)), MOST_GROUPS)
        ),
        persons=owners.count,
        levels=assess_levels(answers.named, labels, owners) if ordinal else None,
        labels=tuple(starmap(answers.of_label, enumerate(several))) if several else None,
    )


@dataclass(frozen=True, slots=True, repr=False)
class _Answers:
    """What a model said of n records: probabilities ``(n, k)``, the class it named, the label, the owner."""

    probabilities: Floats
    named: Integers
    labels: Integers
    owners: Owners

    @property
    def right(self) -> Booleans:
        """Whether the named class is the label, shape ``(n,)``."""
        found: Booleans = self.named == self.labels
        return found

    def of(self, chosen: Booleans) -> _Answers:
        """Returns those of some of the records."""
        return _Answers(
            self.probabilities[chosen], self.named[chosen], self.labels[chosen], self.owners.among(chosen)
        )

    def of_label(self, place: int, name: str) -> LabelQuality:
        """Returns how good the answers are for one of several labels, by itself."""
        share = shares_of_labels(self.probabilities)[:, place]
        both = np.stack([1.0 - share, share], axis=1)
        own = _Answers(both, both.argmax(axis=1), self.labels >> place & 1, self.owners)
        return LabelQuality(own.share(own.right), _against(own), _class(name, 1, own))

    def part(self, hits: Booleans, chosen: Booleans) -> Interval | None:
        """Returns the share of ``hits`` among the chosen; None if there are none."""
        worth = self.owners.among(chosen).worth()
        return wilson(worth * int((hits & chosen).sum()), worth * int(chosen.sum()))

    def share(self, hits: Booleans) -> Interval:
        """Returns the share of ``hits``; at least one record."""
        return proportion(self.owners.worth() * int(hits.sum()), self.owners.worth() * len(hits))


def called(probabilities: Floats, threshold: float | None) -> Integers:
    """Returns the class that is named for each record: the likeliest; of two the second from a threshold on.

    Example:
        >>> called(np.array([[0.9, 0.1], [0.7, 0.3]]), 0.3).tolist()
        [0, 1]
    """
    named = probabilities.argmax(axis=1) if threshold is None else probabilities[:, 1] >= threshold
    return named.astype(np.int64)


def shares_of_labels(probabilities: Floats) -> Floats:
    """Returns the probability of the second value of each of K labels, from those of all combinations.

    Example:
        >>> shares_of_labels(np.array([[0.1, 0.2, 0.3, 0.4]])).round(6).tolist()
        [[0.6, 0.7]]
    """
    combinations = np.arange(probabilities.shape[1])
    held = combinations[:, None] >> np.arange(probabilities.shape[1].bit_length() - 1) & 1
    shares: Floats = np.minimum(probabilities @ held, 1.0)
    return shares


def _check(probabilities: Floats, labels: Integers) -> None:
    if not (
        probabilities.ndim == 2 and probabilities.shape[1] >= 2 and labels.shape == probabilities.shape[:1]
    ):
        raise DataError(
            "probabilities must have shape (n, k) with k at least 2, and labels shape (n,); "
            f"got {probabilities.shape} and {labels.shape}."
        )
    if not len(labels):
        raise DataError("A measurement needs at least one record; got none. Raise the test fraction.")
    if not np.isfinite(probabilities).all():
        raise DataError("probabilities must be finite; the model gives NaN or Inf for some records.")
    if not 0 <= labels.min() <= labels.max() < probabilities.shape[1]:
        raise DataError(
            f"labels must be in [0, {probabilities.shape[1]}); some lie outside. Raise num_classes."
        )


def _against(answers: _Answers) -> AgainstBaseRate:
    always, right = answers.labels == np.bincount(answers.labels).argmax(), answers.right
    gained, lost = int((right & ~always).sum()), int((always & ~right).sum())
    worth = answers.owners.among(right != always).worth()
    some, others = math.ceil(worth * gained), math.ceil(worth * lost)
    p_value = float(scipy.stats.binomtest(some, some + others).pvalue) if gained + lost else 1.0
    verdict = Verdict.NOT_DISTINGUISHABLE
    if p_value <= _SIGNIFICANT:
        verdict = Verdict.ABOVE if gained > lost else Verdict.BELOW
    return AgainstBaseRate(float(always.mean()), gained, lost, p_value, verdict)


def _balanced(answers: _Answers) -> Interval:
    parts = [answers.of(answers.labels == number) for number in np.unique(answers.labels)]
    return mean_of([part.share(part.right) for part in parts])


def _squared_errors(probabilities: Floats, labels: Integers) -> Floats:
    """Returns half the squared distance from the label's indicator, in [0, 1] for each record."""
    wanted = np.zeros_like(probabilities)
    wanted[np.arange(len(labels)), labels] = 1.0
    errors: Floats = np.square(probabilities - wanted).sum(axis=1) / 2
    return errors


def _class(name: str, number: int, answers: _Answers) -> ClassQuality:
    positive, chosen = answers.labels == number, answers.named == number
    hits, scores = positive & chosen, answers.probabilities[:, number]
    worth = answers.owners.among(positive | chosen).worth()
    return ClassQuality(
        name=name,
        records=int(positive.sum()),
        recall=answers.part(hits, positive),
        precision=answers.part(hits, chosen),
        f1=harmonic(worth * int(hits.sum()), worth * int((positive ^ chosen).sum())),
        auc=roc_area(scores, positive, answers.owners),
        average_precision=average_precision(scores, positive, answers.owners),
    )


def _confusion(named: Integers, labels: Integers, num_classes: int) -> tuple[tuple[int, ...], ...]:
    counts = np.bincount(labels * num_classes + named, minlength=num_classes**2)
    return tuple(tuple(row) for row in counts.reshape(num_classes, num_classes).tolist())


def _calibration(answers: _Answers) -> tuple[Bin, ...]:
    """Returns bins between quantiles of the stated probability; equal ones stay together."""
    probabilities = answers.probabilities
    if probabilities.shape[1] == 2:
        stated, happened = probabilities[:, 1], answers.labels == 1
    else:
        stated, happened = probabilities.max(axis=1), answers.right
    inner = np.percentile(stated, 100 * np.linspace(0, 1, _BINS + 1))[1:-1]
    place = np.searchsorted(np.unique(inner), stated)
    return tuple(
        Bin(
            int(inside.sum()),
            float(np.sort(stated[inside]).mean()),
            answers.of(inside).share(happened[inside]),
        )
        for inside in (place == number for number in np.unique(place))
    )


def _group(title: str, name: str, answers: _Answers) -> Group:
    second = None
    if answers.probabilities.shape[1] == 2:
        second = _class("", 1, answers)
    return Group(
        by=title,
        name=name,
        records=len(answers.labels),
        base_rate=_against(answers).base_rate,
        accuracy=answers.share(answers.right),
        balanced_accuracy=_balanced(answers),
        recall=None if second is None else second.recall,
        precision=None if second is None else second.precision,
        auc=None if second is None else second.auc,
    )
