"""Is what the server makes of the sums a function of the sums alone?"""

from __future__ import annotations

import dataclasses

import numpy as np

from discreet.audit.canaries import is_exchange, replace_train
from discreet.audit.findings import PostProcessingFinding
from discreet.audit.insider import Insider
from discreet.audit.rehearsal import rehearse
from discreet.data.labels import other_labels
from discreet.engines.local import Prepared
from discreet.randomness import SeededRandom
from discreet.rounds import RoundOrder, RoundSum


def post_processing_finding(prepared: Prepared, randomness: SeededRandom) -> PostProcessingFinding:
    """Rehearses a plan twice, the second time on a neighbour, but with the sums of the first time.

    The neighbour has one record fewer, or another label on one where the number of records is public.

    All that a guarantee covers is the sums, so models that differ although the sums do not are a leak: a sum
    divided by a count of records, for example.
    """
    first = rehearse(prepared, randomness, known=prepared.federation)
    sums = {step.order.release: step.outcome.total for step in first.steps}
    # A survivor of every round: whoever drops out could not be noticed.
    silo = first.steps[0].outcome.survivors[0]
    own = prepared.federation.silo(silo).train
    if is_exchange(prepared.plan):
        labels = own.labels.copy()
        labels[-1] = other_labels(labels[-1], prepared.plan.facts.num_classes)
        neighbor, difference = dataclasses.replace(own, labels=labels), "one record exchanged"
    else:
        neighbor, difference = own.take(np.arange(len(own) - 1)), "one record fewer"
    known = replace_train(prepared.federation, silo, neighbor)

    def with_the_same_sum(_: Insider, order: RoundOrder, outcome: RoundSum) -> RoundSum:
        return dataclasses.replace(outcome, total=sums[order.release])

    second = rehearse(prepared, randomness, known=known, alter=with_the_same_sum)
    moved = [
        float(np.linalg.norm(one.after.parameters - other.after.parameters))
        for one, other in zip(first.steps, second.steps, strict=True)
    ]
    return PostProcessingFinding(silo, difference, len(moved), max(moved))
