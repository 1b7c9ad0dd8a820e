"""Clipped sums of linear heads where persons are protected: each gives one vector, which is written out."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from discreet.arrays import Floats, Indices
from discreet.data.records import Records
from discreet.kinds.float_error import SHORTEST_SHARE
from discreet.kinds.heads import ConvexHead
from discreet.kinds.sampling import UNKNOWN_BATCH, ExpectedBatch
from discreet.learning.clipping.linear import flat_features, linear_chunk, rows_by_chunk
from discreet.learning.clipping.person_rows import PersonRows

# So many rows are written out at once; they stay in the cache.
_ROWS_AT_ONCE = 512


def clipped_linear_sum_of_persons(
    head: ConvexHead,
    weights: Floats,
    records: Records,
    clip_norm: float,
    *,
    persons: PersonRows,
    expected: ExpectedBatch = UNKNOWN_BATCH,
) -> tuple[Floats, float, int]:
    """Returns what `clipped_linear_sum` does, of persons.

    A person's vector is Σ share · residual ⊗ features over the own records, in float64. It is clipped as it
    was written out, and counts as no shorter than a 32nd of its terms together, so that rounding never
    becomes a contribution. Somebody with a
    record whose logits, loss or norm are not finite, or with an unknown label, contributes zero.

    Args:
        head: the convex head.
        weights: shape ``(outputs, p)``.
        records: the batch, person after person.
        clip_norm: largest L2 norm of one person's contribution.
        persons: whose the records are.
        expected: public guess of their number.
    """
    residuals, usable = np.zeros((len(records), head.outputs)), list[npt.NDArray[np.bool_]]()
    losses, lengths = np.zeros((2, len(records)))
    place = 0
    for found in rows_by_chunk(head, weights, records, linear_chunk(expected)):
        part = slice(place, place + len(found.losses))
        residuals[part], losses[part], lengths[part] = found.residuals, found.losses, found.norms
        usable.append(found.usable)
        place = part.stop
    with np.errstate(all="ignore"):  # what is not usable may be anything
        residuals *= persons.shares[:, None]
        losses *= persons.shares
        lengths *= persons.shares
    kept = _whole(np.concatenate(usable), persons)
    total, loss, within = np.zeros(weights.size), 0.0, 0
    for rows in _alike_in_size(kept, persons):
        own = flat_features(records)[rows].astype(np.float64)
        vectors = np.matmul(residuals[rows].swapaxes(1, 2), own).reshape(len(rows), -1)
        norms = np.maximum(np.sqrt(np.vecdot(vectors, vectors)), SHORTEST_SHARE * lengths[rows].sum(axis=1))
        within += int(np.count_nonzero(norms <= clip_norm))
        total += (clip_norm / np.maximum(norms, clip_norm)) @ vectors
        loss += float(losses[rows].sum())
    return total, loss, within


def _alike_in_size(chosen: Indices, persons: PersonRows) -> Iterator[Indices]:
    """Yields the rows of persons who have as many each, shape ``(persons, rows)``; blocks fit the cache."""
    sizes = np.diff(persons.starts)[chosen]
    for size in np.unique(sizes).tolist():
        begins = persons.starts[:-1][chosen[sizes == size]]
        at_once = max(1, _ROWS_AT_ONCE // size)
        for first in range(0, len(begins), at_once):
            yield begins[first : first + at_once, None] + np.arange(size)


def _whole(usable: npt.NDArray[np.bool_], persons: PersonRows) -> Indices:
    """Returns the numbers of the persons all of whose rows are usable."""
    unusable = np.concatenate([[0], np.cumsum(~usable)])
    return np.flatnonzero(unusable[persons.starts[1:]] == unusable[persons.starts[:-1]])
