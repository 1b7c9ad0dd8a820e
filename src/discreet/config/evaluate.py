"""The table ``[evaluate]``: how good the model is on held-out records, asked while it is trained."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from discreet.kinds.fields import Count, Positive, Section
from discreet.kinds.question import Column, StatedBins
from discreet.kinds.questions import RISKS, Threshold


class StopConfig(Section):
    """When a training ends early, by what it released: all that was planned is charged.

    Attributes:
        patience: the training ends when so many evaluations in a row were no better than the best before
            them, by what ``keep`` compares.
    """

    patience: Count


class EvaluateConfig(Section):
    """After every so many rounds, and after the last, held-out records are asked how good the model is.

    Guarantee:
        A unit is in the training or among those held out, so that its ε is the larger of the two and not
        their sum (docs/theory/questions.md). All evaluations together satisfy ``epsilon``, at the δ of
        ``privacy``, against the same adversary.

    Attributes:
        every: how many rounds lie between two evaluations.
        epsilon: of all evaluations together, for the held-out units.
        capacity: public bound on the held-out records (or persons) of a silo: one number, or one for each;
            left out, that of the training. Do not count them.
        bins: at which edges, or into how many of equal width, predicted probabilities are cut; two classes.
        by: a column of texts: every group is measured too.
        threshold: the probability from which on a record is called the second class, an edge of ``bins``; for
            two classes. Left out, one half, or the next edge above.
        mechanism: law of the noise; ``discrete-laplace`` is narrower for one to a few evaluations.
        stop: whether the training ends when evaluations no longer improve.
        keep: which model is released: ``best``, that of the evaluation with the best noisy accuracy, the
            first of equals; or ``last``, that of the last round, which is the default. With class weights or
            a ``threshold`` it is the balanced accuracy, the mean of the recalls: the accuracy would prefer
            the model that names the commonest class.
    """

    every: Annotated[int, Field(ge=1, le=1_000_000)]
    epsilon: Positive
    capacity: Count | dict[str, Count] | None = None
    bins: StatedBins = RISKS
    by: Column | None = None
    threshold: Threshold | None = None
    mechanism: Literal["rounded-gaussian", "discrete-laplace"] = "rounded-gaussian"
    stop: StopConfig | None = None
    keep: Literal["best", "last"] | None = None
