"""How far off a model is whose classes are levels in an order."""

from __future__ import annotations

import numpy as np

from discreet.arrays import Integers
from discreet.quality.intervals import off_by
from discreet.quality.numbers import assess_numbers
from discreet.quality.owners import NOBODYS, Owners
from discreet.quality.quality import LevelQuality


def assess_levels(named: Integers, labels: Integers, owners: Owners = NOBODYS) -> LevelQuality:
    """Measures the likeliest levels, shape ``(n,)``, beside the labels; n at least 1."""
    off = assess_numbers(named.astype(np.float64), labels.astype(np.float64), owners=owners)
    return LevelQuality(off.mae, off.constant_mae, weighted_kappa(named, labels))


def level_rows(found: LevelQuality) -> tuple[tuple[str, str, str], ...]:
    """Returns what is shown of it: a name, a value and what it means, in each row."""
    kappa = "–" if found.kappa is None else f"{found.kappa:.3f}"
    return (
        ("Levels off, mean", off_by(found.error), "between the likeliest level and the label"),
        (
            "Levels off, always the median",
            f"{found.constant_error:.4g}",
            "what naming one level is off",
        ),
        (
            "Agreement beyond chance (weighted kappa)",
            kappa,
            "Cohen's, with quadratic weights: 1 is all, 0 what chance brings",
        ),
    )


def weighted_kappa(named: Integers, labels: Integers) -> float | None:
    r"""Cohen's kappa with quadratic weights (Cohen 1968): 1 - Σ(a - b)² / Σ(a - b')², b' of any record.

    Returns:
        1 for agreement and 0 for what chance brings; None where both are one level.

    Example:
        >>> weighted_kappa(np.array([0, 1, 2, 2]), np.array([0, 1, 2, 1]))
        0.8
    """
    by_chance = float(named.var() + labels.var() + (named.mean() - labels.mean()) ** 2)
    return 1.0 - float(np.square(named - labels).mean()) / by_chance if by_chance > 0.0 else None
