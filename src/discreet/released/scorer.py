"""A model and its preprocessing as one torch module, which other programs run without this package."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import nn

from discreet.arrays import Floats
from discreet.data import TableRules
from discreet.data.columns import Categories, Column, Contrast, Days, Numeric
from discreet.data.table import Table
from discreet.learning.metrics import class_probabilities
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


def numeric_columns(columns: Sequence[Column]) -> tuple[Numeric | Days, ...]:
    """Returns the columns of numbers, in order; a date is the number that `datetime.date.toordinal` gives."""
    return tuple(column for column in columns if isinstance(column, Numeric | Days))


def code_of(column: Numeric | Days) -> float | None:
    """Returns the number that stands for "not measured" in a column, if one does."""
    return column.not_measured if isinstance(column, Numeric) else None


def text_columns(columns: Sequence[Column]) -> tuple[Texts, ...]:
    """Returns what becomes of every text of each column of texts, by the column's own rule."""
    return tuple(_texts(column) for column in columns if not isinstance(column, Numeric | Days))


def _texts(column: Categories | Contrast) -> Texts:
    cells = (*column.texts, _UNKNOWN)
    features, _ = column.encode(Table("texts", {column.column: cells}, np.arange(len(cells))))
    return Texts(column.column, column.texts, features)


class TableScorer(nn.Module):
    """Raw cells of rows to the probability of each class, by the public rules of the training.

    ``forward(numbers, codes)`` takes the columns of numbers, float64 of shape ``(n, a)``, NaN where one is
    missing, a date as its number; and of the columns of texts the number of each cell's text, int64 of shape
    ``(n, b)``, where a text that is not known has the number behind the last one. It returns float64,
    ``(n, num_classes)``.
    """

    low: torch.Tensor
    high: torch.Tensor
    absent: torch.Tensor
    missing: torch.Tensor
    marked: torch.Tensor
    order: torch.Tensor

    def __init__(self, model: Model, rules: TableRules) -> None:
        super().__init__()
        columns = rules.schema.columns
        numbers = numeric_columns(columns)
        codes = [code_of(column) for column in numbers]
        self.network = model.network
        self.norm_bound = rules.norm_bound
        self.register_buffer("low", _row([column.low for column in numbers]))
        self.register_buffer("high", _row([column.high for column in numbers]))
        # No number equals NaN: a column without a code has no cell that is absent by code.
        self.register_buffer("absent", _row([math.nan if code is None else code for code in codes]))
        self.register_buffer(
            "missing", torch.tensor([column.missing for column in numbers], dtype=torch.bool)
        )
        marked = [place for place, column in enumerate(numbers) if len(column.names) > 1]
        self.register_buffer("marked", torch.tensor(marked, dtype=torch.int64))
        self.register_buffer("order", torch.tensor(_order(columns), dtype=torch.int64))
        self.texts = nn.ParameterList(
            nn.Parameter(torch.from_numpy(texts.features), requires_grad=False)
            for texts in text_columns(columns)
        )

    def forward(self, numbers: torch.Tensor, codes: torch.Tensor) -> torch.Tensor:
        """Returns the probability of each class."""
        width = self.high - self.low
        scaled = 2.0 * (torch.clamp(numbers, self.low, self.high) - self.low) / width - 1.0
        coded, unread = numbers == self.absent, ~torch.isfinite(numbers)
        marks = coded | (unread & self.missing)
        parts = [torch.where(coded | unread, 0.0, scaled), marks.double().index_select(1, self.marked)]
        parts += [table.index_select(0, codes[:, place]) for place, table in enumerate(self.texts)]
        parts.append(torch.ones(numbers.shape[0], 1, dtype=torch.float64))
        return _scored(self, torch.cat(parts, dim=1).index_select(1, self.order), self.norm_bound)


class ArrayScorer(nn.Module):
    """Arrays to the probability of each class: ``forward(features)``, float32 of the shape of one record.

    What is not finite counts as 0, as in training; bytes have to be divided by 255 before.
    """

    def __init__(self, model: Model) -> None:
        super().__init__()
        data = model.plan.data
        self.network = model.network
        # What a feature map makes of records is outside of the program, which takes its features.
        raw = data.feature_shape if data.transform is None else None
        self.shape = raw or model.plan.facts.feature_shape
        self.norm_bound = None if raw is None else data.feature_norm_bound

    def forward(self, features: torch.Tensor) -> torch.Tensor:
        """Returns the probability of each class, float64, shape ``(n, num_classes)``."""
        finite = torch.where(torch.isfinite(features), features, 0.0)
        if self.norm_bound is None:
            return _scored(self, finite, None)
        flat = finite.double().flatten(1)
        return _scored(self, torch.cat([flat, torch.ones_like(flat[:, :1])], dim=1), self.norm_bound)


def _scored(
    scorer: TableScorer | ArrayScorer, features: torch.Tensor, norm_bound: float | None
) -> torch.Tensor:
    """Scales features to a bound, if there is one, and returns the probabilities of the classes."""
    if norm_bound is not None:
        norms = torch.sqrt((features * features).sum(dim=1, keepdim=True))
        features = (features * (norm_bound / norms)).float()
    return class_probabilities(scorer.network(features))


def _row(values: Sequence[float]) -> torch.Tensor:
    return torch.tensor(values, dtype=torch.float64)


def _order(columns: Sequence[Column]) -> list[int]:
    """Returns for each feature, in the columns' order, its place behind numbers, indicators and texts."""
    numbers = numeric_columns(columns)
    marked = [column for column in numbers if len(column.names) > 1]
    next_number, next_mark, next_text = 0, len(numbers), len(numbers) + len(marked)
    order = []
    for column in columns:
        if isinstance(column, Numeric | Days):
            order.append(next_number)
            next_number += 1
            if len(column.names) > 1:
                order.append(next_mark)
                next_mark += 1
        else:
            order += range(next_text, next_text + len(column.names))
            next_text += len(column.names)
    return [*order, next_text]
