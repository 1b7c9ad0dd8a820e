"""The arithmetic of single-step: a sampled batch's clipped gradients, summed."""

from __future__ import annotations

from torch import nn

from discreet.arrays import Floats
from discreet.data.records import Records
from discreet.kinds.float_error import project
from discreet.kinds.single_step import SingleStep
from discreet.learning.clipping.clipped_sum import clipped_gradient_sum
from discreet.learning.units import units_of
from discreet.learning.updates import CountedUpdate, LocalUpdate
from discreet.randomness import RandomSource


def single_step_update(
    kind: SingleStep, model: nn.Module, parameters: Floats, records: Records, randomness: RandomSource
) -> CountedUpdate:
    """Sums a batch of clipped gradients and counts those within ``clip_norm``; an empty one gives 0."""
    units = units_of(records, kind.persons)
    batch = kind.sampler.draw(units.count, randomness)
    total = clipped_gradient_sum(
        model,
        parameters,
        records.take(units.rows(batch)),
        persons=units.owners(batch),
        clip_norm=kind.clip_norm,
        style=kind.style,
        randomness=randomness,
        expected=kind.expected,
    )
    vector = project(-total.vector, kind.projection_radius)
    update = LocalUpdate(vector, total.loss / max(1, len(batch)), len(batch))
    return CountedUpdate(update, total.within)
