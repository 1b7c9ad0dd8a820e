"""Settings of stable-steps from public numbers alone, where a config states no learning rate.

Nothing here looks at a record or costs privacy. The rule keeps κ at 1.4 or 2, κ being the noise's standard
deviation in a logit after all T rounds: more noise hides the signal, less means too short a training.
With N silos whose mean update is followed, z the noise multiplier that one release would need, L the
Lipschitz constant, R the bound on features and γ the learning rate, κ = z·γ·L·R·T/N · √(N/shares): so many
shares of noise are sure to protect a record, and N of them are in a sum of all silos. Persons at s silos need
s times the noise, so z is s times as large.

A small cap c on residuals is what bears so much noise: 0.35 and κ = 1.4 for two classes, 0.15 and κ = 2 for
more. Under a cap that the user states, κ changes as c^-0.7, between 1 and 3. Where T would exceed 20, c grows
to 0.5 (0.35) first. From 60 records for each unit of noise on, n/(z·√(N/shares)), the models of the last
quarter of rounds are averaged. The smaller c is, the more certain do probabilities look: with 0.2, two
classes gained less than 0.1 points of accuracy and lost log loss. A head that begins at public weights needs
less signal, and the same noise would cost it more: its κ is half as large.

Several labels, levels in an order and losses of the user's own, on which this was not tried, have larger caps
and κ = (n/10⁴)^0.2, between 1 and 1.5; there the last half of the models is averaged where
n/(z·L·R·√(N/shares)) is 3000 or more.

Where the label is a number, outputs lie in [-1, 1] and its mean is found to the noise's own size: κ is
2.5·√(z·√(N/shares)/n), between 0.07 and 0.28, and the models of the last half of the rounds are averaged.

Every record takes a step of its own, so that no batch bounds the rate. Where one record alone would make it
expansive, T grows; T enters κ and privacy only as T·γ. How the rule was found, and where it is worse than
tuning: docs/how-to/untuned.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from discreet.config import Config
from discreet.config.data import counted_unit
from discreet.data.labels import NUMBER
from discreet.errors import ConfigurationError
from discreet.kinds import (
    AveragingConfig,
    ServerConfig,
    StableStepsConfig,
    TailMeanConfig,
    UntunedStepsConfig,
)
from discreet.kinds.capped import Unweighted, capped
from discreet.kinds.heads import head_on
from discreet.kinds.huber import Huber
from discreet.kinds.model_facts import ORDINAL
from discreet.kinds.stated_loss import StatedLoss
from discreet.kinds.weighted import ClassWeights
from discreet.plan.aggregation import plan_thresholds
from discreet.plan.facts import FederationFacts, record_capacities
from discreet.plan.preparation import remaining, whole_multiplier
from discreet.plan.training import silos_of_a_unit, stated_loss

_BINARY_CAP, _SOFTMAX_CAP, _NUMBER_CAP = 0.35, 0.15, 0.2
# κ under these caps; under another, it changes with that power of theirs, between these ends.
_BINARY_KAPPA, _SOFTMAX_KAPPA, _CAP_POWER, _LEAST_KAPPA, _MOST_KAPPA = 1.4, 2.0, 0.7, 1.0, 3.0
# What is left of κ where the head begins at public weights.
_BEGUN = 0.5
# Caps of several labels and of levels in an order; the largest for two classes, and for more.
_LABELS_CAP, _ORDINAL_CAP = 0.5, 0.35
# κ of a number: it falls with the root of the records for each unit of noise, between these ends.
_NUMBER_KAPPA, _LEAST_NUMBER_KAPPA, _MOST_NUMBER_KAPPA = 2.5, 0.07, 0.28
_ROUNDS = 20
_MOST_ROUNDS = 1000
# The mean of the last quarter helps from here on: n/z, the records for each unit of noise.
_CONTRACTING, _TAIL = 60.0, 0.25
# Where the rule for two or more classes was not tried, that of the last half does: n/(z·L·R).
_SURELY_CONTRACTING = 3000.0
# Of the largest rate that is proven.
_BELOW_LIMIT = 0.95
_ROUNDING = 1e-9
_TOO_SURE = "; probabilities are then often too sure, so give residual_cap = 0.35 where they matter"


@dataclass(frozen=True, slots=True)
class PublicNumbers:
    """What the rule may know.

    Attributes:
        total: n, the public bound on all silos' training records, or persons.
        silos: N.
        shares: shares of noise that are sure to protect a record.
        multiplier: z that the whole budget would need for a single release, which shows what a unit adds at
            all of its silos; of what it adds at one.
        outputs: logits of the model; one is binary.
        norm_bound: R.
        cap: the residual cap that the user states, or None.
        own_loss: the user's own loss, which nothing caps; None for the head's.
        number: whether the label is a number.
        ordinal: whether the classes are levels in an order.
        several: whether a record has several labels, one for each output.
        own_settings: whether single silos have settings of their own; the rule does not look at them.
        rounds: T that the user states, or None.
        class_weights: those that the user states, which the plan keeps; the rule does not look at them.
        counted: what ``total`` counts: record, or person.
        begun: whether the head begins at public weights, and not at zero.
    """

    total: int
    silos: int
    shares: int
    multiplier: float
    outputs: int
    norm_bound: float
    cap: float | None = None
    own_loss: StatedLoss | None = None
    rounds: int | None = None
    class_weights: ClassWeights | None = None
    number: bool = False
    counted: str = "record"
    ordinal: bool = False
    several: bool = False
    own_settings: bool = False
    begun: bool = False

    @property
    def sum_multiplier(self) -> float:
        """The multiplier z, for the noise in a sum of all silos, of which only ``shares`` are sure."""
        return self.multiplier * math.sqrt(self.silos / self.shares)

    @property
    def of_classes(self) -> bool:
        """Whether the loss is the log loss of two or more classes, perhaps capped."""
        return not (self.number or self.ordinal or self.several or self.own_loss is not None)


@dataclass(frozen=True, slots=True)
class Chosen:
    """The settings, and why they are what they are, in one line."""

    rounds: int
    local: StableStepsConfig
    server: ServerConfig
    reason: str


def settled(config: Config, facts: FederationFacts) -> Config:
    """Returns ``config`` with numbers in place of what is left to the plan; itself if nothing is.

    Raises:
        ConfigurationError: if public numbers that the rule needs are missing, or no setting is short enough.
    """
    chosen = choice(config, facts)
    if chosen is None:
        return config
    update = {"rounds": chosen.rounds, "local": chosen.local, "server": chosen.server}
    return config.model_copy(update={"training": config.training.model_copy(update=update)})


def choice(config: Config, facts: FederationFacts) -> Chosen | None:
    """Returns the settings that the rule chooses for ``config``, or None if it leaves nothing to the plan.

    Raises:
        ConfigurationError: as `settled`.
    """
    local, privacy, rounds = config.training.local, config.privacy, config.training.rounds
    if not isinstance(local, UntunedStepsConfig):
        return None
    if not facts.linear:
        raise ConfigurationError(
            f"stable-steps must be of a linear model for the plan to work its settings out; got "
            f"{config.model.name!r}. Use another kind, such as single-step, or model.name = 'logistic'."
        )
    if privacy.epsilon is None or facts.feature_norm_bound is None:
        missing = "privacy.epsilon" if privacy.epsilon is None else "data.feature_norm_bound"
        raise ConfigurationError(
            f"{missing!r} must be given for the plan to work the settings of stable-steps out; it is left "
            f"out. Set it{' to 1.0, and records are scaled to it' * (privacy.epsilon is not None)}."
        )
    own = config.model.loss
    capacities = record_capacities(config, facts.silos)
    # What is left of the budget beside a preparation.
    multiplier = whole_multiplier(config) / math.sqrt(remaining(config))
    numbers = PublicNumbers(
        total=sum(capacities),
        silos=len(facts.silos),
        shares=plan_thresholds(config, len(facts.silos)).honest_survivors,
        # The noise must hide what a unit adds at all of its silos.
        multiplier=multiplier * silos_of_a_unit(config),
        outputs=facts.outputs,
        norm_bound=facts.feature_norm_bound,
        cap=None if local.residual_cap == "auto" else local.residual_cap,
        own_loss=None if own is None else stated_loss(own, facts.outputs),
        rounds=None if rounds == "auto" else rounds,
        class_weights=local.class_weights,
        number=facts.num_classes == NUMBER,
        counted=counted_unit(config.data),
        ordinal=config.model.name == ORDINAL,
        several=config.data.several > 0,
        own_settings=config.silos is not None,
        begun=config.model.begins is not None,
    )
    return choose(numbers)


def choose(numbers: PublicNumbers) -> Chosen:
    """Returns the settings for ``numbers``; a pure function.

    Raises:
        ConfigurationError: if steps must be so short that training would take too many rounds.
    """
    cap = _cap(numbers)
    reach, limit = _reach(numbers, cap), _limit(numbers, cap)
    rounds = numbers.rounds or max(_ROUNDS, math.ceil(reach / limit - _ROUNDING))
    if rounds > _MOST_ROUNDS:
        raise ConfigurationError(
            f"'training.rounds' must be at most {_MOST_ROUNDS} where it is left to the plan; so many silos "
            f"at so large an ε would need {rounds}. Give 'training.rounds', or a smaller ε."
        )
    local = StableStepsConfig(
        kind="stable-steps",
        learning_rate=min(reach / rounds, limit),
        steps="each",
        residual_cap=cap,
        class_weights=numbers.class_weights,
    )
    lowered = limit < reach / rounds * (1.0 - _ROUNDING)
    return Chosen(
        rounds, local, _server(numbers, cap), _reason(numbers, _kappa(numbers, cap), lowered=lowered)
    )


def _reason(numbers: PublicNumbers, kappa: float, *, lowered: bool) -> str:
    """Says what the settings follow from, and what noise they lead to where silos are alike."""
    known = (
        f"public numbers alone ({numbers.total:,} {numbers.counted}s at most, "
        f"{_many(numbers.silos, 'silo')}, {_many(numbers.shares, 'sure share')} of noise, ε, δ, norms)"
    )
    if numbers.own_settings:
        return f"{known}, as if no silo had settings of its own; the noise is of the silo that needs most"
    short = ", or less, as longer steps would not be stable" if lowered else ""
    what = "an output, of 2 for the whole range," if numbers.number else "a logit"
    sure = _TOO_SURE if numbers.of_classes and numbers.outputs > 1 and numbers.cap is None else ""
    return f"{known}: all rounds' noise then moves {what} by {kappa:.2g}{short}{sure}"


def _many(count: int, what: str) -> str:
    return f"{count} {what}{'s' * (count != 1)}"


def _loss(numbers: PublicNumbers, cap: float) -> Unweighted:
    """Returns the loss of a record under that cap."""
    if numbers.own_loss is not None:
        return numbers.own_loss
    if numbers.number:
        return Huber(cap)
    return capped(head_on(numbers.outputs, ordinal=numbers.ordinal, several=numbers.several), cap)


def _noise(numbers: PublicNumbers, cap: float) -> float:
    """Returns the standard deviation of the noise in a logit, for each unit of T·γ/N."""
    return numbers.sum_multiplier * _loss(numbers, cap).lipschitz(numbers.norm_bound) * numbers.norm_bound


def _reach(numbers: PublicNumbers, cap: float) -> float:
    """Returns T·γ."""
    return _kappa(numbers, cap) * numbers.silos / _noise(numbers, cap)


def _limit(numbers: PublicNumbers, cap: float) -> float:
    """Returns the largest γ, at which one record's step is surely not expansive."""
    return _BELOW_LIMIT * 2.0 / _loss(numbers, cap).smoothness(numbers.norm_bound)


def _kappa(numbers: PublicNumbers, cap: float) -> float:
    """Returns the standard deviation that all rounds' noise is to have in an output."""
    if numbers.number:
        wanted = _NUMBER_KAPPA / math.sqrt(numbers.total / numbers.sum_multiplier)
        return min(max(wanted, _LEAST_NUMBER_KAPPA), _MOST_NUMBER_KAPPA)
    if numbers.of_classes:
        usual = _BINARY_KAPPA if numbers.outputs == 1 else _SOFTMAX_KAPPA
        borne: float = usual * (_usual_cap(numbers) / cap) ** _CAP_POWER
        kept = min(max(borne, _LEAST_KAPPA), _MOST_KAPPA)
        return _BEGUN * kept if numbers.begun else kept
    bearable: float = (numbers.total / 1e4) ** 0.2
    return min(max(bearable, 1.0), 1.5)


def _server(numbers: PublicNumbers, cap: float) -> ServerConfig:
    if numbers.of_classes:
        contracting = numbers.total / numbers.sum_multiplier >= _CONTRACTING
        return TailMeanConfig(kind="tail-mean", share=_TAIL) if contracting else AveragingConfig()
    tail = numbers.number or numbers.total / _noise(numbers, cap) >= _SURELY_CONTRACTING
    return TailMeanConfig(kind="tail-mean") if tail else AveragingConfig()


def _cap(numbers: PublicNumbers) -> float:
    """Returns the residual cap: the user's, or the usual one, or more where that saves rounds."""
    if numbers.own_loss is not None:
        return 1.0
    usual = _usual_cap(numbers)
    if numbers.cap is not None or not numbers.of_classes:
        return numbers.cap or usual
    # T·γ falls with the cap and with κ, which falls with the cap.
    excess = _reach(numbers, usual) / _limit(numbers, usual) / (numbers.rounds or _ROUNDS)
    most = _LABELS_CAP if numbers.outputs == 1 else _ORDINAL_CAP
    wanted: float = usual * max(excess, 1.0) ** (1.0 / (1.0 + _CAP_POWER))
    return min(wanted, most)


def _usual_cap(numbers: PublicNumbers) -> float:
    """Returns the residual cap where nobody states one: of a number, Huber's threshold."""
    if numbers.number:
        return _NUMBER_CAP
    if numbers.several:
        return _LABELS_CAP
    if numbers.ordinal:
        return _ORDINAL_CAP
    return _BINARY_CAP if numbers.outputs == 1 else _SOFTMAX_CAP
