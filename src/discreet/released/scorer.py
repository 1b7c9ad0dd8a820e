"""A model and its preprocessing as one torch module, which other programs run without this package."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import torch
from torch import nn

from discreet.arrays import Floats
from discreet.data import TableRules
from discreet.data.bins import Bins
from discreet.data.columns import Categories, Column, Contrast, Days, Numeric
from discreet.data.projection import Projection
from discreet.data.standard import FARTHEST, Standard
from discreet.data.table import Table
from discreet.learning.metrics import class_probabilities
from discreet.models.joint import bits
from discreet.released.model import Model

# A cell that is none of the texts of any column: cells of a file are without blanks around them.
_UNKNOWN = " unknown "


@dataclass(frozen=True, slots=True)
class Texts:
    """A column of texts as a table of features.

    Attributes:
        column: its name.
        texts: those that are known, in the order of their numbers.
        features: of each text, and last of any other, shape ``(len(texts) + 1, d)``.
    """

    column: str
    texts: tuple[str, ...]
    features: Floats


Numbers = Numeric | Days | Bins


def numeric_columns(columns: Sequence[Column]) -> tuple[Numbers, ...]:
    """Returns the columns of numbers, in order; a date is the number that `datetime.date.toordinal` gives."""
    return tuple(column for column in columns if isinstance(column, Numbers))


def code_of(column: Numbers) -> float | None:
    """Returns the number that stands for "not measured" in a column, if one does."""
    return column.not_measured if isinstance(column, Numeric) else None


def text_columns(columns: Sequence[Column]) -> tuple[Texts, ...]:
    """Returns what becomes of every text of each column of texts, by the column's own rule."""
    return tuple(_texts(column) for column in columns if not isinstance(column, Numbers))


def _texts(column: Categories | Contrast) -> Texts:
    cells = (*column.texts, _UNKNOWN)
    features, _ = column.encode(Table("texts", {column.column: cells}, np.arange(len(cells))))
    return Texts(column.column, column.texts, features)


class TableScorer(nn.Module):
    """Raw cells of rows to the model's answer, by the public rules of the training.

    That is the probability of each class, or of a regression the number that it predicts; of several labels
    the probability of the second class of each.

    ``forward(numbers, codes)`` takes the columns of numbers, float64 of shape ``(n, a)``, NaN where one is
    missing, a date as its number; and of the columns of texts the number of each cell's text, int64 of shape
    ``(n, b)``, where a text that is not known has the number behind the last one. It returns float64,
    ``(n, num_classes)``; ``(n, 1)`` of a regression.
    """

    held: torch.Tensor | None
    low: torch.Tensor
    high: torch.Tensor
    absent: torch.Tensor
    missing: torch.Tensor
    scaled: torch.Tensor
    center: torch.Tensor
    scale: torch.Tensor
    marked: torch.Tensor
    binned: torch.Tensor
    lower: torch.Tensor
    upper: torch.Tensor
    order: torch.Tensor

    def __init__(self, model: Model, rules: TableRules, mapped: Mapped | None = None) -> None:
        super().__init__()
        columns = rules.schema.columns
        numbers = numeric_columns(columns)
        codes = [code_of(column) for column in numbers]
        self.network, self.mapped = model.network, mapped
        self.norm_bound = rules.norm_bound
        self.projected = _projected_by(model)
        self.outcome = model.outcome
        self.register_buffer("held", _held(model))
        self.register_buffer("low", _row([column.low for column in numbers]))
        self.register_buffer("high", _row([column.high for column in numbers]))
        # No number equals NaN: a column without a code has no cell that is absent by code.
        self.register_buffer("absent", _row([math.nan if code is None else code for code in codes]))
        self.register_buffer(
            "missing", torch.tensor([column.missing for column in numbers], dtype=torch.bool)
        )
        for name, places in (("scaled", _scaled(numbers)), ("marked", _marked(numbers))):
            self.register_buffer(name, torch.tensor(places, dtype=torch.int64))
        bins = _bins(numbers)
        self.register_buffer("binned", torch.tensor([place for place, _, _ in bins], dtype=torch.int64))
        self.register_buffer("lower", _row([lower for _, lower, _ in bins]))
        self.register_buffer("upper", _row([upper for _, _, upper in bins]))
        # Where nothing is standardised, nothing of it is in the program.
        self.standardised = isinstance(model.prepares, Standard)
        if isinstance(model.prepares, Standard):
            self.register_buffer("center", torch.from_numpy(model.prepares.center.copy()))
            self.register_buffer("scale", torch.from_numpy(model.prepares.scale.copy()))
        self.register_buffer("order", torch.tensor(_order(columns), dtype=torch.int64))
        self.texts = nn.ParameterList(
            nn.Parameter(torch.from_numpy(texts.features), requires_grad=False)
            for texts in text_columns(columns)
        )

    def forward(self, numbers: torch.Tensor, codes: torch.Tensor) -> torch.Tensor:
        """Returns the probability of each class, or a number."""
        width = self.high - self.low
        scaled = 2.0 * (torch.clamp(numbers, self.low, self.high) - self.low) / width - 1.0
        coded, unread = numbers == self.absent, ~torch.isfinite(numbers)
        marks = coded | (unread & self.missing)
        in_range = torch.where(coded | unread, 0.0, scaled).index_select(1, self.scaled)
        if self.standardised:
            apart = torch.clamp((in_range - self.center) / self.scale, -FARTHEST, FARTHEST)
            # What is known to be missing is as its column's centre.
            in_range = torch.where(marks.index_select(1, self.scaled), 0.0, apart)
        parts = [in_range, marks.double().index_select(1, self.marked)]
        inside = torch.where(unread, math.nan, numbers).index_select(1, self.binned)
        # NaN is in no bin.
        parts.append(((inside >= self.lower) & (inside < self.upper)).double())
        parts += [table.index_select(0, codes[:, place]) for place, table in enumerate(self.texts)]
        parts.append(torch.ones(numbers.shape[0], 1, dtype=torch.float64))
        return _scored(self, torch.cat(parts, dim=1).index_select(1, self.order), self.norm_bound)


class ArrayScorer(nn.Module):
    """Arrays to the probability of each class: ``forward(features)``, float32 of the shape of one record.

    What is not finite counts as 0, as in training; bytes have to be divided by 255 before.
    """

    held: torch.Tensor | None

    def __init__(self, model: Model, mapped: Mapped | None = None, *, of_a_map: float | None = None) -> None:
        """Takes records, or what a map gives for them.

        Args:
            model: what scores.
            mapped: the map, as a part of the program; None leaves one that the plan has outside of it, and
                the program takes its features, with their constant and scaled.
            of_a_map: the bound that features are scaled to, of a program that takes them as a map gives them.
        """
        super().__init__()
        data, shape = model.plan.data, model.plan.facts.feature_shape
        self.network, self.outcome, self.mapped = model.network, model.outcome, mapped
        self.register_buffer("held", _held(model))
        raw = data.feature_shape if data.transform is None else None
        self.shape, self.norm_bound = raw or shape, None if raw is None else data.feature_norm_bound
        if mapped is not None:
            self.shape = mapped.shape
        if of_a_map is not None:
            self.shape, self.norm_bound = (shape[0] - 1,), of_a_map
        self.projected = _projected_by(model)

    def forward(self, features: torch.Tensor) -> torch.Tensor:
        """Returns the probability of each class, float64, shape ``(n, num_classes)``."""
        finite = torch.where(torch.isfinite(features), features, 0.0)
        if self.norm_bound is None:
            return _scored(self, finite, None)
        return _scored(self, _with_constant(finite), self.norm_bound)


class Mapped(nn.Module):
    """What a public network makes of records: its features, finite, with a constant and scaled to a bound."""

    def __init__(self, network: nn.Module, shape: tuple[int, ...], norm_bound: float) -> None:
        super().__init__()
        self.network, self.shape, self.norm_bound = network, shape, norm_bound

    def forward(self, records: torch.Tensor) -> torch.Tensor:
        """Returns float32, shape ``(n, d + 1)``."""
        found = self.network(records).float()
        return _scaled_to(_with_constant(torch.where(torch.isfinite(found), found, 0.0)), self.norm_bound)


class _Projected(nn.Module):
    """Records as `discreet.data.projection.Projection` projects them."""

    center: torch.Tensor
    directions: torch.Tensor

    def __init__(self, projection: Projection) -> None:
        super().__init__()
        self.register_buffer("center", torch.from_numpy(projection.norm_bound * projection.center))
        self.projects = projection.directions is not None
        if projection.directions is not None:
            self.register_buffer("directions", torch.from_numpy(projection.directions.copy()))
        self.least, self.norm_bound = projection.least_constant, projection.norm_bound

    def forward(self, features: torch.Tensor) -> torch.Tensor:
        """Returns float32, shape ``(n, k + 1)``, of shape ``(n, d)``."""
        wide = features.double()
        constant = torch.clamp(wide[:, -1:], min=self.least)
        own = wide[:, :-1] @ self.directions.T if self.projects else wide[:, :-1]
        return _scaled_to(torch.cat([own - self.center, constant], dim=1), self.norm_bound)


def _projected_by(model: Model) -> _Projected | None:
    """Returns what projects records; None where nothing of it is to be in the program."""
    return _Projected(model.prepares) if isinstance(model.prepares, Projection) else None


def _with_constant(features: torch.Tensor) -> torch.Tensor:
    flat = features.double().flatten(1)
    return torch.cat([flat, torch.ones_like(flat[:, :1])], dim=1)


def _scaled_to(features: torch.Tensor, norm_bound: float) -> torch.Tensor:
    norms = torch.sqrt((features * features).sum(dim=1, keepdim=True))
    return (features * (norm_bound / norms)).float()


def _scored(
    scorer: TableScorer | ArrayScorer, features: torch.Tensor, norm_bound: float | None
) -> torch.Tensor:
    """Scales features to a bound, if there is one, and returns the answer."""
    if norm_bound is not None:
        features = _scaled_to(features, norm_bound)
    if scorer.mapped is not None:
        features = scorer.mapped(features)
    if scorer.projected is not None:
        features = scorer.projected(features)
    outputs, outcome = scorer.network(features), scorer.outcome
    if outcome is None:
        found = class_probabilities(outputs)
        return found if scorer.held is None else found @ scorer.held
    numbers: torch.Tensor = outcome.low + (outputs.double() + 1.0) * outcome.half
    return numbers


def _held(model: Model) -> torch.Tensor | None:
    """Returns the labels of every combination; None of one label. ONNX has no shift to work them out with."""
    return bits(len(model.labels)).double() if model.labels else None


def _row(values: Sequence[float]) -> torch.Tensor:
    return torch.tensor(values, dtype=torch.float64)


def _scaled(numbers: Sequence[Numbers]) -> list[int]:
    """Returns the places of the columns of numbers that are mapped onto [-1, 1]."""
    return [place for place, column in enumerate(numbers) if not isinstance(column, Bins)]


def _marked(numbers: Sequence[Numbers]) -> list[int]:
    """Returns the places of the columns of numbers that have an indicator of what is missing."""
    return [
        place
        for place, column in enumerate(numbers)
        if (column.missing if isinstance(column, Bins) else len(column.names) > 1)
    ]


def _bins(numbers: Sequence[Numbers]) -> list[tuple[int, float, float]]:
    """Returns of every bin its column's place and its edges; what is clipped is in the outer ones."""
    return [
        (place, lower, upper)
        for place, column in enumerate(numbers)
        if isinstance(column, Bins)
        for lower, upper in pairwise((-math.inf, *column.cuts, math.inf))
    ]


def _order(columns: Sequence[Column]) -> list[int]:
    """Returns for each feature, in the columns' order, its place among numbers, marks, bins and texts."""
    numbers = numeric_columns(columns)
    scaled, marked = _scaled(numbers), _marked(numbers)
    next_mark = len(scaled)
    next_bin = next_mark + len(marked)
    places = iter(range(len(numbers)))
    next_scaled, next_text = 0, next_bin + len(_bins(numbers))
    order: list[int] = []
    for column in columns:
        if not isinstance(column, Numbers):
            order += range(next_text, next_text + len(column.names))
            next_text += len(column.names)
            continue
        if isinstance(column, Bins):
            order += range(next_bin, next_bin + len(column.cuts) + 1)
            next_bin += len(column.cuts) + 1
        else:
            order.append(next_scaled)
            next_scaled += 1
        if next(places) in marked:
            order.append(next_mark)
            next_mark += 1
    return [*order, next_text]
