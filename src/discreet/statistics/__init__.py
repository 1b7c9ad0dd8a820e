"""Questions: what records add to a sum (`contribution`), and what the noisy sum says; without torch.

What the sum says is a pure function of what was released: post-processing. It takes the released sum of one
block, `exact sum over the units + noise`, and the variance of that noise, which is public and the same for
every coordinate. The noise is taken as normal. An interval speaks of these records where it says "noise
only", and else of the population that they were drawn from: then it accounts for the noise and the drawing.
"""

from discreet.statistics.components import Components, components
from discreet.statistics.counts import count
from discreet.statistics.effects import Covariate, Effects, hazards, logistic_regression
from discreet.statistics.evaluation import classification, evaluation
from discreet.statistics.independence import independence
from discreet.statistics.logrank import logrank
from discreet.statistics.moments import Column, Moments, read_moments, summary
from discreet.statistics.quantiles import quantiles
from discreet.statistics.regression import regression
from discreet.statistics.rows import Row
from discreet.statistics.survival import Curve, survival
from discreet.statistics.tables import Axis, Table, table

__all__ = [
    "Axis",
    "Column",
    "Components",
    "Covariate",
    "Curve",
    "Effects",
    "Moments",
    "Row",
    "Table",
    "classification",
    "components",
    "count",
    "evaluation",
    "hazards",
    "independence",
    "logistic_regression",
    "logrank",
    "quantiles",
    "read_moments",
    "regression",
    "summary",
    "survival",
    "table",
]
