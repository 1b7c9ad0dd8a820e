"""The guarantee in plain words, for people who decide and do not compute."""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, Context, Decimal

from discreet.privacy.guarantee import Guarantee
from discreet.privacy.units import NeighboringRelation, Status, Unit
from discreet.report.content import AttackPoint

UNITS = {
    Unit.RECORD: "one record",
    Unit.CLIENT: "everything that one silo holds",
}

RELATIONS = {
    NeighboringRelation.ADD_REMOVE: "present or absent",
    NeighboringRelation.REPLACE_ONE: "exchanged for another",
    NeighboringRelation.REPLACE_SPECIAL: "there, or replaced by something that contributes nothing",
}

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


def accuracy_text(share: float) -> str:
    """Writes a measured accuracy with one decimal, so that a column lines up.

    Example:
        >>> accuracy_text(0.75)
        '75.0 %'
    """
    return f"{100 * share:.1f} %"


def percent_at_most(bound: float) -> str:
    """Writes an upper bound on a share, rounded up in the third digit.

    Example:
        >>> percent_at_most(0.019811), percent_at_most(1.0)
        ('1.99 %', '100 %')
    """
    exact = Decimal(100.0 * bound)
    rounded = Context(prec=3, rounding=ROUND_CEILING).plus(exact)
    return f"{rounded.normalize():f} %"


def epsilon_text(epsilon: float) -> str:
    """Writes ε, an upper bound, rounded up; an infinite one is a word.

    Example:
        >>> epsilon_text(0.76501), epsilon_text(math.inf)
        ('0.766', 'no limit')
    """
    if math.isinf(epsilon):
        return "no limit"
    return str(Decimal(epsilon).quantize(Decimal("0.001"), rounding=ROUND_CEILING))


def delta_text(delta: float) -> str:
    """Writes δ without a padded exponent.

    Example:
        >>> delta_text(1e-5), delta_text(0.001)
        ('1e-5', '0.001')
    """
    return f"{delta:.3g}".replace("e-0", "e-")


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
        f"all but break standard cryptography, and wants to know whether {unit} was used in training. "
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
        f"δ = {delta_text(guarantee.delta)}.",
        "It holds whatever else the attacker knows or will learn, short of breaking standard cryptography.",
        "It holds for all that is done later with the released model: nothing computes the protection away.",
        "It covers all rounds together, those included that were interrupted.",
    )


def does_not_say(unit: Unit, *, measured: bool) -> tuple[str, ...]:
    """Lists what the guarantee does not promise."""
    several = (
        "A person with several records is less protected: for k records ε is k times as large; δ grows too."
        if unit is Unit.RECORD
        else "Whoever has data at several silos is less protected: for k silos ε is k times as large."
    )
    tests = (
        "The measurements on held-out records in this report are not private; show them to those who may see "
        "them, or leave them out.",
    )
    return (
        "What is true of many people is meant to be learned. If a symptom goes with a disease, the model "
        "says so, also about people who took no part.",
        several,
        "It does not protect data against those who hold it: theft or misuse at a silo is outside.",
        "It does not say that the model is accurate, fair, or safe to use on patients.",
        "It does not stop a silo from sending nonsense on purpose to spoil the model.",
        "It rests on programs that do what the plan says, on good random numbers, and on no more silos "
        "colluding with the server than the table allows.",
        *(tests if measured else ()),
    )


def _factor(epsilon: float) -> str:
    """Writes e^ε, rounded up in the third digit."""
    if not epsilon < 100:
        return "∞"
    return f"{Context(prec=3, rounding=ROUND_CEILING).plus(Decimal(math.exp(epsilon))).normalize():f}"
