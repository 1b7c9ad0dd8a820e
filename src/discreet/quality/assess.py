"""From probabilities and labels to what is known of a model's quality."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import scipy

from discreet.arrays import Booleans, Floats, Integers
from discreet.errors import DataError
from discreet.quality.clusters import design_effect, paired_p_value, widened
from discreet.quality.intervals import Interval, bounded_mean, harmonic, mean_of, proportion
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
    persons: Integers | None = None,
) -> Quality:
    """Measures a model's answers.

    Guarantee:
        The order of the records does not matter. Nothing is private.

    Args:
        probabilities: of each class, shape ``(n, k)``, n at least 1 and k at least 2; rows sum to 1.
        labels: shape ``(n,)``, in ``[0, k)``.
        classes: k names; left out, the numbers.
        groups: title, such as ``silo``, to one text for each record; records of an empty text are in none.
        persons: whose each record is, shape ``(n,)``; intervals then speak of other persons, all of whose
            records go together. Left out, every record stands for itself.

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
        persons=None if persons is None else len(np.unique(persons)),
        accuracy=_share(named == labels, persons),
        against=_against(named, labels, persons),
        balanced_accuracy=_balanced(named, labels, persons),
        brier=_mean(_squared_errors(probabilities, labels), persons),
        classes=tuple(
            _class(texts[number], number, probabilities, named, labels, persons)
            for number in range(num_classes)
            if few
        ),
        confusion=_confusion(named, labels, num_classes) if few else (),
        calibration=_calibration(probabilities, labels, named, persons),
        roc=roc_curve(second, positive) if both else (),
        precision_recall=precision_recall_curve(second, positive) if both else (),
        groups=tuple(_groups(groups or {}, probabilities, labels, named, persons)),
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


def _of(persons: Integers | None, records: Booleans) -> Integers | None:
    return None if persons is None else persons[records]


def _effect(right: Booleans, persons: Integers | None) -> float:
    return design_effect(right - right.mean(), persons) if len(right) else 1.0


def _share(right: Booleans, persons: Integers | None) -> Interval:
    effect = _effect(right, persons)
    return proportion(int(right.sum()) / effect, len(right) / effect)


def _share_of_some(right: Booleans, persons: Integers | None) -> Interval | None:
    return _share(right, persons) if len(right) else None


def _mean(losses: Floats, persons: Integers | None) -> Interval:
    return widened(bounded_mean(losses), design_effect(losses - losses.mean(), persons))


def _against(named: Integers, labels: Integers, persons: Integers | None) -> AgainstBaseRate:
    always, right = labels == np.bincount(labels).argmax(), named == labels
    gained, lost = int((right & ~always).sum()), int((always & ~right).sum())
    if persons is not None:
        p_value = paired_p_value(right.astype(np.int64) - always, persons)
    else:
        p_value = float(scipy.stats.binomtest(gained, gained + lost).pvalue) if gained + lost else 1.0
    verdict = Verdict.NOT_DISTINGUISHABLE
    if p_value <= _SIGNIFICANT:
        verdict = Verdict.ABOVE if gained > lost else Verdict.BELOW
    return AgainstBaseRate(float(always.mean()), gained, lost, p_value, verdict)


def _balanced(named: Integers, labels: Integers, persons: Integers | None) -> Interval:
    right, influences = named == labels, np.zeros(len(labels))
    occurring = np.unique(labels)
    for number in occurring:
        own = labels == number
        influences[own] = (right[own] - right[own].mean()) / own.sum()
    found = mean_of([_share(right[labels == number], None) for number in occurring])
    return widened(found, design_effect(influences, persons))


def _squared_errors(probabilities: Floats, labels: Integers) -> Floats:
    """Returns half the squared distance from the label's indicator, in [0, 1] for each record."""
    wanted = np.zeros_like(probabilities)
    wanted[np.arange(len(labels)), labels] = 1.0
    errors: Floats = np.square(probabilities - wanted).sum(axis=1) / 2
    return errors


def _class(  # noqa: PLR0917 - one class of what is measured
    name: str,
    number: int,
    probabilities: Floats,
    named: Integers,
    labels: Integers,
    persons: Integers | None,
) -> ClassQuality:
    positive, chosen = labels == number, named == number
    either = positive | chosen
    hits, wrong = int((positive & chosen).sum()), int((positive ^ chosen).sum())
    effect = _effect((positive & chosen)[either], _of(persons, either))
    return ClassQuality(
        name=name,
        records=int(positive.sum()),
        recall=_share_of_some(chosen[positive], _of(persons, positive)),
        precision=_share_of_some(positive[chosen], _of(persons, chosen)),
        f1=harmonic(hits / effect, wrong / effect),
        auc=roc_area(probabilities[:, number], positive, persons),
        average_precision=average_precision(probabilities[:, number], positive, persons),
    )


def _confusion(named: Integers, labels: Integers, num_classes: int) -> tuple[tuple[int, ...], ...]:
    counts = np.bincount(labels * num_classes + named, minlength=num_classes**2)
    return tuple(tuple(row) for row in counts.reshape(num_classes, num_classes).tolist())


def _calibration(
    probabilities: Floats, labels: Integers, named: Integers, persons: Integers | None
) -> tuple[Bin, ...]:
    """Returns bins between quantiles of the stated probability; equal ones stay together."""
    if probabilities.shape[1] == 2:
        stated, happened = probabilities[:, 1], labels == 1
    else:
        stated, happened = probabilities.max(axis=1), named == labels
    edges = np.unique(np.quantile(stated, np.linspace(0, 1, _BINS + 1)))
    place = np.searchsorted(edges[1:-1], stated)

    def within(inside: Booleans) -> Bin:
        observed = _share(happened[inside], _of(persons, inside))
        return Bin(int(inside.sum()), float(np.sort(stated[inside]).mean()), observed)

    return tuple(within(place == number) for number in np.unique(place))


def _groups(
    groups: Mapping[str, Sequence[str]],
    probabilities: Floats,
    labels: Integers,
    named: Integers,
    persons: Integers | None,
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
                _of(persons, of_record == name),
            )
            for name in np.unique(of_record)
            if name
        ]
    return found[:MOST_GROUPS]


def _group(  # noqa: PLR0917 - one group of what is measured
    title: str,
    name: str,
    probabilities: Floats,
    labels: Integers,
    named: Integers,
    persons: Integers | None,
) -> Group:
    second = None
    if probabilities.shape[1] == 2:
        second = _class("", 1, probabilities, named, labels, persons)
    return Group(
        by=title,
        name=name,
        records=len(labels),
        base_rate=_against(named, labels, None).base_rate,
        accuracy=_share(named == labels, persons),
        balanced_accuracy=_balanced(named, labels, persons),
        recall=None if second is None else second.recall,
        precision=None if second is None else second.precision,
        auc=None if second is None else second.auc,
    )
