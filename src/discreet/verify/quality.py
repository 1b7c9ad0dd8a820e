"""Checking how good a run says that its model is, as far as that shows without the records."""

from __future__ import annotations

import math

import numpy as np

from discreet.data.labels import NUMBER
from discreet.documents import read_json
from discreet.errors import DiscreetError
from discreet.quality import NumberQuality, Quality, quality_from_json
from discreet.quality.intervals import Interval, proportion, wilson
from discreet.quality.levels import assess_levels
from discreet.quality.quality import MOST_CLASSES
from discreet.verify.evidence import Evidence, stated_measurements
from discreet.verify.finding import Basis, Finding, VerificationFailure

_Claim = tuple[str, object, object]  # its name, what follows, what is stated


def check_quality(evidence: Evidence) -> Finding:
    """Checks ``evaluation.json`` against itself and the metrics; only the records can show the rest."""
    try:
        quality = quality_from_json(read_json(evidence.run.directory.evaluation.read_bytes()))
    except DiscreetError as error:
        raise VerificationFailure(f"evaluation.json must be as it was written; {error}") from None
    if isinstance(quality, NumberQuality) != (evidence.run.plan.facts.num_classes == NUMBER):
        raise VerificationFailure(
            "evaluation.json must be about what the plan predicts, a class or a number; it is not."
        )
    wrong = (
        _wrong_shares(evidence, quality) if isinstance(quality, Quality) else _wrong_errors(evidence, quality)
    )
    if wrong:
        raise VerificationFailure(
            f"evaluation.json: {wrong!r} must follow from its counts, the metrics and the plan."
        )
    return Finding(
        "evaluation.json",
        Basis.SEALED,
        "accuracy, recall and precision follow from its counts; the counts, and all else, by --records only"
        if isinstance(quality, Quality)
        else "R² follows from its errors, and the error is that of the metrics; all else by --records only",
    )


def _measured(evidence: Evidence, name: str) -> dict[str, object]:
    """Returns what files say of the released model under ``name``, by where they say it."""
    stated = stated_measurements(evidence.run)
    return {f"{name} in {where}": found[name] for where, found in stated.items() if name in found}


def _wrong_errors(evidence: Evidence, quality: NumberQuality) -> str | None:
    """Returns the name of a number that does not follow from the others."""
    explained = None
    if quality.constant_rmse > 0.0:
        explained = 1.0 - (quality.rmse.value / quality.constant_rmse) ** 2
    said: dict[str, tuple[object, object]] = {
        "r2": (explained, None if quality.r2 is None else quality.r2.value),
        "gain": (quality.constant_mae - quality.mae.value, quality.gain.value),
    }
    for name, value in (("mae", quality.mae.value), ("constant_mae", quality.constant_mae)):
        said |= {where: (found, value) for where, found in _measured(evidence, name).items()}
    return next((name for name, (again, stated) in said.items() if not _alike(again, stated)), None)


def _wrong_shares(evidence: Evidence, quality: Quality) -> str | None:
    """Returns the name of a number, or of names, that does not follow from the counts or the plan."""
    wrong = _wrong_names(evidence, quality)
    if wrong is not None:
        return wrong
    counts = np.array(quality.confusion)
    right = int(np.trace(counts)) if counts.size else round(quality.accuracy.value * quality.records)
    claims: list[_Claim] = [("accuracy", proportion(right, quality.records), quality.accuracy)]
    if counts.size:
        claims.append(("records", int(counts.sum()), quality.records))
    for number, one in enumerate(quality.classes):
        hits, own, named = counts[number, number], counts[number].sum(), counts[:, number].sum()
        shares = (int(own), wilson(hits, own), wilson(hits, named))
        claims.append((one.name, shares, (one.records, one.recall, one.precision)))
    if quality.levels is not None and counts.size:
        labels, named = (np.repeat(place.ravel(), counts.ravel()) for place in np.indices(counts.shape))
        levels, said = (
            (one.error.value, one.constant_error, one.kappa)
            for one in (assess_levels(named, labels), quality.levels)
        )
        claims.append(("levels", levels, said))
    measured = _measured(evidence, "accuracy")
    claims += [(where, found, quality.accuracy.value) for where, found in measured.items()]
    if quality.persons is not None:
        # How records of one person go together is not in the counts.
        claims = [(name, _value(again), _value(stated)) for name, again, stated in claims]
    return next((name for name, again, said in claims if not _alike(again, said)), None)


def _wrong_names(evidence: Evidence, quality: Quality) -> str | None:
    """Returns what is not named or counted as the plan does, so that no name can state a number."""
    data, number = evidence.run.plan.data, evidence.run.plan.facts.num_classes
    several = tuple(data.labels) if data.several else ()
    few = number <= MOST_CLASSES and not several
    classes = tuple(data.classes or map(str, range(number))) if few else ()
    rows = {len(quality.confusion), *map(len, quality.confusion)}
    claims: dict[str, tuple[object, object]] = {
        "classes": (classes, tuple(one.name for one in quality.classes)),
        "labels": (several, tuple(one.second.name for one in quality.labels or ())),
        "confusion": ({len(classes)}, rows),
    }
    return next((name for name, (again, said) in claims.items() if again != said), None)


def _value(stated: object) -> object:
    """Returns the same without the ends of intervals."""
    if isinstance(stated, Interval):
        return stated.value
    return tuple(map(_value, stated)) if isinstance(stated, tuple) else stated


def _alike(one: object, other: object) -> bool:
    """Says whether two nested tuples of numbers are equal but for rounding."""
    if isinstance(one, tuple) and isinstance(other, tuple):
        return len(one) == len(other) and all(map(_alike, one, other))
    if isinstance(one, int | float | np.number) and isinstance(other, int | float | np.number):
        return math.isclose(float(one), float(other), rel_tol=1e-9, abs_tol=1e-12)
    return one == other
