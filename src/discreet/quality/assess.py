"""From probabilities and labels to what is known of a model's quality."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import scipy

from discreet.arrays import Booleans, Floats, Integers
from discreet.errors import DataError
from discreet.quality.intervals import Interval, bounded_mean, harmonic, mean_of, proportion, wilson
from discreet.quality.levels import assess_levels
from discreet.quality.quality import (
    MOST_CLASSES,
    MOST_GROUPS,
    AgainstBaseRate,
    Bin,
    ClassQuality,
    Group,
    Quality,
    Verdict,
)
from discreet.quality.ranking import average_precision, precision_recall_curve, roc_area, roc_curve

_SIGNIFICANT = 0.05
_BINS = 10


def assess(
    probabilities: Floats,
    labels: Integers,
    *,
    classes: Sequence[str] | None = None,
    groups: Mapping[str, Sequence[str]] | None = None,
    ordinal: bool = False,
) -> Quality:
    """Measures a model's answers.

    Guarantee:
        The order of the records does not matter. Nothing is private.

    Args:
        probabilities: of each class, shape ``(n, k)``, n at least 1 and k at least 2; rows sum to 1.
        labels: shape ``(n,)``, in ``[0, k)``.
        classes: k names; left out, the numbers.
        groups: title, such as ``silo``, to one text for each record; records of an empty text are in none.
        ordinal: whether the classes are levels in their order.

    Raises:
        DataError: if shapes do not fit, there is no record, or a number is not finite.

    Example:
        >>> found = assess(np.array([[0.9, 0.1], [0.2, 0.8], [0.6, 0.4]]), np.array([0, 1, 1]))
        >>> round(found.accuracy.value, 3), found.against.base_rate > 0.66, found.against.verdict.value
        (0.667, True, 'not distinguishable')
    """
    _check(probabilities, labels)
    num_classes = probabilities.shape[1]
    named = probabilities.argmax(axis=1)
    both = num_classes == 2 and 0 < int((labels == 1).sum()) < len(labels)
    second, positive = probabilities[:, 1], labels == 1
    few = num_classes <= MOST_CLASSES
    texts = [str(number) for number in range(num_classes)] if classes is None else list(classes)
    return Quality(
        records=len(labels),
        accuracy=_share(named == labels),
        against=_against(named, labels),
        balanced_accuracy=_balanced(named, labels),
        brier=bounded_mean(_squared_errors(probabilities, labels)),
        classes=tuple(
            _class(texts[number], number, probabilities, named, labels)
            for number in range(num_classes)
            if few
        ),
        confusion=_confusion(named, labels, num_classes) if few else (),
        calibration=_calibration(probabilities, labels, named),
        roc=roc_curve(second, positive) if both else (),
        precision_recall=precision_recall_curve(second, positive) if both else (),
        groups=tuple(_groups(groups or {}, probabilities, labels, named)),
        levels=assess_levels(named, labels) if ordinal else None,
    )


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
        raise DataError(f"labels must be in [0, {probabilities.shape[1]}); some are not.")


def _share(right: Booleans) -> Interval:
    return proportion(int(right.sum()), len(right))


def _against(named: Integers, labels: Integers) -> AgainstBaseRate:
    always, right = labels == np.bincount(labels).argmax(), named == labels
    gained, lost = int((right & ~always).sum()), int((always & ~right).sum())
    p_value = float(scipy.stats.binomtest(gained, gained + lost).pvalue) if gained + lost else 1.0
    verdict = Verdict.NOT_DISTINGUISHABLE
    if p_value <= _SIGNIFICANT:
        verdict = Verdict.ABOVE if gained > lost else Verdict.BELOW
    return AgainstBaseRate(float(always.mean()), gained, lost, p_value, verdict)


def _balanced(named: Integers, labels: Integers) -> Interval:
    occurring = np.unique(labels)
    return mean_of([_share(named[labels == number] == number) for number in occurring])


def _squared_errors(probabilities: Floats, labels: Integers) -> Floats:
    """Returns half the squared distance from the label's indicator, in [0, 1] for each record."""
    wanted = np.zeros_like(probabilities)
    wanted[np.arange(len(labels)), labels] = 1.0
    errors: Floats = np.square(probabilities - wanted).sum(axis=1) / 2
    return errors


def _class(name: str, number: int, probabilities: Floats, named: Integers, labels: Integers) -> ClassQuality:
    positive, chosen = labels == number, named == number
    hits = int((positive & chosen).sum())
    return ClassQuality(
        name=name,
        records=int(positive.sum()),
        recall=wilson(hits, int(positive.sum())),
        precision=wilson(hits, int(chosen.sum())),
        f1=harmonic(hits, int((positive ^ chosen).sum())),
        auc=roc_area(probabilities[:, number], positive),
        average_precision=average_precision(probabilities[:, number], positive),
    )


def _confusion(named: Integers, labels: Integers, num_classes: int) -> tuple[tuple[int, ...], ...]:
    counts = np.bincount(labels * num_classes + named, minlength=num_classes**2)
    return tuple(tuple(row) for row in counts.reshape(num_classes, num_classes).tolist())


def _calibration(probabilities: Floats, labels: Integers, named: Integers) -> tuple[Bin, ...]:
    """Returns bins between quantiles of the stated probability; equal ones stay together."""
    if probabilities.shape[1] == 2:
        stated, happened = probabilities[:, 1], labels == 1
    else:
        stated, happened = probabilities.max(axis=1), named == labels
    edges = np.unique(np.quantile(stated, np.linspace(0, 1, _BINS + 1)))
    place = np.searchsorted(edges[1:-1], stated)
    return tuple(
        Bin(int(inside.sum()), float(np.sort(stated[inside]).mean()), _share(happened[inside]))
        for inside in (place == number for number in np.unique(place))
    )


def _groups(
    groups: Mapping[str, Sequence[str]], probabilities: Floats, labels: Integers, named: Integers
) -> list[Group]:
    found: list[Group] = []
    for title, texts in groups.items():
        if len(texts) != len(labels):
            raise DataError(
                f"there must be one {title!r} for each of {len(labels)} records; got {len(texts)}."
            )
        of_record = np.array(texts, dtype=np.str_)
        found += [
            _group(
                title,
                str(name),
                probabilities[of_record == name],
                labels[of_record == name],
                named[of_record == name],
            )
            for name in np.unique(of_record)
            if name
        ]
    return found[:MOST_GROUPS]


def _group(title: str, name: str, probabilities: Floats, labels: Integers, named: Integers) -> Group:
    second = None
    if probabilities.shape[1] == 2:
        second = _class("", 1, probabilities, named, labels)
    return Group(
        by=title,
        name=name,
        records=len(labels),
        base_rate=_against(named, labels).base_rate,
        accuracy=_share(named == labels),
        balanced_accuracy=_balanced(named, labels),
        recall=None if second is None else second.recall,
        precision=None if second is None else second.precision,
        auc=None if second is None else second.auc,
    )
