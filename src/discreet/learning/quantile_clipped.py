"""The arithmetic of a clipping norm that follows a quantile: the count travels behind the scaled update."""

from __future__ import annotations

from discreet.kinds.quantile_clipped import QuantileClipped
from discreet.learning.updates import CountedUpdate, LocalUpdate


def joined(kind: QuantileClipped, counted: CountedUpdate) -> LocalUpdate:
    """Returns an update of ``kind`` in units of the norm, its count behind it."""
    update = counted.update
    vector = kind.rule.joined(update.vector, kind.kind.clip_norm, within=counted.within, units=update.batch)
    most = kind.rule.weight / 2.0 * kind.kind.most_units
    vector[-1] = min(max(vector[-1], -most), most)
    return LocalUpdate(vector, update.loss, update.batch)
