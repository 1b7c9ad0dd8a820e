"""Checking how good a run says that its model is, as far as that shows without the records."""

from __future__ import annotations

import math

import numpy as np

from discreet.documents import read_json
from discreet.errors import DiscreetError
from discreet.quality import NumberQuality, Quality, quality_from_json
from discreet.quality.intervals import Interval, proportion, wilson
from discreet.quality.levels import assess_levels
from discreet.verify.evidence import Evidence, stated_measurements
from discreet.verify.finding import Basis, Finding, VerificationFailure


def check_quality(evidence: Evidence) -> Finding:
    """Checks ``evaluation.json`` against itself and the metrics; only the records can show the rest."""
    try:
        quality = quality_from_json(read_json(evidence.run.directory.evaluation.read_bytes()))
    except DiscreetError as error:
        raise VerificationFailure(f"evaluation.json must be as it was written; {error}") from None
    wrong = (
        _wrong_shares(evidence, quality) if isinstance(quality, Quality) else _wrong_errors(evidence, quality)
    )
    if wrong:
        raise VerificationFailure(f"evaluation.json: {wrong!r} must follow from its counts and the metrics.")
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
    """Returns the name of a number that does not follow from the counts."""
    data, counts = evidence.run.plan.data, np.array(quality.confusion)
    right = int(np.trace(counts)) if counts.size else round(quality.accuracy.value * quality.records)
    again: dict[str, object] = {"accuracy": proportion(right, quality.records)}
    said: dict[str, object] = {"accuracy": quality.accuracy}
    # Names are the plan's, so that none can state a number.
    if quality.classes:
        again["classes"] = tuple(data.classes or map(str, range(len(quality.classes))))
        said["classes"] = tuple(one.name for one in quality.classes)
    if quality.labels:
        again["labels"], said["labels"] = data.labels, tuple(one.second.name for one in quality.labels)
    if counts.size:
        again |= {"records": int(counts.sum())}
        said |= {"records": quality.records}
    for number, one in enumerate(quality.classes):
        hits, own, named = counts[number, number], counts[number].sum(), counts[:, number].sum()
        again[one.name] = (int(own), wilson(hits, own), wilson(hits, named))
        said[one.name] = (one.records, one.recall, one.precision)
    if quality.levels is not None and counts.size:
        labels, named = (np.repeat(place.ravel(), counts.ravel()) for place in np.indices(counts.shape))
        found = assess_levels(named, labels)
        again["levels"] = (found.error.value, found.constant_error, found.kappa)
        said["levels"] = (quality.levels.error.value, quality.levels.constant_error, quality.levels.kappa)
    measured = _measured(evidence, "accuracy")
    again |= measured
    said |= dict.fromkeys(measured, quality.accuracy.value)
    if quality.persons is not None:
        # How records of one person go together is not in the counts.
        again, said = _values(again), _values(said)
    return next((name for name in again if not _alike(again[name], said[name])), None)


def _values(stated: dict[str, object]) -> dict[str, object]:
    """Returns the same without the ends of intervals."""

    def value(one: object) -> object:
        if isinstance(one, Interval):
            return one.value
        return tuple(map(value, one)) if isinstance(one, tuple) else one

    return {name: value(one) for name, one in stated.items()}


def _alike(one: object, other: object) -> bool:
    """Says whether two nested tuples of numbers are equal but for rounding."""
    if isinstance(one, tuple) and isinstance(other, tuple):
        return len(one) == len(other) and all(map(_alike, one, other))
    if isinstance(one, int | float | np.number) and isinstance(other, int | float | np.number):
        return math.isclose(float(one), float(other), rel_tol=1e-9, abs_tol=1e-12)
    return one == other
