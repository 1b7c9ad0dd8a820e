"""The guarantee in plain words, for people who decide and do not compute."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import ROUND_CEILING, Context, Decimal

from discreet.privacy.adversary import SiloMessages
from discreet.privacy.guarantee import Guarantee
from discreet.privacy.judgement import question
from discreet.privacy.notation import delta_is, percent_at_most
from discreet.privacy.units import NeighboringRelation, Status, Unit
from discreet.report.content import AttackPoint, Measured

UNITS = {
    Unit.RECORD: "one record",
    Unit.PERSON: "one person with all records",
    Unit.CLIENT: "everything that one silo holds",
}

RELATIONS = {
    NeighboringRelation.ADD_REMOVE: "present or absent",
    NeighboringRelation.REPLACE_ONE: "exchanged for another",
    NeighboringRelation.REPLACE_SPECIAL: "there, or replaced by something that contributes nothing",
}

_LARGEST_WRITTEN = 1e5
_MANY_DIGITS = 1_000_000

STATUSES = {
    Status.PROVEN: "follows from a mathematical proof",
    Status.CHECKED: "checked numerically over a stated range",
    Status.CONDITIONAL: "holds only if the stated assumption holds",
}


def percent(share: float) -> str:
    """Writes a share with as many digits as it needs.

    Example:
        >>> percent(0.001), percent(0.01), percent(0.2719)
        ('0.1 %', '1 %', '27.2 %')
    """
    return f"{100 * share:.3g} %"


def main_measure(found: Iterable[Measured | None]) -> str:
    """Names what models are compared by: a regression has no accuracy."""
    number = any(one is not None and one.accuracy is None for one in found)
    return "Mean absolute error" if number else "Accuracy"


def measured_text(found: Measured, value: float | None) -> str:
    """Writes an accuracy, or an error in the unit of a regression's label; a dash for none."""
    if value is None:
        return "–"
    return f"{value:.4g}" if found.accuracy is None else accuracy_text(value)


def accuracy_text(share: float) -> str:
    """Writes a measured accuracy with one decimal, so that a column lines up.

    Example:
        >>> accuracy_text(0.75)
        '75.0 %'
    """
    return f"{100 * share:.1f} %"


def status_text(guarantee: Guarantee) -> str:
    """Says how well a guarantee is founded."""
    return f"{guarantee.status.value}: {STATUSES[guarantee.status]}"


def headline(guarantee: Guarantee, point: AttackPoint | None) -> str:
    """Says in one sentence what the guarantee leaves to the best attacker there could be."""
    unit = UNITS[guarantee.unit]
    if guarantee.is_vacuous or point is None:
        return f"Nothing finite is promised about {unit} against {guarantee.adversary.describe()}."
    return (
        f"Imagine {guarantee.adversary.describe()} as an attacker who knows all the other data, can do "
        f"all but break standard cryptography, and wants to know "
        f"{question(guarantee.unit, guarantee.neighboring)}. "
        f"A test that wrongly says yes at most {percent(point.false_positive_rate)} of the time rightly says "
        f"yes at most {percent_at_most(point.max_true_positive_rate)} of the time. "
        f"Blind guessing reaches {percent(point.false_positive_rate)}."
    )


def says(guarantee: Guarantee) -> tuple[str, ...]:
    """Lists what the guarantee promises."""
    unit, who = UNITS[guarantee.unit], guarantee.adversary.describe()
    relation = RELATIONS[guarantee.neighboring]
    return (
        f"Whether {unit} is {relation} changes the probability of anything that {who} could ever see "
        f"by a factor of at most e^ε = {_factor(guarantee.epsilon)}, plus at most "
        f"{delta_is(guarantee.delta)}.",
        "It holds whatever else the attacker knows or will learn, other than the noise, the coins and the "
        "keys of honest silos, short of breaking standard cryptography and given the assumptions below.",
        "It holds for all that is done later with what is released: nothing computes the protection away.",
        "It covers all rounds together, those included that were interrupted after their sum may have been "
        "seen. An attempt that stopped before is no release; it counts where a silo's own message is what is "
        "seen.",
    )


def does_not_say(guarantee: Guarantee, *, measured: bool) -> tuple[str, ...]:
    """Lists what the guarantee does not promise."""
    tests = (
        "The measurements on held-out records in this report, and the training loss in report.json and "
        "metrics.jsonl, are exact and not private: show them to those who may see the records, or leave "
        "them out.",
    )
    return (
        "What is true of many people is meant to be learned. If a symptom goes with a disease, what is "
        "released says so, also about people who took no part.",
        f"How well founded a number is says nothing about how small it is: {guarantee.status.value} is not "
        "good. The judgement beside it says what it is worth.",
        _several(guarantee),
        *_of_the_relation(guarantee),
        *_of_noise(guarantee),
        "It does not protect data against those who hold it: theft or misuse at a silo is outside.",
        "It does not say that what is released is accurate, fair, or safe to use on patients.",
        "It does not stop a silo from sending nonsense on purpose to spoil the result.",
        *_of_collusion(guarantee),
        *(tests if measured else ()),
    )


def _of_noise(guarantee: Guarantee) -> tuple[str, ...]:
    if isinstance(guarantee.adversary, SiloMessages):
        return ("Only a silo's own noise protects its records: whoever learned it could subtract it.",)
    return (
        "Participants know their own noise and can subtract it: against another participating silo only "
        "the noise of the others protects.",
    )


def _of_collusion(guarantee: Guarantee) -> tuple[str, ...]:
    if isinstance(guarantee.adversary, SiloMessages):
        return ("It rests on programs that do what the plan says, and on good random numbers.",)
    return (
        "It rests on programs that do what the plan says, on good random numbers, and on no more silos "
        "colluding with the server than the table allows.",
    )


def _several(guarantee: Guarantee) -> str:
    """Says what is left to somebody with several units: group privacy, by k neighbouring steps."""
    bound = "ε is at most k times as large, and δ at most k·e^((k−1)ε) times"
    if guarantee.unit is Unit.RECORD:
        who = "A person with several records, at one silo or at several,"
        return f"{who} is less protected: for k records {bound}."
    if guarantee.unit is Unit.PERSON:
        return f"Whoever is at more silos than assumed is less protected: for k times as many {bound}."
    return f"Whoever has data at several silos is less protected: for k silos {bound}."


def _of_the_relation(guarantee: Guarantee) -> tuple[str, ...]:
    """Says what a relation other than present or absent leaves open."""
    match guarantee.neighboring:
        case NeighboringRelation.ADD_REMOVE:
            return ()
        case NeighboringRelation.REPLACE_ONE:
            return (
                "It does not hide how many records a silo has: their number is public, and stays the same.",
            )
        case NeighboringRelation.REPLACE_SPECIAL:
            return ("It does not hide who took part: being there is public, what was contributed is not.",)


def _factor(epsilon: float) -> str:
    """Writes e^ε, rounded up in the third digit."""
    if not epsilon < _LARGEST_WRITTEN:
        return "∞"
    exact = Context(prec=40).exp(Decimal(repr(epsilon)))
    rounded = Context(prec=3, rounding=ROUND_CEILING).plus(exact)
    if rounded < _MANY_DIGITS:
        return f"{rounded.normalize():f}"
    mantissa, _, exponent = f"{rounded:e}".partition("e+")
    return f"{mantissa} · 10^{exponent}"
