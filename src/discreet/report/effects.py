"""From the sum of a question about ratios of hazards or odds to its numbers."""

from __future__ import annotations

import numpy as np

from discreet.arrays import Floats
from discreet.kinds.blocks import Cells
from discreet.kinds.effects import EffectsQuestion, HazardsQuestion, levels_of
from discreet.kinds.question import happened_at
from discreet.statistics import Covariate, Effects, hazards, logistic_regression


def covariates_of(question: EffectsQuestion, block: Cells) -> tuple[Covariate, ...]:
    """Returns the columns that the outcome is explained by, with their levels."""
    axes = block.axes[: len(question.on)]
    return tuple(Covariate(axis.name, levels_of(axis), question.reference_of(axis)) for axis in axes)


def effects_of(
    question: EffectsQuestion, block: Cells, sums: Floats, variance: float, *, level: float
) -> Effects:
    """Returns what each level does to the outcome; records that lack a column's text are left out."""
    covariates = covariates_of(question, block)
    event = block.axes[-1]
    happened = happened_at(event, question.happened)
    shape = (*(axis.size for axis in block.axes[: len(covariates)]), -1, block.axes[-1].size)
    known = np.ix_(*(np.arange(len(one.levels)) for one in covariates))
    found = sums.reshape(shape)[known][..., [happened, 1 - happened]]
    if not isinstance(question, HazardsQuestion):
        return logistic_regression(found.ravel(), variance, covariates, level=level)
    # The last bin is of unknown times.
    timed, edges = found[..., :-1, :].ravel(), block.axes[-2].edges
    return hazards(timed, variance, edges, covariates, link=question.link, level=level)


def compared_with(covariates: tuple[Covariate, ...]) -> str:
    """Says which levels the others are compared with."""
    return ", ".join(f"{one.name} = {one.levels[one.reference]}" for one in covariates)
