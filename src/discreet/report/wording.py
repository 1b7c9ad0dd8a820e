"""The guarantee in plain words, for people who decide and do not compute."""

from __future__ import annotations

import math

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


def epsilon_text(epsilon: float) -> str:
    """Writes ε; an infinite one is a word.

    Example:
        >>> epsilon_text(0.99999), epsilon_text(math.inf)
        ('1.000', 'no limit')
    """
    return "no limit" if math.isinf(epsilon) else f"{epsilon:.3f}"


def delta_text(delta: float) -> str:
    """Writes δ.

    Example:
        >>> delta_text(1e-5)
        '1e-05'
    """
    return f"{delta:.3g}"


def status_text(guarantee: Guarantee) -> str:
    """Says how well a guarantee is founded."""
    return f"{guarantee.status.value}: {STATUSES[guarantee.status]}"


def headline(guarantee: Guarantee, point: AttackPoint | None) -> str:
    """Says in one sentence what the guarantee leaves to the best attacker there could be."""
    unit = UNITS[guarantee.unit]
    if guarantee.is_vacuous or point is None:
        return f"Nothing finite is promised about {unit} against {guarantee.adversary.describe()}."
    return (
        f"Suppose that {guarantee.adversary.describe()} wants to know whether {unit} was used in training, "
        "knows all the other data, and has unlimited computing power. If their test wrongly accuses at most "
        f"{percent(point.false_positive_rate)} of the time, it finds the truth at most "
        f"{percent(point.max_true_positive_rate)} of the time. "
        f"Guessing would find it {percent(point.false_positive_rate)} of the time."
    )


def says(guarantee: Guarantee) -> tuple[str, ...]:
    """Lists what the guarantee promises."""
    unit, who = UNITS[guarantee.unit], guarantee.adversary.describe()
    relation = RELATIONS[guarantee.neighboring]
    return (
        f"Whether {unit} is {relation} changes the probability of anything that {who} could ever see "
        f"by a factor of at most e^ε = {_factor(guarantee.epsilon)}, plus at most "
        f"δ = {delta_text(guarantee.delta)}.",
        "It holds whatever else the attacker knows or will learn, and however much they compute.",
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
    """Writes e^ε."""
    return "∞" if not epsilon < 100 else f"{math.exp(epsilon):.3g}"
