"""The public setting in which a silo's local training is planned."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from discreet.errors import ConfigurationError, HowTo
from discreet.kinds.blocks import AskedBlock
from discreet.kinds.heads import ConvexHead, head_on
from discreet.kinds.persons import PersonWeights
from discreet.kinds.quantile_clipping import ClipNorm, QuantileClipping
from discreet.kinds.sampling import ExpectedBatch, SamplingConfig, independent_share
from discreet.kinds.stated_loss import StatedLoss

LEAST_BATCH = 2
"""Records that batch norm needs: one has no spread, and a batch of one takes no step."""


@dataclass(frozen=True, slots=True)
class SiloSetting:
    """What a kind may know of a silo and of the rest of the plan; all of it is public.

    Attributes:
        kind: name of the local training, for messages.
        model: name of the model, for messages.
        capacity: bound on the silo's training records, or persons.
        sampling: who enters a round.
        norm: the clipping norm that was asked for; None if none was.
        feature_norm_bound: every record's features have L2 norm at most this; None if nobody says so.
        guard_prob: how often, each round, a bound on a batch may fail.
        outputs: logits of the model.
        linear: whether the model is a linear head.
        persons: how a person's records count, where persons are protected.
        own_loss: the user's own, in place of the head's; None for the latter.
        asked: what answers the questions of the config; None if it trains a model.
        number: whether the label is a number, so that the model is a regression.
        ordinal: whether the classes are levels in an order, which the head counts.
        several: whether a record has several labels, one for each output.
        batch_norm: whether the model has layers of batch norm.
        weight_unit: in which the weights of all silos' releases in a message are integers; None where all
            silos' weights are alike, or a message is one release.
    """

    kind: str
    model: str
    capacity: int
    sampling: SamplingConfig
    norm: ClipNorm | None
    feature_norm_bound: float | None
    guard_prob: float
    outputs: int
    linear: bool
    persons: PersonWeights | None = None
    own_loss: StatedLoss | None = None
    asked: tuple[AskedBlock, ...] | None = None
    number: bool = False
    ordinal: bool = False
    several: bool = False
    batch_norm: bool = False
    weight_unit: Fraction | None = None

    def require_batch(self, records: float) -> None:
        """Refuses batch norm over batches of so many records that most have one, which has no spread.

        Raises:
            ConfigurationError: if the model has batch norm.
        """
        if self.batch_norm and not records >= LEAST_BATCH:
            raise ConfigurationError(
                f"a local step of {self.kind} must have at least {LEAST_BATCH} records where the model has "
                f"batch norm; a full silo has {records:.3g}. Raise batch_size, or take fewer groups.",
                see=HowTo.LOCAL_KIND,
            )

    @property
    def share(self) -> float:
        """Probability with which a unit enters a round, by a coin of its own.

        Raises:
            ConfigurationError: for fixed-size sampling.
        """
        return independent_share(self.sampling, self.kind)

    @property
    def head(self) -> ConvexHead:
        """The loss on the model's outputs."""
        return head_on(self.outputs, ordinal=self.ordinal, several=self.several)

    @property
    def expected(self) -> ExpectedBatch:
        """The law of the size of a full silo's batch, as far as the length of chunks needs it.

        Of persons, as if each had a single record: chunks are then no longer than batches.
        """
        return ExpectedBatch(self.sampling.expected(self.capacity), self.sampling.spread(self.capacity))

    @property
    def batch_bound(self) -> float:
        """A public size that a round's batch almost never exceeds, for the ring's sake."""
        return self.sampling.batch_bound(self.capacity)

    @property
    def clip_norm(self) -> float:
        """The clipping norm of the first round.

        Raises:
            ConfigurationError: if none was given.
        """
        match self.norm:
            case None:
                raise ConfigurationError(f"'privacy.clip_norm' must be given for {self.kind}; it is missing.")
            case QuantileClipping(initial=initial):
                return initial
            case number:
                return number
