"""What an (ε, δ) allows an attacker, in words. A status says how well founded a number is, not how small.

An attacker decides whether a unit is there; before the training, a guess is right half of the time. With
false alarms α and misses β, (ε, δ) means α + e^ε β ≥ 1 − δ and e^ε α + β ≥ 1 − δ (Wasserman, Zhou 2010,
Theorem 2.4; Kairouz, Oh, Viswanath 2015, Theorem 2.1). Together α + β ≥ 2 (1 − δ) / (1 + e^ε), so from an
even prior the attacker is right at most (e^ε + δ) / (1 + e^ε) of the time; for δ = 0 no posterior exceeds
that either.

The levels are round values of that share: odds of 2, 9, 99 and 9,999 to 1, ε near 0.7, 2.2, 4.6, 9.2.
They are this project's, and stricter than what the literature on training calls strong (ε ≤ 1) or reasonable
(ε ≤ 10): Ponomareva et al. (2023), "How to DP-fy ML", section 5.2; attacks in practice are weaker than the
best possible one. That ε says little without its unit follows Near, Darais (2025), NIST SP 800-226.

δ of the order of one over the number of records allows to publish whole records: Dwork, Roth (2014), section
2.3. A mechanism that publishes one of n records at random with probability nδ ≤ 1, and nothing else,
publishes each with probability δ and so satisfies (0, δ).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum

from discreet.errors import ConfigurationError
from discreet.privacy.guarantee import Guarantee
from discreet.privacy.notation import delta_is, percent_at_most
from discreet.privacy.units import NeighboringRelation, Unit

# A δ that may publish some unit more often than this is weak, whatever ε is.
_OFTEN_PUBLISHED = 0.1
# One that does so more seldom is not worth a number.
_NEVER_PUBLISHED = 1e-6

# A δ of so much is not fine for any number of units, and worthless for a hundred or more.
_NEVER_FINE = 1e-2
# More units than there are people, many times over.
_COUNTABLE = 1e12


class Level(Enum):
    """How much a guarantee protects, from the most to nothing."""

    STRONG = "strong"
    MODERATE = "moderate"
    WEAK = "weak"
    VERY_WEAK = "very weak"
    WORTHLESS = "worthless"


_LEAST_GUESS = (
    (0.9999, Level.WORTHLESS),
    (0.99, Level.VERY_WEAK),
    (0.9, Level.WEAK),
    (2.0 / 3.0, Level.MODERATE),
)

_ORDER = tuple(Level)

_QUESTIONS = {
    NeighboringRelation.ADD_REMOVE: "whether {unit} was used",
    NeighboringRelation.REPLACE_ONE: "which of two candidates {unit} was",
    NeighboringRelation.REPLACE_SPECIAL: "whether {unit} or nothing was contributed",
}
_UNITS = {Unit.RECORD: "one record", Unit.PERSON: "one person", Unit.CLIENT: "one silo's data"}
_MANY = {Unit.RECORD: "records", Unit.PERSON: "persons", Unit.CLIENT: "silos' data sets"}


@dataclass(frozen=True, slots=True)
class Judgement:
    """What a guarantee is worth; it never changes the guarantee's status.

    Attributes:
        level: in a word.
        best_guess: an attacker who guesses right half of the time before the training is right at most this
            often after it; in [0.5, 1].
        sentence: the same for people who decide, with its numbers, without a full stop.
        short: the level and what it is due to, the best guess or δ, for a column of a table.
    """

    level: Level
    best_guess: float
    sentence: str
    short: str

    def __str__(self) -> str:
        return f"{self.level.value}: {self.sentence}"


def judge(guarantee: Guarantee, units: int | None) -> Judgement:
    """Says what ``guarantee`` allows the best attacker there could be, from its ε and δ alone.

    Args:
        guarantee: any, of any status.
        units: public bound on how many units the guarantee protects: records, or silos for the client unit.
            None if it is not known.

    Raises:
        ConfigurationError: if ``units`` is not positive.
    """
    return judge_numbers(
        guarantee.epsilon, guarantee.delta, guarantee.unit, guarantee.neighboring, units=units
    )


def judge_numbers(
    epsilon: float, delta: float, unit: Unit, neighboring: NeighboringRelation, *, units: int | None
) -> Judgement:
    """Returns what `judge` does, of a guarantee's numbers without its adversary."""
    if units is not None and not units >= 1:
        raise ConfigurationError(f"the number of protected units must be at least 1; got {units}.")
    if math.isinf(epsilon) or delta >= 1.0:
        return Judgement(Level.WORTHLESS, 1.0, "nothing is promised", Level.WORTHLESS.value)
    guess = best_guess(epsilon, delta)
    by_guess = next((level for least, level in _LEAST_GUESS if guess >= least), Level.STRONG)
    by_delta, of_delta = _delta_allows(delta, unit, units)
    sentence = _guess_allows(by_guess, guess, question(unit, neighboring))
    level = max(by_guess, by_delta, key=_ORDER.index)
    reason = percent_at_most(guess) if level is by_guess else "δ"
    return Judgement(level, guess, f"{sentence}; {of_delta}", f"{level.value} ({reason})")


def question(unit: Unit, neighboring: NeighboringRelation) -> str:
    """Says what an attacker asks.

    Example:
        >>> question(Unit.RECORD, NeighboringRelation.ADD_REMOVE)
        'whether one record was used'
    """
    return _QUESTIONS[neighboring].format(unit=_UNITS[unit])


def best_guess(epsilon: float, delta: float) -> float:
    """Returns how often an attacker with an even prior can be right at most, (e^ε + δ) / (1 + e^ε).

    Example:
        >>> round(best_guess(1.0, 0.0), 3), round(best_guess(0.0, 0.1), 3)
        (0.731, 0.55)
    """
    least = math.exp(-epsilon)
    return min(1.0, (1.0 + delta * least) / (1.0 + least))


def _guess_allows(level: Level, guess: float, question: str) -> str:
    """Says what the best guess is."""
    told = f"a 50 % guess {question} becomes right at most {percent_at_most(guess)} of the time"
    if level in (Level.VERY_WEAK, Level.WORTHLESS):
        return f"it allows an attacker to be almost certain: {told}"
    return told


def _unknown_number(delta: float, unit: Unit) -> tuple[Level, str]:
    """Judges δ where nobody said how many units there are: by how many would make it worthless."""
    many = _MANY[unit]
    if not delta * _COUNTABLE > 1.0:
        return Level.STRONG, f"{delta_is(delta)} is negligible among any number of {many}"
    level = Level.WORTHLESS if delta >= _NEVER_FINE else Level.STRONG
    return level, (
        f"{delta_is(delta)} must be far below one over the number of {many}, which is not known here: with "
        f"{math.ceil(1.0 / delta):,} of them or more, a mechanism that publishes one at random would "
        "satisfy it"
    )


def _delta_allows(delta: float, unit: Unit, units: int | None) -> tuple[Level, str]:
    """Says what δ alone would allow, and the best level that it leaves."""
    if units is None:
        return _unknown_number(delta, unit)
    some_published = min(1.0, units * delta)
    level = Level.WEAK if some_published > _OFTEN_PUBLISHED or delta >= _NEVER_FINE else Level.STRONG
    among = f"one of {units:,} {_MANY[unit]}"
    if delta * units >= 1.0:
        return (
            Level.WORTHLESS,
            f"{delta_is(delta)} is so large that a mechanism that publishes {among} at random would "
            "satisfy it",
        )
    if some_published < _NEVER_PUBLISHED:
        return level, f"{delta_is(delta)} is negligible"
    often = percent_at_most(some_published)
    return level, f"{delta_is(delta)} alone could publish {among} in {often} of runs"
