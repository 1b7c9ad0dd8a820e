r"""What a silo adds to the sum that answers questions: the blocks of its records, added up in float64.

Cells are found by comparing numbers of a record's own features, elementwise, so that the cell of one record
depends on no other. The rest is continuous: a sum of n terms that are together at most n·C long is within
1.01·n·2^-53·n·C of the exact one (Higham 2002, equation 4.4). For n at most
`discreet.kinds.float_error.MAX_BATCH` that is below 2^-11.9·C on both data sets together; 2^-10·C is claimed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import partial

import numpy as np

from discreet.arrays import Booleans, Float32s, Floats, Integers
from discreet.kinds.asked import Asked
from discreet.kinds.blocks import Axis, Block, Cells, FirstMoments, Indicator, Products, SecondMoments, Term
from discreet.kinds.variables import Choice, Contrast, Label, Number, Score

# Rows of products at a time, for the sake of memory.
_ROWS = 1 << 16
_LONG_ROWS = 1 << 12
# Of products beside the diagonal: so squares of all sum to that of the record's squared length.
_BESIDE = math.sqrt(2.0)


def asked_vector(
    asked: Asked, features: Float32s, labels: Integers, persons: Integers | None = None
) -> Floats:
    """Returns the sum over records of what each adds to all questions, shape ``(asked.dimension,)``.

    Guarantee:
        That of `Asked`: one unit more or less moves it by at most ``asked.l2_sensitivity()``.

    Args:
        asked: the questions' blocks.
        features: shape ``(n, d)``, as the public rules of columns make them.
        labels: shape ``(n,)``.
        persons: whose each record is, where persons are the unit.
    """
    weights = asked.weights(persons, len(features))
    parts = [one.factor * block_sum(one.block, features, labels, weights) for one in asked.blocks]
    return np.concatenate(parts)


def block_sum(block: Block, features: Float32s, labels: Integers, weights: Floats | None) -> Floats:
    """Returns the sum of one block over records, shape ``(block.size,)``.

    Args:
        block: the question's.
        features: shape ``(n, d)``.
        labels: shape ``(n,)``.
        weights: how much each record counts, shape ``(n,)``; None counts each as 1.
    """
    match block:
        case Cells():
            cells = _cells(block, features, labels)
            return np.bincount(cells, weights=weights, minlength=block.size).astype(np.float64)
        case Products():
            return _products(block, features, weights)
        case FirstMoments():
            return _first_moments(block, features, weights)
        case SecondMoments():
            return _second_moments(block, features, weights)


def _cells(block: Cells, features: Float32s, labels: Integers) -> Integers:
    """Returns the cell of every record, shape ``(n,)``."""
    if not block.axes:
        return np.zeros(len(features), dtype=np.int64)
    codes = [_codes(axis, features, labels) for axis in block.axes]
    return np.ravel_multi_index(tuple(codes), block.shape).astype(np.int64)


def _codes(axis: Axis, features: Float32s, labels: Integers) -> Integers:
    """Returns the cell of every record along one axis."""
    match axis.variable:
        case Number() as number:
            cuts = np.array([number.scaled(cut) for cut in axis.cuts], dtype=np.float32)
            values = features[:, number.place]
            found = np.searchsorted(cuts, values, side="right").astype(np.int64)
            if axis.upper:
                end = len(cuts) * (values >= 1.0)
                found = np.maximum(np.searchsorted(cuts[:-1], values, side="left"), end).astype(np.int64)
            return np.where(_missing(number, features), axis.size - 1, found)
        case Choice() as choice:
            return _chosen(choice, features)
        case Contrast(place=place):
            own = features[:, place]
            return np.where(own < 0, 0, np.where(own > 0, 1, 2)).astype(np.int64)
        case Label(texts=texts):
            # Whatever a record holds, it has a cell: an error would be seen by others.
            return np.where((labels >= 0) & (labels < len(texts)), labels, len(texts))
        case Score() as score:
            return _scored(score, axis.cuts, features)


def _scored(score: Score, cuts: tuple[float, ...], features: Float32s) -> Integers:
    """Returns the bin of every record's probability, or the most probable class.

    Logits are added up elementwise, one feature after the other: a matrix product might treat a record
    differently among others, and a bin makes a whole unit of a last bit.
    """
    logits = np.zeros((len(score.weights), len(features)))
    for number, weights in enumerate(score.weights):
        for place, weight in enumerate(weights):
            logits[number] += features[:, place].astype(np.float64) * weight
    if len(logits) > 1:
        most: Integers = logits.argmax(axis=0).astype(np.int64)
        return most
    edges = np.array([math.log(cut / (1.0 - cut)) for cut in cuts])
    found: Integers = np.searchsorted(edges, logits[0], side="right").astype(np.int64)
    return found


def _products(block: Products, features: Float32s, weights: Floats | None) -> Floats:
    """Returns the weighted sum of all products of pairs, over R²."""
    made = partial(_rows, block)
    return _gram(made, len(block.terms) + 1, features, weights, _ROWS) / block.squared_norm


def _second_moments(block: SecondMoments, features: Float32s, weights: Floats | None) -> Floats:
    """Returns the weighted sum of all products of pairs of features, over R²."""
    return _gram(partial(_shortened, block), block.features, features, weights, _LONG_ROWS)


def _first_moments(block: FirstMoments, features: Float32s, weights: Floats | None) -> Floats:
    """Returns the weighted sum of all features, over R, and of 1."""
    total = np.zeros(block.size)
    for first in range(0, len(features), _LONG_ROWS):
        part = slice(first, first + _LONG_ROWS)
        rows = _shortened(block, features[part])
        own = np.ones(len(rows)) if weights is None else weights[part]
        total += np.append(own @ rows, own.sum())
    return total / math.sqrt(2.0)


def _shortened(block: FirstMoments | SecondMoments, features: Float32s) -> Floats:
    """Returns records over R, of norm at most 1.

    Every source keeps the bound; a record that did not would count as one that does.
    """
    if features.shape[1:] != (block.features,):
        raise ValueError(f"records must have {block.features} features; got {features.shape[1:]}")
    rows = features.astype(np.float64)
    shortened: Floats = rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), block.norm_bound)
    return shortened


def _gram(
    made: Callable[[Float32s], Floats],
    count: int,
    features: Float32s,
    weights: Floats | None,
    rows_at_a_time: int,
) -> Floats:
    """Returns Σ weight·x_i², then √2·Σ weight·x_i·x_j for i < j, of rows x that are made of features."""
    gram = np.zeros((count, count))
    for first in range(0, len(features), rows_at_a_time):
        part = slice(first, first + rows_at_a_time)
        rows = made(features[part])
        weighted = rows if weights is None else rows * weights[part, None]
        gram += rows.T @ weighted
    upper = np.triu_indices(count, 1)
    return np.concatenate([np.diag(gram), _BESIDE * gram[upper]])


def _rows(block: Products, features: Float32s) -> Floats:
    """Returns (1, t_1, …, t_k) of every record, and zeros for one that lacks a number."""
    rows = np.ones((len(features), len(block.terms) + 1))
    lacking = np.zeros(len(features), dtype=np.bool_)
    chosen = {term.variable: _chosen(term.variable, features) for term in block.terms
              if isinstance(term, Indicator)}  # fmt: skip
    for place, term in enumerate(block.terms, start=1):
        rows[:, place] = _values(term, features, chosen)
        lacking |= _lacking(term, features, chosen)
    rows[lacking] = 0.0
    return rows


def _values(term: Term, features: Float32s, chosen: Mapping[Choice, Integers]) -> Floats:
    match term:
        case Indicator(variable=choice, text=text):
            return np.equal(chosen[choice], text).astype(np.float64)
        case Number(place=place) | Contrast(place=place):
            return np.clip(features[:, place].astype(np.float64), -1.0, 1.0)


def _lacking(term: Term, features: Float32s, chosen: Mapping[Choice, Integers]) -> Booleans:
    match term:
        case Number():
            return _missing(term, features)
        case Contrast(place=place):
            return np.equal(features[:, place], 0.0)
        case Indicator(variable=choice):
            known = choice.baseline is not None
            return np.logical_and(not known, np.equal(chosen[choice], len(choice.texts)))


def _chosen(choice: Choice, features: Float32s) -> Integers:
    """Returns the number of the one text of every record; that behind the last one where it has none."""
    named = features[:, choice.first : choice.first + len(choice.texts)] > 0
    return np.where(named.any(axis=1), named.argmax(axis=1), len(choice.texts)).astype(np.int64)


def _missing(number: Number, features: Float32s) -> Booleans:
    if number.missing is None:
        return np.zeros(len(features), dtype=np.bool_)
    return np.greater(features[:, number.missing], 0.0)
