r"""What a linear model over a table says: what each column adds, and how much of it may be noise.

A record's features x are its encoded cells and a constant 1, e, scaled to length R: x = R·e/‖e‖. So its
log-odds, or the number that it predicts, are the sum over columns of (R/‖e‖)·w·e. What a column adds is
shown for a record of *typical* length: numbers anywhere in their range (mean square 1/3), each listed text as
likely as another. For a record of another length every column adds one common factor times as much. With bins
and indicators alone all complete records have the same length, the factor is 1, and the model is exactly
additive.

Each of several labels has curves of its own. With several classes a curve is the logit of one class less the
mean over all, since a common shift means nothing. Everything here is a function of plan, ledger and released
weights, so it costs no privacy.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum
from itertools import pairwise

import numpy as np

from discreet.arrays import Floats
from discreet.config.federation import public_facts
from discreet.data import TableRules, table_rules
from discreet.data.bins import Bins
from discreet.data.columns import Categories, Column, Contrast, Numeric, feature_names
from discreet.data.standard import FARTHEST, Ramp, Standard
from discreet.errors import ConfigurationError
from discreet.kinds.model_facts import ORDINAL
from discreet.plan import Plan
from discreet.plan.weight_noise import WeightNoise, weight_noise
from discreet.rounds import RunRecord
from discreet.rounds.preparing import announced_map, prepared_from, record_map
from discreet.rounds.state import released_from

NORMAL_95 = 1.959964
"""A band is this many standard deviations to either side: 95 % of a normal law."""


class Form(Enum):
    """How a column enters: what ``x`` of its levels is."""

    STEPS = "steps"
    LINE = "line"
    DAYS = "days"
    BARS = "bars"


LOG_ODDS = "the log-odds"


@dataclass(frozen=True, slots=True)
class Level:
    """What a column adds at one place.

    Attributes:
        x: the edges of a bin, a number, the number of a day (as `datetime.date.toordinal`), or a text.
        contribution: to the log-odds, of a record of typical length.
        band: half width of what noise may explain, 95 %, each place by itself; None if no bound is known.
    """

    x: tuple[float, float] | float | str
    contribution: float
    band: float | None


@dataclass(frozen=True, slots=True)
class Shape:
    """What one column adds to the log-odds of one class, or to a number.

    Attributes:
        column: its name.
        outcome: the class; of two classes, the second. The label where it is a number.
        form: a step for each bin, a line over numbers or days, a bar for each text.
        levels: in the order of the range or of the list.
        missing: what a missing cell adds, if it has a weight of its own; its ``x`` says what is missing.
        adds_to: to what; a number's own name, whose unit contributions have.
    """

    column: str
    outcome: str
    form: Form
    levels: tuple[Level, ...]
    missing: Level | None = None
    adds_to: str = LOG_ODDS

    @property
    def places(self) -> tuple[Level, ...]:
        """All levels, that of missing cells last."""
        return self.levels if self.missing is None else (*self.levels, self.missing)

    @property
    def spread(self) -> float:
        """The largest contribution less the smallest: how far the column can move what is predicted."""
        found = [level.contribution for level in self.places]
        return max(found) - min(found)


@dataclass(frozen=True, slots=True)
class Shapes:
    """What a model says, column by column.

    Attributes:
        label: the column that is predicted.
        outcomes: the classes that have curves: all of several, the second of two; or the label, a number; or
            the second of each of several labels.
        shapes: for each outcome in turn, of every column, that of the largest spread first.
        constants: what is added whatever the cells hold, for each outcome.
        factors: smallest and largest factor by which a complete record's own contributions may differ from
            those shown; (1, 1) if the model is exactly additive.
        proven: whether the bands rest on a theorem alone, else on training not amplifying noise; None if
            there is no band.
        adds_to: the log-odds, or a number's own name.
        several: whether each outcome is one of several labels, and not a class among others.
        middle: what all contributions, the constant's too, are added to: the middle of a number's range.
    """

    label: str
    outcomes: tuple[str, ...]
    shapes: tuple[Shape, ...]
    constants: tuple[Level, ...]
    factors: tuple[float, float]
    proven: bool | None
    adds_to: str = LOG_ODDS
    middle: float = 0.0
    several: bool = False

    def of(self, outcome: str) -> tuple[Shape, ...]:
        """Returns the curves of one class."""
        return tuple(shape for shape in self.shapes if shape.outcome == outcome)


@dataclass(frozen=True, slots=True)
class Quiet:
    """A column that is drawn for no class: its smallest and largest contribution, and its widest band."""

    column: str
    lowest: float
    highest: float
    band: float | None


@dataclass(frozen=True, slots=True)
class Shown:
    """As much of `Shapes` as a report holds.

    Attributes:
        largest: of the first classes only, and of each the columns that move it most.
        classes: how many classes there are curves of in all.
        others: columns that are drawn for none of them, that of the largest spread first.
    """

    largest: Shapes
    classes: int
    others: tuple[Quiet, ...]


def shown(shapes: Shapes, *, columns: int, outcomes: int) -> Shown:
    """Returns the largest ``columns`` columns of the first ``outcomes`` classes, and a list of the rest."""
    kept = shapes.outcomes[:outcomes]
    drawn = tuple(shape for outcome in kept for shape in shapes.of(outcome)[:columns])
    seen = {shape.column for shape in drawn}
    rest: dict[str, Shape] = {}
    for shape in sorted(shapes.shapes, key=lambda one: -one.spread):
        if shape.column not in seen:
            rest.setdefault(shape.column, shape)
    largest = replace(shapes, outcomes=kept, shapes=drawn, constants=shapes.constants[:outcomes])
    return Shown(largest, len(shapes.outcomes), tuple(map(_quiet, rest.values())))


def _quiet(shape: Shape) -> Quiet:
    added = [level.contribution for level in shape.places]
    bands = [level.band for level in shape.places if level.band is not None]
    return Quiet(shape.column, min(added), max(added), max(bands, default=None))


def model_shapes(run: RunRecord) -> Shapes:
    """Returns what the released model of a run says.

    Raises:
        ConfigurationError: if the model is not linear over the columns of a table, or no round is completed.
        LedgerError: if the saved weights are not those that the ledger names.
    """
    rules, completed = shown_rules(run.plan), run.spending.completed
    if rules is None:
        raise ConfigurationError(
            "the model must be linear over the columns of a table to be shown column by column; it is "
            f'{run.plan.model.name!r} over {run.plan.facts.feature_shape}. Train "logistic" over a table.'
        )
    if not completed:
        raise ConfigurationError("a round must be completed before there is a model to show; none is.")
    saved = run.directory.state_after(completed[-1])
    weights = released_from(saved.arrays)
    noise = weight_noise(run.plan, _survivors_of_rounds(run))
    found = prepared_from(saved.arrays)
    used = record_map(run.plan, None if found is None else announced_map(run.plan, found))
    standard = used if isinstance(used, Standard) else None
    return shapes_of(rules, weights.reshape(run.plan.facts.outputs, -1), noise, standard)


def _survivors_of_rounds(run: RunRecord) -> dict[int, tuple[str, ...]]:
    """Returns the survivors of each completed release that moved the released model."""
    last = run.released_after or 0
    completed = (done for done in run.spending.completed if done.release <= last)
    return {done.release: done.survivors for done in completed if run.plan.order.trains(done.release)}


def shown_rules(plan: Plan) -> TableRules | None:
    """Returns the rules by which columns become features; None if the model's weights are not theirs."""
    data = plan.data
    own = data.transform is None and data.centre is None and data.project is None
    if not (plan.facts.linear and own) or plan.model.name == ORDINAL:
        return None
    rules = table_rules(plan.data.source, public_facts(plan.data))
    if rules is None:
        return None
    features = len(feature_names(rules.schema.columns)) + 1
    return rules if plan.facts.dimension == plan.facts.outputs * features else None


def shapes_of(
    rules: TableRules, weights: Floats, noise: WeightNoise | None, standard: Standard | None = None
) -> Shapes:
    """Returns the curves of weights of shape ``(outputs, features)``, the constant feature last.

    ``standard`` says how numbers are standardised before they meet the weights; None if they are not.
    """
    columns, classes = rules.schema.columns, rules.schema.classes
    places = np.cumsum([0, *(len(column.names) for column in columns)]).tolist()
    ramps = [None if standard is None else standard.ramp(place) for place in places[:-1]]
    squares = map(_squares, columns, ramps)
    least, typical, most = (1.0 + sum(part) for part in zip(*squares, strict=True))
    length = rules.norm_bound / math.sqrt(typical)
    outcomes, width = (classes[1:], 1.0) if len(weights) == 1 else (classes, 1.0 - 1.0 / len(weights))
    several = not isinstance(rules.schema.label, str)
    if several:
        outcomes, width = tuple(f"{name} = {classes[1]}" for name in rules.schema.labels), 1.0
    number = rules.schema.outcome
    adds_to, middle = LOG_ODDS, 0.0
    if number is not None:
        # A position in [-1, 1] is read in the number's own unit.
        adds_to, middle = str(rules.schema.label), (number.low + number.high) / 2.0
        outcomes, length = (adds_to,), length * number.half
    rows = length * (weights if several or len(weights) == 1 else weights - weights.mean(axis=0))
    band = None if noise is None else NORMAL_95 * noise.stddev * length * math.sqrt(width)
    shapes: list[Shape] = []
    for outcome, row in zip(outcomes, rows, strict=True):
        parts = np.split(row[:-1], places[1:-1])
        drawn = (
            _shape(column, outcome, part, band, ramp)
            for column, part, ramp in zip(columns, parts, ramps, strict=True)
        )
        own = [replace(shape, adds_to=adds_to) for shape in drawn]
        shapes += sorted(own, key=lambda shape: -shape.spread)
    return Shapes(
        ", ".join(rules.schema.labels),
        outcomes,
        tuple(shapes),
        tuple(Level("constant", float(row[-1]), band) for row in rows),
        (math.sqrt(typical / most), math.sqrt(typical / least)),
        None if noise is None else noise.proven,
        adds_to,
        middle,
        several,
    )


def _squares(column: Column, ramp: Ramp | None) -> tuple[float, float, float]:
    """Returns the smallest, typical and largest squared length of the features of a usable cell."""
    if ramp is not None:
        # What is scaled by two standard deviations has a mean square of 1/4.
        return 0.0, 0.25, FARTHEST**2
    if isinstance(column, Bins | Contrast):
        return 1.0, 1.0, 1.0
    if isinstance(column, Categories):
        if column.baseline is None:
            return 1.0, 1.0, 1.0
        return 0.0, len(column.values) / (len(column.values) + 1.0), 1.0
    return 0.0, 1.0 / 3.0, 1.0


def _shape(column: Column, outcome: str, weights: Floats, band: float | None, ramp: Ramp | None) -> Shape:
    """Returns one column's curve from its weights, ``(len(column.names),)``, which are scaled already."""
    form, places = _places(column, ramp)
    levels = tuple(_level(x, features, weights, band) for x, features in places)
    missing = None
    if len(weights) > len(places[0][1]):
        what = column.names[-1].removeprefix(column.column).strip()
        missing = _level(what, (0.0,) * (len(weights) - 1) + (1.0,), weights, band)
    return Shape(column.column, outcome, form, levels, missing)


def _level(
    x: tuple[float, float] | float | str, features: Sequence[float], weights: Floats, band: float | None
) -> Level:
    coded = np.asarray(features)
    added = float(coded @ weights[: len(coded)])
    return Level(x, added, None if band is None else band * float(np.linalg.norm(coded)))


_Place = tuple[tuple[float, float] | float | str, tuple[float, ...]]


def _places(column: Column, ramp: Ramp | None) -> tuple[Form, list[_Place]]:
    """Returns where a column's curve is drawn, and the features there, but that of missing cells."""
    if isinstance(column, Bins):
        edges = list(pairwise((column.low, *column.cuts, column.high)))
        return Form.STEPS, list(zip(edges, _indicators(len(edges)), strict=True))
    if isinstance(column, Categories):
        base: list[_Place] = (
            [] if column.baseline is None else [(column.baseline, (0.0,) * len(column.values))]
        )
        return Form.BARS, [*zip(column.values, _indicators(len(column.values)), strict=True), *base]
    if isinstance(column, Contrast):
        return Form.BARS, [(column.negative, (-1.0,)), (column.positive, (1.0,))]
    middle = column.low + (column.high - column.low) / 2.0
    form = Form.LINE if isinstance(column, Numeric) else Form.DAYS
    corners = (-1.0, 0.0, 1.0) if ramp is None else ramp.corners
    half = (column.high - column.low) / 2.0
    return form, [
        (middle + half * corner, (corner if ramp is None else ramp.standardised(corner),))
        for corner in corners
    ]


def _indicators(count: int) -> list[tuple[float, ...]]:
    return [tuple(row) for row in np.eye(count).tolist()]
